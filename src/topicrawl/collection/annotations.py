"""Annotations of pages by the user, in an append-only log, so that nothing is lost and everything can be undone.

The last row of a page is its current annotation. Rows that were added together are one action and are undone together.
The verdicts of the language-model reviewer are annotations too. They are added only to pages that users have not
annotated, and `undo_last_action` skips them.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from topicrawl.collection.store import CollectionStore
from topicrawl.urls import fingerprint

#: Origin of the annotations by the language-model reviewer; "undo N reviewer" if the undo of action N restored one.
REVIEWER_ORIGIN = "reviewer"


class AnnotationLabel(StrEnum):
    """Label of an annotation."""

    RELEVANT = "relevant"
    IRRELEVANT = "irrelevant"
    UNSURE = "unsure"
    NONE = ""  # removes the previous label


class Annotation(NamedTuple):
    """One row of the annotation log."""

    number: int
    action: int  # number of the action
    page: int  # page id: the fingerprint of the URL
    url: str
    label: AnnotationLabel
    origin: str  # origin of the annotation, or "undo N" for an undone action
    at: float  # seconds since 1970

    @property
    def is_relevant(self) -> bool | None:
        """Whether the page is relevant; None for "unsure" and for a removed label."""
        if self.label in (AnnotationLabel.RELEVANT, AnnotationLabel.IRRELEVANT):
            return self.label == AnnotationLabel.RELEVANT
        return None

    @property
    def is_by_reviewer(self) -> bool:
        """Whether the label is a verdict of the language-model reviewer, not of a user."""
        return self.origin.endswith(REVIEWER_ORIGIN)


_COLUMN_NAMES = "number, action, page, url, label, origin, at"
_SELECT_CURRENT = f"""
    SELECT {_COLUMN_NAMES} FROM annotations
    WHERE number IN (SELECT max(number) FROM annotations WHERE number <= ? GROUP BY page)
    ORDER BY number
"""
_MAX_NUMBER = (1 << 63) - 1
_INSERT_ANNOTATION = "INSERT INTO annotations (action, page, url, label, origin, at) VALUES (?,?,?,?,?,?)"
# The last action of a user that is neither an undo nor already undone.
_SELECT_LAST_ACTION = f"""
    SELECT max(action) FROM annotations WHERE origin NOT LIKE 'undo %' AND origin <> '{REVIEWER_ORIGIN}'
    AND action NOT IN (SELECT CAST(substr(origin, 6) AS INTEGER) FROM annotations WHERE origin LIKE 'undo %')
"""


def annotate(store: CollectionStore, urls: Sequence[str], label: AnnotationLabel, *, origin: str, at: float) -> int:
    """Add one label to several pages as one action, synced to disk. Return the number of the action.

    Earlier annotations of the pages stay in the log; the last one of a page counts.
    """
    with store.db.durable_transaction():
        return insert_annotations(store, urls, label, origin=origin, at=at)


def insert_annotations(
    store: CollectionStore, urls: Sequence[str], label: AnnotationLabel, *, origin: str, at: float
) -> int:
    """Add one label to several pages in the current transaction. Return the number of the action."""
    action = _next_action(store)
    rows = [(action, fingerprint(url), url, label, origin, at) for url in dict.fromkeys(urls)]
    store.db.executemany(_INSERT_ANNOTATION, rows)
    return action


def has_annotations(store: CollectionStore, url: str) -> bool:
    """Return whether a page has or had an annotation, by a user or by the reviewer."""
    return bool(store.query_rows("SELECT 1 FROM annotations WHERE page=? LIMIT 1", (fingerprint(url),)))


def undo_last_action(store: CollectionStore, *, at: float) -> list[Annotation]:
    """Undo the last action of a user that is not undone, by appending the labels that its pages had before.

    The rows are synced to disk. Return the appended annotations; empty if there is nothing to undo.
    """
    with store.db.durable_transaction():
        (last,) = store.db.execute(_SELECT_LAST_ACTION).fetchone()
        if last is None:
            return []
        action, rows = _next_action(store), []
        for page, url in store.db.execute("SELECT page, url FROM annotations WHERE action=? ORDER BY number", (last,)):
            before = store.db.execute(
                "SELECT label, origin FROM annotations WHERE page=? AND action<? ORDER BY number DESC LIMIT 1",
                (page, last),
            ).fetchone()
            label, earlier_origin = before or (AnnotationLabel.NONE, "")
            is_by_reviewer = str(earlier_origin).endswith(REVIEWER_ORIGIN)
            origin = f"undo {last} {REVIEWER_ORIGIN}" if is_by_reviewer else f"undo {last}"
            rows.append((action, page, url, label, origin, at))
        store.db.executemany(_INSERT_ANNOTATION, rows)
    sql = f"SELECT {_COLUMN_NAMES} FROM annotations WHERE action=? ORDER BY number"
    return store.query_typed_rows(Annotation, sql, (action,))


def find_last_action(store: CollectionStore) -> tuple[Annotation, int] | None:
    """Return the first annotation of the action that `undo_last_action` would undo, and its number of pages.

    Return None if there is nothing to undo.
    """
    action = f"({_SELECT_LAST_ACTION})"
    sql = f"SELECT {_COLUMN_NAMES} FROM annotations WHERE action = {action} ORDER BY number LIMIT 1"
    rows = store.query_typed_rows(Annotation, sql)
    count = store.query_value(int, f"SELECT count(*) FROM annotations WHERE action = {action}")
    return (rows[0], count) if rows else None


def list_current_annotations(store: CollectionStore, *, until: int = _MAX_NUMBER) -> dict[int, Annotation]:
    """Return the current annotation of each page by page id, oldest first, from the rows up to number `until`.

    Pages whose label was removed are left out.
    """
    rows = store.iterate_typed_rows(Annotation, _SELECT_CURRENT, (until,))
    return {row.page: row for row in rows if row.label != AnnotationLabel.NONE}


def find_annotation(store: CollectionStore, url: str) -> Annotation | None:
    """Return the current annotation of the page at a final URL; None if it has no label."""
    sql = f"SELECT {_COLUMN_NAMES} FROM annotations WHERE page=? ORDER BY number DESC LIMIT 1"
    rows = store.query_typed_rows(Annotation, sql, (fingerprint(url),))
    return rows[0] if rows and rows[0].label != AnnotationLabel.NONE else None


def list_annotations_since(store: CollectionStore, number: int) -> list[Annotation]:
    """Return the annotations after a number, oldest first."""
    sql = f"SELECT {_COLUMN_NAMES} FROM annotations WHERE number>? ORDER BY number"
    return store.query_typed_rows(Annotation, sql, (number,))


def _next_action(store: CollectionStore) -> int:
    (action,) = store.db.execute("SELECT coalesce(max(action), 0) + 1 FROM annotations").fetchone()
    return int(action)
