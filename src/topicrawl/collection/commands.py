"""Commands to a running crawl, in a log of its collection that the crawl polls.

The sender needs no connection to the crawling process. Commands wait in the log until the crawl reads them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from topicrawl.collection.store import CollectionStore


class CommandKind(StrEnum):
    """Kind of a command."""

    SEED = "seed"
    WORD = "word"
    BLOCK = "block"
    BOOST = "boost"
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"


class CrawlCommand(NamedTuple):
    """One row of the command log."""

    number: int
    kind: CommandKind
    target: str
    amount: float
    at: float


def add_command(store: CollectionStore, kind: CommandKind, target: str = "", amount: float = 1.0, *, at: float) -> int:
    """Add a command to the log, synced to disk. Return its number."""
    with store.db.durable_transaction():
        row = (kind, target, amount, at)
        number = store.db.execute("INSERT INTO commands (kind, target, amount, at) VALUES (?,?,?,?)", row).lastrowid
    return int(number or 0)


def list_commands(store: CollectionStore, *, after: int = 0) -> list[CrawlCommand]:
    """Return the commands after a number, oldest first."""
    sql = "SELECT number, kind, target, amount, at FROM commands WHERE number>? ORDER BY number"
    return store.query_typed_rows(CrawlCommand, sql, (after,))


def get_current_amounts(store: CollectionStore, kind: CommandKind) -> dict[str, float]:
    """Return the last amount by target for a kind: blocked hosts, boosted hosts or added words.

    Targets whose last amount is 0 are left out, because the command was withdrawn.
    """
    last = {command.target: command.amount for command in list_commands(store) if command.kind == kind}
    return {target: amount for target, amount in last.items() if amount}
