"""Sampled review of the pages of a crawl: Kluev 2000, section 5.

Relevant pages are grouped by directory and by the metric that selected the link to them. The user reviews a fifth of
each group. If three quarters of this sample are relevant, the whole group is accepted; otherwise its pages are reviewed
one by one. Pages below the threshold are sampled too, to estimate how many relevant pages were missed. Only annotations
of users count: the language-model reviewer sees no random sample.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

from topicrawl.collection.annotations import Annotation, AnnotationLabel, list_current_annotations
from topicrawl.collection.store import CollectionStore
from topicrawl.relevance.directory_heuristic import get_directory

SAMPLE_SHARE = 0.2  # share of a group that is reviewed
ACCEPTANCE_SHARE = 0.75  # share of the sample that must be relevant to accept the group
REJECTED_SAMPLE_SHARE = 0.05  # share of the pages below the threshold that is reviewed
_MAX_REJECTED_SAMPLE = 40
_CERTAIN_ODDS_FACTOR = 4.0  # multiple of the threshold's odds above which a page is certainly relevant
_SELECT_PAGES = """
    SELECT p.url, p.title, coalesce(v.relevance, 0), v.score_parts, v.source, p.id
    FROM pages p JOIN visits v USING (step) ORDER BY p.step
"""


class ReviewCandidate(NamedTuple):
    """A page that may be reviewed."""

    url: str
    title: str
    relevance: float
    reason: str  # metric that selected the link to the page
    id: int
    label: AnnotationLabel | None = None  # label that a user has given; None if the page has not been reviewed


@dataclass(frozen=True)
class ReviewGroup:
    """Pages that are reviewed by a sample."""

    directory: str
    reason: str
    pages: Sequence[ReviewCandidate]
    may_accept: bool = True  # whether the sample decides on the other pages
    sample: Sequence[ReviewCandidate] = field(default_factory=tuple)

    @property
    def reviewed_pages(self) -> list[ReviewCandidate]:
        """Reviewed pages of the sample."""
        return [page for page in self.sample if page.label is not None]

    @property
    def relevant_share(self) -> float:
        """Share of relevant pages among the reviewed pages of the sample. "Unsure" counts as not relevant."""
        read = self.reviewed_pages
        return sum(page.label == AnnotationLabel.RELEVANT for page in read) / len(read) if read else 0.0

    @property
    def is_accepted(self) -> bool:
        """Whether the whole sample has been reviewed and enough of it is relevant."""
        return (
            self.may_accept and len(self.reviewed_pages) == len(self.sample) and self.relevant_share >= ACCEPTANCE_SHARE
        )

    @property
    def pages_to_review(self) -> list[ReviewCandidate]:
        """Pages left to review: the rest of the sample, or all pages if the sample was not relevant enough."""
        rest = [page for page in self.sample if page.label is None]
        if rest or not self.may_accept or self.relevant_share >= ACCEPTANCE_SHARE:
            return rest
        return [page for page in self.pages if page.label is None]

    @property
    def implied_urls(self) -> list[str]:
        """URLs of pages that are accepted without review, because the sample was relevant enough."""
        return [page.url for page in self.pages if page.label is None] if self.is_accepted else []


def load_candidates(store: CollectionStore) -> list[ReviewCandidate]:
    """Load every page with its current annotation by a user."""
    annotations: Mapping[int, Annotation] = list_current_annotations(store)
    pages = []
    rows = store.iterate_typed_rows(tuple[str, str, float, str, str, int], _SELECT_PAGES)
    for url, title, relevance, parts, source, page_id in rows:
        annotation = annotations.get(page_id)
        label = annotation.label if annotation is not None and not annotation.is_by_reviewer else None
        reason = _get_main_reason(parts) if source else "seed"
        pages.append(ReviewCandidate(url, title, relevance, reason, page_id, label))
    return pages


def build_groups(pages: Sequence[ReviewCandidate], threshold: float) -> list[ReviewGroup]:
    """Group the pages at or above the threshold by directory and reason, least certain groups first.

    The last group contains the pages below the threshold, if there are any. It cannot be accepted as a whole.
    """
    by_key: dict[tuple[str, str], list[ReviewCandidate]] = {}
    for page in pages:
        if page.relevance >= threshold:
            by_key.setdefault((get_directory(page.url), page.reason), []).append(page)
    result = [
        ReviewGroup(place, reason, members, sample=draw_sample(members, ceil(SAMPLE_SHARE * len(members)), threshold))
        for (place, reason), members in by_key.items()
    ]
    result.sort(key=lambda group: min(abs(page.relevance - threshold) for page in group.sample))
    rejected = [page for page in pages if page.relevance < threshold]
    if rejected:
        sample_pages = draw_sample(
            rejected, min(_MAX_REJECTED_SAMPLE, ceil(REJECTED_SAMPLE_SHARE * len(rejected))), threshold
        )
        result.append(ReviewGroup("", "rejected", rejected, may_accept=False, sample=sample_pages))
    return result


def draw_sample(pages: Sequence[ReviewCandidate], count: int, threshold: float) -> list[ReviewCandidate]:
    """Draw a deterministic sample that changes little when pages are added; least certain pages first."""
    # The fingerprint of a URL serves as a random number.
    drawn = sorted(pages, key=lambda page: page.id * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF)[:count]
    return sorted(drawn, key=lambda page: abs(page.relevance - threshold))


def build_review_queue(
    review_groups: Sequence[ReviewGroup], threshold: float
) -> list[tuple[ReviewCandidate, ReviewGroup]]:
    """Return the pages to review, least certain first; the sample of rejected pages comes last."""
    waiting = [(page, group) for group in review_groups for page in group.pages_to_review]
    return sorted(waiting, key=lambda pair: (not pair[1].may_accept, abs(pair[0].relevance - threshold), pair[0].url))


def list_certain_pages(pages: Sequence[ReviewCandidate], threshold: float) -> list[str]:
    """Return the URLs of unreviewed pages far above the threshold, which can be accepted without review.

    Their odds are at least four times those of the threshold: .8 for a threshold of .5.
    """
    certain = _CERTAIN_ODDS_FACTOR * threshold / (1 - threshold + _CERTAIN_ODDS_FACTOR * threshold)
    return [page.url for page in pages if page.label is None and page.relevance >= certain]


def count_missed_pages(pages: Sequence[ReviewCandidate], threshold: float) -> tuple[int, int]:
    """Return how many pages below the threshold were reviewed, and how many of these are relevant."""
    read = [page for page in pages if page.relevance < threshold and page.label is not None]
    return len(read), sum(page.label == AnnotationLabel.RELEVANT for page in read)


def _get_main_reason(parts: str) -> str:
    """Return the name of the largest component of a link score.

    >>> _get_main_reason('[["page", 0.2], ["anchor", 0.7]]'), _get_main_reason("[]")
    ('anchor', 'order')
    """
    named = [(float(value), str(name)) for name, value in json.loads(parts)]
    best = max(named, default=(0.0, ""))
    return best[1] if best[0] > 0 else "order"
