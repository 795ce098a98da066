"""Shared crawls: workers share steering, and crawls on one server share URLs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.engine.test_steering import annotate_pages, answer, read_heeded, send_command
from tests.helpers.live_site import live_site
from tests.helpers.markers import LONG
from tests.helpers.redis_server import RedisServer, running

from topicrawl import Settings, Topic, open_crawl
from topicrawl.cluster.worker_tasks import ScoreSubmitter
from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.collection.commands import CommandKind
from topicrawl.engine.crawl import Crawl
from topicrawl.engine.link_filter import LinkFilter
from topicrawl.frontier.base import FrontierRules, Offer
from topicrawl.frontier.redis.frontier import RedisFrontier
from topicrawl.frontier.redis.server import connect_redis
from topicrawl.frontier.redis.shared_crawl import SharedCrawl
from topicrawl.models import Link, Priority

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


async def run_crawl(directory: Path, redis: RedisServer, words: str, seeds: list[str], **given: object) -> list[str]:
    async with worker(directory, redis, words, seeds, **given) as crawl:
        return [visit.url async for visit in crawl.visits()]


async def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    for _ in range(6000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the condition did not hold within a minute")


def opinion(crawl: Crawl, url: str) -> float:
    guidance = crawl.context.link_filter.user_feedback
    assert guidance is not None
    return guidance.preference(Link(url, anchor="more"))


def frontier_of(crawl: Crawl) -> RedisFrontier:
    assert isinstance(crawl.context.frontier, RedisFrontier)
    return crawl.context.frontier


@LONG
def test_annotations_and_commands_reach_all_workers_and_rescore_waiting_links(
    tmp_path: Path, site: str, redis: RedisServer
) -> None:
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))

    async def main() -> None:
        first = await run_crawl(one, redis, "owls", [f"{site}/"])
        assert first == [f"{site}/", f"{site}/owls/1", f"{site}/trains/1"]
        async with worker(two, redis, "owls", [], pages=3) as far, worker(one, redis, "owls", [], pages=3) as near:
            annotate_pages(one, AnnotationLabel.IRRELEVANT, f"{site}/owls/1")
            annotate_pages(one, AnnotationLabel.RELEVANT, f"{site}/trains/1")
            send_command(one, CommandKind.BOOST, "far.example", 0.5)
            await wait_until(lambda: read_heeded(one).get("verdict") == 2)
            await wait_until(lambda: opinion(far, f"{site}/trains/2") > 0)
            best = await frontier_of(far).get_best_entries(4)
            assert [entry.link.url for entry in best] == [f"{site}/trains/{n}" for n in (2, 3, 4, 5)]
            # The number of rescored links is that of the last batch of messages.
            assert "links" in read_heeded(one)
            async with worker(three, redis, "owls", [], pages=3) as late:
                for url in (f"{site}/trains/2", f"{site}/owls/2", "http://far.example/"):
                    assert opinion(far, url) == opinion(near, url) == opinion(late, url) != 0
                send_command(two, CommandKind.STOP)
                await wait_until(lambda: all(crawl._interrupt_reason for crawl in (far, near, late)))
        # Messages are applied once: a worker that rejoins does not rescore the links again.
        async with worker(one, redis, "owls", [], pages=3) as again:
            scores = [entry.priority.score for entry in await frontier_of(again).get_best_entries(4)]
            assert scores == [entry.priority.score for entry in best]

    asyncio.run(main())


@LONG
def test_a_withdrawn_annotation_restores_all_scores(tmp_path: Path, site: str, redis: RedisServer) -> None:
    async def scores(crawl: Crawl) -> dict[str, float]:
        return {
            entry.link.url: round(entry.priority.score, 9) for entry in await frontier_of(crawl).get_best_entries(99)
        }

    async def main() -> None:
        one, two = tmp_path / "one", tmp_path / "two"
        await run_crawl(one, redis, "owls", [f"{site}/"])
        async with worker(one, redis, "owls", []) as near, worker(two, redis, "owls", []):
            before = await scores(near)
            for number, ruling in enumerate(
                (AnnotationLabel.IRRELEVANT, AnnotationLabel.RELEVANT, AnnotationLabel.NONE), 1
            ):
                annotate_pages(one, ruling, f"{site}/owls/1")
                await wait_until(lambda number=number: read_heeded(one).get("verdict") == number)  # type: ignore[misc]
                assert (await scores(near) == before) is (ruling == AnnotationLabel.NONE)

    asyncio.run(main())


def test_a_page_relevant_to_another_crawl_is_shared_if_its_rules_allow(
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
        visited = await run_crawl(tmp_path / "owls", redis, "owls", [f"{site}/"], pages=5)
        passed = {url for url in visited if "/trains/" in url}
        assert passed
        async with worker(tmp_path / "trains", redis, "trains", [], pages=9) as crawl:
            visits = [visit async for visit in crawl.visits()]
            assert passed <= {visit.url for visit in visits}
            (first, *_) = [visit for visit in visits if visit.url in passed]
            assert first.priority.parts[0][0] == "passed by owls"
            base = frontier_of(crawl).key_prefix.rpartition(":")[0]
            waiting = [
                int(await frontier_of(crawl).connection.execute("LLEN", f"{base}:{name}:passed"))
                for name in ("trains", "trains-steam", "trains-bell")
            ]
            # The second crawl may have received URLs from the first one too.
            assert waiting[1] >= len(passed)
            assert waiting[::2] == [0, 0]

    asyncio.run(main())


def test_workers_divide_the_links_that_they_rescore(tmp_path: Path, redis: RedisServer) -> None:
    urls = [f"http://{n}.example/" for n in range(40)]

    async def main() -> None:
        server = await connect_redis(redis.address)
        try:
            shared = SharedCrawl(server, "owls")
            epoch, _ = await shared.create(FrontierRules(), 0, {})
            frontiers = [RedisFrontier(server, shared.key_prefix, epoch, name) for name in ("one", "two")]
            await frontiers[0].add([Offer(Link(url), Priority(0.5)) for url in urls])
            submitters = [ScoreSubmitter(shared, frontier, LinkFilter()) for frontier in frontiers]
            assert all(submitters[0].is_responsible(url) for url in urls), "a single worker rescores all links"
            for frontier in frontiers:
                await frontier.send_heartbeat("{}")
            for submitter in submitters:
                await submitter.count_workers()
            owned = [{url for url in urls if submitter.is_responsible(url)} for submitter in submitters]
            assert all(owned)
            assert (owned[0] | owned[1], owned[0] & owned[1]) == (set(urls), set())
            await submitters[0].submit_scores(dict.fromkeys(urls, 0.75))
            scores = {url: priority.score for url, priority in (await frontiers[0].get_priorities(urls)).items()}
            assert scores == {url: 0.75 if url in owned[0] else 0.5 for url in urls}
        finally:
            await server.close()

    asyncio.run(main())
