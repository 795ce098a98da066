"""History of a collection: revisits, their outcomes, and earlier versions of pages.

The tables `visits` and `pages` contain the current version of a page. A revisit that finds a change moves the previous
version to `versions`; its record stays in the archive. Every revisit is a row of `revisits`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from topicrawl.collection.page_relevance import IS_RELEVANT
from topicrawl.collection.store import FORGOTTEN_DETAIL, CollectionStore, SqlStatement, StoredVisit
from topicrawl.urls import fingerprint, get_archive_url

FloatArray: TypeAlias = NDArray[np.float64]

_SECONDS_PER_DAY = 86_400.0
_MIN_IMPORTANCE = 0.01  # of pages without any relevance, such as link lists, whose new links may lead to relevant pages


class RevisitOutcome(StrEnum):
    """Outcome of a revisit. If the fetch failed, the outcome is the name of the failure instead."""

    UNCHANGED = "unchanged"
    CHANGED = "changed"
    GONE = "gone"
    MOVED = "moved"


class Revisit(NamedTuple):
    """One revisit of a page."""

    page: int  # page id
    at: float
    outcome: str
    status: int


class PageChange(NamedTuple):
    """A new or changed page."""

    kind: str  # "new" or "changed"
    url: str
    title: str
    relevance: float
    language: str
    at: float
    before: float | None  # time of the previous version; None for a new page


@dataclass(frozen=True, slots=True)
class RevisitLog:
    """Results of earlier revisits: page index, days since the previous visit, and whether the page had changed."""

    page: NDArray[np.int64]
    days: FloatArray
    changed: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RevisitCandidates:
    """All pages that may be revisited, in the order of their first fetch."""

    ids: NDArray[np.int64]
    importance: FloatArray
    last_requested: FloatArray  # time of the last request, whatever its outcome
    revisits: RevisitLog  # revisits of these pages


def load_revisit_candidates(store: CollectionStore) -> RevisitCandidates:
    """Load the pages that may be revisited.

    Pages that have moved or were gone twice in a row are excluded, and so are members of archives, which cannot be
    requested separately.
    """
    sql = (
        "SELECT pages.id, pages.step, relevance, at, (SELECT min(at) FROM versions WHERE page = pages.id), visits.url"
        " FROM pages JOIN visits ON visits.step = pages.step WHERE failure IS NULL AND relevance IS NOT NULL"
        " ORDER BY pages.id"
    )
    pages: list[tuple[int, int, float, float]] = []  # step, id, importance, last
    looks: list[tuple[int, float, bool]] = []  # step, days, changed
    rows = _read_revisits_by_page(store)
    current = next(rows, None)
    page_rows = store.iterate_typed_rows(tuple[int, int, float, float, float | None, str], sql)
    for page, step, relevance, at, first, url in page_rows:
        while current is not None and current[0] < page:
            current = next(rows, None)
        revisits = current[1] if current is not None and current[0] == page else []
        if _is_gone(revisits) or get_archive_url(url) is not None:
            continue
        previous = first or at
        for look in revisits:
            if look.outcome in (RevisitOutcome.UNCHANGED, RevisitOutcome.CHANGED):
                days = max(look.at - previous, 1.0) / _SECONDS_PER_DAY
                looks.append((step, days, look.outcome == RevisitOutcome.CHANGED))
                previous = look.at
        last = revisits[-1].at if revisits else at
        pages.append((step, page, max(relevance, _MIN_IMPORTANCE), last))
    return _build_candidates(pages, looks)


def _build_candidates(
    pages: list[tuple[int, int, float, float]], revisits: list[tuple[int, float, bool]]
) -> RevisitCandidates:
    """Sort the pages by step, and convert pages and revisits to arrays."""
    pages.sort()
    steps = np.array([row[0] for row in pages], np.int64)
    return RevisitCandidates(
        np.array([row[1] for row in pages], np.int64),
        np.array([row[2] for row in pages], np.float64),
        np.array([row[3] for row in pages], np.float64),
        RevisitLog(
            np.searchsorted(steps, np.array([row[0] for row in revisits], np.int64)).astype(np.int64),
            np.array([row[1] for row in revisits], np.float64),
            np.array([row[2] for row in revisits], np.bool_),
        ),
    )


def _read_revisits_by_page(store: CollectionStore) -> Iterator[tuple[int, list[Revisit]]]:
    """Yield the revisits of each page in their order, with the pages sorted by id."""
    group: list[Revisit] = []
    sql = "SELECT page, at, outcome, status FROM revisits ORDER BY page, at"
    for revisit in store.iterate_typed_rows(Revisit, sql):
        if group and group[0].page != revisit.page:
            yield group[0].page, group
            group = []
        group.append(revisit)
    if group:
        yield group[0].page, group


def _is_gone(revisits: list[Revisit]) -> bool:
    """Return whether the page has moved or was gone at the last two revisits."""
    outcomes = [look.outcome for look in revisits[-2:]]
    return outcomes[-1:] == [RevisitOutcome.MOVED] or outcomes == [RevisitOutcome.GONE, RevisitOutcome.GONE]


def make_revisit_statement(revisit: Revisit) -> SqlStatement:
    """Return the statement that stores a revisit."""
    return "INSERT OR REPLACE INTO revisits VALUES (?,?,?,?)", tuple(revisit)


def make_version_statement(page: int) -> SqlStatement:
    """Return the statement that copies the current version of a page to `versions`."""
    sql = (
        "INSERT OR REPLACE INTO versions SELECT pages.id, visits.at, relevance, title, digest, segment, start, length"
        " FROM pages JOIN visits ON visits.step = pages.step WHERE pages.id = ?"
    )
    return sql, (page,)


def make_forget_statements(visit: StoredVisit) -> list[SqlStatement]:
    """Return the statements that mark a visit as forgotten, so that its page can be fetched again.

    Its page, if it has one, is copied to `versions`.
    """
    mark = ("UPDATE visits SET detail = ? WHERE step = ?", (FORGOTTEN_DETAIL, visit.step))
    return [make_version_statement(fingerprint(visit.url)), mark]


def make_withdraw_statements(page: int, failure: str, detail: str) -> list[SqlStatement]:
    """Return the statements that delete the row of a page which now has a noindex or noarchive directive.

    Its visit gets the failure and the detail.
    """
    mark = "UPDATE visits SET failure = ?, detail = ? WHERE step = (SELECT step FROM pages WHERE id = ?)"
    return [(mark, (failure, detail, page)), ("DELETE FROM pages WHERE id = ?", (page,))]


def list_changes(store: CollectionStore, since: float, threshold: float) -> Generator[PageChange]:
    """Yield the relevant pages that were new or changed at or after `since`, newest first.

    The last verdict on a page decides whether it is relevant, else a relevance of at least `threshold`.
    """
    sql = (
        "SELECT visits.url, title, coalesce(relevance, 0.0), language, at,"
        " (SELECT min(at) FROM versions WHERE page = pages.id), (SELECT max(at) FROM versions WHERE page = pages.id)"
        " FROM visits JOIN pages ON pages.step = visits.step"
        f" WHERE visits.failure IS NULL AND {IS_RELEVANT} AND visits.at >= ? ORDER BY at DESC, visits.step DESC"
    )
    rows = store.iterate_typed_rows(
        tuple[str, str, float, str, float, float | None, float | None], sql, (threshold, since)
    )
    for url, title, relevance, language, at, first, last in rows:
        is_new = first is None or first >= since
        yield PageChange("new" if is_new else "changed", url, title, relevance, language, at, None if is_new else last)
