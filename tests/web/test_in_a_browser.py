"""End-to-end test of the web application in a browser, from a new crawl to feedback, and checks of the layout."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.helpers.browser import BROWSER, BrowserTab, open_browser
from tests.helpers.markers import LONG
from tests.helpers.web_client import WebClient, serve_collections

from topicrawl.sample_web.server import serve_in_subprocess as web_served
from topicrawl.sample_web.web import SampleWeb

pytestmark = [
    LONG,
    pytest.mark.skipif(BROWSER is None, reason="no browser here: `apt-get install chromium-headless-shell` brings one"),
]

LOADED = "document.readyState === 'complete'"
#: Returns the faults of a page: wider than the window, texts with little contrast, fields without labels.
FAULTS = """(() => {
  const faults = [];
  if (document.documentElement.scrollWidth > innerWidth + 1) faults.push("wider than the window");
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!c.endsWith(", 0)")) return c; } return "rgb(255, 255, 255)"; };
  for (const e of document.querySelectorAll("p, a, h1, h2, h3, td, th, small, button, label, dt, dd, li")) {
    if (!e.innerText.trim() || e.offsetParent === null) continue;
    const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort();
    if ((Math.max(a, b) + .05) / (Math.min(a, b) + .05) < 4.5) faults.push("contrast: " + e.innerText.slice(0, 40));
  }
  for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea"))
    if (!e.labels.length && !e.ariaLabel) faults.push("no name: " + e.name);
  if (document.querySelectorAll("h1").length !== 1 || !document.documentElement.lang) faults.push("headings");
  return faults;
})()"""  # noqa: E501 - a script


NAME = "dengue-fever-mosquito"
PICTURES = os.environ.get("TOPICRAWL_PICTURES", "")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[WebClient, SampleWeb]]:
    """Serve the sample web on the loopback interface, and run a web application that may crawl it."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "shelf").mkdir()
    with web_served(SampleWeb(pages=1200)) as web:
        resolve = ", ".join(f'"{host}=127.0.0.1"' for host in web.hosts)
        config = folder / "settings.toml"
        # The crawl delay is long, so that the crawl cannot finish before the test pauses it.
        config.write_text(
            f'allow_net = ["127.0.0.0/8"]\nresolve = [{resolve}]\ndelay = 0.2\ntimeout = 2.0\nattempts = 1\n'
            "patience = 2.0\ndocuments = false\n"
        )
        with serve_collections([folder / "shelf"], config=config) as client:
            yield client, web


@dataclass
class Story:
    """The steps of the test in the browser; the error of a failed step names the step."""

    tab: BrowserTab
    client: WebClient
    web: SampleWeb
    done: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def step(self, name: str) -> AsyncIterator[None]:
        started = time.monotonic()
        try:
            yield
        except BaseException as error:
            error.add_note(f"at the step “{name}”; before it: {', '.join(self.done) or 'nothing'}")
            raise
        self.done.append(f"{name} ({time.monotonic() - started:.1f} s)")

    @property
    def at(self) -> str:
        return f"{self.client.origin}/c/{NAME}"

    async def press(self, text: str) -> None:
        """Click on the button with the given text."""
        button = f"[...document.querySelectorAll('button')].find(it => it.innerText === '{text}')"
        await self.tab.wait_until(button)
        await self.tab.evaluate(f"{button}.click()")

    async def wait_for_state(self, label: str) -> None:
        """Wait until the page shows the given state; the page updates itself."""
        await self.tab.wait_until(f"document.querySelector('.state').innerText === '{label}'")

    async def get_json(self, path: str) -> Any:
        """Request a path of the collection from the API."""
        return await self.tab.evaluate(f"fetch('/api/collections/{NAME}{path}').then(it => it.json())")

    async def list_waiting(self) -> dict[str, tuple[float, int]]:
        """Return the waiting links with their scores and the number of effects of user feedback."""
        links = (await self.get_json("/next?count=200"))["links"]
        return {link["url"]: (link["score"], len(link["feedback"])) for link in links}


