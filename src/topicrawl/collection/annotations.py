"""Annotations of pages by the user, in an append-only log, so that nothing is lost and everything can be undone.

The last row of a page is its current annotation. Rows that were added together are one action and are undone together.
The verdicts of the language-model reviewer are annotations too. They are added only to pages that users have not
annotated, and `undo_last_action` skips them.

A group decision labels the other pages of a group after the review of a sample (`review.py`). It is revoked in the same
action in which a new verdict on a sampled page contradicts it. A row names the annotator, if the user has given a name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from topicrawl.collection.store import CollectionStore
from topicrawl.errors import UsageError
from topicrawl.urls import fingerprint

#: Origin of the annotations by the language-model reviewer; "undo N reviewer" if the undo of action N restored one.
REVIEWER_ORIGIN = "reviewer"
#: Origin of the pages that were accepted without a review.
UNDOUBTED_ORIGIN = "undoubted"
#: Origin of a verdict on all pages that match a filter.
BULK_ORIGIN = "bulk"
ACCEPTANCE_SHARE = 0.75  # more than this share of a sample must be relevant to accept its group
# Origins that an undo keeps: the label is still that of the reviewer, or follows from a group decision.
_KEPT_ORIGIN = re.compile(rf"({REVIEWER_ORIGIN}|group \d+)$")
_ACTION_NUMBER = re.compile(r"(undo|group|revoked) (\d+)")
_IMPLIED_ORIGIN = re.compile(rf"(group( \d+)?|{UNDOUBTED_ORIGIN}|{BULK_ORIGIN})$")


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
    annotator: str = ""  # name of the user, or ""

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

    @property
    def is_implied(self) -> bool:
        """Whether the label was given without a look at the page: by the review of other pages, or to many pages."""
        return _IMPLIED_ORIGIN.search(self.origin) is not None


MAX_ANNOTATOR_LENGTH = 60  # characters of a name


def clean_annotator(name: str) -> str:
    r"""Return the name of an annotator in one line. Raise `UsageError` if it is too long.

    >>> clean_annotator("  Ann \n Lee ")
    'Ann Lee'
    """
    text = " ".join(name.split())
    if len(text) > MAX_ANNOTATOR_LENGTH or not text.isprintable():
        raise UsageError(f"the name of a reviewer must have at most {MAX_ANNOTATOR_LENGTH} printable characters")
    return text


_COLUMN_NAMES = "number, action, page, url, label, origin, at, annotator"
#: SQL query: page, URL, label, origin and annotator of the current annotation of each page.
SELECT_CURRENT_LABELS = (
    "SELECT page, url, label, origin, annotator FROM annotations"
    " WHERE label <> '' AND number IN (SELECT max(number) FROM annotations GROUP BY page)"
)
_SELECT_CURRENT = f"""
    SELECT {_COLUMN_NAMES} FROM annotations
    WHERE number IN (SELECT max(number) FROM annotations WHERE number <= ? GROUP BY page)
    ORDER BY number
"""
_MAX_NUMBER = (1 << 63) - 1
_INSERT_ANNOTATION = "INSERT INTO annotations (action, page, url, label, origin, at, annotator) VALUES (?,?,?,?,?,?,?)"
#: Numbers of the actions that were undone.
SELECT_UNDONE = "SELECT CAST(substr(origin, 6) AS INTEGER) FROM annotations WHERE origin LIKE 'undo %'"
# Numbers of the group decisions that are revoked.
_SELECT_REVOKED = f"""
    SELECT CAST(substr(origin, 9) AS INTEGER) FROM annotations
    WHERE origin LIKE 'revoked %' AND action NOT IN ({SELECT_UNDONE})
"""
# The last action of a user that is neither an undo nor already undone or revoked.
_SELECT_LAST_ACTION = f"""
    SELECT max(action) FROM annotations WHERE origin <> '{REVIEWER_ORIGIN}'
    AND action NOT IN (SELECT action FROM annotations WHERE origin LIKE 'undo %')
    AND action NOT IN ({SELECT_UNDONE}) AND action NOT IN ({_SELECT_REVOKED})
