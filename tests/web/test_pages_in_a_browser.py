"""The table of pages in a browser: filter, sort, check rows, verdicts on many pages with undo, and downloads."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from tests.helpers.browser import BROWSER, BrowserTab, open_browser
from tests.helpers.markers import LONG
from tests.helpers.search_collections import create_collection, make_page
from tests.helpers.web_client import serve_collections

from topicrawl.collection import annotations as annotation_log
from topicrawl.collection.store import CollectionStore

pytestmark = [
    LONG,
    pytest.mark.skipif(BROWSER is None, reason="no browser here: `apt-get install chromium-headless-shell` brings one"),
]
TITLES = "[...document.querySelectorAll('.rows td.url a')].map(it => it.innerText)"


async def press(tab: BrowserTab, selector: str) -> None:
    await tab.evaluate(f"document.querySelector({selector!r}).click()")


async def download(tab: BrowserTab, folder: Path, name: str) -> bytes:
    """Press the download button and return the file."""
    await tab.run_command("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    await press(tab, ".selection button:not([name])")
    for _ in range(400):
        if (folder / name).exists():
            return (folder / name).read_bytes()
        await asyncio.sleep(0.05)
    raise AssertionError(f"no download of {name}")


async def choose_pages(tab: BrowserTab, origin: str, folder: Path) -> tuple[bytes, bytes]:
    """Filter, sort, judge and download as a user. Return the downloads of the filtered and of the checked pages."""
    await tab.open(f"{origin}/c/owls/pages?show=all&sort=")
    for name, value in (("text", "Page 1"), ("from", "0.4")):
        await tab.evaluate(f"document.querySelector('.filter [name={name}]').value = {value!r}")
    await press(tab, ".filter button.main")
    # The address and the first elements of a page are there before the page is complete.
    await tab.wait_until("document.readyState === 'complete' && document.getElementById('count').innerText === '11'")
    await press(tab, "th[aria-sort] a")
    await tab.wait_until("location.search.includes('sort=title') && document.readyState === 'complete'")
    titles = await tab.evaluate(TITLES)
    assert len(titles) == 11
    assert titles == sorted(titles)
    await tab.evaluate("document.querySelector('[name=scope]').value = 'all'")
    filtered = await download(tab, folder, "owls.csv")
    # One verdict on two checked pages, and its undo.
    await tab.evaluate("document.querySelector('[name=scope]').value = ''")
    await tab.evaluate("[...document.querySelectorAll('.rows [name=url]')].slice(0, 2).forEach(box => box.click())")
    (folder / "owls.csv").unlink()
    checked = await download(tab, folder, "owls.csv")
    await press(tab, ".selection [value=irrelevant]")
    await tab.wait_until("document.getElementById('judged').innerText.includes('2 pages are marked as not relevant')")
    assert await tab.evaluate("document.getElementById('count').innerText") == "11", "the filter stays"
    await press(tab, "#judged button")
    await tab.wait_until("document.readyState === 'complete' && !document.getElementById('judged')")
    assert await tab.evaluate("document.getElementById('count').innerText") == "11"
    return filtered, checked


def test_pages_are_filtered_judged_and_downloaded_like_an_export(tmp_path: Path) -> None:
    create_collection(tmp_path / "owls", [make_page(number, "owls", f"word{number}") for number in range(20)])
    (tmp_path / "downloads").mkdir()

    async def run(origin: str) -> tuple[bytes, bytes]:
        async with open_browser(tmp_path / "profile") as tab:
            return await choose_pages(tab, origin, tmp_path / "downloads")

    with serve_collections([tmp_path]) as client:
        filtered, checked = asyncio.run(run(client.origin))
    command = [sys.executable, "-m", "topicrawl", "export", str(tmp_path / "owls"), "--to", "csv", "--all"]
    options = ["--text-contains", "Page 1", "--relevance", "0.4", "--out", str(tmp_path / "export.csv")]
    subprocess.run([*command, *options], check=True, capture_output=True)
    exported = (tmp_path / "export.csv").read_bytes()
    assert filtered == exported
    rows = checked.splitlines()
    assert len(rows) == 3
    assert set(rows) < set(exported.splitlines())
    store = CollectionStore(tmp_path / "owls" / "topicrawl.sqlite", readonly=True)
    try:
        assert [
            row for row in annotation_log.list_current_annotations(store).values() if row.is_relevant is False
        ] == []
        assert len(annotation_log.list_annotations_since(store, 0)) == 4, "two verdicts, and their undo"
    finally:
        store.close()
