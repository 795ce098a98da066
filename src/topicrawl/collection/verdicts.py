"""What readers say of pages: a log that is only added to, so that nothing that was said is lost, and all can be undone.

The last row of a page counts. Rulings that were made together are one act, and are taken back together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from topicrawl.collection.store import Store
from topicrawl.urls import fingerprint


class Ruling(StrEnum):
    """What can be said of a page."""

    RELEVANT = "relevant"
    IRRELEVANT = "irrelevant"
    UNSURE = "unsure"
    NONE = ""  # whatever was said before is taken back


class Verdict(NamedTuple):
    """A row of the log."""

    number: int
    act: int
    page: int
    url: str
    verdict: Ruling
    how: str
    at: float

    @property
    def relevant(self) -> bool | None:
        """None: nothing follows from it."""
        if self.verdict in (Ruling.RELEVANT, Ruling.IRRELEVANT):
            return self.verdict == Ruling.RELEVANT
        return None


_COLUMNS = "number, act, page, url, verdict, how, at"
_LATEST = f"""
    SELECT {_COLUMNS} FROM verdicts WHERE number IN (SELECT max(number) FROM verdicts WHERE number <= ? GROUP BY page)
    ORDER BY number
"""
_ALL = (1 << 63) - 1
_ADD = "INSERT INTO verdicts (act, page, url, verdict, how, at) VALUES (?,?,?,?,?,?)"
# What was undone, and undoing itself, cannot be undone.
_LAST_ACT = """
    SELECT max(act) FROM verdicts WHERE how NOT LIKE 'undo %'
    AND act NOT IN (SELECT CAST(substr(how, 6) AS INTEGER) FROM verdicts WHERE how LIKE 'undo %')
"""


def rule(store: Store, urls: Sequence[str], verdict: Ruling, *, how: str, at: float) -> int:
    """Write one verdict on pages down, as one act; returns its number. After that no kill can lose it."""
    with store.db.durable():
        act = _next_act(store)
        rows = [(act, fingerprint(url), url, verdict, how, at) for url in dict.fromkeys(urls)]
        store.db.executemany(_ADD, rows)
    return act


def undo(store: Store, *, at: float) -> list[Verdict]:
    """Take the last act back that still stands; returns what its pages have now. Empty: there is none."""
    with store.db.durable():
        (last,) = store.db.execute(_LAST_ACT).fetchone()
        if last is None:
            return []
        act, rows = _next_act(store), []
        for page, url in store.db.execute("SELECT page, url FROM verdicts WHERE act=? ORDER BY number", (last,)):
            before = store.db.execute(
                "SELECT verdict FROM verdicts WHERE page=? AND act<? ORDER BY number DESC LIMIT 1", (page, last)
            ).fetchone()
            rows.append((act, page, url, before[0] if before else Ruling.NONE, f"undo {last}", at))
        store.db.executemany(_ADD, rows)
    return _read(store.rows(f"SELECT {_COLUMNS} FROM verdicts WHERE act=? ORDER BY number", (act,)))


def last(store: Store) -> tuple[Verdict, int] | None:
    """The act that `undo` would take back: its first verdict, and how many pages it is on. None: there is none."""
    act = f"({_LAST_ACT})"
    rows = _read(store.rows(f"SELECT {_COLUMNS} FROM verdicts WHERE act = {act} ORDER BY number LIMIT 1"))
    ((count,),) = store.rows(f"SELECT count(*) FROM verdicts WHERE act = {act}")
    return (rows[0], int(str(count))) if rows else None


def latest(store: Store, *, until: int = _ALL) -> dict[int, Verdict]:
    """The verdict that counts for each page, by the page's id, in the order they were given; `until` a number."""
    return {row.page: row for row in _read(store.rows(_LATEST, (until,))) if row.verdict != Ruling.NONE}


def since(store: Store, number: int) -> list[Verdict]:
    """What was said after a number, in order."""
    return _read(store.rows(f"SELECT {_COLUMNS} FROM verdicts WHERE number>? ORDER BY number", (number,)))


def _next_act(store: Store) -> int:
    (act,) = store.db.execute("SELECT coalesce(max(act), 0) + 1 FROM verdicts").fetchone()
    return int(act)


def _read(rows: Iterable[Sequence[object]]) -> list[Verdict]:
    return [
        Verdict(
            int(str(number)), int(str(act)), int(str(page)), str(url), Ruling(str(verdict)), str(how), float(str(at))
        )
        for number, act, page, url, verdict, how, at in rows
    ]
