"""The database of a collection: stored values, damaged files and files of other programs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from topicrawl.collection import queries
from topicrawl.collection.archive import RecordLocation
from topicrawl.collection.link_rows import pack_links
from topicrawl.collection.store import CollectionStore, VisitRecord
from topicrawl.errors import CollectionError, DamagedError, SpaceError
from topicrawl.models import Failure, JsonValue, Link, Page, Priority, Refusal, Response, Visit

A, B, C = (f"http://{name}.example/" for name in "abc")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CollectionStore]:
    made = CollectionStore(tmp_path / "topicrawl.sqlite")
    yield made
    made.close()


def visit(step: int, url: str, source: str = "", failure: Failure | None = None, relevance: float = 0.5) -> Visit:
    page = None if failure else Page(url, title="t\ud800", words=("a", "b"), language="en", digest="d")
    place = Priority(0.25, {"level": 3}, (("page", 0.5), ("anchor", 0.0)))
    return Visit(
        step, Link(url, source, "an anchor", depth=2), place, url, page, relevance, failure, 1000.0 + step, 200
    )


def add(store: CollectionStore, made: Visit, *targets: str) -> None:
    out = [Link(url, anchor="to " + url) for url in targets]
    links = pack_links(out, [Priority(0.5) for _ in out], {}) if out else None
    response = Response(made.link.url, made.url, 200, {"content-type": "text/html"}, b"12345")
    store.add_visits(
        [VisitRecord(made, response, RecordLocation(1, made.step * 100, 50) if made.failure is None else None, links)]
    )


def test_a_visit_comes_out_as_it_went_in(store: CollectionStore) -> None:
    add(store, visit(1, A, B))
    (stored,) = store.iterate_visits()
    assert stored.link == Link(A, B, "an anchor", depth=2)
    assert stored.priority == Priority(0.25, {"level": 3}, (("page", 0.5), ("anchor", 0.0)))
    assert stored.location == RecordLocation(1, 100, 50)
    assert (stored.relevance, stored.failure, stored.at) == (0.5, None, 1001.0)


def test_a_second_visit_to_a_link_replaces_the_first(store: CollectionStore) -> None:
    add(store, visit(1, A), B)
    add(store, visit(2, A), C)
    assert [row.step for row in store.iterate_visits()] == [2]
    assert queries.find_link_to(store, C) is not None
    assert queries.get_progress(store) == (2, 1)


def test_a_visit_is_found_by_what_was_asked_and_by_where_it_ended(store: CollectionStore) -> None:
    made = visit(1, A)
    moved = Visit(2, Link(B), Priority(1.0), C, Page(C), 0.1, None, 0.0, 200)
    add(store, made)
    add(store, moved)
    for url, step in ((A, 1), (B, 2), (C, 2)):
        found = store.find_visit(url)
        assert found is not None
        assert found.step == step
    assert store.find_visit("http://nowhere.example/") is None


def test_the_report_counts_pages_hosts_and_failures(store: CollectionStore) -> None:
    add(store, visit(1, A, relevance=0.9))
    add(store, visit(2, A + "x", relevance=0.1))
    add(store, visit(3, B, failure=Failure.TIMEOUT))
    assert queries.count_relevant_pages(store, 0.5) == (2, 1)
    assert queries.count_pages_by_host(store) == {"a.example": 2}
    assert queries.count_failures(store) == {"timeout": 1}
    assert queries.get_progress(store) == (3, 2)


def test_the_last_spot_is_the_end_of_the_archive(store: CollectionStore) -> None:
    assert queries.find_last_record(store) is None
    for step in (1, 2, 3):
        add(store, visit(step, f"{A}{step}"))
    assert queries.find_last_record(store) == RecordLocation(1, 300, 50)


def test_forgotten_visits_are_gone(store: CollectionStore) -> None:
    add(store, visit(1, A))
    add(store, visit(2, B))
    store.delete_visits(list(store.iterate_visits("step=1")))
    assert [row.step for row in store.iterate_visits()] == [2]
    assert queries.count_pages_by_host(store) == {"b.example": 1}


def test_facts_are_kept_as_they_are(store: CollectionStore) -> None:
    store.set_facts({"a": {"b": [1, 2.5, None, "é"]}, "c": None})
    assert store.get_fact("a") == {"b": [1, 2.5, None, "é"]}
    assert store.get_fact("c") is None
    assert store.get_fact("never set") is None


def test_long_strings_of_a_fact_stand_in_rows_of_their_own_and_go_when_it_is_replaced(store: CollectionStore) -> None:
    long: JsonValue = {"step": 3, "tables": {"urls": "é" * 70_000, "weights": ["x" * 80_000, "short"]}}
    store.set_facts({"learned": long, "learner": 1})
    assert store.get_fact("learned") == long
    names = [name for (name,) in store.query_rows("SELECT name FROM facts WHERE length(value) > 100")]
    assert names == ["learned/0", "learned/1"]
    store.db.execute("DELETE FROM facts WHERE name = 'learned/1'")
    with pytest.raises(DamagedError, match="topicrawl doctor"):
        store.get_fact("learned")
    store.set_facts({"learned": None})
    assert store.query_rows("SELECT name FROM facts") == [("learned",), ("learner",)]


def test_a_failed_transaction_leaves_nothing(store: CollectionStore) -> None:
    def fail() -> None:
        with store.db.transaction():
            store.db.execute("INSERT INTO facts VALUES ('x', '1')")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert store.get_fact("x") is None
    store.set_facts({"x": 2})
    assert store.get_fact("x") == 2


def test_a_full_disk_is_a_space_error_and_the_store_goes_on(store: CollectionStore) -> None:
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
    assert [row.url for row in store.iterate_visits("step=300")] == [B]


def test_a_reader_sees_what_was_committed_while_the_writer_goes_on(store: CollectionStore, tmp_path: Path) -> None:
    reader = CollectionStore(tmp_path / "topicrawl.sqlite", readonly=True)
    add(store, visit(1, A))
    assert queries.get_progress(reader) == (1, 1)
    add(store, visit(2, B))
    assert queries.get_progress(reader) == (2, 2)
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
        CollectionStore(path, readonly=True)
    assert before == (path.read_bytes() if path.exists() else None)


def test_typed_rows_have_the_types_of_the_columns(store: CollectionStore) -> None:
    for step in range(1, 1203):  # more than one batch
        add(store, visit(step, f"http://a.example/{step}"))
    rows = store.query_typed_rows(
        tuple[int, str, float | None], "SELECT step, url, relevance FROM visits ORDER BY step"
    )
    assert rows == [(step, f"http://a.example/{step}", 0.5) for step in range(1, 1203)]
    assert store.query_value(int, "SELECT max(step) FROM visits") == 1202


@pytest.mark.parametrize("query", ["SELECT url FROM visits", "SELECT NULL FROM visits", "SELECT 1.5 FROM visits"])
def test_value_of_an_unexpected_type_is_reported_as_damage(store: CollectionStore, query: str) -> None:
    add(store, visit(1, A))
    with pytest.raises(DamagedError, match=r"topicrawl\.sqlite is damaged: .*Expected `int`"):
        store.query_value(int, query)
    with pytest.raises(DamagedError, match=r"topicrawl\.sqlite is damaged: .*Expected `int`"):
        store.query_typed_rows(tuple[int], query)


def test_a_refused_link_to_a_url_is_preferred_to_a_followed_one(store: CollectionStore) -> None:
    add(store, visit(1, A), C)
    found = queries.find_link_to(store, C)
    assert found is not None
    assert (found.source, found.refusal) == (A, "")
    links = pack_links([Link(B), Link(C, anchor="no")], [None, None], {1: Refusal.NOFOLLOW})
    made = visit(2, B)
    store.add_visits([VisitRecord(made, Response(B, B, at=1.0), RecordLocation(1, 200, 50), links)])
    assert queries.find_link_to(store, C) == (B, "no", "nofollow")
    assert queries.find_link_to(store, "http://a.example/never") is None
