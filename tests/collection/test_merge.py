"""Directories of workers become one collection, as if one machine had made the crawl."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from topicrawl import parse
from topicrawl.collection.directory import Collection
from topicrawl.collection.duplicates import marks_of
from topicrawl.collection.links import packed
from topicrawl.collection.merge import Merge, Merged, checked
from topicrawl.collection.store import Kept
from topicrawl.errors import CollectionError
from topicrawl.records import Failure, Link, Place, Response, Visit
from topicrawl.topic import Topic

TOPIC = Topic.of("dengue fever")
LONG = " ".join(f"word{n}" for n in range(200))
READ = partial(parse.read, context=False)


def worker(directory: Path, epoch: str, *visits: tuple[float, str, str | None]) -> Path:
    """A worker's directory; of each visit when it was made, of what, and what stood there (None: it failed)."""
    with Collection(directory, TOPIC, {"identity": {"words": "dengue"}, "epoch": epoch}) as collection:
        for step, (at, url, text) in enumerate(visits, 1):
            body = f"<title>{url}</title><p>{text}</p><a href='/next'>next</a>".encode()
            response = Response(url, url, 200, {"content-type": "text/html"}, body, at)
            if text is None:
                visit = Visit(step, Link(url), Place(0.5), url, None, None, Failure.TIMEOUT, at)
                collection.keep([(visit, response, None)])
                continue
            page = READ(response, Link(url))
            assert not isinstance(page, Failure)
            visit = Visit(step, Link(url), Place(0.5), url, page, 0.5, None, at, 200)
            links = packed([(link, Place(0.1), None) for link in page.links])
            collection.store.add([Kept(visit, response, collection.archive.write(response), links, marks_of(page))])
    return directory


def merged(out: Path, *workers: Path) -> tuple[Merged, list[tuple[str, str | None]]]:
    with Collection(out, TOPIC, checked(out, workers)) as collection:
        merge = Merge(collection, workers, READ)
        list(merge.run())
        rows = list(collection.store.visits())
        assert [row.step for row in rows] == list(range(1, len(rows) + 1))
        for row in rows:
            if row.spot is not None:
                assert collection.archive.read(row.spot).url == row.url
        (pages,) = collection.store.rows("SELECT count(*) FROM pages")[0]
        assert pages == merge.done.pages
        assert collection.store.fact("identity") == {"words": "dengue"}
    return merge.done, [(row.requested, row.failure) for row in rows]


def test_visits_stand_in_the_order_in_which_they_were_made(tmp_path: Path) -> None:
    first = worker(tmp_path / "a", "e", (1.0, "http://a/1", "one"), (5.0, "http://a/2", "two"))
    second = worker(tmp_path / "b", "e", (3.0, "http://b/1", "three"), (4.0, "http://b/2", None))
    done, rows = merged(tmp_path / "all", first, second)
    assert rows == [("http://a/1", None), ("http://b/1", None), ("http://b/2", "timeout"), ("http://a/2", None)]
    assert (done.pages, done.failed, done.again, done.twins) == (3, 1, 0, 0)


def test_what_two_workers_fetched_stands_there_once_and_a_page_is_better_than_a_failure(tmp_path: Path) -> None:
    first = worker(tmp_path / "a", "e", (1.0, "http://a/1", None), (2.0, "http://a/2", "mine"))
    second = worker(tmp_path / "b", "e", (3.0, "http://a/1", "there"), (4.0, "http://a/2", "later"))
    done, rows = merged(tmp_path / "all", first, second)
    assert rows == [("http://a/2", None), ("http://a/1", None)]
    assert done.again == 2


def test_pages_that_repeat_one_of_another_worker_are_left_out(tmp_path: Path) -> None:
    first = worker(tmp_path / "a", "e", (1.0, "http://a/1", LONG))
    second = worker(tmp_path / "b", "e", (3.0, "http://b/1", LONG), (4.0, "http://b/2", LONG[::-1]))
    done, rows = merged(tmp_path / "all", first, second)
    assert rows == [("http://a/1", None), ("http://b/1", "duplicate"), ("http://b/2", None)]
    assert done.twins == 1


def test_what_does_not_belong_together_is_refused(tmp_path: Path) -> None:
    first, second = worker(tmp_path / "a", "e"), worker(tmp_path / "b", "another")
    with pytest.raises(CollectionError, match="another crawl"):
        checked(tmp_path / "all", [first, second])
    with pytest.raises(CollectionError, match="holds a crawl already"):
        checked(first, [second])
    with pytest.raises(CollectionError, match="holds no crawl"):
        checked(tmp_path / "all", [tmp_path / "nowhere"])
    with Collection(first, TOPIC, {}), pytest.raises(CollectionError, match="being written to"):
        checked(tmp_path / "all", [first])
