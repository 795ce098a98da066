"""`topicrawl lab compare`: compare strategies on the tasks of recorded webs and write a report."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicrawl.cli.embedding_option import add_embedding_option
from topicrawl.cli.lab.recorded_web import add_cache_options
from topicrawl.errors import UsageError
from topicrawl.text.embedding import BUILT_IN

if TYPE_CHECKING:
    from topicrawl.lab.compare import Comparison, ComparisonConfig
    from topicrawl.lab.leaderboard import Leaderboard


@click.command("compare")
@click.argument("webs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--tasks",
    default="words",
    show_default=True,
    metavar="KIND|FILE",
    help="words: tasks.json of each web; phrase: tasks-phrase.json; both: one comparison for each; or a file, which is "
    "looked up in each web if it is only a name.",
)
@click.option(
    "--phrase",
    "phrases",
    multiple=True,
    metavar="TEXT",
    help="The topic as a user types it, instead of --tasks; may be repeated. Each phrase is a task with the relevant "
    "pages of the crawl, or of the label or topic with this name, as its targets. [default for a crawl: its topic]",
)
@click.option(
    "--seed", "seeds", multiple=True, metavar="URL", help="A seed for --phrase; may be repeated. [default: the crawl's]"
)
@click.option(
    "--seed-sets",
    type=click.IntRange(0),
    metavar="N",
    help="Also start each --phrase from N sets of pages on the topic and N sets of pages two links away from it. 2 or "
    "more give confidence intervals. [default: 0, or 2 if there are no other seeds]",
)
@click.option(
    "--targets",
    type=click.Choice(["auto", "reviewed", "scored"]),
    default="auto",
    show_default=True,
    help="Targets of a crawl: reviewed: pages that you marked as relevant; scored: pages that the crawl scored as "
    "relevant, corrected by annotations; auto: reviewed if there are at least 10.",
)
@click.option(
    "--topics",
    type=click.IntRange(1),
    metavar="N",
    help="Run only the first task of each of the first N topics of each web. [default: all tasks]",
)
@click.option(
    "--strategies", default="all", show_default=True, help="Names of strategies, separated by commas; all: all of them."
)
@add_embedding_option
@click.option("--budget", default=1000, show_default=True, type=click.IntRange(4), help="Fetches per run.")
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(1), help="Concurrent runs.")
@click.option(
    "--examples", default=20, show_default=True, type=click.IntRange(0), help="Relevant and irrelevant examples each."
)
@click.option(
    "--judged",
    default=0,
    show_default=True,
    type=click.IntRange(0),
    metavar="N",
    help="Also print the measures of the papers: harvest ratio and average similarity by N judged pages per task "
    "(Batsakis: 50), and precision rate. 0: without.",
)
@click.option(
    "--out",
    default="comparison",
    show_default=True,
    type=click.Path(path_type=Path),
    help="The directory for the results and the report.",
)
@add_cache_options
def compare_command(**options: Any) -> None:
    """Compare strategies on the tasks of recorded webs, or on your own crawl.

    The last line says which strategy suits the topic best. Each result is saved when its run ends, so the same command
    resumes an interrupted comparison. Strategies may have parameters (best_first:page=0.8,anchor=0.2,shark_search).
    NAME+examples gives examples to a strategy that does not require them.

    \b
    Examples:
      topicrawl lab compare webs/wikispeedia webs/webkb --strategies best_first,shark_search --jobs 2
      topicrawl lab compare my-crawl --phrase "geographic information systems" --seed-sets 2
    """
    import asyncio

    compare_options = CompareOptions(**options)
    compare_options.validate()
    comparisons = asyncio.run(_run_comparisons(compare_options))
    for kind, comparison in comparisons.items():
        if len(comparisons) > 1:
            click.echo(f"Tasks of {comparison.config.tasks_name}")
        _print_comparison(comparison, compare_options, compare_options.out / (kind if len(comparisons) > 1 else ""))


def _print_comparison(comparison: Comparison, options: CompareOptions, directory: Path) -> None:
    """Print the tables, the recommendation and the missing runs, and write the report."""
    from topicrawl.lab.leaderboard import Leaderboard
    from topicrawl.lab.recommendation import describe_best_strategy
    from topicrawl.lab.report.files import write_report

    leaderboard = Leaderboard(comparison.rows, options.budget)
    for note in comparison.notes:
        click.echo(note)
    if len(leaderboard.by_web) > 1:
        for web, web_leaderboard in leaderboard.by_web.items():
            click.echo(f"{web}\n{format_table(web_leaderboard)}")
        click.echo("all webs")
    click.echo(format_table(leaderboard), nl=False)
    if options.judged and leaderboard.names:
        click.echo(_format_paper_measures(comparison, leaderboard))
    click.echo(format_forecast_quality(leaderboard), nl=False)
    for note in format_failures(comparison):
        click.echo(note, err=True)
    click.echo(f"Report: {write_report(directory, comparison, leaderboard)}")
    if comparison.failures or comparison.skipped:
        missing = f"{len(comparison.failures)} runs and {len(comparison.skipped)} tasks are missing"
        click.echo(f"{missing}; the report lists the reasons", err=True)
    if not leaderboard.names:
        raise UsageError(f"no strategy could be measured on any task: {comparison.failures[0]['failure']}")
    click.echo(describe_best_strategy(leaderboard))


@dataclass(frozen=True)
class CompareOptions:
    """Options of `topicrawl lab compare`."""

    webs: tuple[Path, ...]
    strategies: str
    budget: int
    jobs: int
    examples: int
    out: Path
    cache: Path | None
    no_cache: bool
    tasks: str = "words"
    phrases: tuple[str, ...] = ()
    seeds: tuple[str, ...] = ()
    seed_sets: int | None = None
    targets: str = "auto"
    embedding: str = BUILT_IN
    judged: int = 0
    topics: int | None = None

    def validate(self) -> None:
        """Raise a `UsageError` if the options contradict each other."""
        if self.phrases and self.tasks != "words":
            raise UsageError("--phrase and --tasks exclude each other: a phrase is a task")
        if self.uses_phrases and self.tasks != "words":
            raise UsageError("--seed, --seed-sets and --targets are options of --phrase, not of --tasks")
        if self.seeds and len(self.webs) > 1:
            raise UsageError("--seed needs a single web, because a seed is a page of one web")
        if self.out.is_file():
            raise UsageError(f"{self.out} is a file; give a directory with --out")

    @property
    def uses_phrases(self) -> bool:
        """Whether an option asks for tasks from phrases."""
        return bool(self.phrases or self.seeds or self.seed_sets is not None or self.targets != "auto")

    def build_configs(self) -> dict[str, ComparisonConfig]:
        """Return the configuration of each comparison by the kind of its tasks."""
        from topicrawl.lab.compare import ComparisonConfig
        from topicrawl.lab.phrase_tasks import PhraseOptions, TargetSource
        from topicrawl.lab.tasks import TASK_FILES

        config = ComparisonConfig(
            self.webs,
            self.parse_strategies(),
            self.budget,
            self.examples,
            cache=self.cache,
            cached=not self.no_cache,
            embedding=self.embedding,
            judged=self.judged,
            topics=self.topics,
        )
        if self.uses_phrases:
            phrases = PhraseOptions(self.phrases, self.seeds, self.seed_sets, TargetSource(self.targets))
            return {"phrases": replace(config, phrases=phrases)}
        if self.tasks == "both" or self.tasks in TASK_FILES:
            kinds = TASK_FILES if self.tasks == "both" else [self.tasks]
            return {kind: replace(config, tasks_name=TASK_FILES[kind]) for kind in kinds}
        file = Path(self.tasks)
        if file.name == self.tasks and not file.exists():
            return {self.tasks: replace(config, tasks_name=self.tasks)}
        return {self.tasks: replace(config, tasks_file=file)}

    def parse_strategies(self) -> list[str]:
        """Return the names of the strategies, each with its parameters. Raise `UsageError` if none is given.

        "all" stands for every strategy. A part `name=value` is a further parameter of the strategy before it.
        """
        from topicrawl import strategies

        names: list[str] = []
        for text in filter(None, map(str.strip, self.strategies.split(","))):
            if text == "all":
                names += strategies.list_strategies()
            elif names and "=" in text and ":" not in text.partition("=")[0]:
                names[-1] += f",{text}"  # another parameter of the previous strategy
            else:
                names.append(text)
        if not names:
            raise UsageError("no strategies given: use --strategies a,b,c; `topicrawl strategies` lists them")
        return list(dict.fromkeys(names))


async def _run_comparisons(options: CompareOptions) -> dict[str, Comparison]:
    """Parse the pages, plan all comparisons and run what has no saved result yet; print the progress."""
    from topicrawl.lab.compare import Comparison, resolve_strategies
    from topicrawl.lab.results import ResultsFile

    comparisons = {}
    for kind, config in options.build_configs().items():
        comparison = comparisons[kind] = Comparison(config, resolve_strategies(config.strategies))
        await _report_progress(comparison.parse_webs(options.jobs), "passes over the pages")
        comparison.load_tasks(lambda text: click.echo(text, err=True) if sys.stderr.isatty() else None)
    results = ResultsFile(options.out / "results.jsonl")
    try:
        for comparison in comparisons.values():
            await _report_progress(comparison.run(results, options.jobs), "runs")
    finally:
        results.close()
    return comparisons


async def _report_progress(steps: AsyncIterator[tuple[int, int, str]], unit: str) -> None:
    """Print the progress: every step on a terminal, every 10 % elsewhere."""
    started, first, tenth = time.monotonic(), None, 0
    async for done, total, name in steps:
        first = done if first is None else first
        if sys.stderr.isatty():
            left = (time.monotonic() - started) / max(1, done - first + 1) * (total - done)
            end = f", about {left / 60:.0f} min left" if left > 90 else ""
            click.echo(f"\r\x1b[K{done} of {total} {unit}{end}: {name[:60]}", nl=False, err=True)
        elif done * 10 // total > tenth or done == total:
            tenth = done * 10 // total
            click.echo(f"{done} of {total} {unit}", err=True)
    if sys.stderr.isatty() and first is not None:
        click.echo("\r\x1b[K", nl=False, err=True)


def format_table(leaderboard: Leaderboard) -> str:
    """Format the leaderboard as a text table: quality with confidence intervals, then CPU time and memory."""
    head = [
        "strategy",
        *(f"recall@{point}" for point in leaderboard.recall_points),
        "AUC",
        "nAUC",
        "95 %",
        "ms/page",
        "MB",
        "tasks",
    ]
    rows = [head]
    for entry in (*([leaderboard.oracle] if leaderboard.oracle else []), *leaderboard.ranking):
        scores = [f"{interval.value:.3f}" for interval in (*entry.recall, entry.auc, entry.nauc)]
        cost = [f"{entry.cpu:.2f}", f"{entry.memory:.0f}"] if entry is not leaderboard.oracle else ["", ""]
        nauc_range = f"{entry.nauc.low:+.2f} … {entry.nauc.high:+.2f}" if entry.nauc.has_limits else "–"
        rows.append([entry.strategy, *scores, nauc_range, *cost, str(entry.tasks)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = []
    for row in rows:
        cells = (
            text.ljust(width) if not at else text.rjust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(cells).rstrip())
    if leaderboard.missing_interval_reason:
        lines.append(f"95 %: {leaderboard.missing_interval_reason}")
    return "\n".join(lines) + "\n"


def _format_paper_measures(comparison: Comparison, leaderboard: Leaderboard) -> str:
    """Format the measures of the papers as a text table, over the tasks that all strategies have run."""
    from topicrawl.lab.paper_measures import PAPER_MEASURES, RunTable
    from topicrawl.lab.repeat.paper_report import format_text_table
    from topicrawl.lab.repeat.paper_runs import build_measure_table

    names = [result.strategy for result in leaderboard.ranking]
    runs = RunTable.of(comparison.rows, names)
    noun = "task" if len(runs.tasks) == 1 else "tasks"
    title = f"Measures of the papers after {leaderboard.fetches:,} fetches, {len(runs.tasks)} {noun}"
    table = build_measure_table(title, runs, PAPER_MEASURES, leaderboard.fetches, dict(zip(names, names, strict=True)))
    return f"\n{format_text_table(table)}"


def format_forecast_quality(leaderboard: Leaderboard) -> str:
    """Format the quality of the recall estimates during the runs as one line; "" if there were none."""
    from topicrawl.lab.recall_forecast import measure_accuracy

    rows = [row for name in leaderboard.names for row in leaderboard.get_rows(name)]
    quality = measure_accuracy(rows, "judged").to_dict()
    if not quality["answered"]:
        return ""
    return (
        f"recall estimates during the runs: {quality['answered']} of {quality['asked']} were possible; the 90 % "
        f"intervals held in {quality['held']:.0%}, the median error of recall was {quality['off_median']:.2f}\n"
    )


def format_failures(comparison: Comparison) -> list[str]:
    """Return one line for each reason why tasks and runs are missing."""
    lines = [f"not run: {reason}" for _, reason in comparison.skipped]
    counts: dict[tuple[str, str], int] = {}
    for row in comparison.failures:
        key = (row["strategy"], row["failure"])
        counts[key] = counts.get(key, 0) + 1
    return lines + [f"{name} failed on {count} tasks: {reason}" for (name, reason), count in counts.items()]
