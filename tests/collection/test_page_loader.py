"""The page loader finds stored pages after a restart, and ignores pages that are lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from topicrawl import parse
from topicrawl.collection.deduplication import DuplicateDetector
from topicrawl.collection.directory import Collection
from topicrawl.collection.page_loader import PageLoader
from topicrawl.models import Link, Page, Priority, Response, Visit
from topicrawl.topic import Topic

TEXT = " ".join(f"owl{number} barn{number % 7} dusk{number % 11}" for number in range(100))


@contextmanager
def open_collection(directory: Path) -> Iterator[tuple[Collection, DuplicateDetector]]:
    with Collection(directory, Topic.of("owls"), {"identity": {}}) as collection:
        found = DuplicateDetector(
            PageLoader(collection.store, collection.archive, partial(parse.parse_response, context=False))
        )
        collection.duplicate_detector = found
        yield collection, found


def response(path: str) -> Response:
    url = f"http://owls.example{path}"
    return Response(url, url, 200, {"content-type": "text/html"}, f"<p>{TEXT}</p>".encode(), at=1.0)


def page(path: str) -> Page:
    found = parse.parse_response(response(path), Link(response(path).url))
    assert isinstance(found, Page)
    return found


def keep(collection: Collection, path: str) -> None:
    answer = response(path)
    collection.store_visits([(Visit(1, Link(answer.url), Priority(1.0), answer.url, page(path), 0.5), answer, None)])


def test_after_a_kill_a_kept_page_repeats_only_others(tmp_path: Path) -> None:
    with open_collection(tmp_path) as (collection, duplicates):
        assert duplicates.find_duplicate(page("/a")) is None
        keep(collection, "/a")
    with open_collection(tmp_path) as (_, duplicates):
        # The visit was stored, but its link may not have been completed; then the visit is repeated.
        assert duplicates.find_duplicate(page("/a")) is None
        duplicates.register_stored("http://owls.example/a", 1)
        twin = duplicates.find_duplicate(page("/b"))
        assert twin is not None
        assert twin.url == "http://owls.example/a"


def test_a_page_whose_archive_is_missing_is_not_a_duplicate_candidate(tmp_path: Path) -> None:
    with open_collection(tmp_path) as (collection, duplicates):
        duplicates.find_duplicate(page("/a"))
        keep(collection, "/a")
        (tmp_path / "warc" / "00001.warc.gz").unlink()
        assert duplicates.find_duplicate(page("/b")) is None


def test_a_collection_of_an_older_version_has_no_marks_and_gets_some(tmp_path: Path) -> None:
    with open_collection(tmp_path) as (collection, _):
        collection.duplicate_detector = None
        keep(collection, "/a")
    with open_collection(tmp_path) as (collection, duplicates):
        assert duplicates.find_duplicate(page("/b")) is None
        keep(collection, "/b")
        assert duplicates.find_duplicate(page("/c")) is not None


def test_a_page_that_has_changed_is_found_by_what_it_says_now(tmp_path: Path) -> None:
    with open_collection(tmp_path) as (collection, _):
        answer = response("/a")
        visit = Visit(1, Link(answer.url), Priority(1.0), answer.url, page("/a"), 0.5)
        collection.store.add_visits([collection.archive_version(visit, answer, None)])
    with open_collection(tmp_path) as (_, duplicates):
        assert duplicates.find_duplicate(page("/b")) is not None


def test_a_page_that_has_changed_is_held_only_until_it_is_stored(tmp_path: Path) -> None:
    with open_collection(tmp_path) as (collection, duplicates):
        answer = response("/a")
        visit = Visit(1, Link(answer.url), Priority(1.0), answer.url, page("/a"), 0.5)
        assert duplicates.find_duplicate(page("/a")) is None
        kept = collection.archive_version(visit, answer, None)
        assert not duplicates._unstored, "a refresh of many pages would hold them all"
        assert kept.duplicate_keys
        collection.store.add_visits([kept])
        assert duplicates.find_duplicate(page("/b")) is not None
