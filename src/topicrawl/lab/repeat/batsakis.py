"""Repeat the experiments of Batsakis 2007, chapter 4: classic, semantic and learning crawlers.

The thesis gives its results as figures and describes the order of the crawlers in the text, so the claims are orders.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from topicrawl.lab.paper_measures import (
    PAPER_MEASURES,
    RunTable,
    count_similar_pages,
    measure_average_similarity,
    measure_precision_rate,
)
from topicrawl.lab.repeat.paper_report import ClaimCheck, PaperReport, check_equality, check_order
from topicrawl.lab.repeat.paper_runs import (
    RepeatOptions,
    RunProgress,
    build_measure_table,
    describe_runs,
    draw_figure,
    list_failures,
    run_paper,
)

TITLE = "Batsakis 2007, Design and evaluation of topic driven focused crawlers for the World Wide Web"
FETCHES = 1000  # section 4.1
JUDGED_PAGES = 50  # section 4.2


class Experiment(NamedTuple):
    """One of the three experiments of section 4.3."""

    title: str
    figures: tuple[str, str]  # number of pages similar to a judged page, and average similarity
    crawlers: Mapping[str, str]  # strategy → name in the thesis
    orders: tuple[tuple[str, str], ...]  # (better, worse) according to the text
    equals: tuple[tuple[str, str], ...] = ()


EXPERIMENTS = (
    Experiment(
        "Classic crawlers (section 4.4)",
        ("12", "13"),
        {
            "best_first": "page and anchor",
            "best_first_anchor": "anchor",
            "best_first_page": "page",
            "breadth_first": "breadth-first",
        },
        (
            ("best_first", "best_first_anchor"),
            ("best_first_anchor", "best_first_page"),
            ("best_first_page", "breadth_first"),
        ),
    ),
    Experiment(
        "Semantic crawlers (section 4.5)",
        ("14", "15"),
        {
            "synset_expansion": "synset expansion",
            "ehrig": "Ehrig",
            "ssrm": "SSRM",
            "best_first": "page and anchor",
            "best_first_anchor": "anchor",
        },
        (
            ("synset_expansion", "best_first"),
            ("synset_expansion", "ehrig"),
            ("synset_expansion", "ssrm"),
            ("best_first", "ehrig"),
            ("best_first", "ssrm"),
        ),
    ),
    Experiment(
        "Learning crawlers (section 4.6)",
        ("16", "17"),
        {
            "hybrid_anchor": "hybrid with anchor",
            "hybrid": "hybrid",
            "hmm": "HMM, K-means",
            "hmm_xmeans": "HMM, X-means",
        },
        (("hybrid", "hmm"), ("hybrid_anchor", "hmm"), ("hybrid_anchor", "hybrid")),
        (("hmm_xmeans", "hmm"),),
    ),
)

_NOTES = (
    "similar: pages whose largest cosine with one of the judged pages is above .75, the harvest ratio of the thesis as "
    "a number; unjudged: those of them that are not judged pages themselves; precision rate: pages with the label of "
    "the topic. The judged pages are up to 50 pages with the label; 20 of them are the examples of the learning "
    "crawlers. The thesis had 50 judged pages and 4 to 6 topics on the live web of 2007.",
)


async def repeat_experiment(options: RepeatOptions, on_progress: RunProgress) -> PaperReport:
    """Run the crawlers of the thesis and compare the results with its claims."""
    strategies = list(dict.fromkeys(name for experiment in EXPERIMENTS for name in experiment.crawlers))
    config = options.build_config(strategies, FETCHES, judged=JUDGED_PAGES)
    comparison = await run_paper(config, options, on_progress, prefers_far_seeds=True)
    report = PaperReport("batsakis", TITLE, describe_runs(comparison), notes=[*_NOTES, *list_failures(comparison)])
    for experiment in EXPERIMENTS:
        runs = RunTable.of(comparison.rows, list(experiment.crawlers))
        report.claims += check_experiment(experiment, runs, config.fetches)
        report.tables.append(
            build_measure_table(experiment.title, runs, PAPER_MEASURES, config.fetches, experiment.crawlers)
        )
        for figure, title, measure in zip(
            experiment.figures,
            ("pages similar to a judged page", "average similarity"),
            (count_similar_pages, measure_average_similarity),
            strict=True,
        ):
            report.figures.append(
                draw_figure(
                    f"batsakis-fig{figure}",
                    f"Fig {figure}: {title}",
                    runs,
                    measure,
                    config.fetches,
                    experiment.crawlers,
                )
            )
    return report


def check_experiment(experiment: Experiment, runs: RunTable, fetches: int) -> list[ClaimCheck]:
    """Check the orders of an experiment by its two measures, and by the labels of the web."""
    checks = []
    measures = (
        (f"Fig {experiment.figures[0]}", "similar pages", count_similar_pages),
        (f"Fig {experiment.figures[1]}", "average similarity", measure_average_similarity),
        ("labels", "precision rate", measure_precision_rate),
    )
    for source, label, measure in measures:
        for better, worse in experiment.orders:
            statement = f"{experiment.crawlers[better]} > {experiment.crawlers[worse]}, {label}"
            checks.append(check_order(source, statement, runs.compute_difference(better, worse, measure, fetches)))
        for first, second in experiment.equals:
            statement = f"{experiment.crawlers[first]} = {experiment.crawlers[second]}, {label}"
            checks.append(check_equality(source, statement, runs.compute_difference(first, second, measure, fetches)))
    return checks
