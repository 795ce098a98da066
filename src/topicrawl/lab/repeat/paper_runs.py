"""Run the crawlers of a paper on recorded webs, and draw its figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path

from topicrawl.errors import UsageError
from topicrawl.fetch.replay import list_warc_files
from topicrawl.lab.compare import Comparison, ComparisonConfig, ComparisonTask, resolve_strategies
from topicrawl.lab.paper_measures import RunMeasure, RunTable, list_points
from topicrawl.lab.repeat.paper_report import ReportFigure, ReportTable, format_interval
from topicrawl.lab.report.chart import COLOURS, DASHES, CurveLine, CurvePanel, SeriesStyle
from topicrawl.lab.results import ResultsFile
from topicrawl.lab.run import ParseSpec
from topicrawl.lab.worker import run_requests

_FIGURE_SIZE = (620, 300)
_FIGURE_STYLE = (
    "<style>text{font-family:system-ui,-apple-system,'Segoe UI',Arial,'DejaVu Sans',sans-serif;font-size:12px;"
    "fill:#1f2933}.head{font-weight:600;font-size:14px}.tick{fill:#52606d;font-size:11px}.end{text-anchor:end}"
    ".mid{text-anchor:middle}.grid{stroke:#e4e7eb;fill:none}.axis{stroke:#9aa5b1;fill:none}</style>"
)

#: Called after each run with the number of runs done, the number of all runs and the name of the run.
RunProgress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class RepeatOptions:
    """Options of a repeated experiment."""

    webs: Sequence[Path]
    out: Path
    topics: int = 4  # topics of each web
    fetches: int | None = None  # None: as many as in the paper
    examples: int | None = None  # relevant and irrelevant examples each; None: 20, or as many as in the paper
    jobs: int = 2
    cache: Path | None = None
    cached: bool = True

    def build_config(
        self, strategies: Sequence[str], fetches: int, *, judged: int, examples: int = 20
    ) -> ComparisonConfig:
        """Return the configuration of the runs.

        `fetches` and `examples` are the numbers in the paper; the options of the same names replace them. `judged` is
        the number of pages judged relevant per task, for the measures of the paper (0: none).
        """
        return ComparisonConfig(
            self.webs,
            strategies,
            self.fetches or fetches,
            self.examples or examples,
            cache=self.cache,
            cached=self.cached,
            judged=judged,
            has_oracle=False,
        )


def select_tasks(tasks: Sequence[ComparisonTask], topics: int, *, prefers_far_seeds: bool) -> list[ComparisonTask]:
    """Return one task for each of the first `topics` topics of each web.

    The task of a topic is the first one whose seeds are farthest from the topic, or nearest to it.
    """
    by_topic: dict[tuple[str, str], list[ComparisonTask]] = {}
    for task in tasks:
        by_topic.setdefault((task.task.web, task.task.topic), []).append(task)
    sign = -1 if prefers_far_seeds else 1
    selected: list[ComparisonTask] = []
    for (web, _), candidates in by_topic.items():
        if sum(task.task.web == web for task in selected) < topics:
            selected.append(min(candidates, key=lambda task: sign * task.task.back))
    return selected


async def run_paper(
    config: ComparisonConfig, options: RepeatOptions, on_progress: RunProgress, *, prefers_far_seeds: bool
) -> Comparison:
    """Run the strategies of a configuration on one task of each topic. An interrupted call resumes."""
    strategies = [entrant for entrant in resolve_strategies(config.strategies) if entrant.spec in config.strategies]
    comparison = Comparison(config, strategies)
    await _parse_pages(config, options, on_progress)
    comparison.load_tasks()
    comparison.tasks = select_tasks(comparison.tasks, options.topics, prefers_far_seeds=prefers_far_seeds)
    results = ResultsFile(options.out / "results.jsonl")
    try:
        async for done, total, name in comparison.run(results, options.jobs):
            on_progress(done, total, name)
    finally:
        results.close()
    return comparison


async def _parse_pages(config: ComparisonConfig, options: RepeatOptions, on_progress: RunProgress) -> None:
    """Parse the webs into the cache, several at a time. The link graphs, which the tasks need, are built from it."""
    if not config.cached:
        return
    cache = str(config.cache) if config.cache is not None else None
    for path in config.webs:
        list_warc_files(path)  # reports a missing web before any worker starts
    specs = [asdict(ParseSpec(str(path), context=0, styles=False, cache=cache)) for path in config.webs]
    done = 0
    async with aclosing(run_requests(specs, options.jobs)) as answers:
        async for number, answer in answers:
            if "failure" in answer:
                raise UsageError(answer["failure"])
            done += 1
            on_progress(done, len(specs), f"pages of {config.webs[number]}")


def describe_runs(comparison: Comparison) -> str:
    """Return one sentence about the webs, tasks and budgets of the runs."""
    webs = list(dict.fromkeys(task.task.web for task in comparison.tasks))
    counts = ", ".join(f"{web} ({sum(task.task.web == web for task in comparison.tasks)} topics)" for web in webs)
    return f"Recorded webs: {counts}. Up to {comparison.config.fetches:,} fetches per crawler and topic."


def list_failures(comparison: Comparison) -> list[str]:
    """Return one sentence for each reason why runs are missing."""
    counts: dict[str, int] = {}
    for row in comparison.failures:
        reason = f"{row['strategy']}: {row['failure']}"
        counts[reason] = counts.get(reason, 0) + 1
    return [f"Not run on {count} topics: {reason}" for reason, count in counts.items()]


def build_measure_table(
    title: str, runs: RunTable, measures: Mapping[str, RunMeasure], fetches: int, names: Mapping[str, str]
) -> ReportTable:
    """Return the means of the measures over the tasks, one row per strategy. `names` maps strategies to their names."""
    rows = [
        (name, *(format_interval(runs.compute_mean(strategy, measure, fetches)) for measure in measures.values()))
        for strategy, name in names.items()
    ]
    return ReportTable(title, ("crawler", *measures), rows)


def draw_figure(
    name: str, title: str, runs: RunTable, measure: RunMeasure, fetches: int, names: Mapping[str, str]
) -> ReportFigure:
    """Draw a measure against the number of fetched pages, one curve per strategy."""
    points = list_points(fetches)
    curves = {label: runs.compute_curve(strategy, measure, points) for strategy, label in names.items()}
    return draw_curves(name, title, curves, points)


def draw_curves(
    name: str,
    title: str,
    curves: Mapping[str, Sequence[float]],
    points: Sequence[float],
    *,
    x_label: str = "pages fetched",
) -> ReportFigure:
    """Draw curves as a stand-alone SVG image."""
    lines = [
        CurveLine(label, values, SeriesStyle(COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)], index))
        for index, (label, values) in enumerate(curves.items())
    ]
    svg = CurvePanel(title, lines, points, _FIGURE_SIZE, x_label, has_origin=False).to_svg()
    start, _, rest = svg.partition("\n")
    return ReportFigure(name, title, f'{start}{_FIGURE_STYLE}<rect width="100%" height="100%" fill="#fff"/>\n{rest}\n')
