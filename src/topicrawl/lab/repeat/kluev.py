"""Repeat the experiment of Kluev 2000, section 5: collections compiled by several metrics (tables 4 to 8).

The labels of the recorded web take the place of the expert, so that the precision of every group is a count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from topicrawl.collection.annotations import AnnotationLabel, decide_by_sample
from topicrawl.collection.review import ReviewCandidate, build_groups
from topicrawl.lab.bootstrap import Bootstrap, ConfidenceInterval
from topicrawl.lab.compare import Comparison, ComparisonTask
from topicrawl.lab.repeat.paper_report import (
    ClaimCheck,
    ClaimOutcome,
    PaperReport,
    ReportFigure,
    ReportTable,
    check_minimum,
    format_figure,
)
from topicrawl.lab.repeat.paper_runs import (
    RepeatOptions,
    RunProgress,
    describe_runs,
    draw_curves,
    list_failures,
    run_paper,
)
from topicrawl.lab.results import ResultRow
from topicrawl.lab.tasks import PageLabels, find_targets, read_labels
from topicrawl.models import PageJudgement
from topicrawl.relevance.base import UNDOUBTED
from topicrawl.urls import fingerprint

TITLE = "Kluev 2000, Compiling Document Collections from the Internet"
FETCHES = 2500  # section 5: the statistics of filtering are measured after every 2,500 documents
CORE_PAGES = 100  # table 1: 95 and 118
STRATEGY = "multi_metric+examples"
#: Values of the tables 4 to 8 for the collections Algorithms and Programming Languages. Those of table 4 are relevant
#: pages / pages; table 6 ignores the errors of table 5, with them it is .85 and .93.
PRECISIONS = {
    UNDOUBTED: ("Table 5", (0.96, 0.98)),
    "vsm": ("Table 4", (1 - 113 / 626, 1 - 98 / 1212)),
    "passage": ("Table 4", (1 - 402 / 2025, 1 - 101 / 1008)),
    "directory": ("Table 4", (1 - 598 / 2826, 1 - 306 / 2887)),
}
POOLED_PRECISION = (0.86, 0.93)  # table 6
RECALL = (0.51, 0.40)  # table 7
EFFORT = (0.17, 0.13)  # text on table 8: judged pages / recommended pages
OVERLAP = 0.01  # text: the collections share less than 1 % of their pages
RECOMMENDED = (255 / 2500, 840 / 2500)  # text: recommended of each 2,500 documents
_MIN_GROUP = 10  # pages; the precision of a smaller group of a topic is not counted
_NOTES = (
    "The labels of the web are the expert. evaluated: fetched pages; recommended: pages that the metrics select; "
    "effort: pages that the expert judges by samples of 20 %, as a share of the recommended pages; collection: pages "
    "that are left after the review, with the undoubtedly relevant ones accepted without it. A core has up to 100 "
    "relevant and 100 irrelevant pages, but at most a quarter of the relevant pages of a topic.",
)


@dataclass(frozen=True)
class TopicCollection:
    """Collection of one topic: the fetched pages with their groups, and which of them are relevant."""

    web: str
    topic: str
    groups: Sequence[tuple[str, str]]  # URL and group of each fetched page; "" if it is not recommended
    relevant: frozenset[str]

    @property
    def recommended(self) -> list[str]:
        """URLs of the recommended pages."""
        return [url for url, group in self.groups if group]

    def list_urls(self, group: str) -> list[str]:
        """Return the URLs of a group."""
        return [url for url, name in self.groups if name == group]

    def measure_precision(self, urls: Sequence[str]) -> float | None:
        """Return the share of relevant pages, or None if there are too few pages."""
        return sum(url in self.relevant for url in urls) / len(urls) if len(urls) >= _MIN_GROUP else None

    def measure_recall(self) -> float | None:
        """Return the share of the relevant fetched pages that are recommended."""
        relevant = [group for url, group in self.groups if url in self.relevant]
        return sum(map(bool, relevant)) / len(relevant) if relevant else None

    def simulate_review(self) -> tuple[float, list[str]]:
        """Review samples of the groups with the labels. Return the effort and the URLs that are left."""
        candidates = [
            ReviewCandidate(url, "", 0.5, PageJudgement(group), fingerprint(url)) for url, group in self.groups if group
        ]
        accepted, judged = self.list_urls(UNDOUBTED), 0
        for group in build_groups(candidates, 0.5):
            if not group.can_decide:
                continue
            sample = [page.url for page in group.sample]
            labels = [
                AnnotationLabel.RELEVANT if url in self.relevant else AnnotationLabel.IRRELEVANT for url in sample
            ]
            judged += len(sample)
            accepted += [url for url in sample if url in self.relevant]
            if decide_by_sample(labels) == AnnotationLabel.RELEVANT:
                accepted += [page.url for page in group.pages if page.url not in set(sample)]
        return judged / max(1, len(candidates)), accepted


async def repeat_experiment(options: RepeatOptions, on_progress: RunProgress) -> PaperReport:
    """Compile a collection for each topic and compare the results with the tables of the paper."""
    config = options.build_config([STRATEGY], FETCHES, judged=0, examples=CORE_PAGES)
    config = replace(config, judge="multi_metric", judgements=True)
    comparison = await run_paper(config, options, on_progress, prefers_far_seeds=False)
    collections = build_collections(comparison)
    report = PaperReport("kluev", TITLE, describe_runs(comparison), notes=[*_NOTES, *list_failures(comparison)])
    webs = list(dict.fromkeys(collection.web for collection in collections))
    report.claims = check_claims(collections)
    for web in webs if len(webs) > 1 else ():
        own = [collection for collection in collections if collection.web == web]
        report.tables.append(_build_group_table(f"Groups of the recommended pages: {web}", own))
    report.tables.append(_build_group_table("Groups of the recommended pages", collections))
    report.tables.append(_build_collection_table(collections))
    report.figures.append(_draw_collection_figure(collections, config.fetches))
    return report


def build_collections(comparison: Comparison) -> list[TopicCollection]:
    """Return the collection of each topic from the runs."""
    tasks = {task.name: task for task in comparison.tasks}
    labels: dict[Path, PageLabels] = {}
    collections = []
    for row in comparison.rows:
        if row["strategy"] == STRATEGY:
            task = tasks[row["task"]]
            if task.web_path not in labels:
                labels[task.web_path] = read_labels(task.web_path)
            collections.append(_build_collection(row, task, labels[task.web_path]))
    return collections


def _build_collection(row: ResultRow, task: ComparisonTask, labels: PageLabels) -> TopicCollection:
    relevant = find_targets(labels, replace(task.task, seeds=(), within=""))
    # The core is known in advance, so that it is no evidence of the precision.
    known = {*task.relevant, *task.irrelevant, *task.task.seeds}
    groups = [(url, group) for url, group in dict(row["groups"]).items() if url not in known]
    return TopicCollection(task.task.web, task.task.topic, groups, relevant)


def check_claims(collections: Sequence[TopicCollection]) -> list[ClaimCheck]:
    """Compare the collections with the tables 4 to 8 and the text of section 5."""
    checks = []
    for group, (source, claimed) in PRECISIONS.items():
        measured = _compute_mean([item.measure_precision(item.list_urls(group)) for item in collections])
        checks.append(_check_range(source, f"precision of the group {group}", claimed, measured))
    pooled = _compute_mean([item.measure_precision(item.recommended) for item in collections])
    checks.append(_check_range("Table 6", "precision of the recommended pages", POOLED_PRECISION, pooled))
    recall = _compute_mean([item.measure_recall() for item in collections])
    checks.append(_check_range("Table 7", "recall among the fetched pages", RECALL, recall))
    reviews = [item.simulate_review() for item in collections]
    effort = _compute_mean([effort for effort, _ in reviews])
    limit, highest = f"≤ {format_figure(max(EFFORT))}", max(EFFORT)
    checks.append(_check_maximum("Table 8", "effort of the review", limit, highest, effort))
    left = _compute_mean([item.measure_precision(urls) for item, (_, urls) in zip(collections, reviews, strict=True)])
    checks.append(_check_range("Table 6", "precision of the collection after the review", POOLED_PRECISION, left))
    overlap = _compute_mean(_list_overlaps(collections))
    checks.append(_check_maximum("section 5", "share of pages in two collections", "< .01", OVERLAP, overlap))
    share = _compute_mean([len(item.recommended) / max(1, len(item.groups)) for item in collections])
    claimed_share = " to ".join(map(format_figure, RECOMMENDED))
    checks.append(
        ClaimCheck("section 5", "share of the pages that are recommended", claimed_share, share, ClaimOutcome.NONE)
    )
    return checks


def _compute_mean(values: Sequence[float | None]) -> ConfidenceInterval | None:
    """Return the mean over the topics that have a value, with its interval; None if there are none."""
    known = [value for value in values if value is not None]
    return Bootstrap(len(known), min_groups=5).mean_interval(known) if known else None


def _check_range(
    source: str, statement: str, claimed: Sequence[float], measured: ConfidenceInterval | None
) -> ClaimCheck:
    """Check values of two collections: the claim holds if the measured value reaches the smaller one."""
    text = " and ".join(map(format_figure, claimed))
    if measured is None:
        return ClaimCheck(source, statement, text, None, ClaimOutcome.NONE)
    return replace(check_minimum(source, statement, round(min(claimed), 2), measured), claimed=text)


def _check_maximum(
    source: str, statement: str, claimed: str, limit: float, measured: ConfidenceInterval | None
) -> ClaimCheck:
    """Check a claim of at most this value."""
    if measured is None or not measured.has_limits:
        return ClaimCheck(source, statement, claimed, measured, ClaimOutcome.NONE)
    if measured.high <= limit:
        outcome = ClaimOutcome.HOLDS
    else:
        outcome = ClaimOutcome.FAILS if measured.low > limit else ClaimOutcome.UNDECIDED
    return ClaimCheck(source, statement, claimed, measured, outcome)


def _list_overlaps(collections: Sequence[TopicCollection]) -> list[float | None]:
    """Return for each pair of collections of a web the share of their recommended pages that are in both."""
    overlaps: list[float | None] = []
    for number, first in enumerate(collections):
        for second in collections[number + 1 :]:
            both = {*first.recommended} | {*second.recommended}
            if first.web == second.web and both:
                overlaps.append(len({*first.recommended} & {*second.recommended}) / len(both))
    return overlaps


def _build_group_table(title: str, collections: Sequence[TopicCollection]) -> ReportTable:
    """Return pages, relevant pages and precision of each group, summed over the topics, as in the tables 4 to 6."""
    names = [UNDOUBTED, *sorted({group for item in collections for _, group in item.groups} - {"", UNDOUBTED})]
    groups: Mapping[str, list[tuple[TopicCollection, str]]] = {
        **{name: [(item, url) for item in collections for url in item.list_urls(name)] for name in names},
        "recommended": [(item, url) for item in collections for url in item.recommended],
        "rejected": [(item, url) for item in collections for url in item.list_urls("")],
        "evaluated": [(item, url) for item in collections for url, _ in item.groups],
    }
    rows = []
    for name, pages in groups.items():
        relevant = sum(url in item.relevant for item, url in pages)
        precision = f"{relevant / len(pages):.2f}" if pages else "-"
        rows.append((name, f"{len(pages):,}", f"{relevant:,}", precision))
    return ReportTable(title, ("group", "pages", "relevant", "precision"), rows)


def _build_collection_table(collections: Sequence[TopicCollection]) -> ReportTable:
    """Return the result of the review for each topic, as in the tables 6 to 8."""
    rows = []
    for item in collections:
        effort, urls = item.simulate_review()
        precisions = (item.measure_precision(item.recommended), item.measure_precision(urls), item.measure_recall())
        cells = ("-" if value is None else f"{value:.2f}" for value in precisions)
        rows.append(
            (
                f"{item.web}: {item.topic}",
                f"{len(item.groups):,}",
                f"{len(item.recommended):,}",
                *cells,
                f"{effort:.0%}",
            )
        )
    head = ("topic", "evaluated", "recommended", "precision", "after the review", "recall", "effort")
    return ReportTable("Collections and their review", head, rows)


def _draw_collection_figure(collections: Sequence[TopicCollection], fetches: int) -> ReportFigure:
    """Draw the growth of the collections: recommended, undoubtedly relevant and relevant pages, means over topics."""
    points = [max(1, fetches * part // 40) for part in range(1, 41)]

    selections: Mapping[str, Callable[[TopicCollection], list[bool]]] = {
        "recommended": lambda item: [bool(group) for _, group in item.groups],
        "recommended and relevant": lambda item: [bool(group) and url in item.relevant for url, group in item.groups],
        "undoubted": lambda item: [group == UNDOUBTED for _, group in item.groups],
        "relevant": lambda item: [url in item.relevant for url, _ in item.groups],
    }
    curves = {}
    for name, select in selections.items():
        flags = [select(item) for item in collections]
        curves[name] = [sum(sum(pages[:point]) for pages in flags) / len(flags) for point in points]
    return draw_curves("kluev-collections", "Growth of a collection: pages, mean over the topics", curves, points)
