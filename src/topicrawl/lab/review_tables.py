"""Tables 4 to 8 of Kluev 2000 for a crawl: precision by group and pooled, recall, and the effort of the review.

The groups come from the judgements that are stored with the pages. A judged sample of a group estimates its precision:

    relevant pages of a group = pages of the group · judged relevant pages / judged pages

If all pages of a group are judged, this is a count and not an estimate. The pooled figures are sums over the groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from topicrawl.collection.review import ReviewCandidate
from topicrawl.lab.bootstrap import ConfidenceInterval
from topicrawl.lab.sampled_recall import JudgedSample, count_relevant_by_host, estimate_stratified_recall
from topicrawl.relevance.base import UNDOUBTED


class GroupPrecision(Struct, frozen=True):
    """Judged sample and precision of one group of pages."""

    name: str
    pages: int
    judged: int
    judged_relevant: int
    relevant: float | None  # estimated number of relevant pages; None: no page of the group is judged
    precision: float | None


class ReviewTables(Struct, frozen=True):
    """Figures of Tables 4 to 8 for one crawl."""

    evaluated: int  # Table 4: pages that the crawl has judged
    recommended: int  # Table 4: pages that it judges relevant
    groups: tuple[GroupPrecision, ...]  # Tables 4 and 5: the undoubtedly relevant pages first
    pooled: GroupPrecision  # Table 6: all recommended pages
    rejected: GroupPrecision  # pages that the crawl judges irrelevant
    recall: ConfidenceInterval | None  # Table 7: share of the relevant pages that the crawl recommends, with interval
    rejected_by_host: int | None  # Table 7: relevant rejected pages, by the rule of whole hosts of the paper
    doubtful: int  # Table 8: recommended pages that are not undoubtedly relevant
    doubtful_judged: int  # Table 8: those of them that are judged
    effort: float  # judged doubtful pages / recommended pages


def build_review_tables(pages: Sequence[ReviewCandidate], judgements: Mapping[str, bool]) -> ReviewTables:
    """Compute the tables. `judgements` maps the URLs of judged pages to whether they are relevant."""
    by_group: dict[str, list[str]] = {UNDOUBTED: []}
    for page in pages:
        by_group.setdefault(page.judgement.group, []).append(page.url)
    rejected_urls = by_group.pop("", [])
    names = sorted(by_group, key=lambda name: (name != UNDOUBTED, name))
    groups = tuple(_measure_group(name, by_group[name], judgements) for name in names)
    recommended_urls = [url for urls in by_group.values() for url in urls]
    rejected = JudgedSample.of(rejected_urls, judgements)
    doubtful = [group for group in groups if group.name != UNDOUBTED]
    doubtful_judged = sum(group.judged for group in doubtful)
    return ReviewTables(
        evaluated=len(pages),
        recommended=len(recommended_urls),
        groups=groups,
        pooled=_pool_groups(groups),
        rejected=_measure_group("rejected", rejected_urls, judgements),
        recall=estimate_stratified_recall([JudgedSample.of(urls, judgements) for urls in by_group.values()], rejected),
        rejected_by_host=count_relevant_by_host(rejected_urls, judgements) if rejected.judged else None,
        doubtful=sum(group.pages for group in doubtful),
        doubtful_judged=doubtful_judged,
        effort=round(doubtful_judged / len(recommended_urls), 4) if recommended_urls else 0.0,
    )


def _measure_group(name: str, urls: Sequence[str], judgements: Mapping[str, bool]) -> GroupPrecision:
    sample = JudgedSample.of(urls, judgements)
    if not sample.judged:
        return GroupPrecision(name, sample.pages, 0, 0, None if sample.pages else 0.0, None)
    precision = sample.relevant / sample.judged
    return GroupPrecision(
        name, sample.pages, sample.judged, sample.relevant, round(sample.estimate, 1), round(precision, 4)
    )


def _pool_groups(groups: Sequence[GroupPrecision]) -> GroupPrecision:
    """Add up the groups. Without a judged page in each of them, the pooled precision is unknown.

    >>> one, two = GroupPrecision("vsm", 100, 10, 9, 90.0, 0.9), GroupPrecision("passage", 300, 10, 5, 150.0, 0.5)
    >>> pooled = _pool_groups([one, two])
    >>> pooled.relevant, pooled.precision
    (240.0, 0.6)
    """
    pages, judged = sum(group.pages for group in groups), sum(group.judged for group in groups)
    relevant = [group.relevant for group in groups]
    known = [number for number in relevant if number is not None]
    total = sum(known) if len(known) == len(relevant) else None
    precision = round(total / pages, 4) if total is not None and pages else None
    return GroupPrecision("all", pages, judged, sum(group.judged_relevant for group in groups), total, precision)
