"""Gather: worker directories are merged into one collection, as if one machine had crawled it."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest

from topicrawl import parse
from topicrawl.cluster.gather import CollectionMerger, GatherResult, check_sources, merge_frontiers
from topicrawl.collection.annotations import (
    AnnotationLabel,
    annotate,
    decide_group,
    list_current_annotations,
    undo_last_action,
)
from topicrawl.collection.deduplication import pack_duplicate_keys
from topicrawl.collection.directory import Collection
from topicrawl.collection.link_rows import pack_links
from topicrawl.collection.store import CollectionStore, VisitRecord
from topicrawl.errors import CollectionError
from topicrawl.frontier.base import FrontierEntry, FrontierRules, Offer
from topicrawl.frontier.sqlite.frontier import SqliteFrontier
from topicrawl.frontier.sqlite.reader import open_reader
from topicrawl.models import Failure, Link, Priority, Response, Visit
from topicrawl.topic import Topic
from topicrawl.urls import fingerprint

TOPIC = Topic.of("dengue fever")
LONG = " ".join(f"word{n}" for n in range(200))
READ = partial(parse.parse_response, context=False)


def worker(directory: Path, epoch: str, *visits: tuple[float, str, str | None]) -> Path:
    """Create a worker directory. A visit is a time, a URL and the text of the page (None: the fetch failed)."""
    with Collection(directory, TOPIC, {"identity": {"words": "dengue"}, "epoch": epoch}) as collection:
        for step, (at, url, text) in enumerate(visits, 1):
            body = f"<title>{url}</title><p>{text}</p><a href='/next'>next</a>".encode()
            response = Response(url, url, 200, {"content-type": "text/html"}, body, at)
            if text is None:
                visit = Visit(step, Link(url), Priority(0.5), url, None, None, Failure.TIMEOUT, at)
                collection.store_visits([(visit, response, None)])
                continue
            page = READ(response, Link(url))
            assert not isinstance(page, Failure)
            visit = Visit(step, Link(url), Priority(0.5), url, page, 0.5, None, at, 200)
            links = pack_links(page.links, [Priority(0.1) for _ in page.links], {})
            collection.store.add_visits(
                [
                    VisitRecord(
                        visit, response, collection.archive.write_fetch(response), links, pack_duplicate_keys(page)
                    )
                ]
            )
    return directory


def merge_workers(out: Path, *workers: Path) -> tuple[GatherResult, list[tuple[str, str | None]]]:
    with Collection(out, TOPIC, check_sources(out, workers)) as collection:
        merge = CollectionMerger(collection, workers, READ)
        list(merge.run())
        rows = list(collection.store.iterate_visits())
        assert [row.step for row in rows] == list(range(1, len(rows) + 1))
        for row in rows:
            if row.location is not None:
                assert collection.archive.read_response(row.location).url == row.url
        (pages,) = collection.store.query_rows("SELECT count(*) FROM pages")[0]
        assert pages == merge.result.pages
        assert collection.store.get_fact("identity") == {"words": "dengue"}
    return merge.result, [(row.requested, row.failure) for row in rows]


def test_visits_are_sorted_by_time(tmp_path: Path) -> None:
    first = worker(tmp_path / "a", "e", (1.0, "http://a/1", "one"), (5.0, "http://a/2", "two"))
    second = worker(tmp_path / "b", "e", (3.0, "http://b/1", "three"), (4.0, "http://b/2", None))
    done, rows = merge_workers(tmp_path / "all", first, second)
    assert rows == [("http://a/1", None), ("http://b/1", None), ("http://b/2", "timeout"), ("http://a/2", None)]
    assert (done.pages, done.failed, done.repeated, done.duplicates) == (3, 1, 0, 0)


def test_a_url_of_two_workers_occurs_once_and_a_page_is_preferred_to_a_failure(tmp_path: Path) -> None:
    first = worker(tmp_path / "a", "e", (1.0, "http://a/1", None), (2.0, "http://a/2", "mine"))
    second = worker(tmp_path / "b", "e", (3.0, "http://a/1", "there"), (4.0, "http://a/2", "later"))
    done, rows = merge_workers(tmp_path / "all", first, second)
    assert rows == [("http://a/2", None), ("http://a/1", None)]
    assert done.repeated == 2


def test_duplicates_across_workers_are_omitted(tmp_path: Path) -> None:
    first = worker(tmp_path / "a", "e", (1.0, "http://a/1", LONG))
    second = worker(tmp_path / "b", "e", (3.0, "http://b/1", LONG), (4.0, "http://b/2", LONG[::-1]))
    done, rows = merge_workers(tmp_path / "all", first, second)
    assert rows == [("http://a/1", None), ("http://b/1", "duplicate"), ("http://b/2", None)]
    assert done.duplicates == 1


def test_the_last_verdict_of_any_worker_counts_and_decisions_can_be_revoked(tmp_path: Path) -> None:
    urls = [f"http://a/{number}" for number in range(4)]
    one = worker(tmp_path / "one", "e", *((1.0 + n, url, f"{LONG} {url}") for n, url in enumerate(urls[:2])))
    two = worker(tmp_path / "two", "e", *((3.0 + n, url, f"other {url}") for n, url in enumerate(urls[2:])))
    yes, no = AnnotationLabel.RELEVANT, AnnotationLabel.IRRELEVANT
    for directory, steps in ((one, ((urls[0], yes, 10.0), (urls[0], no, 12.0))), (two, ((urls[2], yes, 11.0),))):
        store = CollectionStore(directory / "topicrawl.sqlite")
        for url, label, at in steps:
            annotate(store, [url], label, origin="read", at=at)
        store.close()
    store = CollectionStore(two / "topicrawl.sqlite")
    decide_group(store, "vsm", urls[3:], yes, sample=[fingerprint(urls[2])], at=13.0)
    store.close()
    merge_workers(tmp_path / "all", one, two)
    store = CollectionStore(tmp_path / "all" / "topicrawl.sqlite")
    labels = {row.url: row.label for row in list_current_annotations(store).values()}
    assert labels == {urls[0]: no, urls[2]: yes, urls[3]: yes}
    annotate(store, [urls[2]], no, origin="read", at=14.0)
    assert set(list_current_annotations(store)) == {fingerprint(urls[0]), fingerprint(urls[2])}
    undo_last_action(store, at=15.0)
    undo_last_action(store, at=16.0)
    assert {row.url for row in list_current_annotations(store).values()} == {urls[0], urls[2]}
    store.close()


def add_frontier(directory: Path, *, done: dict[str, str], waiting: dict[str, float], lease: bool = False) -> Path:
    """Write the frontier of a crawl. With `lease`, the process dies while its best link is being fetched."""

    async def write() -> None:
        frontier = SqliteFrontier(directory / "frontier.sqlite", FrontierRules(), lambda: 1.0)
        for url, reason in done.items():
            await frontier.mark_done([url], reason)
        links = [Offer(Link(url, "http://a/", f"to {url}", depth=2), Priority(s, "p")) for url, s in waiting.items()]
        await frontier.add(links)
        if lease:
            assert len(await frontier.lease(1)) == 1
            frontier._database.close()
        else:
            await frontier.close()

    asyncio.run(write())
    return directory


def test_frontiers_are_merged(tmp_path: Path) -> None:
    first = worker(tmp_path / "a", "e", (1.0, "http://a/1", "one"), (2.0, "http://a/2", None))
    second = worker(tmp_path / "b", "e", (3.0, "http://b/1", LONG), (4.0, "http://b/2", LONG))
    third = worker(tmp_path / "c", "e")  # a worker without a frontier
    done = {"http://a/1": "fetched", "http://a/2": "timeout", "http://a/old": "fetched"}
    add_frontier(first, done=done, waiting={"http://x/": 0.9, "http://y/": 0.2, "http://b/1": 0.5}, lease=True)
    waiting = {"http://y/": 0.7, "http://z/": 0.1, "http://a/2": 0.9, "http://a/old": 0.8}
    add_frontier(second, done={"http://b/1": "fetched", "http://b/2": "fetched"}, waiting=waiting)
    out = tmp_path / "all"
    with Collection(out, TOPIC, check_sources(out, [first, second, third])) as collection:
        list(CollectionMerger(collection, [first, second, third], READ).run())
        assert asyncio.run(merge_frontiers(collection, [first, second, third])) == 3

    async def read() -> tuple[list[FrontierEntry], dict[str, str]]:
        reader = open_reader(out / "frontier.sqlite")
        entries = await reader.get_best_entries(10)
        closed = {entry.link.url: entry.reason for _, entry in reader.get_all(100) if entry.state == "done"}
        await reader.close()
        return entries, closed

    entries, closed = asyncio.run(read())
    assert [(entry.link.url, entry.priority.score) for entry in entries] == [
        ("http://x/", 0.9),
        ("http://y/", 0.7),
        ("http://z/", 0.1),
    ]
    link = Link("http://x/", "http://a/", "to http://x/", depth=2)
    assert (entries[0].link, entries[0].priority.payload) == (link, "p")
    reasons = {"http://b/1": "fetched", "http://b/2": "duplicate"}
    assert closed == {**done, **reasons}, "the merge finds a duplicate"


def test_unrelated_or_busy_directories_are_refused(tmp_path: Path) -> None:
    first, second = worker(tmp_path / "a", "e"), worker(tmp_path / "b", "another")
    with pytest.raises(CollectionError, match="another crawl"):
        check_sources(tmp_path / "all", [first, second])
    with pytest.raises(CollectionError, match="holds a crawl already"):
        check_sources(first, [second])
    with pytest.raises(CollectionError, match="holds no crawl"):
        check_sources(tmp_path / "all", [tmp_path / "nowhere"])
    with Collection(first, TOPIC, {}), pytest.raises(CollectionError, match="being written to"):
        check_sources(tmp_path / "all", [first])
