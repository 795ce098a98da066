"""The directory of a crawl: locking, recovery after a kill, disk space check."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from topicrawl.collection.directory import Collection, contains_crawl, load_crawl_topic
from topicrawl.errors import CollectionError, SpaceError
from topicrawl.models import Link, Page, Priority, Response, Visit
from topicrawl.topic import Topic

TOPIC = Topic.of("dengue fever")


def response(url: str) -> Response:
    return Response(url, url, 200, {"content-type": "text/html"}, f"<p>{url}</p>".encode() * 50, 1000.0)


def visit(step: int, url: str) -> Visit:
    return Visit(step, Link(url), Priority(1.0), url, Page(url), 0.5, None, 1000.0, 200)


def store_visit(directory: Path, *numbers: int) -> Collection:
    collection = Collection(directory, TOPIC, {"identity": "x", "made": "by a test"})
    for number in numbers:
        url = f"http://a.example/{number}"
        collection.store_visits([(visit(number, url), response(url), None)])
    return collection


def test_a_new_directory_holds_the_topic_and_the_facts(tmp_path: Path) -> None:
    with store_visit(tmp_path / "crawl") as collection:
        assert not collection.is_resumed
        assert collection.store.get_fact("made") == "by a test"
    assert load_crawl_topic(tmp_path / "crawl") == TOPIC
    assert contains_crawl(tmp_path / "crawl")


def test_facts_and_topic_of_a_directory_that_exists_are_kept(tmp_path: Path) -> None:
    store_visit(tmp_path).close()
    with Collection(tmp_path, Topic.of("malaria"), {"identity": "y", "made": "again"}) as again:
        assert again.is_resumed
        assert again.store.get_fact("made") == "by a test"
    assert load_crawl_topic(tmp_path) == TOPIC


def test_a_second_process_is_refused_and_told_by_whom(tmp_path: Path) -> None:
    with store_visit(tmp_path):
        code = (
            "import sys; from pathlib import Path; from topicrawl.collection.directory import Collection\n"
            "from topicrawl.topic import Topic\nCollection(Path(sys.argv[1]), Topic.of('x y'), {})"
        )
        ran = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
        assert ran.returncode != 0
        assert f"in use by process {os.getpid()}" in ran.stderr
    store_visit(tmp_path).close()


def test_what_the_archive_has_and_the_store_has_not_is_cut_off(tmp_path: Path) -> None:
    collection = store_visit(tmp_path, 1, 2)
    size = (tmp_path / "warc/00001.warc.gz").stat().st_size
    collection.archive.write_fetch(response("http://a.example/3"))  # the process is killed here
    collection.close()
    with store_visit(tmp_path) as again:
        assert again.recover_archive() == []
        assert (tmp_path / "warc/00001.warc.gz").stat().st_size == size
        assert [row.url for row in again.store.iterate_visits()] == ["http://a.example/1", "http://a.example/2"]


def test_what_the_store_has_and_the_archive_has_not_is_named_as_lost(tmp_path: Path) -> None:
    store_visit(tmp_path, 1, 2, 3, 4).close()
    archive = tmp_path / "warc/00001.warc.gz"
    os.truncate(archive, archive.stat().st_size * 6 // 10)
    with store_visit(tmp_path) as again:
        rows = again.recover_archive()
        lost = [row.requested for row in rows]
        assert lost[-1] == "http://a.example/4"
        assert 1 <= len(lost) < 4
        assert [row.requested for row in again.recover_archive()] == lost, "until the store forgets them"
        again.store.delete_visits(rows)
        assert again.recover_archive() == []
        assert not {row.requested for row in again.store.iterate_visits()} & set(lost)
        again.store_visits([(visit(5, "http://a.example/4"), response("http://a.example/4"), None)])
        for row in again.store.iterate_visits():
            assert row.location is not None
            assert again.archive.read_response(row.location).body == response(row.url).body


def test_a_stored_page_is_taken_from_the_archive_once(tmp_path: Path) -> None:
    store_visit(tmp_path, 1).close()
    asked = []

    async def fetch(link: Link) -> Response:
        asked.append(link.url)
        return response(link.url)

    async def both(collection: Collection) -> list[Response]:
        through = collection.wrap_fetch(fetch)
        return [await through(Link(f"http://a.example/{number}")) for number in (1, 2)]

    with store_visit(tmp_path) as again:
        first, second = asyncio.run(both(again))
        assert first.body == response("http://a.example/1").body
        assert asked == ["http://a.example/2"]
        size = (tmp_path / "warc/00001.warc.gz").stat().st_size
        again.store_visits([(visit(2, "http://a.example/1"), first, None)])
        assert (tmp_path / "warc/00001.warc.gz").stat().st_size == size, "it is not archived twice"
        again.store_visits([(visit(3, "http://a.example/2"), second, None)])
        assert (tmp_path / "warc/00001.warc.gz").stat().st_size > size


def test_too_little_space_is_told_in_one_line(tmp_path: Path) -> None:
    with (
        Collection(tmp_path, TOPIC, {}, min_free=1 << 60) as collection,
        pytest.raises(SpaceError, match="must stay free"),
    ):
        collection.check_space()


def test_directories_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(CollectionError):
        Collection(tmp_path / "file" / "below", TOPIC, {})
    with pytest.raises(CollectionError, match="is a file"):
        Collection(tmp_path / "file", TOPIC, {})
