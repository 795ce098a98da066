"""What is in a collection can be found, and nothing else."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.made import START, made, owls

from topicrawl.collection import verdicts
from topicrawl.collection.store import Store
from topicrawl.collection.verdicts import Ruling
from topicrawl.errors import CollectionError, UsageError
from topicrawl.search import Index, Query, indexing, readers, reading
from topicrawl.search.index import catch_up
from topicrawl.search.indexing import Indexing
from topicrawl.search.query import Part, parsed

PAGES = [
    ("http://www.a.example/owls", "Owls of the night", "Most owls hunt at night. A barn owl nests in barns."),
    ("http://www.a.example/bats", "Bats", "Bats hunt at night and sleep by day; no owl eats all bats."),
    ("http://b.example/trains", "Night trains", "Trains run at night. Railway barns hold trains."),
    ("http://b.example/tokyo", "東京", "東京都は日本の首都"),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    directory = made(tmp_path_factory.mktemp("crawl") / "owls", PAGES)
    return Index.up_to_date(directory)


def urls(index: Index, text: str, **options: object) -> list[str]:
    found = index.search(Query(text, **options))  # type: ignore[arg-type]
    return [hit.url.rpartition("/")[2] for hit in found.hits]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("owls", ["owls", "bats"]),
        ("owl nesting", ["owls", "bats"]),
        ("OWL", ["owls", "bats"]),
        ('"barn owl"', ["owls"]),
        ('"owl barn"', []),
        ("+night -owl", ["trains"]),
        ("title:night", ["trains", "owls"]),
        ("text:trains", ["trains"]),
        ("title:trains -text:railway", []),
        ("railw*", ["trains"]),
        ("url:bats", ["bats"]),
        ("host:b.example night", ["trains"]),
        ("host:a.example", ["owls", "bats"]),
        ("東京都", ["tokyo"]),
        ("首都", ["tokyo"]),
        ("since:2023-11-17 night", ["trains"]),
        ("before:2023-11-16 night", ["owls"]),
        ("relevance:0.6 night", []),
        ("relevance:0.5 +owl", ["owls", "bats"]),
        ("language:de owl", []),
        ("verdict:none owl", ["owls", "bats"]),
        ("nothingness", []),
        ('"" \' * : ( )', []),
        ('owl"', ["owls", "bats"]),
    ],
    ids=str,
)
def test_a_query_finds_what_it_says(index: Index, text: str, expected: list[str]) -> None:
    assert urls(index, text) == expected


@pytest.mark.parametrize(
    "text", ["relevance:9", "verdict:good", "since:soon", "x" * 1001, " ".join(map(str, range(40)))]
)
def test_what_cannot_be_understood_is_said_in_one_line(index: Index, text: str) -> None:
    with pytest.raises(UsageError) as error:
        index.search(Query(text))
    assert "\n" not in str(error.value)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80))
def test_no_query_breaks_the_index(index: Index, text: str) -> None:
    with suppress(UsageError):
        index.search(Query(text))


def test_a_hit_shows_the_words_that_were_looked_for(index: Index) -> None:
    hit = index.search(Query("nesting barn")).hits[0]
    assert [piece for piece, marked in hit.snippet if marked] == ["barn", "nests", "barns"]
    assert "".join(piece for piece, _ in hit.snippet) == PAGES[0][2]


def test_weights_beside_the_text_change_the_order(index: Index) -> None:
    assert urls(index, "hunt") == ["bats", "owls"]
    assert urls(index, "hunt", weights={"barns": 2.0})[0] == "owls"
    assert urls(index, "hunt", weights={"bats": -1.0}) == ["owls", "bats"]
    assert urls(index, "hunt", without=("http://www.a.example/owls",)) == ["bats"]


def test_the_occurrences_are_recovered_exactly(tmp_path: Path) -> None:
    texts = [" ".join(["owl"] * count + ["night"] * (20 - count % 7)) for count in (1, 2, 5, 9, 30)]
    directory = made(tmp_path / "c", [owls(number, text) for number, text in enumerate(texts)])
    index = Index.up_to_date(directory)
    with index._now():
        found = index._postings(Part(("owl",)))
        everywhere = index._postings(Part(("night",)))
    assert found.counts.tolist() == [1, 2, 5, 9, 30]
    assert everywhere.counts.tolist() == [19, 18, 15, 18, 18]
    index.close()


def test_new_pages_are_found_by_a_reader_that_was_open_before(tmp_path: Path) -> None:
    directory = made(tmp_path / "c", [owls(1, "barn owl")])
    index = Index.up_to_date(directory)
    assert index.search(Query("owl")).pages == 1
    made(directory, [owls(2, "snowy owl"), owls(3, "lynx")], first=2)
    catch_up(directory)
    assert index.search(Query("owl")).pages == 2
    assert index.pages == 3
    index.close()


def test_what_is_indexed_in_slices_is_indexed_whole(tmp_path: Path) -> None:
    directory = made(tmp_path / "c", [owls(number, "owl", f"w{number}") for number in range(1, 51)])
    indexing = Indexing(directory)
    assert [indexing.run(most=7) for _ in range(9)] == [7] * 7 + [1, 0]
    indexing.close()
    index = Index(directory)
    assert [index.search(Query(f"w{number}")).pages for number in range(1, 51)] == [1] * 50
    index.close()


def test_a_page_that_has_changed_is_found_by_what_it_says_now(tmp_path: Path) -> None:
    directory = made(tmp_path / "c", [owls(1, "barn owl"), owls(2, "lynx")])
    index = Index.up_to_date(directory)
    assert urls(index, "owl") == ["1"]
    made(directory, [owls(1, "a fox now and nothing else")], is_changed=True)
    catch_up(directory)
    assert (urls(index, "owl"), urls(index, "fox"), index.pages) == ([], ["1"], 2)
    index.close()


def test_verdicts_of_readers_are_searched(tmp_path: Path) -> None:
    directory = made(tmp_path / "c", [owls(1, "barn owl"), owls(2, "snowy owl")])
    index = Index.up_to_date(directory)
    store = Store(directory / "topicrawl.sqlite")
    verdicts.rule(store, ["http://www.a.example/2"], Ruling.RELEVANT, how="one", at=START)
    catch_up(directory)
    assert urls(index, "owl verdict:relevant") == ["2"]
    assert urls(index, "owl verdict:none") == ["1"]
    verdicts.undo(store, at=START)
    store.close()
    catch_up(directory)
    assert urls(index, "owl verdict:relevant") == []
    index.close()


def test_two_indexers_do_not_meet(tmp_path: Path) -> None:
    directory = made(tmp_path / "c", [owls(1, "barn owl")])
    first = Indexing(directory)
    with pytest.raises(CollectionError, match="in use"):
        Indexing(directory)
    assert not catch_up(directory)
    first.run()
    first.close()
    assert catch_up(directory)


@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "foreign", "zeros"])
def test_an_index_that_is_damaged_is_made_again(tmp_path: Path, damage: str) -> None:
    directory = made(tmp_path / "c", [owls(number, "barn owl", "word" * number) for number in range(1, 60)])
    catch_up(directory)
    file = directory / "search.sqlite"
    data = file.read_bytes()
    for name in ("search.sqlite-wal", "search.sqlite-shm"):
        (directory / name).unlink(missing_ok=True)
    if damage == "gone":
        file.unlink()
    elif damage == "foreign":
        file.unlink()
        sqlite3.connect(file).executescript("CREATE TABLE other (x); PRAGMA application_id = 7;")
    else:
        file.write_bytes(
            {"empty": b"", "cut": data[: len(data) // 2], "zeros": data[:8192] + bytes(len(data) - 8192)}[damage]
        )
    index = Index.up_to_date(directory)
    assert index.search(Query("owl")).pages == 59
    index.close()


_KILLED = """
import os, signal, sys
from pathlib import Path
from topicrawl.search import indexing
indexing.BATCH = 3
where, when = sys.argv[2], int(sys.argv[3])
def killed(at):
    if at >= when:
        os.kill(os.getpid(), signal.SIGKILL)
