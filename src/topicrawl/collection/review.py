"""Sampled review of the pages of a crawl: Kluev 2000, sections 4 (step 7) and 5.

Relevant pages are grouped by their stored judgement (what selected the page) and by directory. Directories with few
pages are merged. The user reviews a fifth of each group. If more than three quarters of this sample are relevant, the
other pages of the group are accepted; otherwise they are rejected. Undoubtedly relevant pages need no review. A small
sample of them and of the pages that are not relevant shows how precise they are and how many pages were missed. Only
annotations of users count: the language-model reviewer sees no random sample.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, floor
from typing import NamedTuple

from msgspec import DecodeError
from msgspec import json as msgspec_json
from msgspec.structs import replace

from topicrawl.collection.annotations import (
    UNDOUBTED_ORIGIN,
    Annotation,
    AnnotationLabel,
    annotate,
    annotate_pages,
    decide_by_sample,
    decide_group,
    list_current_annotations,
)
from topicrawl.collection.store import CollectionStore
from topicrawl.errors import DamagedError, UsageError
from topicrawl.models import PageJudgement
from topicrawl.relevance.base import UNDOUBTED, build_score_judgement
from topicrawl.relevance.directory_heuristic import get_directory
from topicrawl.urls import fingerprint

SAMPLE_SHARE = 0.2  # share of a group that is reviewed
MIN_GROUP_PAGES = 10  # pages; smaller groups are merged, so that a sample has at least two pages
CONTROL_SAMPLE_SHARE = 0.05  # share of the undoubted pages, and of the pages that are not relevant, that is reviewed
REJECTED = "rejected"  # name of the group of the pages that are not relevant
_MAX_CONTROL_SAMPLE = 40
_SELECT_PAGES = """
    SELECT p.url, p.title, coalesce(v.relevance, 0), p.judgement, p.id
    FROM pages p JOIN visits v USING (step) WHERE p.step > ? ORDER BY p.step
"""


class ReviewCandidate(NamedTuple):
    """A page that may be reviewed."""

    url: str
    title: str
    relevance: float
    judgement: PageJudgement
    id: int
    label: AnnotationLabel | None = None  # label of a user, or of a group decision of a user
    is_reviewed: bool = False  # whether a user gave the label after looking at the page


@dataclass(frozen=True)
class ReviewGroup:
    """Pages that are reviewed by a sample."""

    metric: str  # what selected the pages
    directory: str  # common directory of the pages; "" if there is none
    pages: list[ReviewCandidate]
    can_decide: bool = True  # whether the sample decides on the other pages
    sample: list[ReviewCandidate] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name of the group, which is unique in a crawl."""
        return f"{self.metric} {self.directory}".rstrip()

    @property
    def reviewed_pages(self) -> list[ReviewCandidate]:
        """Reviewed pages of the sample."""
        return [page for page in self.sample if page.is_reviewed]

    @property
    def relevant_count(self) -> int:
        """Number of relevant pages among the reviewed pages of the sample. "Unsure" counts as not relevant."""
        return sum(page.label == AnnotationLabel.RELEVANT for page in self.reviewed_pages)

    @property
    def decision(self) -> AnnotationLabel | None:
        """Label of the pages that were not reviewed: the one that all have, or else the decision of the sample.

        None if there is neither.
        """
        labels = {page.label for page in self.pages if not page.is_reviewed}
        common = labels.pop() if len(labels) == 1 else None
        if common is not None or not self.can_decide:
            return common
        return decide_by_sample([page.label if page.is_reviewed else None for page in self.sample])

    @property
    def pages_to_review(self) -> list[ReviewCandidate]:
        """Pages of the sample that are left to review."""
        return [page for page in self.sample if not page.is_reviewed]

    @property
    def undecided_urls(self) -> list[str]:
        """URLs of the pages without a label."""
        return [page.url for page in self.pages if page.label is None]


def load_candidates(store: CollectionStore, threshold: float, *, after: int = 0) -> list[ReviewCandidate]:
    """Load every page that was fetched after a step, with its judgement and its current annotation by a user.

    Pages of earlier versions have no stored judgement. They are judged by their relevance.
    """
    annotations: Mapping[int, Annotation] = list_current_annotations(store)
    pages = []
    rows = store.iterate_typed_rows(tuple[str, str, float, str, int], _SELECT_PAGES, (after,))
    for url, title, relevance, stored, page_id in rows:
        judgement = parse_judgement(store, stored) or build_score_judgement(relevance, threshold)
        label, is_reviewed = get_user_label(annotations.get(page_id))
        pages.append(ReviewCandidate(url, title, relevance, judgement, page_id, label, is_reviewed))
    return apply_directory_heuristic(pages)


