"""Annotations are stored, apply in their order, and can be undone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicrawl.collection import annotations as annotation_log
from topicrawl.collection import commands
from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.collection.commands import CommandKind
from topicrawl.collection.store import CollectionStore

A, B, C = (f"http://{name}.example/" for name in "abc")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CollectionStore]:
    store = CollectionStore(tmp_path / "topicrawl.sqlite")
    yield store
    store.close()


def list_labels(store: CollectionStore) -> dict[str, str]:
    return {row.url: str(row.label) for row in annotation_log.list_current_annotations(store).values()}


def test_the_last_verdict_on_a_page_counts(store: CollectionStore) -> None:
    annotation_log.annotate(store, [A], AnnotationLabel.RELEVANT, origin="read", at=1.0)
    annotation_log.annotate(store, [A], AnnotationLabel.IRRELEVANT, origin="read", at=2.0)
    assert list_labels(store) == {A: "irrelevant"}
    assert [row.is_relevant for row in annotation_log.list_annotations_since(store, 0)] == [True, False]


def test_an_act_on_many_pages_is_taken_back_as_one(store: CollectionStore) -> None:
    annotation_log.annotate(store, [A], AnnotationLabel.RELEVANT, origin="read", at=1.0)
    annotation_log.annotate(store, [A, B, C], AnnotationLabel.IRRELEVANT, origin="group", at=2.0)
    assert [(row.url, str(row.label)) for row in annotation_log.undo_last_action(store, at=3.0)] == [
        (A, "relevant"),
        (B, ""),
        (C, ""),
    ]
    assert list_labels(store) == {A: "relevant"}


def test_undoing_goes_back_act_by_act_and_then_there_is_nothing_left(store: CollectionStore) -> None:
    for url in (A, B):
        annotation_log.annotate(store, [url], AnnotationLabel.UNSURE, origin="read", at=1.0)
    assert [row.url for row in annotation_log.undo_last_action(store, at=2.0)] == [B]
    assert [row.url for row in annotation_log.undo_last_action(store, at=3.0)] == [A]
    assert annotation_log.undo_last_action(store, at=4.0) == []
    assert list_labels(store) == {}


def test_what_was_said_up_to_a_number_can_be_asked(store: CollectionStore) -> None:
    annotation_log.annotate(store, [A], AnnotationLabel.RELEVANT, origin="read", at=1.0)
    (first,) = annotation_log.list_annotations_since(store, 0)
    annotation_log.annotate(store, [A, B], AnnotationLabel.IRRELEVANT, origin="read", at=2.0)
    assert [row.url for row in annotation_log.list_current_annotations(store, until=first.number).values()] == [A]
    assert [row.is_relevant for row in annotation_log.list_current_annotations(store, until=first.number).values()] == [
        True
    ]


@settings(max_examples=15, deadline=None)
@given(
    acts=st.lists(
        st.tuples(st.sets(st.sampled_from([A, B, C]), min_size=1), st.sampled_from(list(AnnotationLabel)[:3]))
    )
)
def test_undoing_everything_leaves_nothing(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[set[str], AnnotationLabel]]
) -> None:
    store = CollectionStore(tmp_path_factory.mktemp("v") / "topicrawl.sqlite")
    states = [list_labels(store)]
    for urls, ruling in acts:
        annotation_log.annotate(store, sorted(urls), ruling, origin="read", at=1.0)
        states.append(list_labels(store))
    for state in states[-2::-1]:
        assert annotation_log.undo_last_action(store, at=2.0)
        assert list_labels(store) == state
    store.close()


def test_orders_wait_in_their_order_and_the_last_one_stands(store: CollectionStore) -> None:
    commands.add_command(store, CommandKind.BLOCK, "a.example", at=1.0)
    commands.add_command(store, CommandKind.BLOCK, "b.example", at=2.0)
    last = commands.add_command(store, CommandKind.BLOCK, "a.example", 0.0, at=3.0)
    assert commands.get_current_amounts(store, CommandKind.BLOCK) == {"b.example": 1.0}
    assert commands.list_commands(store, after=last) == []
    assert [order.target for order in commands.list_commands(store, after=1)] == ["b.example", "a.example"]


def test_an_older_collection_has_no_verdicts_and_gets_a_place_for_them(tmp_path: Path) -> None:
    from topicrawl.collection.store import SCHEMA
    from topicrawl.database import Database, DatabaseSchema

    path = tmp_path / "topicrawl.sqlite"
    Database(
        path, DatabaseSchema(SCHEMA.name, SCHEMA.application_id, SCHEMA.initial_statements, SCHEMA.upgrades[:2])
    ).close()
    reader = CollectionStore(path, readonly=True)
    assert annotation_log.list_current_annotations(reader) == {}
    reader.close()
    writer = CollectionStore(path)
    annotation_log.annotate(writer, [A], AnnotationLabel.RELEVANT, origin="read", at=1.0)
    assert list_labels(writer) == {A: "relevant"}
    writer.close()
