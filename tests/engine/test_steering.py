"""Steering: annotations and commands change the order of fetches, during a crawl and after a restart."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.helpers.live_site import live_site

from topicrawl import Settings, Topic, open_crawl
from topicrawl.collection import annotations as annotation_log
from topicrawl.collection import commands
from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.collection.commands import CommandKind
from topicrawl.collection.store import CollectionStore
from topicrawl.engine.crawl import Crawl
from topicrawl.engine.limits import StopReason
from topicrawl.frontier.sqlite.reader import open_reader

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
async def open_steered_crawl(directory: Path, site: str, pages: int) -> AsyncIterator[Crawl]:
    settings = Settings(
        strategy="breadth_first", pages=pages, delay=0.0, allow_net=("127.0.0.0/8",), distinct=False, documents=False
    )
    async with open_crawl(directory, TOPIC, [f"{site}/"], settings) as crawl:
        yield crawl


async def run_crawl(directory: Path, site: str, pages: int) -> list[str]:
    async with open_steered_crawl(directory, site, pages) as crawl:
        return [visit.url.removeprefix(site) async for visit in crawl.visits()]


async def list_best_links(directory: Path) -> list[str]:
    frontier = open_reader(directory / "frontier.sqlite")
    try:
        return [entry.link.url for entry in await frontier.get_best_entries(4)]
    finally:
        await frontier.close()


def send_command(directory: Path, kind: CommandKind, target: str = "", amount: float = 1.0) -> None:
    store = CollectionStore(directory / "topicrawl.sqlite")
    commands.add_command(store, kind, target, amount, at=2e10)
    store.close()


def annotate_pages(directory: Path, ruling: AnnotationLabel, *urls: str) -> None:
    store = CollectionStore(directory / "topicrawl.sqlite")
    annotation_log.annotate(store, urls, ruling, origin="read", at=1.0)
    store.close()


def read_heeded(directory: Path) -> dict[str, object]:
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    try:
        fact = store.get_fact("heeded")
        return dict(fact) if isinstance(fact, dict) else {}
    finally:
        store.close()


def test_after_verdicts_links_like_the_good_page_come_first_and_those_like_the_bad_one_last(
    tmp_path: Path, site: str
) -> None:
    directory = tmp_path / "crawl"
    assert asyncio.run(run_crawl(directory, site, 3)) == ["/", "/owls/1", "/trains/1"]
    annotate_pages(directory, AnnotationLabel.IRRELEVANT, f"{site}/owls/1")
    annotate_pages(directory, AnnotationLabel.RELEVANT, f"{site}/trains/1")
    assert asyncio.run(run_crawl(directory, site, 7)) == [f"/trains/{n}" for n in (2, 3, 4, 5)]
    assert read_heeded(directory)["verdict"] == 2
    assert int(str(read_heeded(directory)["links"])) >= 8


def test_taking_verdicts_back_puts_every_link_where_it_was(tmp_path: Path, site: str) -> None:
    directory = tmp_path / "crawl"
    asyncio.run(run_crawl(directory, site, 2))
    before = asyncio.run(list_best_links(directory))
    for ruling in (AnnotationLabel.IRRELEVANT, AnnotationLabel.RELEVANT):
        annotate_pages(directory, ruling, f"{site}/owls/1")
        asyncio.run(run_crawl(directory, site, 2))
        assert asyncio.run(list_best_links(directory)) != before
        store = CollectionStore(directory / "topicrawl.sqlite")
        assert annotation_log.undo_last_action(store, at=2.0)
        store.close()
        asyncio.run(run_crawl(directory, site, 2))
        assert asyncio.run(list_best_links(directory)) == before


def test_a_judge_that_was_taught_thinks_less_of_pages_like_the_bad_one(tmp_path: Path, site: str) -> None:
    directory = tmp_path / "crawl"
    asyncio.run(run_crawl(directory, site, 2))
    annotate_pages(directory, AnnotationLabel.IRRELEVANT, f"{site}/owls/1")

    async def relevance() -> list[float | None]:
        async with open_steered_crawl(directory, site, 30) as crawl:
            return [visit.relevance async for visit in crawl.visits() if "/owls/2" in visit.link.url]

    plain = tmp_path / "plain"
    asyncio.run(run_crawl(plain, site, 30))
    store = CollectionStore(plain / "topicrawl.sqlite", readonly=True)
    untaught = store.find_visit(f"{site}/owls/2")
    store.close()
    assert untaught is not None
    assert untaught.relevance is not None
    (taught,) = asyncio.run(relevance())[:1]
    assert taught is not None
    assert taught < untaught.relevance


def test_seeds_and_words_are_taken_up_and_a_boosted_host_comes_first(tmp_path: Path, site: str) -> None:
    directory = tmp_path / "crawl"
    asyncio.run(run_crawl(directory, site, 1))
    other = site.replace("127.0.0.1", "127.0.0.2")
    send_command(directory, CommandKind.SEED, f"{other}/elsewhere")
    send_command(directory, CommandKind.WORD, "trains")
    send_command(directory, CommandKind.BOOST, site.removeprefix("http://"), -1.0)
    asyncio.run(run_crawl(directory, site, 1))
    first, *rest = asyncio.run(list_best_links(directory))
    assert first == f"{other}/elsewhere"
    assert all("/trains/" in url for url in rest)
    assert read_heeded(directory)["order"] == 3


def test_a_blocked_host_is_not_asked_and_an_unblocked_one_is(tmp_path: Path, site: str) -> None:
    directory = tmp_path / "crawl"
    asyncio.run(run_crawl(directory, site, 1))
    send_command(directory, CommandKind.BLOCK, site.removeprefix("http://"))
    assert asyncio.run(run_crawl(directory, site, 5)) == []
    send_command(directory, CommandKind.BLOCK, site.removeprefix("http://"), 0.0)
    assert len(asyncio.run(run_crawl(directory, site, 5))) == 4


def test_a_running_crawl_obeys_pause_resume_and_stop_commands(tmp_path: Path, site: str) -> None:
    directory = tmp_path / "crawl"

    async def run_steered_crawl() -> tuple[list[bool], StopReason | None]:
        rests: list[bool] = []
        async with open_steered_crawl(directory, site, 10_000) as crawl:
            wake = crawl.wake

            def on_wake() -> None:
                # Called after each command: record its effect, and send the next command.
                rests.append(crawl.paused)
                send_command(directory, CommandKind.RESUME if crawl.paused else CommandKind.STOP)
                wake()

            crawl.wake = on_wake  # type: ignore[method-assign]
            send_command(directory, CommandKind.PAUSE)
            async for _ in crawl.visits():
                crawl.paused = crawl.paused or not rests  # the site is small, so pause until the first command
        return rests, crawl.stop_reason

    rests, stopped = asyncio.run(run_steered_crawl())
    assert rests[:2] == [True, False]
    assert stopped in (StopReason.INTERRUPTED, StopReason.EMPTY)
