"""State of a review for the command line and the API, and the review sheet: a CSV file that a person fills in."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from msgspec import Struct

from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.collection.review import (
    REJECTED,
    ReviewCandidate,
    ReviewGroup,
    build_groups,
    build_review_queue,
    count_missed_pages,
    load_candidates,
)
from topicrawl.collection.store import CollectionStore
from topicrawl.errors import UsageError
from topicrawl.relevance.base import UNDOUBTED
from topicrawl.urls import canonicalize_url

SHEET_COLUMNS = ("verdict", "url", "title", "relevance", "group")
# Spreadsheet programs take a cell that begins with one of these characters for a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t")


class GroupReport(Struct, frozen=True):
    """State of one review group."""

    name: str
    metric: str
    directory: str
    pages: int
    sample: int
    reviewed: int
    relevant: int  # relevant pages among the reviewed ones
    decision: str  # label of the pages that were not reviewed; "" if the group is neither accepted nor rejected
    undecided: int  # pages without a label


class QueuedPage(Struct, frozen=True):
    """A page that is to be reviewed."""

    url: str
    title: str
    relevance: float
    group: str
    metrics: tuple[str, ...]


class ReviewReport(Struct, frozen=True):
    """State of the review of a crawl."""

    pages: int  # all pages
    recommended: int  # pages that the crawl judges relevant
    undoubted: int  # undoubtedly relevant pages
    sampled: int  # pages of all samples, without that of the rejected pages
    effort: float  # sampled pages / recommended pages
    reviewed: int  # pages that a user has reviewed
    groups: tuple[GroupReport, ...]
    queue: tuple[QueuedPage, ...]  # pages to review, least certain first
    rejected_reviewed: int  # reviewed pages that the crawl rejected
    rejected_relevant: int  # relevant pages among them


def build_review_report(store: CollectionStore, threshold: float) -> ReviewReport:
    """Return the state of the review of a crawl."""
    pages = load_candidates(store, threshold)
    return summarise_review(pages, build_groups(pages, threshold), threshold)


def summarise_review(
    pages: Collection[ReviewCandidate], groups: Sequence[ReviewGroup], threshold: float
) -> ReviewReport:
    """Return the state of a review from its pages and groups."""
    recommended = sum(bool(page.judgement.group) for page in pages)
    sampled = sum(len(group.sample) for group in groups if group.metric != REJECTED)
    queue = build_review_queue(groups, threshold)
    rejected_reviewed, rejected_relevant = count_missed_pages(pages)
    return ReviewReport(
        pages=len(pages),
        recommended=recommended,
        undoubted=sum(page.judgement.group == UNDOUBTED for page in pages),
        sampled=sampled,
        effort=round(sampled / recommended, 4) if recommended else 0.0,
        reviewed=sum(page.is_reviewed for page in pages),
        groups=tuple(map(_report_group, groups)),
        queue=tuple(_report_page(page, group) for page, group in queue),
        rejected_reviewed=rejected_reviewed,
        rejected_relevant=rejected_relevant,
    )


def _report_group(group: ReviewGroup) -> GroupReport:
    return GroupReport(
        group.name,
        group.metric,
        group.directory,
        len(group.pages),
        len(group.sample),
        len(group.reviewed_pages),
        group.relevant_count,
        str(group.decision or ""),
        len(group.undecided_urls),
    )


def _report_page(page: ReviewCandidate, group: ReviewGroup) -> QueuedPage:
    return QueuedPage(page.url, page.title, round(page.relevance, 4), group.name, page.judgement.metrics)


def format_sheet(groups: Sequence[ReviewGroup]) -> str:
    """Return the review sheet as CSV: the pages of all samples, with the verdicts so far."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(SHEET_COLUMNS)
    for group in groups:
        for page in group.sample:
            verdict = str(page.label or "") if page.is_reviewed else ""
            writer.writerow([verdict, page.url, _escape_cell(page.title), f"{page.relevance:.4f}", group.name])
    return text.getvalue()


def _escape_cell(text: str) -> str:
    """Return a text that spreadsheet programs do not take for a formula, in one line.

    >>> _escape_cell("=cmd()"), _escape_cell("Owls\\nand bats")
    ("'=cmd()", 'Owls and bats')
    """
    line = " ".join(text.split())
    return f"'{line}" if line.startswith(_FORMULA_STARTS) else line


def parse_sheet(text: str, name: str) -> dict[str, AnnotationLabel]:
    """Return the verdicts of a review sheet by URL; rows without a verdict are left out. `name` is for messages.

    Only the columns `url` and `verdict` count. Raise `UsageError` for a sheet without them and for an invalid row.

    >>> parse_sheet("url,verdict\\nhttp://a.example/,Relevant\\nhttp://b.example/,\\n", "sheet.csv")
    {'http://a.example/': <AnnotationLabel.RELEVANT: 'relevant'>}
    """
    try:
        rows = list(csv.DictReader(io.StringIO(text), delimiter=_detect_delimiter(text)))
    except csv.Error as error:
        raise UsageError(f"{name} is not a CSV file: {error}") from error
    if not rows or not {"url", "verdict"} <= set(rows[0]):
        raise UsageError(f"{name} needs a header line with the columns url and verdict, and at least one page")
    labels: dict[str, AnnotationLabel] = {}
    for number, row in enumerate(rows, 2):
        if verdict := (row["verdict"] or "").strip().lower():
            url, label = _parse_row(row, verdict, f"{name}, row {number}")
            if labels.setdefault(url, label) != label:
                raise UsageError(f"{name}, row {number}: {url} has two verdicts")
    return labels


def _detect_delimiter(text: str) -> str:
    """Return the delimiter of a sheet. Some spreadsheet programs write semicolons or tabs between the columns."""
    return max(",;\t", key=text.partition("\n")[0].count)


def _parse_row(row: dict[str, Any], verdict: str, where: str) -> tuple[str, AnnotationLabel]:
    url = canonicalize_url((row["url"] or "").strip())
    if url is None:
        raise UsageError(f"{where}: {str(row['url'])[:80]!r} is not a web address")
    if verdict not in list(AnnotationLabel):
        raise UsageError(f"{where}: the verdict must be relevant, irrelevant or unsure, not {verdict[:20]!r}")
    return url, AnnotationLabel(verdict)


def select_changed(labels: dict[str, AnnotationLabel], pages: Iterable[ReviewCandidate]) -> dict[str, AnnotationLabel]:
    """Return the verdicts that differ from the reviewed labels of the pages, so that a sheet can be read twice."""
    known = {page.url: page.label for page in pages if page.is_reviewed}
    return {url: label for url, label in labels.items() if known.get(url) != label}