def apply_directory_heuristic(pages: Sequence[ReviewCandidate]) -> list[ReviewCandidate]:
    """Recommend pages that were judged before an undoubtedly relevant page of their directory was found.

    The judge `multi_metric` applies the directory heuristic (Kluev 2000, section 4) to later pages of the directory. Of
    the earlier ones, it stored that no metric recommends them, and the share of relevant pages in the directory then.
    """
    directories = {get_directory(page.url) for page in pages if page.judgement.group == UNDOUBTED}
    recommended = PageJudgement("directory", ("directory",))
    return [
        page._replace(judgement=replace(recommended, scores=page.judgement.scores))
        if page.judgement.scores.get("directory") == 0
        and not page.judgement.metrics
        and get_directory(page.url) in directories
        else page
        for page in pages
    ]


def get_user_label(annotation: Annotation | None) -> tuple[AnnotationLabel | None, bool]:
    """Return the label of a user in an annotation, or None, and whether the user has looked at the page."""
    if annotation is None or annotation.is_by_reviewer or annotation.label == AnnotationLabel.NONE:
        return None, False
    return annotation.label, not annotation.is_implied


def parse_judgement(store: CollectionStore, stored: str) -> PageJudgement | None:
    """Parse the stored judgement on a page; None if it has none. Raise `DamagedError` if it is invalid."""
    if not stored:
        return None
    try:
        return msgspec_json.decode(stored, type=PageJudgement)
    except DecodeError as error:
        raise DamagedError(f"{store.path} is damaged: a judgement cannot be read ({error})") from error


def build_groups(pages: Sequence[ReviewCandidate], threshold: float) -> list[ReviewGroup]:
    """Group the relevant pages by metric and directory, least certain groups first.

    The undoubtedly relevant pages form the last but one group, and the pages that are not relevant the last one. Their
    samples decide nothing.
    """
    by_metric: dict[str, dict[str, list[ReviewCandidate]]] = {}
    for page in pages:
        if page.judgement.group not in ("", UNDOUBTED):
            by_metric.setdefault(page.judgement.group, {}).setdefault(get_directory(page.url), []).append(page)
    result = [
        ReviewGroup(metric, directory, members, sample=draw_sample(members, get_sample_size(len(members)), threshold))
        for metric, by_directory in by_metric.items()
        for directory, members in merge_directories(by_directory).items()
    ]
    result.sort(key=lambda group: (min(abs(page.relevance - threshold) for page in group.sample), group.name))
    for name, metric in ((UNDOUBTED, UNDOUBTED), (REJECTED, "")):
        if members := [page for page in pages if page.judgement.group == metric]:
            count = min(_MAX_CONTROL_SAMPLE, ceil(CONTROL_SAMPLE_SHARE * len(members)))
            sample = draw_sample(members, count, threshold)
            result.append(ReviewGroup(name, "", members, can_decide=False, sample=sample))
    return result


def merge_directories(
    by_directory: Mapping[str, Sequence[ReviewCandidate]], least: int = MIN_GROUP_PAGES
) -> dict[str, list[ReviewCandidate]]:
    """Merge directories with fewer than `least` pages into their parents, hosts into one group without a directory."""
    groups = {directory: list(pages) for directory, pages in by_directory.items()}
    for depth in range(max((name.count("/") for name in groups), default=0), 0, -1):
        for directory in [name for name in groups if name.count("/") == depth]:
            if len(groups[directory]) < least:
                groups.setdefault(_get_parent(directory), []).extend(groups.pop(directory))
    return groups


def _get_parent(directory: str) -> str:
    """Return the parent of a directory; empty for the root of a host.

    >>> _get_parent("http://a.example/owls/"), _get_parent("http://a.example/")
    ('http://a.example/', '')
    """
    parent = directory.rstrip("/").rpartition("/")[0] + "/"
    return "" if parent.endswith("//") else parent


def get_sample_size(pages: int) -> int:
    """Return how many pages of a group are reviewed: a fifth, rounded, but at least one.

    >>> [get_sample_size(pages) for pages in (1, 7, 8, 10, 100)]
    [1, 1, 2, 2, 20]
    """
    return max(1, floor(SAMPLE_SHARE * pages + 0.5))


