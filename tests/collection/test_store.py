"""The store: what goes in comes out, and other programs' files stay what they are."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from topicrawl.collection import report
from topicrawl.collection.archive import Spot
from topicrawl.collection.links import packed
from topicrawl.collection.store import Kept, Store
from topicrawl.errors import CollectionError, DamagedError, SpaceError
from topicrawl.records import Carry, Failure, Link, Page, Place, Response, Visit

A, B, C = (f"http://{name}.example/" for name in "abc")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "topicrawl.sqlite")
    yield made
    made.close()


def visit(step: int, url: str, source: str = "", failure: Failure | None = None, relevance: float = 0.5) -> Visit:
    page = None if failure else Page(url, title="t\ud800", words=("a", "b"), language="en", digest="d")
    place = Place(0.25, {"level": 3}, (("page", 0.5), ("anchor", 0.0)))
    return Visit(
        step, Link(url, source, "an anchor", depth=2), place, url, page, relevance, failure, 1000.0 + step, 200
    )


def add(store: Store, made: Visit, *targets: str) -> None:
    links = packed([(Link(url, anchor="to " + url), Place(0.5), None) for url in targets]) if targets else None
    response = Response(made.link.url, made.url, 200, {"content-type": "text/html"}, b"12345")
    store.add([Kept(made, response, Spot(1, made.step * 100, 50) if made.failure is None else None, links)])


def test_a_visit_comes_out_as_it_went_in(store: Store) -> None:
    add(store, visit(1, A, B))
    (stored,) = store.visits()
    assert stored.link == Link(A, B, "an anchor", depth=2)
    assert stored.place == Place(0.25, {"level": 3}, (("page", 0.5), ("anchor", 0.0)))
    assert stored.spot == Spot(1, 100, 50)
    assert (stored.relevance, stored.failure, stored.at) == (0.5, None, 1001.0)


def test_a_second_visit_to_a_link_replaces_the_first(store: Store) -> None:
    add(store, visit(1, A), B)
    add(store, visit(2, A), C)
    assert [row.step for row in store.visits()] == [2]
    assert report.offered(store, C)
    assert report.counts(store) == (2, 1)


def test_a_visit_is_found_by_what_was_asked_and_by_where_it_ended(store: Store) -> None:
    made = visit(1, A)
    moved = Visit(2, Link(B), Place(1.0), C, Page(C), 0.1, None, 0.0, 200)
    add(store, made)
    add(store, moved)
    for url, step in ((A, 1), (B, 2), (C, 2)):
        found = store.visit_of(url)
        assert found is not None
        assert found.step == step
    assert store.visit_of("http://nowhere.example/") is None


def test_the_report_counts_pages_hosts_and_failures(store: Store) -> None:
    add(store, visit(1, A, relevance=0.9))
    add(store, visit(2, A + "x", relevance=0.1))
    add(store, visit(3, B, failure=Failure.TIMEOUT))
    assert report.harvest(store, 0.5) == (2, 1)
    assert report.hosts(store) == {"a.example": 2}
    assert report.failures(store) == {"timeout": 1}
    assert report.counts(store) == (3, 2)


def test_the_last_spot_is_the_end_of_the_archive(store: Store) -> None:
    assert report.last_spot(store) is None
    for step in (1, 2, 3):
        add(store, visit(step, f"{A}{step}"))
    assert report.last_spot(store) == Spot(1, 300, 50)


def test_forgotten_visits_are_gone(store: Store) -> None:
    add(store, visit(1, A))
    add(store, visit(2, B))
    store.forget(list(store.visits("step=1")))
    assert [row.step for row in store.visits()] == [2]
    assert report.hosts(store) == {"b.example": 1}


def test_facts_are_kept_as_they_are(store: Store) -> None:
    store.set_facts({"a": {"b": [1, 2.5, None, "é"]}, "c": None})
    assert store.fact("a") == {"b": [1, 2.5, None, "é"]}
    assert store.fact("c") is None
    assert store.fact("never set") is None


def test_long_strings_of_a_fact_stand_in_rows_of_their_own_and_go_when_it_is_replaced(store: Store) -> None:
    long: Carry = {"step": 3, "tables": {"urls": "é" * 70_000, "weights": ["x" * 80_000, "short"]}}
    store.set_facts({"learned": long, "learner": 1})
    assert store.fact("learned") == long
    names = [name for (name,) in store.rows("SELECT name FROM facts WHERE length(value) > 100")]
    assert names == ["learned/0", "learned/1"]
    store.db.execute("DELETE FROM facts WHERE name = 'learned/1'")
    with pytest.raises(DamagedError, match="topicrawl doctor"):
        store.fact("learned")
    store.set_facts({"learned": None})
    assert store.rows("SELECT name FROM facts") == [("learned",), ("learner",)]


def test_a_failed_transaction_leaves_nothing(store: Store) -> None:
    def fail() -> None:
        with store.db.transaction():
            store.db.execute("INSERT INTO facts VALUES ('x', '1')")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert store.fact("x") is None
    store.set_facts({"x": 2})
    assert store.fact("x") == 2


def test_a_full_disk_is_a_space_error_and_the_store_goes_on(store: Store) -> None:
    add(store, visit(1, A))
    (pages,) = store.db.execute("PRAGMA page_count").fetchone()
    store.db.execute(f"PRAGMA max_page_count={pages}")

    def fill() -> None:
        for step in range(2, 200):
            add(store, visit(step, f"{A}{step}"), *(f"{A}{n}" for n in range(50)))

    with pytest.raises(SpaceError, match="no space"):
        fill()
    store.db.execute("PRAGMA max_page_count=100000")
    add(store, visit(300, B))
    assert [row.url for row in store.visits("step=300")] == [B]


def test_a_reader_sees_what_was_committed_while_the_writer_goes_on(store: Store, tmp_path: Path) -> None:
    reader = Store(tmp_path / "topicrawl.sqlite", readonly=True)
    add(store, visit(1, A))
    assert report.counts(reader) == (1, 1)
    add(store, visit(2, B))
    assert report.counts(reader) == (2, 2)
    reader.close()


@pytest.mark.parametrize("made", ["missing", "another program's", "newer", "no database"])
def test_files_that_are_not_ours_are_refused(tmp_path: Path, made: str) -> None:
    path = tmp_path / "topicrawl.sqlite"
    if made == "no database":
        path.write_bytes(b"three years of work" * 100)
    elif made != "missing":
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE recipes (name)")
            if made == "newer":
                database.execute("PRAGMA application_id=28865")
                database.execute("PRAGMA user_version=99")
        database.close()
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(CollectionError, match=r"topicrawl\.sqlite"):
        Store(path, readonly=True)
    assert before == (path.read_bytes() if path.exists() else None)
