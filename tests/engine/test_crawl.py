"""The crawl loop: order of fetches, stored visits, retries, limits and stop reasons."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import pytest

from topicrawl import parse
from topicrawl.engine import page_processing
from topicrawl.engine.context import CrawlContext
from topicrawl.engine.crawl import Crawl, build_seed_links
from topicrawl.engine.limits import CrawlLimits, StopReason
from topicrawl.engine.link_filter import LinkFilter
from topicrawl.engine.scheduling import OutlinkDecision
from topicrawl.engine.sinks import NullSink, ProcessedVisit
from topicrawl.errors import SpaceError
from topicrawl.frontier.base import Completion, FrontierRules
from topicrawl.frontier.memory import MemoryFrontier
from topicrawl.models import Failure, Link, Priority, RedirectHop, Refusal, Response, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import create_strategy
from topicrawl.strategies.base import Strategy, StrategyContext
from topicrawl.strategies.best_first import BestFirst
from topicrawl.topic import Topic
from topicrawl.urls import get_host

TOPIC = Topic.of("dengue fever")
A, B, C, D = (f"http://{name}.example/" for name in "abcd")


def html(text: str = "", links: Sequence[tuple[str, str]] = (), head: str = "") -> bytes:
    anchors = "".join(f'<p><a href="{url}">{anchor}</a></p>' for url, anchor in links)
    return f"<html><head><title>t</title>{head}</head><body><p>{text}</p>{anchors}</body></html>".encode()


Answer = bytes | Failure | str  # a page, a failure, or a redirect target


@dataclass
class Web:
    """Fetch function for a few pages. A list of answers is returned one by one; the last one repeats."""

    pages: Mapping[str, Answer | list[Answer]]
    asked: list[str] = field(default_factory=list)
    now: float = 1000.0

    async def __call__(self, link: Link) -> Response:
        await asyncio.sleep(0)
        self.asked.append(link.url)
        hops: list[RedirectHop] = []
        url = link.url
        while True:
            answer = self.pages.get(url, Failure.NOT_FOUND)
            if isinstance(answer, list):
                answer = answer.pop(0) if len(answer) > 1 else answer[0]
            if isinstance(answer, Failure):
                return Response(link.url, url, at=self.now, failure=answer, hops=tuple(hops))
            if isinstance(answer, bytes):
                headers = {"content-type": "text/html; charset=utf-8"}
                return Response(link.url, url, 200, headers, answer, self.now, tuple(hops))
            hops.append(RedirectHop(url, 301))
            url = answer


@dataclass
class Notes(NullSink):
    """Visit sink that records its calls."""

    visits: list[Visit] = field(default_factory=list)
    outlinks: dict[str, list[OutlinkDecision]] = field(default_factory=dict)
    retries: list[tuple[str, int]] = field(default_factory=list)
    full_after: int = 10**9

    def store_visits(self, processed: Sequence[ProcessedVisit]) -> None:
        for visit, _, outlinks in processed:
            if len(self.visits) >= self.full_after:
                raise SpaceError("the disk is full")
            self.visits.append(visit)
            self.outlinks[visit.link.url] = list(outlinks)

    def record_retry(self, link: Link, response: Response, attempt: int) -> None:
        self.retries.append((link.url, attempt))


@dataclass
class Rig:
    """A crawl of a small web with all of its components."""

    web: Web
    strategy: Strategy = field(default_factory=BestFirst)
    budget: CrawlLimits = field(default_factory=lambda: CrawlLimits(concurrency=1))
    notes: Notes = field(default_factory=Notes)
    fences: LinkFilter = field(default_factory=LinkFilter)
    rules: FrontierRules = field(default_factory=lambda: FrontierRules(delay=0.0, parallel=0))

    def __post_init__(self) -> None:
        vsm = Vsm(TOPIC)
        self.strategy.bind(StrategyContext(TOPIC, vsm, Random(0)))
        self.frontier = MemoryFrontier(self.rules, self.clock)
        parts = CrawlContext(
            frontier=self.frontier,
            fetch=self.web,
            parse=parse.parse_response,
            relevance=vsm,
            strategy=self.strategy,
            sink=self.notes,
            clock=self.clock,
            link_filter=self.fences,
        )
        self.crawl = Crawl(parts, self.budget)

    def clock(self) -> float:
        return self.web.now

    async def go(self, *seeds: str) -> list[Visit]:
        await self.crawl.add_seeds(build_seed_links(seeds or (A,)))
        return [visit async for visit in self.crawl.visits()]

    def run(self, *seeds: str) -> list[str]:
        return [visit.link.url for visit in asyncio.run(self.go(*seeds))]


def rig(pages: Mapping[str, Answer | list[Answer]], **options: object) -> Rig:
    return Rig(Web(pages), **options)  # type: ignore[arg-type]


def test_the_best_link_is_fetched_first() -> None:
    crawl = rig({A: html("x", [(B, "imprint"), (C, "dengue"), (D, "dengue fever")]), B: html(), C: html(), D: html()})
    assert crawl.run() == [A, D, C, B]
    assert crawl.crawl.stop_reason == StopReason.EMPTY


def test_a_visit_tells_what_was_asked_what_came_and_how_relevant_it_is() -> None:
    crawl = rig({A: html("dengue fever", [(B, "more")]), B: B + "x", B + "x": html("trains")})
    first, second = asyncio.run(crawl.go())
    assert (first.step, first.url, first.failure, first.status) == (1, A, None, 200)
    assert first.relevance is not None
    assert first.relevance > 0.5
    assert (second.step, second.link.url, second.url, second.relevance) == (2, B, B + "x", 0.0)
    assert (second.link.source, second.link.anchor, second.link.depth) == (A, "more", 1)
    assert dict(second.priority.parts) == pytest.approx({"page": first.relevance, "anchor": 0.0})


def test_a_page_is_stored_before_its_link_is_completed() -> None:
    order: list[str] = []

    class RecordingFrontier(MemoryFrontier):
        async def complete_all(self, completions: Sequence[Completion]) -> list[bool]:
            order.extend(f"complete {end.lease.link.url}" for end in completions)
            return await super().complete_all(completions)

    class RecordingSink(Notes):
        def store_visits(self, processed: Sequence[ProcessedVisit]) -> None:
            order.extend(f"keep {visit.link.url}" for visit, _, _ in processed)

    crawl = rig({A: html("x", [(B, "b")]), B: html()}, notes=RecordingSink())
    crawl.crawl.context = replace(crawl.crawl.context, frontier=RecordingFrontier(crawl.rules, crawl.clock))
    crawl.run()
    assert order == [f"keep {A}", f"complete {A}", f"keep {B}", f"complete {B}"]


def test_response_observers_see_every_response_including_failures_and_timeouts() -> None:
    pages = {A: html("x", [(B, "b"), (C, "c")]), B: Failure.NOT_FOUND, C: html()}
    crawl = rig(pages, budget=CrawlLimits(concurrency=1, fetch_timeout=0.05, attempts=1))

    async def fetch(link: Link) -> Response:
        if link.url == C:
            await asyncio.sleep(60)
        return await crawl.web(link)

    crawl.crawl.context = replace(crawl.crawl.context, fetch=fetch)
    seen: list[tuple[str, Failure | None]] = []
    crawl.crawl.response_observers.append(lambda response: seen.append((response.url, response.failure)))
    crawl.run()
    assert seen == [(A, None), (B, Failure.NOT_FOUND), (C, Failure.TIMEOUT)]


@pytest.mark.parametrize("concurrency", [1, 3, 50])
@pytest.mark.parametrize(
    ("budget", "reason"), [(CrawlLimits(pages=7), StopReason.PAGES), (CrawlLimits(fetches=7), StopReason.FETCHES)]
)
def test_budgets_are_exact_however_many_fetches_are_in_flight(
    concurrency: int, budget: CrawlLimits, reason: StopReason
) -> None:
    links = [(f"http://h{n}.example/", "dengue") for n in range(40)]
    pages: dict[str, Answer | list[Answer]] = {A: html("x", links)} | {url: html() for url, _ in links}
    crawl = rig(pages, budget=replace(budget, concurrency=concurrency))
    assert len(crawl.run()) == 7
    assert len(crawl.web.asked) == 7
    assert crawl.crawl.stop_reason == reason


def test_failures_are_not_pages() -> None:
    links = [(f"http://h{n}.example/", "x") for n in range(9)]
    crawl = rig({A: html("x", links), links[8][0]: html()}, budget=CrawlLimits(pages=2, concurrency=4))
    visits = asyncio.run(crawl.go())
    assert [visit.failure for visit in visits].count(None) == 2
    assert len(visits) == 10


def test_time_is_a_budget() -> None:
    endless: dict[str, Answer | list[Answer]] = {
        f"http://h{n}.example/": html("x", [(f"http://h{n + 1}.example/", "x")]) for n in range(50)
    }
    crawl = rig(endless, budget=CrawlLimits(seconds=10.0, concurrency=1))
    visits = 0

    async def going() -> None:
        nonlocal visits
        await crawl.crawl.add_seeds(build_seed_links(["http://h0.example/"]))
        async for _ in crawl.crawl.visits():
            visits += 1
            crawl.web.now += 3.0

    asyncio.run(going())
    assert crawl.crawl.stop_reason == StopReason.TIME
    assert visits == 4


def test_an_interrupt_finishes_what_is_in_flight_and_gives_back_the_rest() -> None:
    links = [(f"http://h{n}.example/", "x") for n in range(30)]
    pages: dict[str, Answer | list[Answer]] = {A: html("x", links)} | {url: html() for url, _ in links}
    crawl = rig(pages, budget=CrawlLimits(concurrency=5), strategy=create_strategy("n_best_first:n=10"))

    async def going() -> int:
        await crawl.crawl.add_seeds(build_seed_links([A]))
        visits = 0
        async for _ in crawl.crawl.visits():
            visits += 1
            if visits == 3:
                crawl.crawl.interrupt()
        counts = await crawl.frontier.get_counts()
        assert counts.leased == 0
        assert counts.waiting + counts.done == 31
        return visits

    assert asyncio.run(going()) == len(crawl.web.asked) < 31
    assert crawl.crawl.stop_reason == StopReason.INTERRUPTED


def test_a_passing_failure_is_tried_again_and_then_final() -> None:
    pages: dict[str, Answer | list[Answer]] = {
        A: [Failure.TIMEOUT, html("x", [(B, "b")])],
        B: Failure.SERVER_ERROR,
    }
    crawl = rig(pages, budget=CrawlLimits(attempts=3, backoff=0.001))
    crawl.clock = time.monotonic  # type: ignore[method-assign]
    crawl.__post_init__()
    first, second = asyncio.run(crawl.go())
    assert (first.failure, second.failure) == (None, Failure.SERVER_ERROR)
    assert crawl.web.asked == [A, A, B, B, B]
    assert crawl.notes.retries == [(A, 1), (B, 1), (B, 2)]


def test_a_host_that_stays_away_ends_the_crawl_only_when_nothing_else_is_left() -> None:
    crawl = rig({A: [Failure.CONNECTION], B: html()}, budget=CrawlLimits(patience=1.0, concurrency=1))
    assert crawl.run(A, B) == [B]
    assert crawl.crawl.stop_reason == StopReason.UNREACHABLE
    assert asyncio.run(crawl.frontier.get_counts()).waiting == 1


def test_a_slow_host_does_not_hold_up_the_others() -> None:
    links = [(f"http://h{n}.example/", "x") for n in range(30)]
    pages: dict[str, Answer | list[Answer]] = {A: html("x", [(B, "dengue fever"), *links])}
    web = Web(pages | {B: html()} | {url: html() for url, _ in links})

    @dataclass
    class Slow:
        release: asyncio.Event

        async def __call__(self, link: Link) -> Response:
            if link.url == B:
                await self.release.wait()
            return await web(link)

    async def going() -> list[str]:
        crawl = Rig(web, budget=CrawlLimits(concurrency=4))
        release = asyncio.Event()
        crawl.crawl.context = replace(crawl.crawl.context, fetch=Slow(release))
        await crawl.crawl.add_seeds(build_seed_links([A]))
        found = []
        async for visit in crawl.crawl.visits():
            found.append(visit.link.url)
            if len(found) == 31:
                release.set()
        return found

    assert asyncio.run(going())[-1] == B


@pytest.mark.parametrize("end", ["time", "interrupt"])
def test_what_is_in_flight_at_the_end_has_some_seconds_and_no_more(end: str) -> None:
    crawl = rig(
        {A: html("x", [(B, "b")])}, budget=CrawlLimits(seconds=0.05 if end == "time" else 0.0, grace_seconds=0.05)
    )
    crawl.clock = time.monotonic  # type: ignore[method-assign]
    crawl.__post_init__()

    async def slow(link: Link) -> Response:
        if link.url == B:
            await asyncio.sleep(60)
        return await crawl.web(link)

    async def going() -> list[str]:
        crawl.crawl.context = replace(crawl.crawl.context, fetch=slow)
        await crawl.crawl.add_seeds(build_seed_links([A]))
        found = []
        async for visit in crawl.crawl.visits():
            found.append(visit.link.url)
            if end == "interrupt":
                asyncio.get_running_loop().call_later(0.01, crawl.crawl.interrupt)
        return found

    begun = time.monotonic()
    assert asyncio.run(going()) == [A]
    assert time.monotonic() - begun < 5
    assert crawl.crawl.stop_reason == (StopReason.TIME if end == "time" else StopReason.INTERRUPTED)
    assert asyncio.run(crawl.frontier.get_counts()).waiting == 1


class LateCrawl(Crawl):
    """A crawl whose time runs out between its check of the limits and its wait for an event."""

    async def _wait_for_event(self) -> None:
        await asyncio.sleep(max(0.0, self._deadline - self.context.clock()) + 0.01)
        await super()._wait_for_event()


def test_a_crawl_ends_if_the_time_runs_out_just_before_it_waits() -> None:
    async def fetch_forever(link: Link) -> Response:
        await asyncio.Event().wait()
        raise AssertionError

    crawl = rig({}, budget=CrawlLimits(seconds=0.05, grace_seconds=0.05))
    context = replace(crawl.crawl.context, fetch=fetch_forever, clock=time.monotonic)
    crawl.crawl = LateCrawl(context, crawl.budget)
    asyncio.run(asyncio.wait_for(crawl.go(), 20))
    assert crawl.crawl.stop_reason == StopReason.TIME


def test_a_fetch_that_takes_for_ever_is_a_timeout() -> None:
    crawl = rig({A: html()}, budget=CrawlLimits(fetch_timeout=0.01, attempts=1))

    async def never(link: Link) -> Response:
        await asyncio.sleep(60)
        raise AssertionError

    crawl.crawl.context = replace(crawl.crawl.context, fetch=never)
    assert [visit.failure for visit in asyncio.run(crawl.go())] == [Failure.TIMEOUT]


def test_links_that_ask_not_to_be_followed_are_not() -> None:
    body = f'<p><a rel="external NoFollow" href="{B}">x</a> <a href="{C}">y</a></p>'.encode()
    crawl = rig({A: body, B: html(), C: html()})
    assert crawl.run() == [A, C]
    assert {out.link.url: out.refusal for out in crawl.notes.outlinks[A]} == {B: Refusal.NOFOLLOW, C: None}


def test_a_page_that_forbids_following_has_no_links() -> None:
    head = '<meta name="robots" content="nofollow">'
    crawl = rig({A: html("x", [(B, "b")], head), B: html()})
    assert crawl.run() == [A]
    assert [out.refusal for out in crawl.notes.outlinks[A]] == [Refusal.NOFOLLOW]


@pytest.mark.parametrize("failure", [Failure.NOINDEX, Failure.NOARCHIVE])
def test_a_page_that_forbids_keeping_is_followed_but_not_counted(failure: Failure) -> None:
    head = f'<meta name="robots" content="{failure}">'
    crawl = rig({A: html("x", [(B, "b")], head), B: html()})
    visits = asyncio.run(crawl.go())
    assert [(visit.link.url, visit.failure) for visit in visits] == [(A, failure), (B, None)]
    assert crawl.crawl.pages == 1


def test_a_redirect_to_a_page_that_is_here_is_a_duplicate() -> None:
    crawl = rig({A: html("x", [(B, "dengue"), (C, "x")]), B: html(), C: B})
    visits = asyncio.run(crawl.go())
    assert [(visit.link.url, visit.failure) for visit in visits] == [(A, None), (B, None), (C, Failure.DUPLICATE)]


def test_where_a_redirect_ended_is_not_fetched_again() -> None:
    crawl = rig({A: html("x", [(B, "dengue"), (C, "x")]), B: C, C: html()})
    assert crawl.run() == [A, B]


def test_a_redirect_to_what_failed_before_brings_the_page_after_all() -> None:
    pages: dict[str, Answer | list[Answer]] = {
        A: html("x", [(B, "dengue"), (C, "x")]),
        B: [Failure.NOT_FOUND, html("y")],
        C: B,
    }
    visits = asyncio.run(rig(pages).go())
    assert [(visit.link.url, visit.failure) for visit in visits] == [(A, None), (B, Failure.NOT_FOUND), (C, None)]


def test_a_redirect_to_a_host_that_must_be_waited_for_goes_through_the_frontier() -> None:
    crawl = rig({A: html("x", [(B, "dengue fever"), (D, "dengue")]), C: html(), D: html()})

    async def fetch(link: Link) -> Response:
        if link.url == B:
            return Response(B, C, 301, hops=(RedirectHop(B, 301),), is_unfollowed_redirect=True)
        return await crawl.web(link)

    crawl.crawl.context = replace(crawl.crawl.context, fetch=fetch)
    visits = asyncio.run(crawl.go())
    assert [visit.link.url for visit in visits] == [A, C, D], "in the place of the link that led there"
    assert [visit.step for visit in visits] == [1, 2, 3]
    assert (visits[1].link.source, visits[1].link.anchor) == (A, "dengue fever")
    entry = asyncio.run(crawl.frontier.get_entry(B))
    assert entry is not None
    assert (entry.state, entry.reason) == ("done", f"moved {C}")


def test_a_link_whose_turn_was_over_before_it_was_asked_for_waits_again_as_if_nothing_had_happened() -> None:
    crawl = rig({A: [Failure.HOST_LEASE_EXPIRED] * 5 + [html("x")]})  # type: ignore[list-item]
    visits = asyncio.run(crawl.go())
    assert [(visit.step, visit.link.url, visit.failure) for visit in visits] == [(1, A, None)]
    assert crawl.notes.retries == []


def test_a_host_that_redirects_elsewhere_rests_from_the_moment_it_was_asked() -> None:
    parts = replace(rig({}).crawl.context, clock=lambda: 100.0, get_crawl_delay=lambda host: 10.0)
    response = Response(B, C, 301, {"location": C}, hops=(RedirectHop(B, 301),), at=97.0)
    assert page_processing.politeness_delay(parts, get_host(B), response) == 7.0


def test_failures_of_where_a_redirect_leads_are_not_held_against_the_host_that_redirects() -> None:
    crawl = rig(
        {A: html("x", [(A + "1", "dengue fever"), (A + "2", "x")]), A + "1": B, B: Failure.CONNECTION, A + "2": html()},
        budget=CrawlLimits(concurrency=1, patience=1.0),
    )
    assert crawl.run() == [A, A + "2"]
    assert crawl.web.asked == [A, A + "1", A + "2"]
    entry = asyncio.run(crawl.frontier.get_entry(B))
    assert entry is not None
    assert entry.state == "waiting"


def test_a_redirect_out_of_the_scope_is_refused_by_name() -> None:
    crawl = rig({A: html("x", [(B, "b")]), C: html()}, fences=LinkFilter(scope=lambda link: link.url != C))

    async def fetch(link: Link) -> Response:
        if link.url == B:
            return Response(B, C, 301, hops=(RedirectHop(B, 301),), is_unfollowed_redirect=True)
        return await crawl.web(link)

    crawl.crawl.context = replace(crawl.crawl.context, fetch=fetch)
    assert crawl.run() == [A]
    entry = asyncio.run(crawl.frontier.get_entry(B))
    assert entry is not None
    assert (entry.state, entry.reason) == ("done", "out_of_scope")


def test_links_outside_the_scope_are_refused_by_name() -> None:
    crawl = rig({A: html("x", [(B, "b"), (C, "c")]), C: html()}, fences=LinkFilter(scope=lambda link: link.url != B))
    assert crawl.run() == [A, C]
    assert [out.refusal for out in crawl.notes.outlinks[A] if out.link.url == B] == [Refusal.OUT_OF_SCOPE]


def test_the_best_of_several_links_to_a_page_counts() -> None:
    crawl = rig({A: html("x", [(B, "here"), (C, "dengue"), (B, "dengue fever")]), B: html(), C: html()})
    assert crawl.run() == [A, B, C]
    assert sorted(out.link.url for out in crawl.notes.outlinks[A]) == [B, C]


def test_n_best_first_looks_at_new_links_only_after_n_pages() -> None:
    pages: dict[str, Answer | list[Answer]] = {
        A: html("x", [(B, "dengue"), (C, "x")]),
        B: html("x", [(D, "dengue fever")]),
        C: html(),
        D: html(),
    }
    assert rig(dict(pages)).run() == [A, B, D, C]
    assert rig(dict(pages), strategy=create_strategy("n_best_first:n=2")).run() == [A, B, C, D]


def test_a_strategy_may_combine_the_places_of_two_in_links() -> None:
    @dataclass
    class Mean(BestFirst):
        def merge(self, old: Priority, new: Priority) -> Priority:
            return Priority((old.score + new.score) / 2)

    pages: dict[str, Answer | list[Answer]] = {
        A: html("", [(B, "dengue fever"), (C, "dengue fever"), (D, "dengue")]),
        B: html("", [(C, "x")]),
        C: html(),
        D: html(),
    }
    assert rig(dict(pages)).run() == [A, B, C, D]
    assert rig(dict(pages), strategy=Mean(page=0, anchor=1)).run() == [A, B, D, C]


def test_a_strategy_may_revise_waiting_links() -> None:
    @dataclass
    class Late(BestFirst):
        def rescore(self) -> Mapping[str, float]:
            return {C: 1.0, "http://unknown.example/": 1.0}

    crawl = rig({A: html("trains", [(B, "dengue fever"), (C, "x")]), B: html(), C: html()}, strategy=Late())
    assert crawl.run()[:2] == [A, C]


def test_a_full_disk_stops_the_crawl_and_loses_nothing() -> None:
    crawl = rig({A: html("x", [(B, "b"), (C, "c")]), B: html(), C: html()}, notes=Notes(full_after=1))
    with pytest.raises(SpaceError):
        crawl.run()
    assert crawl.crawl.stop_reason == StopReason.SPACE
    counts = asyncio.run(crawl.frontier.get_counts())
    assert (counts.done, counts.waiting + counts.leased) == (1, 2)


def test_a_defect_in_a_fetch_function_is_not_hidden() -> None:
    crawl = rig({A: html()})

    async def broken(link: Link) -> Response:
        raise ZeroDivisionError

    crawl.crawl.context = replace(crawl.crawl.context, fetch=broken)
    with pytest.raises(ZeroDivisionError):
        crawl.run()


@pytest.mark.parametrize(("focus", "few"), [(0.0, False), (0.25, True)])
def test_poor_links_get_a_share_of_the_fetches_while_a_good_host_is_busy(focus: float, few: bool) -> None:
    good = [(f"http://good.example/{n}", "dengue fever") for n in range(20)]
    poor = [(f"http://poor{n}.example/", "x") for n in range(40)]
    pages: dict[str, Answer | list[Answer]] = {A: html("dengue fever", good)} | {url: html() for url, _ in good + poor}
    pages[B] = html("trains", poor)
    budget = CrawlLimits(concurrency=32, focus=focus, fetches=17)
    crawl = rig(pages, budget=budget, rules=FrontierRules(delay=0.0, parallel=1))
    fetched = crawl.run(A, B)
    assert (sum("poor" in url for url in fetched) <= 4) == few


def test_links_with_equal_scores_are_not_poor() -> None:
    links = [(f"http://good.example/{n}", "x") for n in range(20)] + [(f"http://h{n}.example/", "x") for n in range(20)]
    pages: dict[str, Answer | list[Answer]] = {A: html("dengue fever", links)} | {url: html() for url, _ in links}
    counts = []
    for focus in (0.0, 0.25):
        budget = CrawlLimits(concurrency=32, focus=focus, fetches=22)
        strategy = create_strategy("breadth_first")
        crawl = rig(dict(pages), budget=budget, strategy=strategy, rules=FrontierRules(delay=0.0, parallel=1))
        counts.append(sum("good" in url for url in crawl.run(A)))
    assert counts[0] == counts[1] <= 2


def test_links_below_the_minimum_score_are_not_fetched_until_their_score_rises() -> None:
    @dataclass
    class Late(BestFirst):
        def rescore(self) -> Mapping[str, float]:
            return {D: 0.9} if crawl.crawl.step == 2 else {}

    pages: dict[str, Answer | list[Answer]] = {
        A: html("trains", [(B, "dengue fever"), (C, "x"), (D, "y")]),
        B: html(),
        C: html(),
        D: html(),
    }
    crawl = rig(pages, strategy=Late(), budget=CrawlLimits(concurrency=1, min_score=0.5))
    assert crawl.run(A) == [A, B, D]
    assert crawl.crawl.stop_reason == StopReason.MIN_SCORE
    entry = asyncio.run(crawl.frontier.get_entry(C))
    assert entry is not None
    assert (entry.state, entry.priority.score < 0.5) == ("waiting", True)


def test_a_minimum_score_does_not_hide_an_empty_frontier() -> None:
    crawl = rig({A: html("x", [(B, "dengue fever")]), B: html()}, budget=CrawlLimits(concurrency=1, min_score=0.2))
    assert crawl.run(A) == [A, B]
    assert crawl.crawl.stop_reason == StopReason.EMPTY


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_crawl_stops_at_its_number_of_relevant_pages(concurrency: int) -> None:
    links = [(f"http://h{n}.example/", "x") for n in range(40)]
    pages: dict[str, Answer | list[Answer]] = {A: html("trains", links)}
    pages |= {url: html("dengue fever" if n % 2 else "trains") for n, (url, _) in enumerate(links)}
    crawl = rig(pages, budget=CrawlLimits(concurrency=concurrency, relevant=5))
    crawl.run(A)
    relevant = [visit for visit in crawl.notes.visits if (visit.relevance or 0.0) >= TOPIC.threshold]
    assert crawl.crawl.stop_reason == StopReason.RELEVANT
    assert len(relevant) == crawl.crawl.relevant == 5
    assert crawl.notes.visits[-1] is relevant[-1]


def test_a_slow_host_does_not_hold_up_the_end() -> None:
    links = [(f"http://h{n}.example/", "x") for n in range(9)]
    pages: dict[str, Answer | list[Answer]] = {A: html("x", [(B, "dengue fever"), *links])}
    web = Web(pages | {url: html() for url, _ in links})
    crawl = Rig(web, budget=CrawlLimits(pages=5, concurrency=4, slow_fetch_seconds=0.1))
    crawl.clock = time.monotonic  # type: ignore[method-assign]
    crawl.__post_init__()

    async def fetch(link: Link) -> Response:
        if link.url == B:
            await asyncio.sleep(60)
        return await web(link)

    crawl.crawl.context = replace(crawl.crawl.context, fetch=fetch)
    begun = time.monotonic()
    assert len(crawl.run()) == 5
    assert time.monotonic() - begun < 5
    assert crawl.crawl.stop_reason == StopReason.PAGES
    assert asyncio.run(crawl.frontier.get_entry(B)).state == "waiting"  # type: ignore[union-attr]


def test_leaving_early_gives_back_what_is_out() -> None:
    links = [(f"http://h{n}.example/", "x") for n in range(9)]
    crawl = rig({A: html("x", links)}, budget=CrawlLimits(concurrency=4))

    async def going() -> None:
        await crawl.crawl.add_seeds(build_seed_links([A]))
        visits = crawl.crawl.visits()
        await anext(visits)
        await visits.aclose()  # type: ignore[attr-defined]
        counts = await crawl.frontier.get_counts()
        assert (counts.leased, counts.done, counts.waiting) == (0, 1, 9)

    asyncio.run(going())
