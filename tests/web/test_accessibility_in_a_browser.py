"""Check all pages of the web application with axe-core at four widths, light and dark: WCAG 2.2 AA, width and targets.

With TOPICRAWL_PICTURES=DIR, the test also saves screenshots of all pages.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from tests.helpers.browser import BROWSER, BrowserTab, open_browser
from tests.helpers.markers import LONG
from tests.helpers.web_client import WebClient, serve_collections

pytestmark = [
    LONG,
    pytest.mark.skipif(BROWSER is None, reason="no browser here: `apt-get install chromium-headless-shell` brings one"),
]
AXE = (Path(__file__).parents[1] / "vendor" / "axe-core" / "axe.min.js").read_text("utf-8")
WIDTHS = (1440, 768, 390, 320)
PICTURES = os.environ.get("TOPICRAWL_PICTURES", "")
#: Returns the violations of WCAG 2.2 AA and of the best practices of axe-core.
RUN_AXE = """axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    resultTypes: ["violations"]}).then(result => result.violations.map(rule =>
    `${rule.id}: ${rule.nodes.slice(0, 3).map(node => node.target.join(" ")).join(", ")}`))"""
#: Returns the controls smaller than 44 pixels. Links within sentences and notes are exempt.
FIND_SMALL_TARGETS = """[...document.querySelectorAll("a, button, select, summary, textarea, input:not([type=hidden])")]
    .filter(control => control.offsetParent && !control.matches(".skip, p:not(.bar) *, blockquote *, .note *, small *"))
    .map(control => [control, (control.closest("label") ?? control).getBoundingClientRect()])
    .filter(([, box]) => box.width < 43.5 || box.height < 43.5)
    .map(([control, box]) => `small: ${control.outerHTML.slice(0, 80)} ${box.width | 0} x ${box.height | 0}`)"""
IS_TOO_WIDE = "document.documentElement.scrollWidth > innerWidth"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebClient]:
    """Serve the collections of a demo, with verdicts, a comparison and a browsing session."""
    folder = tmp_path_factory.mktemp("demo") / "crawls"
    command = [sys.executable, "-m", "topicrawl", "demo", "--pages", "60", "--out", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    with serve_collections([folder]) as client:
        urls = [
            page["url"] for page in json.loads(client.get("/api/collections/apprentice/pages", count=6).text)["pages"]
        ]
        client.post("/reviewer", name="Ada")
        for url, verdict in zip(urls, ("relevant", "irrelevant", "unsure"), strict=False):
            assert client.post("/c/apprentice/review", url=url, verdict=verdict).status == 303
        assert client.post("/c/apprentice/notes", url=urls[0], note="a note", tags="tag", has_tags="1").status == 303
        assert client.post("/c/apprentice/teach", session="one", url=urls[0]).status == 303
        assert client.post("/compare", name="apprentice", strategy="breadth_first", fetches=20).status == 303
        client.site.jobs.wait()
        client.site.search.refresh_servers()
        asyncio.run(client.site.search.local_server.update_indexes())
        yield client


def list_paths(client: WebClient) -> dict[str, str]:
    """Return the paths of all pages by a short name."""
    one = "/c/apprentice"
    url = json.loads(client.get("/api/collections/apprentice/pages", count=1).text)["pages"][0]["url"]
    page = quote(url, safe="")
    names = {"watch": "", **{name: f"/{name}" for name in ("review", "pages", "teach", "map", "settings", "remove")}}
    names |= {"groups": "/review/groups", "reviewers": "/review/agreement", "failed": "/pages?show=failed"}
    names |= {
        "reader": f"/page?url={page}",
        "why": f"/why?url={page}",
        "unknown": "/page?url=http%3A%2F%2Fa.example%2F",
    }
    names |= {"host": f"/host?name={urlsplit(url).hostname}", "session": "/teach?session=one"}
    others = {"home": "/", "compare": "/compare?name=apprentice", "search": "/search?q=dengue", "help": "/search"}
    return others | {"error": "/c/none"} | {name: one + path for name, path in names.items()}


async def find_faults(tab: BrowserTab, name: str) -> list[str]:
    """Return the faults of the page in a tab at all widths, light and dark."""
    faults = []
    await tab.evaluate(f"{AXE};0")
    for width in WIDTHS:
        for is_dark in (False, True):
            await tab.set_viewport(width, dark=is_dark)
            found = await tab.evaluate(RUN_AXE)
            if not is_dark:
                found += await tab.evaluate(FIND_SMALL_TARGETS)
            if await tab.evaluate(IS_TOO_WIDE):
                found.append("wider than the window")
            faults += [f"{name} at {width}{' dark' if is_dark else ''}: {fault}" for fault in found]
            if PICTURES:
                path = Path(PICTURES) / f"{name}-{width}-{'dark' if is_dark else 'light'}.png"
                await tab.save_screenshot(path)
    return faults


def test_all_pages_meet_wcag_and_fit_into_narrow_windows(client: WebClient, tmp_path: Path) -> None:
    async def run() -> list[str]:
        faults = []
        async with open_browser(tmp_path) as tab:
            for name, path in list_paths(client).items():
                await tab.open(client.origin + path)
                title = await tab.evaluate("document.title")
                assert name == "error" or not title[0].isdecimal(), f"{name} is an error page: {title}"
                faults += await find_faults(tab, name)
        return faults

    faults = asyncio.run(run())
    assert not faults, "\n".join(faults)


def test_page_that_asks_for_the_token_meets_wcag_and_accepts_it(tmp_path: Path) -> None:
    (tmp_path / "shelf").mkdir()

    async def run(client: WebClient) -> list[str]:
        async with open_browser(tmp_path) as tab:
            await tab.open(f"{client.origin}/")
            # The policy of this page allows no other script; the check is a part of the test, not of the page.
            faults = await find_faults(tab, "token")
            await tab.evaluate("document.querySelector('[name=token]').value = 'secret'")
            await tab.evaluate("document.querySelector('form button').click()")
            await tab.wait_until("document.querySelector('h1')?.innerText === 'Collections'")
            assert "secret" not in await tab.evaluate("location.href")
            return faults

    with serve_collections([tmp_path / "shelf"], token="secret") as client:
        assert asyncio.run(run(client)) == []
