"""Repeat the experiment of Safran, Althagafi and Che 2012, section IV: precision rate of four crawlers (figure 7)."""

from __future__ import annotations

from topicrawl.lab.paper_measures import (
    RunTable,
    measure_average_similarity,
    measure_harvest_ratio,
    measure_precision_rate,
    measure_unjudged_precision_rate,
)
from topicrawl.lab.repeat.paper_report import (
    ClaimCheck,
    PaperReport,
    ReportTable,
    check_minimum,
    check_order,
    format_interval,
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

TITLE = "Safran, Althagafi and Che 2012, Improving Relevance Prediction for Focused Web Crawlers"
FETCHES = 2000  # section IV: 2,000 potential pages
CRAWLERS = {"nb4_updatable": "NB4 updatable", "nb4": "NB4", "nb2": "NB2", "breadth_first": "BFS"}
#: Variants that the paper does not have: the same classifier, but the best link is fetched first.
VARIANTS = {"nb4_ordered": "NB4, best first"}
#: Values in the text on figure 7: (statement, crawlers, pages, precision rate).
MINIMUM_RATES = (
    ("at least .64 after 50 pages", tuple(CRAWLERS), 50, 0.64),
    ("at least .85 at the end", ("nb4_updatable", "nb4"), FETCHES, 0.85),
    ("about .76 after 500 pages", ("breadth_first",), 500, 0.76),
    ("about .4 at the end", ("breadth_first",), FETCHES, 0.4),
)
#: Orders in the text on figure 7: (better, worse).
ORDERS = (("nb4_updatable", "nb4"), ("nb4", "nb2"), ("nb2", "breadth_first"))
_ORDER_POINTS = (250, 500, 1000, FETCHES)
_MEASURES = {
    "precision rate": measure_precision_rate,
    "without judged pages": measure_unjudged_precision_rate,
    "harvest ratio": measure_harvest_ratio,
    "average similarity": measure_average_similarity,
}
_NOTES = (
    "precision rate: share of the fetched pages with the label of the topic. The seeds are on the topic, as in the "
    "paper, where the web has as many pages as the crawlers fetch. A recorded web has a fixed number of relevant "
    "pages, so the rate of every crawler must fall once most of them are found: the table of precision rates has the "
    "highest possible rate. A crawler that ends early because its queue is empty keeps its rate, which may then exceed "
    "the highest possible one. The judged pages are the relevant seeds and examples.",
)


async def repeat_experiment(options: RepeatOptions, on_progress: RunProgress) -> PaperReport:
    """Run the crawlers of the paper and compare the results with its claims."""
    names = {**CRAWLERS, **VARIANTS}
    config = options.build_config(list(names), FETCHES, judged=1)
    comparison = await run_paper(config, options, on_progress, prefers_far_seeds=False)
    runs = RunTable.of(comparison.rows, list(names))
    report = PaperReport("safran", TITLE, describe_runs(comparison), notes=[*_NOTES, *list_failures(comparison)])
    report.claims = check_claims(runs, config.fetches)
    points = [point for point in (50, *_ORDER_POINTS) if point < config.fetches] + [config.fetches]
    report.tables.append(_build_rate_table(runs, names, points))
    title = f"Measures after {config.fetches:,} pages"
    report.tables.append(build_measure_table(title, runs, _MEASURES, config.fetches, names))
    report.figures.append(
        draw_figure("safran-fig7", "Fig 7: precision rate", runs, measure_precision_rate, config.fetches, names)
    )
    return report


def check_claims(runs: RunTable, fetches: int) -> list[ClaimCheck]:
    """Check the values and orders of figure 7. Points beyond the number of fetches are left out."""
    checks = []
    for statement, strategies, pages, rate in MINIMUM_RATES:
        for strategy in strategies:
            if pages <= fetches:
                measured = runs.compute_mean(strategy, measure_precision_rate, pages)
                checks.append(check_minimum("Fig 7", f"{CRAWLERS[strategy]} {statement}", rate, measured))
    for better, worse in ORDERS:
        for pages in _ORDER_POINTS:
            if pages <= fetches:
                statement = f"{CRAWLERS[better]} > {CRAWLERS[worse]} after {pages:,} pages"
                difference = runs.compute_difference(better, worse, measure_precision_rate, pages)
                checks.append(check_order("Fig 7", statement, difference))
    return checks


def _build_rate_table(runs: RunTable, names: dict[str, str], points: list[int]) -> ReportTable:
    """Return the precision rates after some numbers of pages, and the highest possible rates."""
    rows = [
        (name, *(format_interval(runs.compute_mean(strategy, measure_precision_rate, point)) for point in points))
        for strategy, name in names.items()
    ]
    all_runs = [runs.rows[next(iter(names))][task] for task in runs.tasks]
    best = [
        sum(min(1.0, (row["targets"] + row["judged_pages"]) / min(point, row["reachable"])) for row in all_runs)
        / len(all_runs)
        for point in points
    ]
    rows.append(("highest possible", *(f"{value:.2f}" for value in best)))
    return ReportTable("Precision rate after pages", ("crawler", *(f"{point:,}" for point in points)), rows)
