"""What readers say is kept, counts in its order, and can be taken back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicrawl.collection import orders, verdicts
from topicrawl.collection.orders import Order
from topicrawl.collection.store import Store
from topicrawl.collection.verdicts import Ruling

A, B, C = (f"http://{name}.example/" for name in "abc")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "topicrawl.sqlite")
    yield store
    store.close()


def said(store: Store) -> dict[str, str]:
    return {row.url: str(row.verdict) for row in verdicts.latest(store).values()}


def test_the_last_verdict_on_a_page_counts(store: Store) -> None:
    verdicts.rule(store, [A], Ruling.RELEVANT, how="read", at=1.0)
    verdicts.rule(store, [A], Ruling.IRRELEVANT, how="read", at=2.0)
    assert said(store) == {A: "irrelevant"}
    assert [row.relevant for row in verdicts.since(store, 0)] == [True, False]


def test_an_act_on_many_pages_is_taken_back_as_one(store: Store) -> None:
    verdicts.rule(store, [A], Ruling.RELEVANT, how="read", at=1.0)
    verdicts.rule(store, [A, B, C], Ruling.IRRELEVANT, how="group", at=2.0)
    assert [(row.url, str(row.verdict)) for row in verdicts.undo(store, at=3.0)] == [(A, "relevant"), (B, ""), (C, "")]
    assert said(store) == {A: "relevant"}


def test_undoing_goes_back_act_by_act_and_then_there_is_nothing_left(store: Store) -> None:
    for url in (A, B):
        verdicts.rule(store, [url], Ruling.UNSURE, how="read", at=1.0)
    assert [row.url for row in verdicts.undo(store, at=2.0)] == [B]
    assert [row.url for row in verdicts.undo(store, at=3.0)] == [A]
    assert verdicts.undo(store, at=4.0) == []
    assert said(store) == {}


def test_what_was_said_up_to_a_number_can_be_asked(store: Store) -> None:
    verdicts.rule(store, [A], Ruling.RELEVANT, how="read", at=1.0)
    (first,) = verdicts.since(store, 0)
    verdicts.rule(store, [A, B], Ruling.IRRELEVANT, how="read", at=2.0)
    assert [row.url for row in verdicts.latest(store, until=first.number).values()] == [A]
    assert [row.relevant for row in verdicts.latest(store, until=first.number).values()] == [True]


@settings(max_examples=15, deadline=None)
@given(acts=st.lists(st.tuples(st.sets(st.sampled_from([A, B, C]), min_size=1), st.sampled_from(list(Ruling)[:3]))))
def test_undoing_everything_leaves_nothing(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[set[str], Ruling]]
) -> None:
    store = Store(tmp_path_factory.mktemp("v") / "topicrawl.sqlite")
    states = [said(store)]
    for urls, ruling in acts:
        verdicts.rule(store, sorted(urls), ruling, how="read", at=1.0)
        states.append(said(store))
    for state in states[-2::-1]:
        assert verdicts.undo(store, at=2.0)
        assert said(store) == state
    store.close()


def test_orders_wait_in_their_order_and_the_last_one_stands(store: Store) -> None:
    orders.give(store, Order.BLOCK, "a.example", at=1.0)
    orders.give(store, Order.BLOCK, "b.example", at=2.0)
    last = orders.give(store, Order.BLOCK, "a.example", 0.0, at=3.0)
    assert orders.standing(store, Order.BLOCK) == {"b.example": 1.0}
    assert orders.given(store, after=last) == []
    assert [order.target for order in orders.given(store, after=1)] == ["b.example", "a.example"]


def test_an_older_collection_has_no_verdicts_and_gets_a_place_for_them(tmp_path: Path) -> None:
    from topicrawl.collection.store import SHAPE
    from topicrawl.database import Database, Shape

    path = tmp_path / "topicrawl.sqlite"
    Database(path, Shape(SHAPE.name, SHAPE.application, SHAPE.schema, SHAPE.upgrades[:2])).close()
    reader = Store(path, readonly=True)
    assert verdicts.latest(reader) == {}
    reader.close()
    writer = Store(path)
    verdicts.rule(writer, [A], Ruling.RELEVANT, how="read", at=1.0)
    assert said(writer) == {A: "relevant"}
    writer.close()