async def _crawl(story: Story) -> None:
    """Start a crawl of the sample web, watch it, and pause it."""
    tab, seeds = story.tab, "\\n".join(story.web.get_seeds("dengue fever"))
    async with story.step("start a crawl"):
        await tab.open(f"{story.client.origin}/")
        await tab.evaluate(f"""document.querySelector("[name=words]").value = "dengue fever mosquito";
            document.querySelector("[name=seeds]").value = "{seeds}";
            document.querySelector("[name=pages]").value = 5000;
            document.querySelector("form[action='/crawls'] button.main").click()""")
        await tab.wait_until(f"location.pathname === '/c/{NAME}' && document.querySelector('.figures')")
    async with story.step("watch it"):
        await tab.open(story.at)
        await story.wait_for_state("crawling")
        for figure in (1, 2):  # pages, and relevant ones
            await tab.wait_until(
                f"parseInt(document.querySelector('.figures div:nth-child({figure}) dd').innerText) >= 12"
            )
        await tab.wait_until("document.querySelector('#curve canvas')")
    async with story.step("pause it"):
        await story.press("Pause")
        await story.wait_for_state("paused")
        # Wait for the requests in flight.
        await tab.wait_until(f"fetch('/api/collections/{NAME}').then(it => it.json()).then(it => it.leased === 0)")


async def _steer(story: Story) -> None:
    """Add a word and boost a host, and check the effect of both."""
    tab = story.tab
    async with story.step("add a word"):
        await tab.evaluate("document.querySelector('[name=kind][value=word] + label input').value = 'larva'")
        await story.press("Add words")
        await tab.wait_until("document.querySelector('[aria-label=\"remove larva\"]')")
    async with story.step("boost a host"):
        # The host of one of the next links, so that the page shows the effect there.
        host = await tab.evaluate("document.querySelector('#coming .url').innerText.split('/')[0]")
        button = f"document.querySelector('#asked button[aria-label=\"boost {host}\"]')"
        await tab.evaluate(f"document.querySelector('[placeholder=\"www.example.org\"]').value = '{host}'")
        await story.press("Boost")
        await tab.wait_until(f"{button}?.ariaPressed === 'true' && document.querySelector('#coming .plus')")
        await tab.evaluate(f"{button}.click()")
        await tab.wait_until(f"{LOADED} && {button}?.ariaPressed !== 'true'")
        await story.press("larva ×")
        await tab.wait_until("!document.querySelector('#coming .plus')")


async def _review(story: Story) -> None:
    """Go through the review queue with the keyboard, and annotate pages."""
    tab = story.tab
    shown = "document.querySelector('#verdict [name=url]').value"
    async with story.step("go through the queue with j and k"):
        await tab.open(f"{story.at}/review")
        await tab.wait_until("document.getElementById('review').dataset.ready")
        for key in "jk":
            url = await tab.evaluate(shown)
            await tab.press_key(key)
            await tab.wait_until(f"{shown} && {shown} !== '{url}'")
    async with story.step("annotate a page as unsure, and undo it"):
        first = await tab.evaluate(shown)
        await tab.press_key("u")
        await tab.wait_until(f"{shown} !== '{first}'")
        await tab.press_key("z")
        await tab.wait_until(f"{shown} === '{first}'")
    for turn, key in enumerate("nyny", 1):
        async with story.step(f"verdict {turn}: {key}"):
            url = await tab.evaluate(shown)
            await tab.press_key(key)
            await tab.wait_until(f"{shown} !== '{url}'")
    async with story.step("wait until the crawl has applied the verdicts"):
        applied = "document.querySelector('#heeded').innerText"
        await tab.wait_until(f"{applied}.includes(' moved') && !{applied}.includes('will be applied')")


async def _search(story: Story) -> None:
    """Search, give feedback, and check that the results change."""
    tab, urls = story.tab, "[...document.querySelectorAll('.hits small.url')].map(it => it.innerText)"
    async with story.step("search"):
        # Update the index, which is otherwise updated a moment after the crawl.
        story.client.site.search.refresh_servers()
        await story.client.site.search.local_server.update_indexes()
        await tab.open(f"{story.client.origin}/search?q=dengue")
        before = await tab.evaluate(urls)
        assert len(before) > 2, before
    async with story.step("give feedback, and check that the results change"):
        await tab.evaluate("document.querySelector('.hits button[value=irrelevant]').click()")
        await tab.wait_until(f"{LOADED} && document.querySelector('#learned')")
        after = await tab.evaluate(urls)
        assert after != before
        assert after[0] != before[0]


