"""An exception while a page is processed is a named failure, counts as an attempt, and does not end the crawl."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
from tests.helpers.markers import LONG

from topicrawl import parse
from topicrawl.engine.context import CrawlContext
from topicrawl.engine.crawl import Crawl, build_seed_links
from topicrawl.engine.limits import CrawlLimits
from topicrawl.engine.sinks import NullSink, ProcessedVisit
from topicrawl.errors import PluginError
from topicrawl.frontier.base import FrontierRules
from topicrawl.frontier.entry import SET_ASIDE
from topicrawl.frontier.sqlite.frontier import SqliteFrontier
from topicrawl.models import Failure, Link, Page, ParsedResponse, Response, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.base import StrategyContext
from topicrawl.strategies.best_first import BestFirst
from topicrawl.topic import Topic

SEED, BAD, GOOD = "http://a.example/", "http://b.example/", "http://c.example/"
PAGES = {SEED: f"<a href='{BAD}'>x</a><a href='{GOOD}'>y</a>", BAD: "<p>bad", GOOD: "<p>good"}


async def fetch(link: Link) -> Response:
    await asyncio.sleep(0)
    return Response(link.url, link.url, 200, {"content-type": "text/html"}, PAGES[link.url].encode())


@dataclass
class Sink(NullSink):
    visits: list[Visit] = field(default_factory=list)
    retries: list[tuple[str, str, int]] = field(default_factory=list)
    error: Exception | None = None  # raised when the page BAD is stored

    def store_visits(self, processed: Sequence[ProcessedVisit]) -> None:
        if self.error is not None and any(visit.link.url == BAD for visit, _, _ in processed):
            raise self.error
        self.visits += [visit for visit, _, _ in processed]

    def record_retry(self, link: Link, response: Response, attempt: int) -> None:
        self.retries.append((link.url, str(response.failure), attempt))


class FailingVsm(Vsm):
    """Relevance model that raises an exception for the page BAD."""

    error: Exception = ValueError("no score")

    def score(self, page: Page) -> float:
        if page.url == BAD:
            raise self.error
        return super().score(page)


class FailingStrategy(BestFirst):
    """Strategy that raises an exception for the page BAD."""

    def learn(self, visit: Visit) -> None:
        if visit.link.url == BAD and visit.page is not None:
            raise ZeroDivisionError("two\nlines")


class OffLoop:
    """Parser of the page BAD that fails outside the event loop."""

    def is_costly(self, response: Response) -> bool:
        return response.url == BAD

    async def parse_page(self, response: Response, link: Link) -> ParsedResponse:
        failed = Response(response.url, response.url, failure=Failure.PROCESSING, detail="KeyError: x")
        return ParsedResponse(failed)


def build_crawl(path: Path, *, attempts: int = 3, **components: object) -> tuple[Crawl, SqliteFrontier]:
    topic = Topic.of("dengue fever")
    strategy = components.pop("strategy", None) or BestFirst()
    assert isinstance(strategy, BestFirst)
    vsm = Vsm(topic)
    strategy.bind(StrategyContext(topic, vsm, Random(0)))
    frontier = SqliteFrontier(path, FrontierRules(delay=0.0, attempts=attempts), lambda: 1000.0)
    values = {"parse": parse.parse_response, "relevance": vsm, "sink": Sink(), **components}
    context = CrawlContext(
        frontier=frontier,
        fetch=fetch,
        strategy=strategy,
        clock=lambda: 1000.0,
        **values,  # type: ignore[arg-type]
    )
    return Crawl(context, CrawlLimits(concurrency=1)), frontier


async def run_crawl(crawl: Crawl, frontier: SqliteFrontier) -> list[Visit]:
    try:
        await crawl.add_seeds(build_seed_links([SEED]))
        return [visit async for visit in crawl.visits()]
    finally:
        await frontier.close()


def failing_parser(error: BaseException) -> Callable[[Response, Link], Page | Failure]:
    def parse_page(response: Response, link: Link) -> Page | Failure:
        if link.url == BAD:
            raise error
        return parse.parse_response(response, link)

    return parse_page


COMPONENTS: dict[str, tuple[Callable[[], dict[str, object]], str]] = {
    "parser": (lambda: {"parse": failing_parser(ValueError("bad bytes"))}, "ValueError: bad bytes"),
    "memory": (lambda: {"parse": failing_parser(MemoryError())}, "MemoryError: "),
    "recursion": (lambda: {"parse": failing_parser(RecursionError("deep"))}, "RecursionError: deep"),
    "judge": (lambda: {"relevance": FailingVsm(Topic.of("dengue"))}, "ValueError: no score"),
    "strategy": (lambda: {"strategy": FailingStrategy()}, "ZeroDivisionError: two lines"),
    "child process": (lambda: {"off_loop_parser": OffLoop()}, "KeyError: x"),
}


@pytest.mark.parametrize("name", COMPONENTS)
def test_an_exception_is_a_named_failure_after_the_last_attempt(name: str, tmp_path: Path) -> None:
    make, detail = COMPONENTS[name]
    crawl, frontier = build_crawl(tmp_path / "frontier", attempts=23, **make())
    visits = asyncio.run(run_crawl(crawl, frontier))
    assert {visit.link.url: visit.failure for visit in visits} == {SEED: None, BAD: Failure.PROCESSING, GOOD: None}
    (failed,) = [visit for visit in visits if visit.failure]
    assert failed.detail == detail
    assert (failed.page, failed.relevance) == (None, None)
    sink = crawl.context.sink
    assert isinstance(sink, Sink)
    assert sink.retries == [(BAD, "processing_error", 1), (BAD, "processing_error", 2)]
    assert [visit.step for visit in sink.visits] == [1, 2, 3]
    assert (crawl.step, crawl.pages) == (3, 2)


def test_the_attempts_of_earlier_runs_count(tmp_path: Path) -> None:
    async def run_once() -> list[Visit]:
        crawl, frontier = build_crawl(tmp_path / "frontier", attempts=23, **COMPONENTS["parser"][0]())
        sink = crawl.context.sink
        assert isinstance(sink, Sink)
        sink.record_retry = lambda link, response, attempt: crawl.interrupt()  # type: ignore[method-assign]
        return await run_crawl(crawl, frontier)

    failures = [visit.failure for _ in range(3) for visit in asyncio.run(run_once()) if visit.link.url == BAD]
    assert failures == [Failure.PROCESSING]


@pytest.mark.parametrize("error", [RuntimeError("a defect"), MemoryError()])
def test_a_run_that_ends_with_an_exception_counts_as_an_attempt(error: Exception, tmp_path: Path) -> None:
    reasons = []
    for _ in range(3):
        crawl, frontier = build_crawl(tmp_path / "frontier", attempts=2, sink=Sink(error=error))
        try:
            asyncio.run(run_crawl(crawl, frontier))
        except type(error):
            reasons.append("raised")
        else:
            reasons.append("finished")
    assert reasons == ["raised", "raised", "finished"]


def test_an_error_of_a_plugin_ends_the_crawl_and_is_no_attempt(tmp_path: Path) -> None:
    for _ in range(3):
        crawl, frontier = build_crawl(
            tmp_path / "frontier", attempts=2, parse=failing_parser(PluginError("mine:Judge"))
        )
        with pytest.raises(PluginError, match="mine:Judge"):
            asyncio.run(run_crawl(crawl, frontier))


def kill_while_processing(path: Path) -> None:
    """Run a crawl whose process is killed while it parses the page BAD, as by the kernel without memory."""

    def parse_page(response: Response, link: Link) -> Page | Failure:
        if link.url == BAD:
            os.kill(os.getpid(), signal.SIGKILL)
        return parse.parse_response(response, link)

    asyncio.run(run_crawl(*build_crawl(path, attempts=2, parse=parse_page)))


@LONG
def test_a_page_that_kills_the_process_is_set_aside(tmp_path: Path) -> None:
    call = f"from {__name__} import *; kill_while_processing(Path({str(tmp_path / 'frontier')!r}))"
    root = Path(__file__).parents[2]
    codes = [subprocess.run([sys.executable, "-c", call], cwd=root, check=False).returncode for _ in range(3)]
    assert codes == [-signal.SIGKILL, -signal.SIGKILL, 0]

    async def get_reason() -> str:
        _, frontier = build_crawl(tmp_path / "frontier")
        entry = await frontier.get_entry(BAD)
        await frontier.close()
        assert entry is not None
        return entry.reason

    assert asyncio.run(get_reason()) == SET_ASIDE
