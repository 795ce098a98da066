"""From a topic to an answer that has learned, in a real browser, with the keyboard; and how it looks."""

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
from tests.longer import LONG
from tests.web.browser import BROWSER, Tab, browser
from tests.web.served import Client, served

from topicrawl.lab.sample import SampleWeb
from topicrawl.lab.serve import served as web_served

pytestmark = [
    LONG,
    pytest.mark.skipif(BROWSER is None, reason="no browser here: `apt-get install chromium-headless-shell` brings one"),
]

LOADED = "document.readyState === 'complete'"
#: What is wrong with a page as it stands: wider than its window, texts without contrast, fields without names.
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
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, SampleWeb]]:
    """The made-up web on loopback, and a server that may crawl it."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "shelf").mkdir()
    with web_served(SampleWeb(pages=1200)) as web:
        resolve = ", ".join(f'"{host}=127.0.0.1"' for host in web.hosts)
        config = folder / "settings.toml"
        # A host is asked so rarely that the crawl cannot be at its end before someone pauses it.
        config.write_text(
            f'allow_net = ["127.0.0.0/8"]\nresolve = [{resolve}]\ndelay = 0.2\ntimeout = 2.0\nattempts = 1\n'
            "patience = 2.0\ndocuments = false\n"
        )
        with served([folder / "shelf"], config=config) as client:
            yield client, web


@dataclass
class Story:
    """What is done in the browser, step by step; a step that fails is named."""

    tab: Tab
    client: Client
    web: SampleWeb
    done: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def step(self, name: str) -> AsyncIterator[None]:
        begun = time.monotonic()
        try:
            yield
        except BaseException as error:
            error.add_note(f"at the step “{name}”; before it: {', '.join(self.done) or 'nothing'}")
            raise
        self.done.append(f"{name} ({time.monotonic() - begun:.1f} s)")

    @property
    def at(self) -> str:
        return f"{self.client.own}/c/{NAME}"

    async def press(self, text: str) -> None:
        """A click on the button that says so."""
        found = f"[...document.querySelectorAll('button')].find(it => it.innerText === '{text}')"
        await self.tab.until(found)
        await self.tab.run(f"{found}.click()")

    async def state(self, words: str) -> None:
        """Wait until the page says so; it looks again by itself."""
        await self.tab.until(f"document.querySelector('.state').innerText === '{words}'")

    async def asked(self, path: str) -> Any:
        return await self.tab.run(f"fetch('/api/collections/{NAME}{path}').then(it => it.json())")

    async def waiting(self) -> dict[str, tuple[float, int]]:
        """Links that wait: their scores, and how many reasons readers gave."""
        links = (await self.asked("/next?count=200"))["links"]
        return {link["url"]: (link["score"], len(link["readers"])) for link in links}


async def _crawled(story: Story) -> None:
    """Make a topic, start a crawl of the demo web, watch it, and have it rest."""
    tab, seeds = story.tab, "\\n".join(story.web.seeds("dengue fever"))
    async with story.step("make a topic and start a crawl"):
        await tab.open(f"{story.client.own}/")
        await tab.run(f"""document.querySelector("[name=words]").value = "dengue fever mosquito";
            document.querySelector("[name=seeds]").value = "{seeds}";
            document.querySelector("[name=pages]").value = 5000;
            document.querySelector("form[action='/crawls'] button").click()""")
        await tab.until("document.querySelector('.collections a')")
    async with story.step("watch it"):
        await tab.open(story.at)
        await story.state("crawling")
        for figure in (1, 2):  # pages, and relevant ones
            await tab.until(f"parseInt(document.querySelector('.figures div:nth-child({figure}) dd').innerText) >= 12")
        await tab.until("document.querySelector('#curve polyline').getAttribute('points').split(' ').length > 5")
    async with story.step("pause it"):
        await story.press("Pause")
        await story.state("paused")
        # What was under way when it was told to rest comes back.
        await tab.until(f"fetch('/api/collections/{NAME}').then(it => it.json()).then(it => it.leased === 0)")


async def _steered(story: Story) -> None:
    """Add a word, put a host first, and see both."""
    tab = story.tab
    async with story.step("add a word"):
        await tab.run("document.querySelector('[name=kind][value=word] + label input').value = 'larva'")
        await story.press("Add words")
        await tab.until("document.querySelector('[aria-label=\"take larva out again\"]')")
    async with story.step("put a host first"):
        # One that has a link among the next, so that its reason is to be seen there.
        host = await tab.run("document.querySelector('#coming .url').innerText.split('/')[0]")
        wished = f"document.querySelector('#asked button[aria-label=\"boost {host}\"]')"
        await tab.run(f"document.querySelector('[placeholder=\"www.example.org\"]').value = '{host}'")
        await story.press("Boost")
        await tab.until(f"{wished}?.ariaPressed === 'true' && document.querySelector('#coming .plus')")
        await tab.run(f"{wished}.click()")
        await tab.until(f"{LOADED} && {wished}?.ariaPressed !== 'true'")
        await story.press("larva ×")
        await tab.until("!document.querySelector('#coming .plus')")


async def _reviewed(story: Story) -> None:
    """Walk through the queue with the keyboard, and judge pages until links move."""
    tab = story.tab
    async with story.step("walk through the queue with j and k"):
        await tab.open(f"{story.at}/review")
        for key in "jk":
            place = await tab.run("document.querySelector('[name=place]').value")
            await tab.key(key)
            await tab.until(f"{LOADED} && document.querySelector('[name=place]').value !== '{place}'")
    async with story.step("say unsure, and undo it"):
        first = await tab.run("document.querySelector('[name=url]').value")
        for key, sign in (("u", "!=="), ("z", "===")):
            await tab.key(key)
            await tab.until(f"{LOADED} && document.querySelector('[name=url]').value {sign} '{first}'")
    for turn, key in enumerate("ny" * 10, 1):
        async with story.step(f"verdict {turn}: {key}"):
            url = await tab.run("document.querySelector('[name=url]').value")
            await tab.key(key)
            await tab.until(f"{LOADED} && document.querySelector('[name=url]').value !== '{url}'")
            await tab.until("document.querySelector('#heeded').innerText.includes(' moved')")
            told = await tab.run("document.querySelector('#heeded').innerText")
        if key == "y" and not told.partition(": ")[2].startswith("0 "):
            break


async def _answered(story: Story) -> None:
    """Search, give feedback, see the answer change."""
    tab, found = story.tab, "[...document.querySelectorAll('.hits small.url')].map(it => it.innerText)"
    async with story.step("search"):
        # The index follows the crawl, a moment behind it: let it arrive.
        story.client.site.finder.servers()
        await story.client.site.finder.here.catch_up()
        await tab.open(f"{story.client.own}/search?q=dengue")
        before = await tab.run(found)
        assert len(before) > 2, before
    async with story.step("give feedback, and see the answer change"):
        await tab.run("document.querySelector('.hits button[value=irrelevant]').click()")
        await tab.until(f"{LOADED} && document.querySelector('#learned')")
        after = await tab.run(found)
        assert after != before
        assert after[0] != before[0]


async def _taught(story: Story) -> None:
    """Open a page in the reader, follow a link there, say that it is relevant."""
    tab, seed = story.tab, story.web.seeds("dengue fever")[0]
    async with story.step("open a page to teach"):
        await tab.open(f"{story.at}/teach")
        await tab.run(f"document.querySelector('[name=url]').value = '{seed}'")
        await story.press("Open")
        await tab.until(f"{LOADED} && document.querySelector('.links button')")
    async with story.step("follow a link there"):
        known = {page["url"] for page in (await story.asked("/pages?count=200"))["pages"]} - {seed}
        links = await tab.run("[...document.querySelectorAll('.links button')].map(it => it.value)")
        chosen = next((number for number, url in enumerate(links) if url in known), 0)
        await tab.run(f"document.querySelectorAll('.links button')[{chosen}].click()")
        await tab.until(f"{LOADED} && document.querySelectorAll('#trail + ol li').length === 2")
    async with story.step("say that it is relevant"):
        await tab.key("y")
        await tab.until(f"{LOADED} && document.querySelector('[aria-pressed=true]')?.value === 'relevant'")


async def _told(story: Story) -> None:
    """From a topic to an answer that has learned."""
    tab = story.tab
    await tab.looks(1280)
    await _crawled(story)
    await _steered(story)
    async with story.step("look at the links that wait"):
        before = await story.waiting()
        assert not any(reasons for _, reasons in before.values())
    await _reviewed(story)
    async with story.step("see the frontier change"):
        after = await story.waiting()
        assert [url for url in before if url in after and after[url][1] and after[url][0] != before[url][0]]
        await tab.open(story.at)
        await tab.until("document.querySelector('#heeded').innerText.includes(' moved')")
    async with story.step("resume and stop it"):
        await story.press("Resume")
        await story.state("crawling")
        await story.press("Stop")
        await story.state("stopped")
    await _answered(story)
    await _taught(story)


def _paths(url: str) -> Iterator[tuple[str, str]]:
    """What each page is called, and where it is."""
    one = f"/c/{NAME}"
    yield from (("home", "/"), ("compare", "/compare"), ("error", "/c/nobody"), ("watch", one))
    yield from (("search", "/search?q=dengue"), ("search-empty", "/search?q=xyzzy"), ("search-start", "/search"))
    yield from ((name, f"{one}/{name}") for name in ("review", "pages", "map", "teach"))
    yield from (("failed", f"{one}/pages?show=failed"), ("session", f"{one}/teach?session=session%201"))
    yield "unknown", f"{one}/page?url=http%3A%2F%2Fnobody.example%2F"
    yield "reader", f"{one}/page?url={quote(url, safe='')}"


async def _looked_at(story: Story, url: str) -> None:
    for name, path in _paths(url):
        async with story.step(f"look at {name}"):
            await story.tab.open(story.client.own + path)
            for width, dark in ((1280, False), (390, True), (390, False), (1280, True)):
                await story.tab.looks(width, dark=dark)
                assert await story.tab.run(FAULTS) == [], (path, width, dark)
                if PICTURES:
                    await story.tab.picture(Path(PICTURES) / f"{name}-{width}-{'dark' if dark else 'light'}.png")


def test_from_a_topic_to_an_answer_that_has_learned(demo: tuple[Client, SampleWeb], tmp_path: Path) -> None:
    async def run() -> None:
        async with browser(tmp_path) as tab:
            story = Story(tab, *demo)
            await _told(story)
            url = await tab.run("document.querySelector('[name=url]').value")
            if PICTURES:
                await _compared(story)
            await _looked_at(story, url)
            print(*story.done, sep="\n")  # noqa: T201 - to be seen with -rP

    asyncio.run(run())


async def _compared(story: Story) -> None:
    async with story.step("try strategies"):
        await story.tab.open(f"{story.client.own}/compare")
        await story.tab.run("""for (const name of ["best_first", "breadth_first", "shark_search", "hmm"])
            document.querySelector(`[value=${name}]`).checked = true""")
        await story.press("Try them")
        await story.tab.until(
            f"{LOADED} && document.querySelector('figure') && !document.querySelector('[data-reload]')"
        )
