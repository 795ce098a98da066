"""Repeat the worked example of Hati, Kumar and Mishra 2010, section 5, and measure its four attributes on real webs.

The paper has no results of a crawl: its tables show the attributes of seven URLs, and one classification.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from random import Random

from topicrawl import strategies
from topicrawl.errors import StrategyError
from topicrawl.lab.bootstrap import Bootstrap, ConfidenceInterval
from topicrawl.lab.compare import Comparison, ComparisonTask
from topicrawl.lab.paper_measures import PAPER_MEASURES, RunTable, measure_precision_rate
from topicrawl.lab.parsed_web import ParsedWeb
from topicrawl.lab.repeat.paper_report import (
    ClaimCheck,
    ClaimOutcome,
    PaperReport,
    ReportTable,
    check_exact,
    check_order,
)
from topicrawl.lab.repeat.paper_runs import (
    RepeatOptions,
    RunProgress,
    build_measure_table,
    describe_runs,
    draw_figure,
    list_failures,
    run_paper,
)
from topicrawl.relevance.multilingual import build_vsm
from topicrawl.strategies.base import StrategyContext
from topicrawl.strategies.hati import Hati
from topicrawl.strategies.training.classifiers import ClassifierConfig, LinkClassifier
from topicrawl.text.embedding import load_vector_source
from topicrawl.topic import Topic

TITLE = "Hati, Kumar and Mishra 2010, Unvisited URL Relevancy Calculation in Focused Crawling"
FETCHES = 1000  # the paper has no crawl; as many fetches as Batsakis
#: Tables 2 and 5: weights of ten keywords in the table of the topic and in the description of one URL. Those of
#: table 2 are k/331. In table 5, the printed .67131351 of the fourth keyword has lost a digit: it is 621/925.
TABLE_2 = tuple(number / 331 for number in (331, 296, 152, 126, 85, 85, 83, 74, 69, 62))
TABLE_5 = (0.806486486, 1.0, 0.479892761, 621 / 925, 0.128648648, 0.258378378, 0.064864864, 0.0, 0.0, 0.0)
DESCRIPTION_COSINE = 0.93615100  # table 6
#: Tables 3, 6, 4 and 7: average parent page, description, anchor (of ten keywords) and cohesive text of seven URLs.
ATTRIBUTES = (
    (0.694802718, 0.93615100, 0.7, 0.9),
    (0.797621566, 0.81948239, 0.7, 0.9),
    (0.648112149, 0.791265451, 0.7, 0.7),
    (0.828339066, 0.953638167, 0.5, 0.5),
    (0.712560398, 0.954884907, 0.3, 0.7),
    (0.1854898548, 0.685672724, 0.7, 0.4),
    (0.532127555, 0.817865479, 0.3, 0.7),
)
TABLE_8 = ("NYYY", "YYYY", "NNYY", "YYNN", "YYNY", "NNYN", "NYNY")
RELEVANT = (True, True, True, True, True, False, False)
#: Section 5: P(X | yes) P(yes) and P(X | no) P(no) of the worked example, as printed.
EXAMPLE_PRODUCTS = (0.109714285, 0.017857142)
CRAWLERS = {
    "hati": "Hati",
    "hati:tune=no": "Hati, printed limits",
    "nb4_ordered": "NB4 ordered",
    "breadth_first": "breadth-first",
}
_RELATED_KEYWORDS = (3, 7)  # table 4: keywords of ten that are related to the anchor of a relevant URL
_NOTES = (
    "The paper prints no results of a crawl, so the claims are its worked example, and the orders are expectations. "
    "limit: tuned on the training rows. yes: share of the training rows above the limit.",
)


@dataclass(frozen=True)
class AttributeRows:
    """Training rows of a topic with their labels, and the tuned limits."""

    values: Sequence[Sequence[float]]
    labels: Sequence[bool]
    limits: Sequence[float]

    def select(self, attribute: int, relevant: bool) -> list[float]:
        """Return the values of an attribute in one class."""
        return [row[attribute] for row, label in zip(self.values, self.labels, strict=True) if label == relevant]

    def measure_share(self, attribute: int, relevant: bool) -> float:
        """Return the share of the rows of a class that are above the limit of an attribute."""
        values = self.select(attribute, relevant)
        return sum(value > self.limits[attribute] for value in values) / len(values)


async def repeat_experiment(options: RepeatOptions, on_progress: RunProgress) -> PaperReport:
    """Compute the tables of the paper again, and measure the attributes and the crawler on recorded webs."""
    config = options.build_config(list(CRAWLERS), FETCHES, judged=1)
    comparison = await run_paper(config, options, on_progress, prefers_far_seeds=False)
    runs = RunTable.of(comparison.rows, list(CRAWLERS))
    report = PaperReport("hati", TITLE, describe_runs(comparison), notes=[*_NOTES, *list_failures(comparison)])
    topics = build_attribute_rows(comparison)
    report.claims = [*check_printed_values(), *_check_measured_values(runs, topics, config.fetches)]
    report.tables.append(_build_attribute_table(topics))
    title = f"Crawlers after {config.fetches:,} pages"
    report.tables.append(build_measure_table(title, runs, PAPER_MEASURES, config.fetches, CRAWLERS))
    figure_title = "Precision rate of the crawlers"
    report.figures.append(
        draw_figure("hati-precision", figure_title, runs, measure_precision_rate, config.fetches, CRAWLERS)
    )
    return report


def check_printed_values() -> list[ClaimCheck]:
    """Compute the printed values again from the other tables of the paper."""
    product = sum(first * second for first, second in zip(TABLE_2, TABLE_5, strict=True))
    norms = (sqrt(sum(value * value for value in table)) for table in (TABLE_2, TABLE_5))
    cosine = product / (next(norms) * next(norms))
    limits = Hati().get_thresholds()
    computed_rows = [
        "".join("NY"[value > limit] for value, limit in zip(row, limits, strict=True)) for row in ATTRIBUTES
    ]
    agreeing = sum(first == second for first, second in zip(computed_rows, TABLE_8, strict=True))
    classifier = LinkClassifier.fit(ClassifierConfig("nb", limits, smoothing=False), ATTRIBUTES, RELEVANT)
    printed = EXAMPLE_PRODUCTS[0] / sum(EXAMPLE_PRODUCTS)
    return [
        check_exact("Table 6", "cosine of the description", DESCRIPTION_COSINE, cosine),
        check_exact("Table 8", "rows of attributes above the limits", len(TABLE_8), agreeing, places=0),
        check_exact("section 5", "posterior of the example as multiplied", printed, classifier.predict((0, 1, 1, 1))),
        check_exact("section 5", "posterior of the example as described", printed, classifier.predict((0, 1, 0, 1))),
    ]


def build_attribute_rows(comparison: Comparison) -> list[AttributeRows]:
    """Build the training rows of each topic. Topics without usable examples are left out."""
    webs: dict[str, ParsedWeb] = {}
    topics = []
    for task in comparison.tasks:
        path = task.web_path
        if str(path) not in webs:
            config = comparison.config
            webs[str(path)] = ParsedWeb(path, cache=config.cache, cached=config.cached)
        try:
            topics.append(_build_rows(task, webs[str(path)], comparison.config.embedding))
        except StrategyError:
            continue  # the run of this topic fails with the same message, which the report contains
    for web in webs.values():
        web.close()
    return topics


def _build_rows(task: ComparisonTask, web: ParsedWeb, embedding: str) -> AttributeRows:
    topic = Topic.of(task.task.words).with_examples(task.relevant, task.irrelevant)
    strategy = strategies.create_strategy("hati")
    assert isinstance(strategy, Hati)
    vsm = build_vsm(topic, web.parser_cache.vocabularies, vector_source=load_vector_source(embedding))
    strategy.bind(StrategyContext(topic, vsm, Random(0)))
    rows = strategy.build_training_set(web.build_training_data(topic, (), styles=False)).rows
    strategy.train_classifier(rows)
    return AttributeRows([row.values for row in rows], [row.relevant for row in rows], strategy.classifier.thresholds)


def _compute_mean(topics: Sequence[AttributeRows], measure: Callable[[AttributeRows], float]) -> ConfidenceInterval:
    return Bootstrap(len(topics), min_groups=5).mean_interval([measure(topic) for topic in topics])


def _check_measured_values(runs: RunTable, topics: Sequence[AttributeRows], fetches: int) -> list[ClaimCheck]:
    """Compare the keywords that are related to anchors with table 4, and the crawlers with each other."""
    checks = []
    anchor = Hati.attributes.index("anchor")
    claimed = " to ".join(map(str, _RELATED_KEYWORDS))
    for relevant, name in ((True, "a relevant"), (False, "an irrelevant")):
        if topics:
            measured = _compute_mean(topics, lambda rows: 10 * _mean(rows.select(anchor, relevant)))  # noqa: B023
            statement = f"keywords of ten related to the anchor of {name} URL"
            checks.append(
                ClaimCheck("Table 4", statement, claimed if relevant else "3 and 7", measured, ClaimOutcome.NONE)
            )
    for worse in list(CRAWLERS)[1:]:
        difference = runs.compute_difference("hati", worse, measure_precision_rate, fetches)
        checks.append(check_order("expected", f"Hati > {CRAWLERS[worse]}, precision rate", difference))
    return checks


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


def _build_attribute_table(topics: Sequence[AttributeRows]) -> ReportTable:
    """Return the mean values of the attributes and the shares above the limits, for both classes."""
    rows = []
    for number, attribute in enumerate(Hati.attributes):
        cells = []
        for relevant in (True, False):
            cells.append(_mean([_mean(topic.select(number, relevant)) for topic in topics]))
            cells.append(_mean([topic.measure_share(number, relevant) for topic in topics]))
        limit = _mean([topic.limits[number] for topic in topics])
        rows.append((attribute, f"{limit:.2f}", *(f"{cell:.2f}" for cell in cells)))
    head = ("attribute", "limit", "relevant: mean", "yes", "irrelevant: mean", "yes")
    return ReportTable("Attributes of the training rows, means over the topics", head, rows)