async def _train(story: Story) -> None:
    """Open a page in a session, follow a link, and mark the page as relevant."""
    tab, seed = story.tab, story.web.get_seeds("dengue fever")[0]
    async with story.step("open a page in a session"):
        await tab.open(f"{story.at}/teach")
        await tab.evaluate(f"document.querySelector('[name=url]').value = '{seed}'")
        await story.press("Open")
        await tab.wait_until(f"{LOADED} && document.querySelector('.links button')")
    async with story.step("follow a link"):
        fetched = {page["url"] for page in (await story.get_json("/pages?count=200"))["pages"]} - {seed}
        links = await tab.evaluate("[...document.querySelectorAll('.links button')].map(it => it.value)")
        chosen = next((number for number, url in enumerate(links) if url in fetched), 0)
        await tab.evaluate(f"document.querySelectorAll('.links button')[{chosen}].click()")
        await tab.wait_until(f"{LOADED} && document.querySelectorAll('#trail + ol li').length === 2")
    async with story.step("mark the page as relevant"):
        await tab.press_key("y")
        await tab.wait_until(f"{LOADED} && document.querySelector('[aria-pressed=true]')?.value === 'relevant'")


async def _run_all_steps(story: Story) -> None:
    """Run all steps, from a new crawl to search with feedback."""
    tab = story.tab
    await tab.set_viewport(1280)
    await _crawl(story)
    await _steer(story)
    async with story.step("list the waiting links"):
        before = await story.list_waiting()
        assert not any(reasons for _, reasons in before.values())
    await _review(story)
    async with story.step("check that the frontier has changed"):
        # The crawl applies verdicts twice a second.
        for _ in range(40):
            after = await story.list_waiting()
            if changed := [url for url in before if url in after and after[url][1] and after[url][0] != before[url][0]]:
                break
            await asyncio.sleep(0.25)
        assert changed
        await tab.open(story.at)
        await tab.wait_until("document.querySelector('#heeded').innerText.includes(' moved')")
    async with story.step("resume and stop the crawl"):
        await story.press("Resume")
        await story.wait_for_state("crawling")
        await story.press("Stop")
        await story.wait_for_state("stopped")
    await _search(story)
    await _train(story)


def _list_paths(url: str) -> Iterator[tuple[str, str]]:
    """Yield a name and the path of each page of the application."""
    one = f"/c/{NAME}"
    yield from (("home", "/"), ("compare", "/compare"), ("error", "/c/unknown"), ("watch", one))
    yield from (("search", "/search?q=dengue"), ("search-empty", "/search?q=xyzzy"), ("search-start", "/search"))
    yield from ((name, f"{one}/{name}") for name in ("review", "pages", "map", "teach"))
    yield from (("failed", f"{one}/pages?show=failed"), ("session", f"{one}/teach?session=session%201"))
    yield "unknown", f"{one}/page?url=http%3A%2F%2Funknown.example%2F"
    yield "reader", f"{one}/page?url={quote(url, safe='')}"


async def _check_layout(story: Story, url: str) -> None:
    for name, path in _list_paths(url):
        async with story.step(f"check the layout of {name}"):
            await story.tab.open(story.client.origin + path)
            for width, dark in ((1280, False), (390, True), (390, False), (1280, True)):
                await story.tab.set_viewport(width, dark=dark)
                assert await story.tab.evaluate(FAULTS) == [], (path, width, dark)
                if PICTURES:
                    await story.tab.save_screenshot(
                        Path(PICTURES) / f"{name}-{width}-{'dark' if dark else 'light'}.png"
                    )


def test_from_a_new_crawl_to_search_with_feedback(demo: tuple[WebClient, SampleWeb], tmp_path: Path) -> None:
    async def run() -> None:
        async with open_browser(tmp_path) as tab:
            story = Story(tab, *demo)
            await _run_all_steps(story)
            url = await tab.evaluate("document.querySelector('[name=url]').value")
            if PICTURES:
                await _compare(story)
            await _check_layout(story, url)
            print(*story.done, sep="\n")  # noqa: T201 - shown with -rP

    asyncio.run(run())


async def _compare(story: Story) -> None:
    async with story.step("compare strategies"):
        await story.tab.open(f"{story.client.origin}/compare")
        await story.tab.evaluate("""for (const name of ["best_first", "breadth_first", "shark_search", "hmm"])
            document.querySelector(`[value=${name}]`).checked = true""")
        await story.press("Compare")
        await story.tab.wait_until(
            f"{LOADED} && document.querySelector('figure') && !document.querySelector('[data-reload]')"
        )
