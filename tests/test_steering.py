"""A crawl follows its readers: verdicts and orders change what is fetched next, at once and after a restart."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.cli.live import live_site

from topicrawl import Settings, Topic, open_crawl
from topicrawl.budget import Stop
from topicrawl.collection import orders, verdicts
from topicrawl.collection.orders import Order
from topicrawl.collection.store import Store
from topicrawl.collection.verdicts import Ruling
from topicrawl.crawl import Crawl
from topicrawl.frontier.sqlite_look import look

TOPIC = Topic.of("owls")
HUB = "".join(f'<p><a href="/{kind}/{n}">{kind} number {n}</a></p>' for n in range(1, 6) for kind in ("owls", "trains"))


def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
    if path == "/robots.txt":
        return 404, {}, b""
    kind = path.split("/")[1] or "hub"
    links = HUB if path == "/" else f'<a href="/more{path}">{kind} again</a>' if path.count("/") < 5 else ""
    return 200, {}, f"<title>{kind}</title><p>All about {kind} {path} and their nights</p>{links}".encode()


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with live_site(answer) as (address, _):
        yield address


@asynccontextmanager
async def opened(directory: Path, site: str, pages: int) -> AsyncIterator[Crawl]:
    settings = Settings(
        strategy="breadth_first", pages=pages, delay=0.0, allow_net=("127.0.0.0/8",), distinct=False, documents=False
    )
    async with open_crawl(directory, TOPIC, [f"{site}/"], settings) as crawl:
        yield crawl


async def crawled(directory: Path, site: str, pages: int) -> list[str]:
    async with opened(directory, site, pages) as crawl:
        return [visit.url.removeprefix(site) async for visit in crawl.visits()]


async def best(directory: Path) -> list[str]:
    frontier = look(directory / "frontier.sqlite")
    try:
        return [entry.link.url for entry in await frontier.best(4)]
    finally:
        await frontier.close()


def told(directory: Path, kind: Order, target: str = "", amount: float = 1.0) -> None:
    store = Store(directory / "topicrawl.sqlite")
    orders.give(store, kind, target, amount, at=2e10)
    store.close()


def judged(directory: Path, ruling: Ruling, *urls: str) -> None:
    store = Store(directory / "topicrawl.sqlite")
    verdicts.rule(store, urls, ruling, how="read", at=1.0)
    store.close()


def heeded(directory: Path) -> dict[str, object]:
    store = Store(directory / "topicrawl.sqlite", readonly=True)
    try:
        fact = store.fact("heeded")
        return dict(fact) if isinstance(fact, dict) else {}
    finally:
        store.close()


def test_after_verdicts_links_like_the_good_page_come_first_and_those_like_the_bad_one_last(
    tmp_path: Path, site: str
) -> None:
    directory = tmp_path / "crawl"
    assert asyncio.run(crawled(directory, site, 3)) == ["/", "/owls/1", "/trains/1"]
    judged(directory, Ruling.IRRELEVANT, f"{site}/owls/1")
    judged(directory, Ruling.RELEVANT, f"{site}/trains/1")
    assert asyncio.run(crawled(directory, site, 7)) == [f"/trains/{n}" for n in (2, 3, 4, 5)]
    assert heeded(directory)["verdict"] == 2
    assert int(str(heeded(directory)["links"])) >= 8


def test_taking_verdicts_back_puts_every_link_where_it_was(tmp_path: Path, site: str) -> None:
    directory = tmp_path / "crawl"
    asyncio.run(crawled(directory, site, 2))
    before = asyncio.run(best(directory))
    for ruling in (Ruling.IRRELEVANT, Ruling.RELEVANT):
        judged(directory, ruling, f"{site}/owls/1")
        asyncio.run(crawled(directory, site, 2))
        assert asyncio.run(best(directory)) != before
        store = Store(directory / "topicrawl.sqlite")
        assert verdicts.undo(store, at=2.0)
        store.close()
        asyncio.run(crawled(directory, site, 2))
        assert asyncio.run(best(directory)) == before


def test_a_judge_that_was_taught_thinks_less_of_pages_like_the_bad_one(tmp_path: Path, site: str) -> None:
    directory = tmp_path / "crawl"
    asyncio.run(crawled(directory, site, 2))
    judged(directory, Ruling.IRRELEVANT, f"{site}/owls/1")

    async def relevance() -> list[float | None]:
        async with opened(directory, site, 30) as crawl:
            return [visit.relevance async for visit in crawl.visits() if "/owls/2" in visit.link.url]

    plain = tmp_path / "plain"
    asyncio.run(crawled(plain, site, 30))
    store = Store(plain / "topicrawl.sqlite", readonly=True)
    untaught = store.visit_of(f"{site}/owls/2")
    store.close()
    assert untaught is not None
    assert untaught.relevance is not None
    (taught,) = asyncio.run(relevance())[:1]
    assert taught is not None
    assert taught < untaught.relevance


def test_seeds_and_words_are_taken_up_and_a_boosted_host_comes_first(tmp_path: Path, site: str) -> None:
    directory = tmp_path / "crawl"
    asyncio.run(crawled(directory, site, 1))
    other = site.replace("127.0.0.1", "127.0.0.2")
    told(directory, Order.SEED, f"{other}/elsewhere")
    told(directory, Order.WORD, "trains")
    told(directory, Order.BOOST, site.removeprefix("http://"), -1.0)
    asyncio.run(crawled(directory, site, 1))
    first, *rest = asyncio.run(best(directory))
    assert first == f"{other}/elsewhere"
    assert all("/trains/" in url for url in rest)
    assert heeded(directory)["order"] == 3


def test_a_blocked_host_is_not_asked_and_an_unblocked_one_is(tmp_path: Path, site: str) -> None:
    directory = tmp_path / "crawl"
    asyncio.run(crawled(directory, site, 1))
    told(directory, Order.BLOCK, site.removeprefix("http://"))
    assert asyncio.run(crawled(directory, site, 5)) == []
    told(directory, Order.BLOCK, site.removeprefix("http://"), 0.0)
    assert len(asyncio.run(crawled(directory, site, 5))) == 4


def test_a_running_crawl_pauses_goes_on_and_stops_when_it_is_told(tmp_path: Path, site: str) -> None:
    directory = tmp_path / "crawl"

    async def steered() -> tuple[list[bool], Stop | None]:
        rests: list[bool] = []
        async with opened(directory, site, 10_000) as crawl:
            wake = crawl.wake

            def followed() -> None:
                # Called when an order was obeyed: note what came of it, and give the next one.
                rests.append(crawl.paused)
                told(directory, Order.RESUME if crawl.paused else Order.STOP)
                wake()

            crawl.wake = followed  # type: ignore[method-assign]
            told(directory, Order.PAUSE)
            async for _ in crawl.visits():
                crawl.paused = crawl.paused or not rests  # the site is small: wait for the first order
        return rests, crawl.stopped

    rests, stopped = asyncio.run(steered())
    assert rests[:2] == [True, False]
    assert stopped in (Stop.INTERRUPTED, Stop.EMPTY)