"""


def annotate(
    store: CollectionStore,
    urls: Sequence[str],
    label: AnnotationLabel,
    *,
    origin: str,
    at: float,
    annotator: str = "",
) -> int:
    """Add one label to several pages as one action, synced to disk. Return the number of the action.

    Earlier annotations of the pages stay in the log; the last one of a page counts.
    """
    return annotate_pages(store, dict.fromkeys(urls, label), origin=origin, at=at, annotator=annotator)


def insert_annotations(
    store: CollectionStore, urls: Sequence[str], label: AnnotationLabel, *, origin: str, at: float
) -> int:
    """Add one label to several pages in the current transaction. Return the number of the action."""
    action = _next_action(store)
    _insert_action(store, action, dict.fromkeys(urls, label), origin=origin, at=at)
    return action


def annotate_pages(
    store: CollectionStore, labels: Mapping[str, AnnotationLabel], *, origin: str, at: float, annotator: str = ""
) -> int:
    """Add a label to each of several pages as one action, synced to disk. Return the number of the action.

    `labels` maps the URL of a page to its label.
    """
    with store.db.durable_transaction():
        action = _next_action(store)
        _insert_action(store, action, labels, origin=origin, at=at, annotator=annotator)
    return action


def _insert_action(
    store: CollectionStore,
    action: int,
    labels: Mapping[str, AnnotationLabel],
    *,
    origin: str,
    at: float,
    annotator: str = "",
) -> None:
    """Insert the annotations of an action, and revoke the group decisions that they contradict."""
    rows = [(action, fingerprint(url), url, label, origin, at, annotator) for url, label in labels.items()]
    store.db.executemany(_INSERT_ANNOTATION, rows)
    _revoke_decisions(store, action, [row[1] for row in rows], at=at)


def decide_by_sample(labels: Sequence[AnnotationLabel | None]) -> AnnotationLabel | None:
    """Return the decision on a group from the labels of its sample; None as long as a page of it has no label.

    More than three quarters of the sample must be relevant. "Unsure" counts as not relevant (Kluev 2000, section 4).

    >>> yes, no = AnnotationLabel.RELEVANT, AnnotationLabel.IRRELEVANT
    >>> [str(decide_by_sample(labels)) for labels in ([yes, yes, yes, no], [yes] * 4 + [no], [yes, None], [])]
    ['irrelevant', 'relevant', 'None', 'None']
    """
    if not labels or not all(labels):
        return None
    share = sum(label == AnnotationLabel.RELEVANT for label in labels) / len(labels)
    return AnnotationLabel.RELEVANT if share > ACCEPTANCE_SHARE else AnnotationLabel.IRRELEVANT


def decide_group(
    store: CollectionStore,
    name: str,
    urls: Sequence[str],
    label: AnnotationLabel,
    *,
    sample: Iterable[int],
    at: float,
    annotator: str = "",
) -> int:
    """Label the pages of a group as one action, synced to disk. Return the number of the action.

    `sample` contains the ids of the reviewed pages that led to the decision. Without any, no verdict revokes it.
    """
    with store.db.durable_transaction():
        action = _next_action(store)
        values = (action, name, label, json.dumps(sorted(sample)))
        store.db.execute("INSERT INTO group_decisions VALUES (?,?,?,?)", values)
        _insert_action(store, action, dict.fromkeys(urls, label), origin=f"group {action}", at=at, annotator=annotator)
    return action


def _revoke_decisions(store: CollectionStore, action: int, changed: Sequence[int], *, at: float) -> None:
    """Restore the earlier labels of the groups whose sample no longer supports the decision on the group.

    `changed` contains the ids of the pages whose labels `action` has changed.
    """
    pages = set(changed)
    decisions = store.db.execute("SELECT action, label, sample FROM group_decisions WHERE action < ?", (action,))
    for number, label, text in decisions.fetchall():
        sample = json.loads(text)
        if pages.isdisjoint(sample):
            continue
        if decide_by_sample([_find_reviewed_label(store, page) for page in sample]) == label:
            continue
        current = f"SELECT page, url FROM ({_SELECT_CURRENT}) WHERE origin LIKE '%group {number}' AND action <> ?"
        members = store.db.execute(current, (_MAX_NUMBER, action)).fetchall()
        rows = [
            (action, page, url, *_find_earlier_label(store, page, number, f"revoked {number}", at))
            for page, url in members
        ]
        store.db.executemany(_INSERT_ANNOTATION, rows)


def _find_reviewed_label(store: CollectionStore, page: int) -> AnnotationLabel | None:
    """Return the label that a user gave to a page after looking at it, or None."""
    sql = f"SELECT {_COLUMN_NAMES} FROM annotations WHERE page=? ORDER BY number DESC LIMIT 1"
    rows = store.query_typed_rows(Annotation, sql, (page,))
    return (rows[0].label or None) if rows and not rows[0].is_implied and not rows[0].is_by_reviewer else None


def _find_earlier_label(
    store: CollectionStore, page: int, action: int, origin: str, at: float
) -> tuple[str, str, float, str]:
    """Return the last columns of the row that restores the label of a page before an action.

    They are the label, `origin` with the part of the earlier origin to keep, `at`, and the annotator of the label.
    """
    before = store.db.execute(
        "SELECT label, origin, annotator FROM annotations WHERE page=? AND action<? ORDER BY number DESC LIMIT 1",
        (page, action),
    ).fetchone()
    label, earlier_origin, annotator = before or (AnnotationLabel.NONE, "", "")
    kept = _KEPT_ORIGIN.search(str(earlier_origin))
    return str(label), f"{origin} {kept[0]}" if kept else origin, at, str(annotator)


def has_annotations(store: CollectionStore, url: str) -> bool:
    """Return whether a page has or had an annotation, by a user or by the reviewer."""
    return bool(store.query_rows("SELECT 1 FROM annotations WHERE page=? LIMIT 1", (fingerprint(url),)))


def undo_last_action(store: CollectionStore, *, at: float) -> list[Annotation]:
    """Undo the last action of a user that is not undone, by appending the labels that its pages had before.

    Group decisions that the remaining labels no longer support are revoked. The rows are synced to disk. Return all
    appended annotations, also those of revoked groups; empty if there is nothing to undo.
    """
    with store.db.durable_transaction():
        (last,) = store.db.execute(_SELECT_LAST_ACTION).fetchone()
        if last is None:
            return []
        pages = store.db.execute("SELECT page, url FROM annotations WHERE action=? ORDER BY number", (last,)).fetchall()
        action = _insert_undo(store, last, pages, at=at)
    return _list_action(store, action)


def undo_action(store: CollectionStore, number: int, *, at: float) -> list[Annotation]:
    """Undo one action of a user, which need not be the last one. Pages that have newer labels keep them.

    Return all appended annotations; empty if the action does not exist or is already undone.
    """
    with store.db.durable_transaction():
        is_undone = store.db.execute(f"SELECT ? IN ({SELECT_UNDONE})", (number,)).fetchone()[0]
        sql = (
            "SELECT page, url FROM annotations AS own WHERE action = ? AND origin NOT LIKE 'undo %'"
            " AND number = (SELECT max(number) FROM annotations WHERE page = own.page) ORDER BY number"
        )
        pages = [] if is_undone else store.db.execute(sql, (number,)).fetchall()
        if not pages:
            return []
        action = _insert_undo(store, number, pages, at=at)
    return _list_action(store, action)


def _insert_undo(store: CollectionStore, undone: int, pages: Sequence[tuple[int, str]], *, at: float) -> int:
    """Append the labels that pages had before the action `undone`. Return the number of the new action."""
    action = _next_action(store)
    rows = [(action, page, url, *_find_earlier_label(store, page, undone, f"undo {undone}", at)) for page, url in pages]
    store.db.executemany(_INSERT_ANNOTATION, rows)
    _revoke_decisions(store, action, [row[1] for row in rows], at=at)
    return action


def _list_action(store: CollectionStore, action: int) -> list[Annotation]:
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


def count_annotated_pages(store: CollectionStore) -> int:
    """Return the number of pages with a label."""
    return store.query_value(int, f"SELECT count(*) FROM ({SELECT_CURRENT_LABELS})")


def list_annotations_since(store: CollectionStore, number: int) -> list[Annotation]:
    """Return the annotations after a number, oldest first."""
    sql = f"SELECT {_COLUMN_NAMES} FROM annotations WHERE number>? ORDER BY number"
    return store.query_typed_rows(Annotation, sql, (number,))


def copy_annotations(sources: Sequence[CollectionStore], target: CollectionStore) -> None:
    """Copy the annotations and group decisions of several collections to an empty log, in the order of their times."""
    rows = []
    for which, source in enumerate(sources):
        latest = 0.0
        for row in list_annotations_since(source, 0):
            # The order within a log stays, even if the clock was set back.
            latest = max(latest, row.at)
            rows.append((latest, which, row))
    rows.sort(key=lambda item: item[:2])
    actions: list[dict[int, int]] = [{} for _ in sources]  # for each source: number of an action → new number
    count = 0
    for _, which, row in rows:
        if row.action not in actions[which]:
            count += 1
            actions[which][row.action] = count
    with target.db.durable_transaction():
        for _, which, row in rows:
            origin = _renumber_origin(row.origin, actions[which])
            values = (actions[which][row.action], row.page, row.url, row.label, origin, row.at, row.annotator)
            target.db.execute(_INSERT_ANNOTATION, values)
        sql = "SELECT action, name, label, sample FROM group_decisions"
        for source, numbers in zip(sources, actions, strict=True):
            for action, name, label, sample in source.query_typed_rows(tuple[int, str, str, str], sql):
                decision = (numbers[action], name, label, sample)
                target.db.execute("INSERT INTO group_decisions VALUES (?,?,?,?)", decision)


def _renumber_origin(origin: str, actions: Mapping[int, int]) -> str:
    """Replace the numbers of actions in an origin.

    >>> _renumber_origin("undo 7 group 6", {6: 16, 7: 17}), _renumber_origin("judge summary", {})
    ('undo 17 group 16', 'judge summary')
    """
    return _ACTION_NUMBER.sub(lambda found: f"{found[1]} {actions[int(found[2])]}", origin)


def _next_action(store: CollectionStore) -> int:
    (action,) = store.db.execute("SELECT coalesce(max(action), 0) + 1 FROM annotations").fetchone()
    return int(action)
