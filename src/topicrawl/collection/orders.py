"""What a crawl is told while it runs: a log in its collection, which the crawl looks at by itself.

Whoever gives an order needs no way to the process that crawls, and an order that nobody heeded yet waits.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from topicrawl.collection.store import Store


class Order(StrEnum):
    """What a crawl can be told."""

    SEED = "seed"
    WORD = "word"
    BLOCK = "block"
    BOOST = "boost"
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"


class Told(NamedTuple):
    """An order as it stands in the log."""

    number: int
    kind: Order
    target: str
    amount: float
    at: float


def give(store: Store, kind: Order, target: str = "", amount: float = 1.0, *, at: float) -> int:
    """Write an order down; returns its number."""
    with store.db.durable():
        row = (kind, target, amount, at)
        number = store.db.execute("INSERT INTO orders (kind, target, amount, at) VALUES (?,?,?,?)", row).lastrowid
    return int(number or 0)


def given(store: Store, *, after: int = 0) -> list[Told]:
    """The orders after a number, in their order."""
    rows = store.rows("SELECT number, kind, target, amount, at FROM orders WHERE number>? ORDER BY number", (after,))
    return [
        Told(int(str(number)), Order(str(kind)), str(target), float(str(amount)), float(str(at)))
        for number, kind, target, amount, at in rows
    ]


def standing(store: Store, kind: Order) -> dict[str, float]:
    """What was last said of each target of a kind: blocked and boosted hosts, added words."""
    last = {order.target: order.amount for order in given(store) if order.kind == kind}
    return {target: amount for target, amount in last.items() if amount}
