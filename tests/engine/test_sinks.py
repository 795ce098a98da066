"""Visit sinks: what the collection, memory and nothing keep, and what observers see."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from tests.helpers.visits import build_visit

from topicrawl.collection.directory import Collection
from topicrawl.engine.scheduling import OutlinkDecision, Outlinks
from topicrawl.engine.sinks import CollectionSink, MemorySink, NullSink, ProcessedVisit, VisitObserver, VisitSink
from topicrawl.fetch.http import HttpClient
from topicrawl.fetch.polite import PoliteFetcher
from topicrawl.models import Failure, Link, Priority, Response
from topicrawl.models import Visit as VisitRecord
from topicrawl.topic import Topic

A, B = "http://a.example/", "http://b.example/"


@dataclass
class Recorder(VisitObserver):
    """Observer that notes its calls in a list that it shares with others."""

    name: str
    calls: list[tuple[object, ...]] = field(default_factory=list)

    def observe_visit(self, visit: VisitRecord, outlinks: Sequence[OutlinkDecision]) -> None:
        self.calls.append((self.name, visit.url, [out.link.url for out in outlinks]))

    def on_batch_completed(self) -> None:
        self.calls.append((self.name, "batch completed"))


def process(url: str, *links: str) -> ProcessedVisit:
    outlinks = Outlinks([Link(link, url) for link in links], [Priority(0.5) for _ in links])
    return ProcessedVisit(build_visit(url, links, relevance=0.5), Response(url, url, 200, {}, b"<p>x"), outlinks)


def create_sink(collection: Collection, observers: list[VisitObserver]) -> CollectionSink:
    return CollectionSink(collection, PoliteFetcher(HttpClient()), observers)


def test_the_null_sink_keeps_nothing_and_the_memory_sink_keeps_visits_and_retries() -> None:
    memory = MemorySink()
    sinks: list[VisitSink] = [NullSink(), memory]
    for sink in sinks:
        sink.store_visits([process(A)])
        sink.on_batch_completed()
        sink.record_retry(Link(B), Response(B, B, failure=Failure.TIMEOUT), 1)
        assert sink.find_stored_step(Link(A)) is None
    assert [visit.url for visit in memory.visits.values()] == [A]
    assert memory.retries == [(B, 1)]


def test_a_collection_sink_stores_visits_and_then_calls_the_observers_in_order(tmp_path: Path) -> None:
    calls: list[tuple[object, ...]] = []
    with Collection(tmp_path / "crawl", Topic.of("dengue"), {}) as collection:

        class StoredVisits(Recorder):
            def observe_visit(self, visit: VisitRecord, outlinks: Sequence[OutlinkDecision]) -> None:
                assert collection.store.find_visit(visit.url) is not None, "the visit is stored first"
                super().observe_visit(visit, outlinks)

        sink = create_sink(collection, [StoredVisits("one", calls), VisitObserver(), Recorder("two", calls)])
        sink.store_visits([process(A, B)])
        sink.on_batch_completed()
        assert calls == [("one", A, [B]), ("two", A, [B]), ("one", "batch completed"), ("two", "batch completed")]
        assert sink.find_stored_step(Link(A)) is None, "this run has stored the visit"
        ((links,),) = collection.store.query_rows("SELECT count(*) FROM links")
        assert links == 1
    with Collection(tmp_path / "crawl", Topic.of("dengue"), {}) as collection:
        assert create_sink(collection, []).find_stored_step(Link(A)) == 1


def test_a_collection_sink_stores_failed_attempts(tmp_path: Path) -> None:
    with Collection(tmp_path / "crawl", Topic.of("dengue"), {}) as collection:
        create_sink(collection, []).record_retry(Link(A), Response(A, A, failure=Failure.TIMEOUT, at=1.0), 2)
        rows = collection.store.query_rows("SELECT url, failure, attempt FROM failures")
    assert rows == [(A, "timeout", 2)]


def test_a_collection_sink_stores_the_sitemaps_of_an_origin_once(tmp_path: Path) -> None:
    class Sitemaps(PoliteFetcher):
        asked: ClassVar[list[str]] = []

        def get_sitemaps(self, origin: str) -> tuple[str, ...]:
            self.asked.append(origin)
            return ("/map.xml", "http://c.example/map.xml")

    async def main() -> list[tuple[object, ...]]:
        with Collection(tmp_path / "crawl", Topic.of("dengue"), {}) as collection:
            fetcher = Sitemaps(HttpClient())
            sink = CollectionSink(collection, fetcher)
            sink.store_visits([process(A)])
            sink.store_visits([process(A + "2")])
            assert fetcher.asked == ["http://a.example"]
            return collection.store.query_rows("SELECT origin, sitemaps FROM hosts")

    ((origin, sitemaps),) = asyncio.run(main())
    assert origin == "http://a.example"
    assert all(url in str(sitemaps) for url in ("http://a.example/map.xml", "http://c.example/map.xml"))
