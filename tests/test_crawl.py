"""The loop: what is fetched when, what is kept, and how it ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import pytest

from topicrawl import judging, parse
from topicrawl.budget import Budget, Stop
from topicrawl.crawl import Crawl, seed_links
from topicrawl.errors import SpaceError
from topicrawl.frontier.contract import End, Rules
from topicrawl.frontier.memory import Memory
from topicrawl.parts import Found, Parts
from topicrawl.placing import Fences, Outlink
from topicrawl.records import Failure, Hop, Link, Place, Refusal, Response, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import make
from topicrawl.strategies.best_first import BestFirst
from topicrawl.strategies.strategy import Setting, Strategy
from topicrawl.topic import Topic
from topicrawl.urls import host

TOPIC = Topic.of("dengue fever")
A, B, C, D = (f"http://{name}.example/" for name in "abcd")


def html(text: str = "", links: Sequence[tuple[str, str]] = (), head: str = "") -> bytes:
    anchors = "".join(f'<p><a href="{url}">{anchor}</a></p>' for url, anchor in links)
    return f"<html><head><title>t</title>{head}</head><body><p>{text}</p>{anchors}</body></html>".encode()


Answer = bytes | Failure | str  # a page, a failure, or where a redirect leads


@dataclass
class Web:
    """A few pages as a fetch function; answers of a URL are given one after the other, the last for ever."""

    pages: Mapping[str, Answer | list[Answer]]
    asked: list[str] = field(default_factory=list)
    now: float = 1000.0

    async def __call__(self, link: Link) -> Response:
        await asyncio.sleep(0)
        self.asked.append(link.url)
        hops: list[Hop] = []
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
            hops.append(Hop(url, 301))
            url = answer


@dataclass
class Notes:
    """Remembers what it was given to keep."""

    visits: list[Visit] = field(default_factory=list)
    outlinks: dict[str, list[Outlink]] = field(default_factory=dict)
    retries: list[tuple[str, int]] = field(default_factory=list)
    full_after: int = 10**9

    def step_of(self, link: Link) -> int | None:
        return None

    def keep(self, found: Sequence[Found]) -> None:
        for visit, _, outlinks in found:
            if len(self.visits) >= self.full_after:
                raise SpaceError("the disk is full")
            self.visits.append(visit)
            self.outlinks[visit.link.url] = list(outlinks)

    def settled(self) -> None:
        pass

    def retry(self, link: Link, response: Response, attempt: int) -> None:
        self.retries.append((link.url, attempt))


@dataclass
class Rig:
    """A crawl over a small web, with everything in reach."""

    web: Web
    strategy: Strategy = field(default_factory=BestFirst)
    budget: Budget = field(default_factory=lambda: Budget(concurrency=1))
    notes: Notes = field(default_factory=Notes)
    fences: Fences = field(default_factory=Fences)
    rules: Rules = field(default_factory=lambda: Rules(delay=0.0, parallel=0))

    def __post_init__(self) -> None:
        vsm = Vsm(TOPIC)
        self.strategy.begin(Setting(TOPIC, vsm, Random(0)))
        self.frontier = Memory(self.rules, self.clock)
        parts = Parts(
            frontier=self.frontier, fetch=self.web, parse=parse.read, relevance=vsm, strategy=self.strategy,
            keep=self.notes, clock=self.clock, fences=self.fences,
        )  # fmt: skip
        self.crawl = Crawl(parts, self.budget)

    def clock(self) -> float:
        return self.web.now

    async def go(self, *seeds: str) -> list[Visit]:
        await self.crawl.seed(seed_links(seeds or (A,)))
        return [visit async for visit in self.crawl.visits()]

    def run(self, *seeds: str) -> list[str]:
        return [visit.link.url for visit in asyncio.run(self.go(*seeds))]


def rig(pages: Mapping[str, Answer | list[Answer]], **options: object) -> Rig:
    return Rig(Web(pages), **options)  # type: ignore[arg-type]


def test_the_best_link_is_fetched_first() -> None:
    crawl = rig({A: html("x", [(B, "imprint"), (C, "dengue"), (D, "dengue fever")]), B: html(), C: html(), D: html()})
    assert crawl.run() == [A, D, C, B]
    assert crawl.crawl.stopped == Stop.EMPTY


def test_a_visit_tells_what_was_asked_what_came_and_how_relevant_it_is() -> None:
    crawl = rig({A: html("dengue fever", [(B, "more")]), B: B + "x", B + "x": html("trains")})
    first, second = asyncio.run(crawl.go())
    assert (first.step, first.url, first.failure, first.status) == (1, A, None, 200)
    assert first.relevance is not None
    assert first.relevance > 0.5
    assert (second.step, second.link.url, second.url, second.relevance) == (2, B, B + "x", 0.0)
    assert (second.link.source, second.link.anchor, second.link.depth) == (A, "more", 1)
    assert dict(second.place.parts) == pytest.approx({"page": first.relevance, "anchor": 0.0})


def test_a_page_is_kept_before_the_frontier_is_told() -> None:
    order: list[str] = []

    class Told(Memory):
        async def complete_all(self, ends: Sequence[End]) -> list[bool]:
            order.extend(f"complete {end.lease.link.url}" for end in ends)
            return await super().complete_all(ends)

    class Kept(Notes):
        def keep(self, found: Sequence[Found]) -> None:
            order.extend(f"keep {visit.link.url}" for visit, _, _ in found)

    crawl = rig({A: html("x", [(B, "b")]), B: html()}, notes=Kept())
    crawl.crawl.parts = replace(crawl.crawl.parts, frontier=Told(crawl.rules, crawl.clock))
    crawl.run()
    assert order == [f"keep {A}", f"complete {A}", f"keep {B}", f"complete {B}"]


@pytest.mark.parametrize("concurrency", [1, 3, 50])
@pytest.mark.parametrize(("budget", "reason"), [(Budget(pages=7), Stop.PAGES), (Budget(fetches=7), Stop.FETCHES)])
def test_budgets_are_exact_however_many_fetches_are_in_flight(concurrency: int, budget: Budget, reason: Stop) -> None:
    links = [(f"http://h{n}.example/", "dengue") for n in range(40)]
    pages: dict[str, Answer | list[Answer]] = {A: html("x", links)} | {url: html() for url, _ in links}
    crawl = rig(pages, budget=replace(budget, concurrency=concurrency))
    assert len(crawl.run()) == 7
    assert len(crawl.web.asked) == 7
    assert crawl.crawl.stopped == reason


def test_failures_are_not_pages() -> None:
    links = [(f"http://h{n}.example/", "x") for n in range(9)]
    crawl = rig({A: html("x", links), links[8][0]: html()}, budget=Budget(pages=2, concurrency=4))
    visits = asyncio.run(crawl.go())
    assert [visit.failure for visit in visits].count(None) == 2
    assert len(visits) == 10


def test_time_is_a_budget() -> None:
    endless: dict[str, Answer | list[Answer]] = {
        f"http://h{n}.example/": html("x", [(f"http://h{n + 1}.example/", "x")]) for n in range(50)
    }
    crawl = rig(endless, budget=Budget(seconds=10.0, concurrency=1))
    visits = 0

    async def going() -> None:
        nonlocal visits
        await crawl.crawl.seed(seed_links(["http://h0.example/"]))
        async for _ in crawl.crawl.visits():
            visits += 1
            crawl.web.now += 3.0

    asyncio.run(going())
    assert crawl.crawl.stopped == Stop.TIME
    assert visits == 4


def test_an_interrupt_finishes_what_is_in_flight_and_gives_back_the_rest() -> None:
    links = [(f"http://h{n}.example/", "x") for n in range(30)]
    pages: dict[str, Answer | list[Answer]] = {A: html("x", links)} | {url: html() for url, _ in links}
    crawl = rig(pages, budget=Budget(concurrency=5), strategy=make("n_best_first:n=10"))

    async def going() -> int:
        await crawl.crawl.seed(seed_links([A]))
        visits = 0
        async for _ in crawl.crawl.visits():
            visits += 1
            if visits == 3:
                crawl.crawl.interrupt()
        counts = await crawl.frontier.counts()
        assert counts.leased == 0
        assert counts.waiting + counts.done == 31
        return visits

    assert asyncio.run(going()) == len(crawl.web.asked) < 31
    assert crawl.crawl.stopped == Stop.INTERRUPTED


def test_a_passing_failure_is_tried_again_and_then_final() -> None:
    pages: dict[str, Answer | list[Answer]] = {
        A: [Failure.TIMEOUT, html("x", [(B, "b")])],
        B: Failure.SERVER_ERROR,
    }
    crawl = rig(pages, budget=Budget(attempts=3, backoff=0.001))
    crawl.clock = time.monotonic  # type: ignore[method-assign]
    crawl.__post_init__()
    first, second = asyncio.run(crawl.go())
    assert (first.failure, second.failure) == (None, Failure.SERVER_ERROR)
    assert crawl.web.asked == [A, A, B, B, B]
    assert crawl.notes.retries == [(A, 1), (B, 1), (B, 2)]


def test_a_host_that_stays_away_ends_the_crawl_only_when_nothing_else_is_left() -> None:
    crawl = rig({A: [Failure.CONNECTION], B: html()}, budget=Budget(patience=1.0, concurrency=1))
    assert crawl.run(A, B) == [B]
    assert crawl.crawl.stopped == Stop.UNREACHABLE
    assert asyncio.run(crawl.frontier.counts()).waiting == 1


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
        crawl = Rig(web, budget=Budget(concurrency=4))
        release = asyncio.Event()
        crawl.crawl.parts = replace(crawl.crawl.parts, fetch=Slow(release))
        await crawl.crawl.seed(seed_links([A]))
        found = []
        async for visit in crawl.crawl.visits():
            found.append(visit.link.url)
            if len(found) == 31:
                release.set()
        return found

    assert asyncio.run(going())[-1] == B


@pytest.mark.parametrize("end", ["time", "interrupt"])
def test_what_is_in_flight_at_the_end_has_some_seconds_and_no_more(end: str) -> None:
    crawl = rig({A: html("x", [(B, "b")])}, budget=Budget(seconds=0.05 if end == "time" else 0.0, grace=0.05))
    crawl.clock = time.monotonic  # type: ignore[method-assign]
    crawl.__post_init__()

    async def slow(link: Link) -> Response:
        if link.url == B:
            await asyncio.sleep(60)
        return await crawl.web(link)

    async def going() -> list[str]:
        crawl.crawl.parts = replace(crawl.crawl.parts, fetch=slow)
        await crawl.crawl.seed(seed_links([A]))
        found = []
        async for visit in crawl.crawl.visits():
            found.append(visit.link.url)
            if end == "interrupt":
                asyncio.get_running_loop().call_later(0.01, crawl.crawl.interrupt)
        return found

    begun = time.monotonic()
    assert asyncio.run(going()) == [A]
    assert time.monotonic() - begun < 5
    assert crawl.crawl.stopped == (Stop.TIME if end == "time" else Stop.INTERRUPTED)
    assert asyncio.run(crawl.frontier.counts()).waiting == 1


def test_a_fetch_that_takes_for_ever_is_a_timeout() -> None:
    crawl = rig({A: html()}, budget=Budget(deadline=0.01, attempts=1))

    async def never(link: Link) -> Response:
        await asyncio.sleep(60)
        raise AssertionError

    crawl.crawl.parts = replace(crawl.crawl.parts, fetch=never)
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


def test_a_page_that_forbids_keeping_is_followed_but_not_counted() -> None:
    head = '<meta name="robots" content="noindex">'
    crawl = rig({A: html("x", [(B, "b")], head), B: html()})
    visits = asyncio.run(crawl.go())
    assert [(visit.link.url, visit.failure) for visit in visits] == [(A, Failure.NOINDEX), (B, None)]
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
            return Response(B, C, 301, {"location": C}, hops=(Hop(B, 301),))
        return await crawl.web(link)

    crawl.crawl.parts = replace(crawl.crawl.parts, fetch=fetch)
    visits = asyncio.run(crawl.go())
    assert [visit.link.url for visit in visits] == [A, C, D], "in the place of the link that led there"
    assert [visit.step for visit in visits] == [1, 2, 3]
    assert (visits[1].link.source, visits[1].link.anchor) == (A, "dengue fever")
    entry = asyncio.run(crawl.frontier.find(B))
    assert entry is not None
    assert (entry.state, entry.reason) == ("done", f"moved {C}")


def test_a_link_whose_turn_was_over_before_it_was_asked_for_waits_again_as_if_nothing_had_happened() -> None:
    crawl = rig({A: [Failure.TURN] * 5 + [html("x")]})  # type: ignore[list-item]
    visits = asyncio.run(crawl.go())
    assert [(visit.step, visit.link.url, visit.failure) for visit in visits] == [(1, A, None)]
    assert crawl.notes.retries == []


def test_a_host_that_redirects_elsewhere_rests_from_the_moment_it_was_asked() -> None:
    parts = replace(rig({}).crawl.parts, clock=lambda: 100.0, delay_of=lambda host: 10.0)
    response = Response(B, C, 301, {"location": C}, hops=(Hop(B, 301),), at=97.0)
    assert judging.pause(parts, host(B), response) == 7.0


def test_failures_of_where_a_redirect_leads_are_not_held_against_the_host_that_redirects() -> None:
    crawl = rig({A: html("x", [(A + "1", "dengue fever"), (A + "2", "x")]), A + "1": B, B: Failure.CONNECTION,
                 A + "2": html()}, budget=Budget(concurrency=1, patience=1.0))  # fmt: skip
    assert crawl.run() == [A, A + "2"]
    assert crawl.web.asked == [A, A + "1", A + "2"]
    entry = asyncio.run(crawl.frontier.find(B))
    assert entry is not None
    assert entry.state == "waiting"


def test_a_redirect_out_of_the_scope_is_refused_by_name() -> None:
    crawl = rig({A: html("x", [(B, "b")]), C: html()}, fences=Fences(scope=lambda url: url != C))

    async def fetch(link: Link) -> Response:
        if link.url == B:
            return Response(B, C, 301, {"location": C}, hops=(Hop(B, 301),))
        return await crawl.web(link)

    crawl.crawl.parts = replace(crawl.crawl.parts, fetch=fetch)
    assert crawl.run() == [A]
    entry = asyncio.run(crawl.frontier.find(B))
    assert entry is not None
    assert (entry.state, entry.reason) == ("done", "out_of_scope")


def test_links_outside_the_scope_are_refused_by_name() -> None:
    crawl = rig({A: html("x", [(B, "b"), (C, "c")]), C: html()}, fences=Fences(scope=lambda url: url != B))
    assert crawl.run() == [A, C]
    assert [out.refusal for out in crawl.notes.outlinks[A] if out.link.url == B] == [Refusal.OUT_OF_SCOPE]


def test_the_best_of_several_links_to_a_page_counts() -> None:
    crawl = rig({A: html("x", [(B, "here"), (C, "dengue"), (B, "dengue fever")]), B: html(), C: html()})
    assert crawl.run() == [A, B, C]
    assert sorted(out.link.url for out in crawl.notes.outlinks[A]) == [B, C]


def test_n_best_first_looks_at_new_links_only_after_n_pages() -> None:
    pages: dict[str, Answer | list[Answer]] = {
        A: html("x", [(B, "dengue"), (C, "x")]), B: html("x", [(D, "dengue fever")]), C: html(), D: html()
    }  # fmt: skip
    assert rig(dict(pages)).run() == [A, B, D, C]
    assert rig(dict(pages), strategy=make("n_best_first:n=2")).run() == [A, B, C, D]


def test_a_strategy_may_combine_the_places_of_two_in_links() -> None:
    @dataclass
    class Mean(BestFirst):
        def combine(self, old: Place, new: Place) -> Place:
            return Place((old.score + new.score) / 2)

    pages: dict[str, Answer | list[Answer]] = {
        A: html("", [(B, "dengue fever"), (C, "dengue fever"), (D, "dengue")]), B: html("", [(C, "x")]),
        C: html(), D: html(),
    }  # fmt: skip
    assert rig(dict(pages)).run() == [A, B, C, D]
    assert rig(dict(pages), strategy=Mean(page=0, anchor=1)).run() == [A, B, D, C]


def test_a_strategy_may_revise_waiting_links() -> None:
    @dataclass
    class Late(BestFirst):
        def revise(self) -> Mapping[str, float]:
            return {C: 1.0, "http://unknown.example/": 1.0}

    crawl = rig({A: html("trains", [(B, "dengue fever"), (C, "x")]), B: html(), C: html()}, strategy=Late())
    assert crawl.run()[:2] == [A, C]


def test_a_full_disk_stops_the_crawl_and_loses_nothing() -> None:
    crawl = rig({A: html("x", [(B, "b"), (C, "c")]), B: html(), C: html()}, notes=Notes(full_after=1))
    with pytest.raises(SpaceError):
        crawl.run()
    assert crawl.crawl.stopped == Stop.SPACE
    counts = asyncio.run(crawl.frontier.counts())
    assert (counts.done, counts.waiting + counts.leased) == (1, 2)


def test_a_defect_in_a_fetch_function_is_not_hidden() -> None:
    crawl = rig({A: html()})

    async def broken(link: Link) -> Response:
        raise ZeroDivisionError

    crawl.crawl.parts = replace(crawl.crawl.parts, fetch=broken)
    with pytest.raises(ZeroDivisionError):
        crawl.run()


@pytest.mark.parametrize(("focus", "few"), [(0.0, False), (0.5, True)])
def test_poor_links_do_not_get_all_the_hands_that_are_free(focus: float, few: bool) -> None:
    good = [(f"http://good.example/{n}", "dengue fever") for n in range(12)]
    poor = [(f"http://poor{n}.example/", "x") for n in range(40)]
    pages: dict[str, Answer | list[Answer]] = {A: html("dengue fever", good)} | {url: html() for url, _ in good + poor}
    pages[B] = html("trains", poor)
    budget = Budget(concurrency=32, focus=focus, pages=25)
    crawl = rig(pages, budget=budget, rules=Rules(delay=0.0, parallel=1))
    flying: list[str] = []
    most = 0

    async def slow(link: Link) -> Response:
        nonlocal most
        flying.append(link.url)
        most = max(most, len(flying))
        await asyncio.sleep(0.002)
        flying.remove(link.url)
        return await crawl.web(link)

    crawl.crawl.parts = replace(crawl.crawl.parts, fetch=slow)
    crawl.run(A, B)
    assert (most <= 5) == few


def test_a_slow_host_does_not_hold_up_the_end() -> None:
    links = [(f"http://h{n}.example/", "x") for n in range(9)]
    pages: dict[str, Answer | list[Answer]] = {A: html("x", [(B, "dengue fever"), *links])}
    web = Web(pages | {url: html() for url, _ in links})
    crawl = Rig(web, budget=Budget(pages=5, concurrency=4, slow=0.1))
    crawl.clock = time.monotonic  # type: ignore[method-assign]
    crawl.__post_init__()

    async def fetch(link: Link) -> Response:
        if link.url == B:
            await asyncio.sleep(60)
        return await web(link)

    crawl.crawl.parts = replace(crawl.crawl.parts, fetch=fetch)
    begun = time.monotonic()
    assert len(crawl.run()) == 5
    assert time.monotonic() - begun < 5
    assert crawl.crawl.stopped == Stop.PAGES
    assert asyncio.run(crawl.frontier.find(B)).state == "waiting"  # type: ignore[union-attr]


def test_leaving_early_gives_back_what_is_out() -> None:
    links = [(f"http://h{n}.example/", "x") for n in range(9)]
    crawl = rig({A: html("x", links)}, budget=Budget(concurrency=4))

    async def going() -> None:
        await crawl.crawl.seed(seed_links([A]))
        visits = crawl.crawl.visits()
        await anext(visits)
        await visits.aclose()  # type: ignore[attr-defined]
        counts = await crawl.frontier.counts()
        assert (counts.leased, counts.done, counts.waiting) == (0, 1, 9)

    asyncio.run(going())
