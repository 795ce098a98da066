"""Recrawl sink and revisit pages: outcomes, versions and links of revisited pages, on a real collection."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from topicrawl.collection.directory import Collection
from topicrawl.engine.link_filter import LinkFilter
from topicrawl.engine.scheduling import Outlinks
from topicrawl.engine.sinks import ProcessedVisit
from topicrawl.frontier.base import FrontierRules, Offer
from topicrawl.frontier.memory import MemoryFrontier
from topicrawl.models import STORAGE_DIRECTIVES, Failure, Link, Page, Priority, Response, Visit
from topicrawl.recrawl.pages import RevisitPages
from topicrawl.recrawl.sink import RecrawlSink, RevisitResult
from topicrawl.topic import Topic
from topicrawl.urls import fingerprint

A, GONE, NEW = "http://a.example/", "http://a.example/gone", "http://new.example/"
DAY = 86_400.0
START, NOW = 1_700_000_000.0, 1_700_000_000.0 + 100 * DAY
HEADERS = {"content-type": "text/html", "etag": '"1"', "last-modified": "Mon, 01 Jan 2024 00:00:00 GMT"}


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    """Collection with one page and one failed visit."""
    with Collection(tmp_path / "crawl", Topic.of("dengue fever"), {}) as collection:
        page = Page(A, "A", words=("dengue",), digest="1" * 32)
        visit = Visit(1, Link(A), Priority(0.25), A, page, 0.75, None, START, 200)
        gone = Visit(2, Link(GONE, A), Priority(0.5), GONE, None, None, Failure.NOT_FOUND, START, 404)
        collection.store_visits([(visit, Response(A, A, 200, HEADERS, b"<p>dengue", START), None)])
        collection.store_visits([(gone, Response(GONE, GONE, 404, at=START), None)])
        yield collection


def create_sink(collection: Collection, forget_after: float = 0.0) -> RecrawlSink:
    """Sink of a recrawl of all pages."""
    pages = RevisitPages(collection)
    (offer,) = pages.load_pages([(fingerprint(A), 3.0), (fingerprint("http://unknown.example/"), 2.0)])
    assert (offer.link.url, offer.priority) == (A, Priority(3.0))
    return RecrawlSink(
        collection=collection,
        pages=pages,
        crawl_frontier=MemoryFrontier(FrontierRules(), lambda: NOW),
        link_filter=LinkFilter(),
        clock=lambda: NOW,
        threshold=0.5,
        forget_after=forget_after,
    )


def revisit(
    digest: str = "2", status: int = 200, failure: Failure | None = None, url: str = A
) -> tuple[Visit, Response]:
    page = Page(url, "A", words=("dengue",), digest=digest * 32) if failure in (None, *STORAGE_DIRECTIVES) else None
    visit = Visit(1, Link(A), Priority(3.0), url, page, 0.5, failure, NOW, status)
    return visit, Response(A, url, status, HEADERS, b"<p>dengue fever", NOW)


def record(sink: RecrawlSink, visit: Visit, response: Response, links: Sequence[str] = ()) -> RevisitResult:
    """Process a revisit as the crawl loop and the queue do, and return its result."""
    outlinks = Outlinks([Link(url, A) for url in links], [Priority(0.5) for _ in links])
    sink.store_visits([ProcessedVisit(visit, response, outlinks)])
    assert sink.results == {}, "nothing is recorded before the queue completes the pages"
    asyncio.run(sink.record_visits({visit.link.url: [Offer(Link(url, A), Priority(0.5)) for url in links]}))
    return sink.results.pop(A)


def list_revisits(collection: Collection) -> list[tuple[object, ...]]:
    return collection.store.query_rows("SELECT page, at, outcome, status FROM revisits")


def count_rows(collection: Collection, table: str) -> int:
    ((count,),) = collection.store.query_rows(f"SELECT count(*) FROM {table}")
    return int(str(count))


def test_a_changed_page_becomes_the_current_version_and_its_links_are_added(collection: Collection) -> None:
    sink = create_sink(collection)
    assert record(sink, *revisit(), [NEW]) == RevisitResult(A, "changed", 0.5, 1)
    assert list_revisits(collection) == [(fingerprint(A), NOW, "changed", 200)]
    assert count_rows(collection, "versions") == 1
    (row,) = collection.store.iterate_visits("id = ?", (fingerprint(A),))
    # The step, link and priority are those of the crawl.
    assert (row.step, row.relevance, row.at, row.priority.score) == (1, 0.5, NOW, 0.25)
    assert asyncio.run(sink.crawl_frontier.get_priorities([NEW])) == {NEW: Priority(0.5)}
    assert (dict(sink.outcomes), sink.new_links) == ({"changed": 1}, 1)


@pytest.mark.parametrize(
    ("visited", "outcome", "relevance"),
    [
        (revisit(digest="1"), "unchanged", 0.75),
        (revisit(status=304, failure=Failure.CONTENT_TYPE), "unchanged", 0.75),
        (revisit(status=404, failure=Failure.NOT_FOUND), "gone", 0.5),
        (revisit(status=503, failure=Failure.SERVER_ERROR), str(Failure.SERVER_ERROR), 0.5),
    ],
)
def test_a_page_without_new_content_is_not_replaced(
    collection: Collection, visited: tuple[Visit, Response], outcome: str, relevance: float
) -> None:
    sink = create_sink(collection)
    assert record(sink, *visited) == RevisitResult(A, outcome, relevance, 0)
    assert list_revisits(collection) == [(fingerprint(A), NOW, outcome, visited[0].status)]
    assert count_rows(collection, "versions") == 0
    assert count_rows(collection, "pages") == 1


@pytest.mark.parametrize("failure", STORAGE_DIRECTIVES)
def test_a_page_with_a_new_noindex_directive_is_removed(collection: Collection, failure: Failure) -> None:
    sink = create_sink(collection)
    assert record(sink, *revisit(failure=failure)).outcome == failure
    assert count_rows(collection, "pages") == 0


def test_redirect_targets_are_added_to_the_frontier_of_the_crawl(collection: Collection) -> None:
    sink = create_sink(collection)
    assert record(sink, *revisit(url=NEW)) == RevisitResult(A, "moved", None, 1)
    asyncio.run(sink.record_redirect(A, ["http://busy.example/"]))
    assert sink.results == {A: RevisitResult(A, "moved", None, 1)}
    # Both have the same time, which is a part of the key.
    assert list_revisits(collection) == [(fingerprint(A), NOW, "moved", 0)]
    priorities = asyncio.run(sink.crawl_frontier.get_priorities([NEW, "http://busy.example/"]))
    assert [priority.score for priority in priorities.values()] == [0.25, 0.25]


@pytest.mark.parametrize(("status", "failure"), [(304, Failure.EMPTY), (200, Failure.DUPLICATE)])
def test_a_redirect_to_another_stored_page_is_a_move(collection: Collection, status: int, failure: Failure) -> None:
    sink = create_sink(collection)
    assert record(sink, *revisit(status=status, failure=failure, url=NEW)).outcome == "moved"


def test_a_redirect_to_a_missing_page_is_not_a_move(collection: Collection) -> None:
    sink = create_sink(collection)
    assert record(sink, *revisit(status=404, failure=Failure.NOT_FOUND, url=NEW)).outcome == "gone"


@pytest.mark.parametrize(("forget_after", "links"), [(0.0, 0), (99 * DAY, 1), (101 * DAY, 0)])
def test_old_failures_may_be_fetched_again_after_a_while(
    collection: Collection, forget_after: float, links: int
) -> None:
    sink = create_sink(collection, forget_after)
    known = Offer(Link(GONE, A), Priority(0.5))

    async def complete_known_link() -> None:
        await sink.crawl_frontier.add([known])
        (lease,) = await sink.crawl_frontier.lease(1)
        await sink.crawl_frontier.complete(lease, Failure.NOT_FOUND)

    asyncio.run(complete_known_link())
    assert record(sink, *revisit(), [GONE]).links == links
    assert asyncio.run(sink.crawl_frontier.get_priorities([GONE])) == ({GONE: Priority(0.5)} if links else {})


def test_members_of_an_archive_are_not_recorded_on_their_own(collection: Collection) -> None:
    sink = create_sink(collection)
    visit, response = revisit(digest="1")
    member = replace(visit, link=Link(f"{A}#member"), url=f"{A}#member")
    sink.store_visits([ProcessedVisit(visit, response, []), ProcessedVisit(member, response, [])])
    asyncio.run(sink.record_visits({A: []}))
    assert dict(sink.outcomes) == {"unchanged": 1}


def test_a_retry_is_stored_in_the_collection(collection: Collection) -> None:
    response = Response(A, A, 503, failure=Failure.SERVER_ERROR, at=NOW)
    create_sink(collection).record_retry(Link(A), response, 1)
    rows = collection.store.query_rows("SELECT failure, attempt FROM failures WHERE url = ?", (A,))
    assert rows == [(Failure.SERVER_ERROR, 1)]


def test_validators_are_those_of_the_stored_response(collection: Collection) -> None:
    pages = create_sink(collection).pages
    expected = {"If-None-Match": '"1"', "If-Modified-Since": "Mon, 01 Jan 2024 00:00:00 GMT"}
    assert pages.get_validators(A) == expected
    assert pages.get_validators(NEW) == {}
