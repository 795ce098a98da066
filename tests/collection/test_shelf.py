"""What is known of kept pages survives, and pages that are lost are nobody's original."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from topicrawl import parse
from topicrawl.collection.directory import Collection
from topicrawl.collection.duplicates import Duplicates
from topicrawl.collection.shelf import Shelf
from topicrawl.records import Link, Page, Place, Response, Visit
from topicrawl.topic import Topic

TEXT = " ".join(f"owl{number} barn{number % 7} dusk{number % 11}" for number in range(100))


@contextmanager
def opened(directory: Path) -> Iterator[tuple[Collection, Duplicates]]:
    with Collection(directory, Topic.of("owls"), {"identity": {}}) as collection:
        found = Duplicates(Shelf(collection.store, collection.archive, partial(parse.read, context=False)))
        collection.duplicates = found
        yield collection, found


def response(path: str) -> Response:
    url = f"http://owls.example{path}"
    return Response(url, url, 200, {"content-type": "text/html"}, f"<p>{TEXT}</p>".encode(), at=1.0)


def page(path: str) -> Page:
    found = parse.read(response(path), Link(response(path).url))
    assert isinstance(found, Page)
    return found


def keep(collection: Collection, path: str) -> None:
    answer = response(path)
    collection.keep([(Visit(1, Link(answer.url), Place(1.0), answer.url, page(path), 0.5), answer, None)])


def test_after_a_kill_a_kept_page_repeats_only_others(tmp_path: Path) -> None:
    with opened(tmp_path) as (collection, duplicates):
        assert duplicates.twin(page("/a")) is None
        keep(collection, "/a")
    with opened(tmp_path) as (_, duplicates):
        # It was stored, but its link may not have been completed: then it is made again.
        assert duplicates.twin(page("/a")) is None
        duplicates.stored("http://owls.example/a", 1)
        twin = duplicates.twin(page("/b"))
        assert twin is not None
        assert twin.url == "http://owls.example/a"


def test_a_page_whose_archive_is_gone_is_nobodys_original(tmp_path: Path) -> None:
    with opened(tmp_path) as (collection, duplicates):
        duplicates.twin(page("/a"))
        keep(collection, "/a")
        (tmp_path / "warc" / "00001.warc.gz").unlink()
        assert duplicates.twin(page("/b")) is None


def test_a_collection_of_an_older_version_has_no_marks_and_gets_some(tmp_path: Path) -> None:
    with opened(tmp_path) as (collection, _):
        collection.duplicates = None
        keep(collection, "/a")
    with opened(tmp_path) as (collection, duplicates):
        assert duplicates.twin(page("/b")) is None
        keep(collection, "/b")
        assert duplicates.twin(page("/c")) is not None


def test_a_page_that_has_changed_is_found_by_what_it_says_now(tmp_path: Path) -> None:
    with opened(tmp_path) as (collection, _):
        answer = response("/a")
        visit = Visit(1, Link(answer.url), Place(1.0), answer.url, page("/a"), 0.5)
        collection.store.add([collection.version(visit, answer, None)])
    with opened(tmp_path) as (_, duplicates):
        assert duplicates.twin(page("/b")) is not None


def test_a_page_that_has_changed_is_held_only_until_it_is_stored(tmp_path: Path) -> None:
    with opened(tmp_path) as (collection, duplicates):
        answer = response("/a")
        visit = Visit(1, Link(answer.url), Place(1.0), answer.url, page("/a"), 0.5)
        assert duplicates.twin(page("/a")) is None
        kept = collection.version(visit, answer, None)
        assert not duplicates._fresh, "a refresh of many pages would hold them all"
        assert kept.marks
        collection.store.add([kept])
        assert duplicates.twin(page("/b")) is not None
