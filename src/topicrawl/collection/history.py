"""A collection over time: when pages were looked at again, what was found, and what they were before.

`visits` and `pages` hold what a page is now. A look that finds it changed puts what it was into `versions`, whose
records stay in the archive; every look is a row of `revisits`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicrawl.collection.store import FORGOTTEN, Statement, Store, Stored
from topicrawl.freshness import Array, Looks
from topicrawl.urls import container, fingerprint

_DAY = 86_400.0


class Outcome(StrEnum):
    """What a look at a page found; where there was no page to look at, it is the failure's name."""

    UNCHANGED = "unchanged"
    CHANGED = "changed"
    GONE = "gone"
    MOVED = "moved"


class Look(NamedTuple):
    """One look at a page."""

    page: int  # its id
    at: float
    outcome: str
    status: int


class Change(NamedTuple):
    """A page that is new, or not what it was."""

    kind: str  # "new" or "changed"
    url: str
    title: str
    relevance: float
    language: str
    at: float
    before: float | None  # when it was last seen otherwise


@dataclass(frozen=True, slots=True)
class Known:
    """All pages that may be looked at again, in the order in which they were first fetched."""

    ids: NDArray[np.int64]
    importance: Array
    last: Array  # when each was asked for last, whatever came of it
    looks: Looks  # at them


def known(store: Store) -> Known:
    """What there is to look at again; pages that have moved or were gone twice in a row are left alone.

    So are the files of archives: nobody can be asked for one of them.
    """
    sql = (
        "SELECT pages.id, pages.step, relevance, at, (SELECT min(at) FROM versions WHERE page = pages.id), visits.url"
        " FROM pages JOIN visits ON visits.step = pages.step WHERE failure IS NULL AND relevance > 0 ORDER BY pages.id"
    )
    pages: list[tuple[int, int, float, float]] = []  # step, id, importance, last
    looks: list[tuple[int, float, bool]] = []  # step, days, changed
    rows = _looks_by_page(store)
    looked = next(rows, None)
    for row in store.each(sql):
        page, step, relevance, at, first, url = (0.0 if value is None else value for value in row)
        while looked is not None and looked[0] < int(str(page)):
            looked = next(rows, None)
        found = looked[1] if looked is not None and looked[0] == page else []
        if _is_lost(found) or container(str(url)) is not None:
            continue
        then = float(str(first or at))
        for look in found:
            if look.outcome in (Outcome.UNCHANGED, Outcome.CHANGED):
                looks.append((int(str(step)), max(look.at - then, 1.0) / _DAY, look.outcome == Outcome.CHANGED))
                then = look.at
        last = found[-1].at if found else float(str(at))
        pages.append((int(str(step)), int(str(page)), float(str(relevance)), last))
    return _arranged(pages, looks)


def _arranged(pages: list[tuple[int, int, float, float]], looks: list[tuple[int, float, bool]]) -> Known:
    pages.sort()
    steps = np.array([row[0] for row in pages], np.int64)
    return Known(
        np.array([row[1] for row in pages], np.int64),
        np.array([row[2] for row in pages], np.float64),
        np.array([row[3] for row in pages], np.float64),
        Looks(
            np.searchsorted(steps, np.array([row[0] for row in looks], np.int64)).astype(np.int64),
            np.array([row[1] for row in looks], np.float64),
            np.array([row[2] for row in looks], np.bool_),
        ),
    )


def _looks_by_page(store: Store) -> Iterator[tuple[int, list[Look]]]:
    """The looks at each page in their order, pages in the order of their ids."""
    held: list[Look] = []
    for row in store.each("SELECT page, at, outcome, status FROM revisits ORDER BY page, at"):
        look = Look(int(str(row[0])), float(str(row[1])), str(row[2]), int(str(row[3])))
        if held and held[0].page != look.page:
            yield held[0].page, held
            held = []
        held.append(look)
    if held:
        yield held[0].page, held


def _is_lost(looks: list[Look]) -> bool:
    outcomes = [look.outcome for look in looks[-2:]]
    return outcomes[-1:] == [Outcome.MOVED] or outcomes == [Outcome.GONE, Outcome.GONE]


def noted(look: Look) -> Statement:
    """Write a look down."""
    return "INSERT OR REPLACE INTO revisits VALUES (?,?,?,?)", tuple(look)


def versioned(page: int) -> Statement:
    """Keep what a page is now as what it was."""
    sql = (
        "INSERT OR REPLACE INTO versions SELECT pages.id, visits.at, relevance, title, digest, segment, start, length"
        " FROM pages JOIN visits ON visits.step = pages.step WHERE pages.id = ?"
    )
    return sql, (page,)


def forgotten(visit: Stored) -> list[Statement]:
    """A visit that is no reason any more not to make it again."""
    mark = ("UPDATE visits SET detail = ? WHERE step = ?", (FORGOTTEN, visit.step))
    return [versioned(fingerprint(visit.url)), mark]


def withdrawn(page: int, failure: str, detail: str) -> list[Statement]:
    """A page that does not want to be kept any longer."""
    mark = "UPDATE visits SET failure = ?, detail = ? WHERE step = (SELECT step FROM pages WHERE id = ?)"
    return [(mark, (failure, detail, page)), ("DELETE FROM pages WHERE id = ?", (page,))]


def changes(store: Store, since: float, threshold: float) -> Generator[Change]:
    """Relevant pages that were first seen, or seen changed, at that time or later; the latest first."""
    sql = (
        "SELECT visits.url, title, relevance, language, at,"
        " (SELECT min(at) FROM versions WHERE page = pages.id), (SELECT max(at) FROM versions WHERE page = pages.id)"
        " FROM visits JOIN pages ON pages.step = visits.step"
        " WHERE visits.failure IS NULL AND relevance >= ? AND visits.at >= ? ORDER BY at DESC, visits.step DESC"
    )
    for url, title, relevance, language, at, first, last in store.each(sql, (threshold, since)):
        is_new = first is None or float(str(first)) >= since
        before = None if is_new else float(str(last))
        yield Change(
            "new" if is_new else "changed", str(url), str(title), float(str(relevance)), str(language),
            float(str(at)), before,
        )  # fmt: skip
