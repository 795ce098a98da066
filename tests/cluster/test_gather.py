"""Gather: worker directories are merged into one collection, as if one machine had crawled it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from topicrawl import parse
from topicrawl.cluster.gather import CollectionMerger, GatherResult, check_sources
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
            links = pack_links([(link, Priority(0.1), None) for link in page.links])
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