stored, calls = indexing.Shelving._store, []
def store(self, key, made):
    stored(self, key, made)
    calls.append(made)
    killed(len(calls))
if where == "within":
    indexing.Shelving._store = store
indexing.Indexing(Path(sys.argv[1])).run(tick=killed if where == "between" else None)
"""


def test_after_a_kill_the_index_goes_on_where_it_was(tmp_path: Path) -> None:
    directory = made(tmp_path / "c", [owls(number, "barn owl", f"w{number}") for number in range(1, 31)])
    # The last kill is in the middle of making one segment of four, when the old ones are gone and nothing is sure yet.
    for where, at in (("between", 6), ("within", 3)):
        ended = subprocess.run([sys.executable, "-c", _KILLED, str(directory), where, str(at)], check=False)
        assert ended.returncode == -signal.SIGKILL
    assert os.path.getsize(directory / "search.sqlite-wal") > 0
    index = Index(directory)
    assert index.pages == 9
    assert catch_up(directory)
    assert index.search(Query("owl")).pages == 30
    assert [index.search(Query(f"w{number}")).pages for number in range(1, 31)] == [1] * 30
    index.close()


def test_many_pages_are_read_by_processes_and_nothing_is_lost_when_these_die(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    started: list[readers._Process] = []

    class Remembered(readers._Process):
        def __init__(self, directory: Path) -> None:
            super().__init__(directory)
            started.append(self)

    def tick(added: int) -> None:
        for one in started if added == 16 else ():
            one._process.kill()

    for module in (indexing, readers):
        monkeypatch.setattr(module, "MANY", 10)
    monkeypatch.setattr(readers, "_Process", Remembered)
    monkeypatch.setattr(indexing, "BATCH", 16)
    monkeypatch.setattr(indexing, "_READ", 4)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    directory = made(tmp_path / "c", [owls(number, "barn owl", f"w{number}") for number in range(1, 61)])
    writer = Indexing(directory)
    assert writer.run(tick=tick) == 60
    writer.close()
    assert len(started) == 2
    assert all(one._process.returncode is not None for one in started)
    assert "reading here" in caplog.text
    index = Index(directory)
    assert [index.search(Query(f"w{number}")).pages for number in range(1, 61)] == [1] * 60
    index.close()


def test_pages_are_read_by_processes_only_while_they_are_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (indexing, readers):
        monkeypatch.setattr(module, "MANY", 10)
    monkeypatch.setattr(readers, "_Process", reading.Reading)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    directory = made(tmp_path / "c", [owls(1, "barn owl")])
    writer = Indexing(directory)
    found: list[int | None] = []
    for first, last in ((2, 8), (8, 28), (28, 34), (34, 34)):
        made(directory, [owls(number, "barn owl", f"w{number}") for number in range(first, last)], first=first)
        writer.run()
        found.append(writer._readers and writer._readers.processes)
    writer.close()
    assert found == [0, 2, 0, 0]
    index = Index(directory)
    assert [index.search(Query(f"w{number}")).pages for number in range(2, 34)] == [1] * 32
    index.close()


def test_a_page_whose_record_is_damaged_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory = made(tmp_path / "c", [owls(1, "barn owl"), owls(2, "snowy owl")])
    archive = next((directory / "warc").iterdir())
    archive.write_bytes(archive.read_bytes()[:-40])
    index = Index.up_to_date(directory)
    assert (urls(index, "owl"), index.pages) == (["1"], 1)
    assert "cannot be searched" in caplog.text
    index.close()


def test_fields_of_a_query_are_told_apart() -> None:
    keys = [part.key for part in parsed(Query('http://a.example/x title:"Two words" c++ 10:30')).wanted]
    assert keys == ["http", "a", "example", "x", 'title:"two words"', "c", "10", "30"]
