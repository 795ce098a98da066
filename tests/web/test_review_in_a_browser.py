"""Review in a browser: a key press is one verdict on the page that is shown, and samples decide on their groups."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.helpers.browser import BROWSER, BrowserTab, open_browser
from tests.helpers.markers import LONG
from tests.helpers.review_site import SECTIONS, crawl_review_site
from tests.helpers.search_collections import create_collection, make_page
from tests.helpers.web_client import WebClient, serve_collections

from topicrawl.collection import annotations as annotation_log
from topicrawl.collection.store import CollectionStore

pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no browser here: `apt-get install chromium-headless-shell` brings one"
)
PAGES = 80
READY = "document.getElementById('review').dataset.ready === 'yes'"


def review_in_browser(
    tmp_path: Path, review: Callable[[BrowserTab, WebClient], Awaitable[None]]
) -> list[tuple[str, str]]:
    """Open the review page of a collection in a browser. Return the verdicts: the part of the URL and the label."""
    create_collection(tmp_path / "owls", [make_page(number, "owls", f"word{number}") for number in range(PAGES)])

    async def run(client: WebClient) -> None:
        async with open_browser(tmp_path) as tab:
            await tab.open(f"{client.origin}/c/owls/review")
            await tab.wait_until(READY)
            await review(tab, client)

    with serve_collections([tmp_path]) as client:
        asyncio.run(run(client))
    store = CollectionStore(tmp_path / "owls" / "topicrawl.sqlite", readonly=True)
    try:
        return [(row.url, str(row.label)) for row in annotation_log.list_current_annotations(store).values()]
    finally:
        store.close()


async def press_keys(tab: BrowserTab, keys: str) -> None:
    """Press keys as fast as the browser accepts them."""
    for key in keys:
        await tab.run_command("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
        # A key that is held down must not give a second verdict.
        await tab.run_command("Input.dispatchKeyEvent", type="keyDown", key=key, text=key, autoRepeat=True)
        await tab.run_command("Input.dispatchKeyEvent", type="keyUp", key=key)


async def wait_for_count(tab: BrowserTab, count: int) -> None:
    await tab.wait_until(f"document.querySelector('[data-count=reviewed]').textContent === '{count}'")


def test_ten_fast_key_presses_write_ten_verdicts_on_ten_pages(tmp_path: Path) -> None:
    keys, expected = "ynuynuynyn", []

    async def review(tab: BrowserTab, client: WebClient) -> None:
        pages = json.loads(await tab.evaluate("document.getElementById('review').dataset.pages"))
        labels = {"y": "relevant", "n": "irrelevant", "u": "unsure"}
        expected.extend((page["url"], labels[key]) for page, key in zip(pages, keys, strict=False))
        await press_keys(tab, keys)
        await wait_for_count(tab, 10)
        assert await tab.evaluate("document.querySelector('#verdict [name=url]').value") == pages[10]["url"]

    verdicts = review_in_browser(tmp_path, review)
    assert verdicts == expected
    assert len({url for url, _ in verdicts}) == 10


@LONG
def test_undo_restores_each_page_and_help_lists_the_keys(tmp_path: Path) -> None:
    async def review(tab: BrowserTab, client: WebClient) -> None:
        pages = [
            page["url"] for page in json.loads(await tab.evaluate("document.getElementById('review').dataset.pages"))
        ]
        shown = "document.querySelector('#verdict [name=url]').value"
        await press_keys(tab, "yyy")
        await wait_for_count(tab, 3)
        for left in (2, 1):
            await tab.press_key("z")
            await tab.wait_until(f"{shown} === '{pages[left]}'")
            await wait_for_count(tab, left)
        # Keys do nothing while the help is open.
        await tab.press_key("?")
        await tab.wait_until("document.getElementById('help').open")
        await tab.press_key("n")
        await tab.evaluate("document.getElementById('help').close()")
        # Another page of the queue can be shown first; its verdict does not change the others.
        await tab.press_key("j")
        await tab.wait_until(f"{shown} === '{pages[2]}'")
        await tab.press_key("u")
        await wait_for_count(tab, 2)
        # A note and a tag are stored in place.
        await tab.evaluate("""document.querySelector('#notes [name=note]').value = 'a <b>good</b> page';
            document.querySelector('#notes [name=tags]').value = 'Barn, tawny';
            document.querySelector('#notes .row button').click()""")
        await tab.wait_until("document.querySelector('#notes li')?.innerText.includes('a <b>good</b> page')")
        assert await tab.evaluate("document.querySelector('#notes [name=tags]').value") == "barn, tawny"
        # A verdict that the server refuses puts the page back.
        await tab.run_command("Network.enable")
        await tab.run_command(
            "Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1
        )
        await tab.press_key("n")
        await tab.wait_until("document.getElementById('message').textContent.includes('was not stored')")

    verdicts = review_in_browser(tmp_path, review)
    assert [label for _, label in verdicts] == ["relevant", "unsure"]


#: Request of the page table for a download of the relevant pages, as its form sends it.
DOWNLOAD = """fetch('/c/crawl/pages/download', {method: 'POST', headers: {'Content-Type':
    'application/x-www-form-urlencoded'}, body: 'scope=all&query=show%3Drelevant&format=jsonl'})
    .then(response => response.text())"""


async def review_by_sample(tab: BrowserTab, origin: str) -> None:
    """Accept the group "ponds" and reject the group "planes" by their samples, then accept the undoubted pages."""
    await tab.open(f"{origin}/c/crawl/review")
    await tab.wait_until(READY)
    queue = json.loads(await tab.evaluate("document.getElementById('review').dataset.pages"))
    shown = "document.querySelector('#verdict [name=url]').value"
    for number, page in enumerate(queue):
        await tab.wait_until(f"{shown} === {json.dumps(page['url'])}")
        await press_keys(tab, "y" if "/ponds/" in page["url"] or "/clinic/" in page["url"] else "n")
        await wait_for_count(tab, number + 1)
    decided = [
        f"document.querySelector('[data-count={name}]').textContent === '1'" for name in ("accepted", "rejected")
    ]
    await tab.wait_until(" && ".join(decided))
    await tab.evaluate("document.querySelector('form[action$=\"/review/groups\"] button').click()")
    await tab.wait_until("!document.querySelector('form[action$=\"/review/groups\"] button')")


@LONG
def test_export_contains_what_a_review_by_samples_decides(tmp_path: Path) -> None:
    address = crawl_review_site(tmp_path / "crawl")

    async def run(client: WebClient) -> str:
        async with open_browser(tmp_path) as tab:
            await review_by_sample(tab, client.origin)
            await tab.open(f"{client.origin}/c/crawl/review/groups")
            for name, decision in (("planes", "rejected"), ("ponds", "accepted")):
                row = f"[...document.querySelectorAll('tr')].find(row => row.innerText.includes('/{name}/'))"
                assert await tab.evaluate(f"{row}.querySelector('[data-label=Decision]').innerText") == decision
            return str(await tab.evaluate(DOWNLOAD))

    with serve_collections([tmp_path / "crawl"]) as client:
        downloaded = asyncio.run(run(client))
        exported = client.get("/api/collections/crawl/export").text
    expected = sorted(f"{address}/{name}/{n}" for name in ("clinic", "ponds") for n in range(SECTIONS[name][0]))
    for lines in (downloaded, exported):
        assert sorted(json.loads(line)["url"] for line in lines.splitlines()) == expected
