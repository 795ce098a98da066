"""Workers of one crawl believe the same and heed the same readers; crawls on one server pass each other addresses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.live import live_site
from tests.longer import LONG
from tests.redis_server import RedisServer, running
from tests.test_steering import answer, heeded, judged, told

from topicrawl import Settings, Topic, open_crawl
from topicrawl.collection.orders import Order
from topicrawl.collection.verdicts import Ruling
from topicrawl.crawl import Crawl
from topicrawl.frontier.redis import Redis
from topicrawl.records import Link

SETTINGS = Settings(
    strategy="breadth_first",
    pages=3,
    delay=0.0,
    lease=60.0,
    allow_net=("127.0.0.0/8",),
    distinct=False,
    documents=False,
)


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with live_site(answer) as (address, _):
        yield address


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    with running(tmp_path / "redis") as server:
        yield server


@asynccontextmanager
async def worker(
    directory: Path, redis: RedisServer, words: str, seeds: list[str], **given: object
) -> AsyncIterator[Crawl]:
    settings = replace(SETTINGS, frontier=f"{redis.address}#{words}", **given)  # type: ignore[arg-type]
    async with open_crawl(directory, Topic.of(words), seeds, settings) as crawl:
        yield crawl


async def crawled(directory: Path, redis: RedisServer, words: str, seeds: list[str], **given: object) -> list[str]:
    async with worker(directory, redis, words, seeds, **given) as crawl:
        return [visit.url async for visit in crawl.visits()]


async def until(true: Callable[[], bool]) -> None:
    """Wait for what other tasks are about to do."""
    for _ in range(6000):
        if true():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen within a minute")


def opinion(crawl: Crawl, url: str) -> float:
    guidance = crawl.parts.fences.guidance
    assert guidance is not None
    return guidance.opinion(Link(url, anchor="more"))


def frontier_of(crawl: Crawl) -> Redis:
    assert isinstance(crawl.parts.frontier, Redis)
    return crawl.parts.frontier


def test_verdicts_and_wishes_given_to_one_worker_reach_all_and_move_the_links_that_wait(
    tmp_path: Path, site: str, redis: RedisServer
) -> None:
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))

    async def main() -> None:
        first = await crawled(one, redis, "owls", [f"{site}/"])
        assert first == [f"{site}/", f"{site}/owls/1", f"{site}/trains/1"]
        async with worker(two, redis, "owls", [], pages=3) as far, worker(one, redis, "owls", [], pages=3) as near:
            judged(one, Ruling.IRRELEVANT, f"{site}/owls/1")
            judged(one, Ruling.RELEVANT, f"{site}/trains/1")
            told(one, Order.BOOST, "far.example", 0.5)
            await until(lambda: heeded(one).get("verdict") == 2)
            await until(lambda: opinion(far, f"{site}/trains/2") > 0)
            best = await frontier_of(far).best(4)
            assert [entry.link.url for entry in best] == [f"{site}/trains/{n}" for n in (2, 3, 4, 5)]
            # How many links were moved is told of what was heard last, and that may be a part of it.
            assert "links" in heeded(one)
            async with worker(three, redis, "owls", [], pages=3) as late:
                for url in (f"{site}/trains/2", f"{site}/owls/2", "http://far.example/"):
                    assert opinion(far, url) == opinion(near, url) == opinion(late, url) != 0
                told(two, Order.STOP)
                await until(lambda: all(crawl._interrupted for crawl in (far, near, late)))
        # What was said is said once: whoever comes back does not move the links again.
        async with worker(one, redis, "owls", [], pages=3) as again:
            scores = [entry.place.score for entry in await frontier_of(again).best(4)]
            assert scores == [entry.place.score for entry in best]

    asyncio.run(main())


@LONG
def test_a_verdict_that_is_taken_back_puts_every_link_where_it_was(
    tmp_path: Path, site: str, redis: RedisServer
) -> None:
    async def scores(crawl: Crawl) -> dict[str, float]:
        return {entry.link.url: round(entry.place.score, 9) for entry in await frontier_of(crawl).best(99)}

    async def main() -> None:
        one, two = tmp_path / "one", tmp_path / "two"
        await crawled(one, redis, "owls", [f"{site}/"])
        async with worker(one, redis, "owls", []) as near, worker(two, redis, "owls", []):
            before = await scores(near)
            for number, ruling in enumerate((Ruling.IRRELEVANT, Ruling.RELEVANT, Ruling.NONE), 1):
                judged(one, ruling, f"{site}/owls/1")
                await until(lambda number=number: heeded(one).get("verdict") == number)  # type: ignore[misc]
                assert (await scores(near) == before) is (ruling == Ruling.NONE)

    asyncio.run(main())


def test_a_page_that_fits_another_crawls_topic_is_passed_to_it_if_its_rules_allow(
    tmp_path: Path, site: str, redis: RedisServer
) -> None:
    async def main() -> None:
        elsewhere = f"{site}/more/more/more/more/trains"  # a page without links
        others: dict[str, dict[str, object]] = {
            "trains": {},
            "trains steam": {"only": ("else.example",)},
            "trains bell": {"cooperate": False},
        }
        for words, given in others.items():
            name = words.replace(" ", "-")
            seeds = ["http://else.example/"] if given.get("only") else [elsewhere]
            settings = replace(SETTINGS, pages=1, seconds=0.01, frontier=f"{redis.address}#{name}", **given)  # type: ignore[arg-type]
            async with open_crawl(tmp_path / name, Topic.of(words), seeds, settings) as crawl:
                [visit async for visit in crawl.visits()]
        found = await crawled(tmp_path / "owls", redis, "owls", [f"{site}/"], pages=5)
        passed = {url for url in found if "/trains/" in url}
        assert passed
        async with worker(tmp_path / "trains", redis, "trains", [], pages=9) as crawl:
            visits = [visit async for visit in crawl.visits()]
            assert passed <= {visit.url for visit in visits}
            (first, *_) = [visit for visit in visits if visit.url in passed]
            assert first.place.parts[0][0] == "passed by owls"
            base = frontier_of(crawl).base.rpartition(":")[0]
            left = [
                int(await frontier_of(crawl).server.ask("LLEN", f"{base}:{name}:passed"))
                for name in ("trains", "trains-steam", "trains-bell")
            ]
            # The second one may have been passed pages by the first as well.
            assert left[1] >= len(passed)
            assert left[::2] == [0, 0]

    asyncio.run(main())