def draw_sample(pages: Sequence[ReviewCandidate], count: int, threshold: float) -> list[ReviewCandidate]:
    """Draw a deterministic sample that changes little when pages are added; least certain pages first."""
    # The fingerprint of a URL serves as a random number.
    drawn = sorted(pages, key=lambda page: page.id * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF)[:count]
    return sorted(drawn, key=lambda page: abs(page.relevance - threshold))


def build_review_queue(
    review_groups: Sequence[ReviewGroup], threshold: float
) -> list[tuple[ReviewCandidate, ReviewGroup]]:
    """Return the pages to review, least certain first; the samples that decide nothing come last."""
    waiting = [(page, group) for group in review_groups for page in group.pages_to_review]
    return sorted(waiting, key=lambda pair: (not pair[1].can_decide, abs(pair[0].relevance - threshold), pair[0].url))


def list_undoubted_pages(pages: Iterable[ReviewCandidate]) -> list[str]:
    """Return the URLs of the undoubtedly relevant pages without a label, which can be accepted without review."""
    return [page.url for page in pages if page.label is None and page.judgement.group == UNDOUBTED]


def count_missed_pages(pages: Iterable[ReviewCandidate]) -> tuple[int, int]:
    """Return how many pages that the crawl rejected were reviewed, and how many of these are relevant."""
    read = [page for page in pages if not page.judgement.group and page.is_reviewed]
    return len(read), sum(page.label == AnnotationLabel.RELEVANT for page in read)


class AppliedDecision(NamedTuple):
    """A decision that was applied to the other pages of a group."""

    group: str
    label: AnnotationLabel
    pages: int


def find_page_urls(store: CollectionStore, urls: Iterable[str]) -> list[str]:
    """Return the final URLs of stored pages. Raise `UsageError` for the first URL that is not a page of the crawl."""
    found = []
    for url in urls:
        row = store.find_visit(url)
        if row is None or row.failure is not None:
            raise UsageError(f"{url} is not in {store.path.parent.name}")
        found.append(row.url)
    return found


def review_pages(
    store: CollectionStore,
    labels: Mapping[str, AnnotationLabel],
    threshold: float,
    *,
    origin: str,
    at: float,
    annotator: str = "",
) -> list[AppliedDecision]:
    """Add verdicts on pages as one action, and decide on the groups whose samples are complete.

    `labels` maps the final URL of a page to its label. Return the decisions on groups.
    """
    annotate_pages(store, labels, origin=origin, at=at, annotator=annotator)
    changed = {fingerprint(url) for url in labels}
    return decide_groups(store, build_groups(load_candidates(store, threshold), threshold), changed, at=at)


def decide_groups(
    store: CollectionStore, groups: Iterable[ReviewGroup], changed: Collection[int], *, at: float, annotator: str = ""
) -> list[AppliedDecision]:
    """Apply the decisions on the groups in whose sample a page has changed. Each one is an action of its own."""
    decisions = []
    for group in groups:
        label, urls = group.decision, group.undecided_urls
        if label is not None and urls and any(page.id in changed for page in group.sample):
            sample = [page.id for page in group.sample]
            decide_group(store, group.name, urls, label, sample=sample, at=at, annotator=annotator)
            decisions.append(AppliedDecision(group.name, label, len(urls)))
    return decisions


def find_group(groups: Iterable[ReviewGroup], name: str) -> ReviewGroup:
    """Return the group of relevant pages with a name. Raise `UsageError` if there is none."""
    known = [group for group in groups if group.name != REJECTED]
    for group in known:
        if group.name == name:
            return group
    names = ", ".join(repr(group.name) for group in known) or "none"
    raise UsageError(f"there is no review group {name[:200]!r}: the groups are {names}")


def label_group(
    store: CollectionStore, group: ReviewGroup, label: AnnotationLabel, *, at: float, annotator: str = ""
) -> AppliedDecision:
    """Accept or reject the pages of a group that have no label, without a sample."""
    urls = group.undecided_urls
    if urls and group.name == UNDOUBTED and label == AnnotationLabel.RELEVANT:
        annotate(store, urls, label, origin=UNDOUBTED_ORIGIN, at=at, annotator=annotator)
    elif urls:
        decide_group(store, group.name, urls, label, sample=(), at=at, annotator=annotator)
    return AppliedDecision(group.name, label, len(urls))
