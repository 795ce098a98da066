"""Compare all strategies on the recorded webs in $TOPICRAWL_WEBS (default ../shared/webs), with two kinds of tasks.

    python bench/harvest.py [--quick] [--tasks words|phrase|both] [--web NAME …]

`tasks.json` of a web has six to nine chosen words per topic, `tasks-phrase.json` has the phrase that a user types. The
tables are printed as Markdown and written to out/harvest/harvest.md. Completed runs are stored in
out/harvest/results.jsonl by a fingerprint of their inputs and of the code, and are not repeated.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import sys
import time
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from math import isnan, nan
from pathlib import Path
from statistics import fmean, median

from topicrawl import __version__, strategies
from topicrawl.errors import TopicrawlError
from topicrawl.lab.bootstrap import Bootstrap, ConfidenceInterval
from topicrawl.lab.compare import BASELINE, Comparison, ComparisonConfig, resolve_strategies
from topicrawl.lab.leaderboard import MIN_INTERVAL_GROUPS, Leaderboard, row_auc
from topicrawl.lab.measures import nauc_of_means
from topicrawl.lab.report.files import write_report
from topicrawl.lab.results import ResultRow, ResultsFile
from topicrawl.lab.run import ORACLE
from topicrawl.lab.tasks import TASK_FILES, read_tasks

ROOT = Path(__file__).parent.parent
WEBS = Path(os.environ.get("TOPICRAWL_WEBS", ROOT.parent / "shared" / "webs"))

OWN = "apprentice"
#: Settings of `apprentice` next to its defaults. Table 4 shows how far the results depend on the exact values. Each
#: entry changes one parameter; `topicrawl strategies` lists the parameters. Change this list when they change.
NEIGHBOURS = (
    f"{OWN}:rate=0.7",
    f"{OWN}:rate=1.4",
    f"{OWN}:every=12",
    f"{OWN}:every=18",
    f"{OWN}:pool=10000",
)
#: Strategies of `--quick`.
QUICK = (BASELINE, "best_first", "multi_metric", OWN)
SECONDS_PER_RUN = 8.0  # CPU seconds of a run, with start, until the stored results give a better estimate
START_SECONDS = 0.5  # CPU seconds to start a run, which its result does not include
SHOWN_OTHERS = 3  # best other strategies in the table of tuning topics
HOUR = 3600.0


@dataclass(frozen=True)
class HarvestTable:
    """Results of one kind of tasks: the AUC of every strategy on every task."""

    kind: str
    rows: Sequence[ResultRow]

    @cached_property
    def aucs(self) -> dict[str, dict[str, float]]:
        """AUC by strategy and task."""
        aucs: dict[str, dict[str, float]] = {}
        for row in self.rows:
            aucs.setdefault(row["strategy"], {})[row["task"]] = row_auc(row)
        return aucs

    @cached_property
    def task_rows(self) -> dict[str, ResultRow]:
        """One row of each task, for its web and topic."""
        return {row["task"]: row for row in self.rows}

    @property
    def webs(self) -> list[str]:
        """Webs in the order of the rows."""
        return list(dict.fromkeys(row["web"] for row in self.rows))

    @property
    def strategies(self) -> list[str]:
        """Strategies without the oracle and the neighbouring settings."""
        return [name for name in self.aucs if name != ORACLE and name not in NEIGHBOURS]

    @cached_property
    def tuning_topics(self) -> set[tuple[str, str]]:
        """Tuning topics: the first, third, fifth … topic of each web in alphabetical order, as (web, topic)."""
        chosen = set()
        for web in self.webs:
            topics = {row["topic"] for row in self.rows if row["web"] == web}
            chosen |= {(web, topic) for topic in sorted(topics, key=lambda name: (name.casefold(), name))[::2]}
        return chosen

    def list_tasks(self, names: Collection[str], *, web: str = "", is_tuning: bool | None = None) -> list[str]:
        """Return the tasks that all strategies in `names`, breadth-first and the oracle ran."""
        runs = [self.aucs.get(name, {}) for name in (*names, BASELINE, ORACLE)]
        return [
            task
            for task, row in self.task_rows.items()
            if all(task in by_task for by_task in runs)
            and web in ("", row["web"])
            and is_tuning in (None, (row["web"], row["topic"]) in self.tuning_topics)
        ]

    def compute_nauc(self, name: str, *, web: str = "", is_tuning: bool | None = None) -> float:
        """Return the nAUC of a strategy as a ratio of means, or NaN without tasks."""
        tasks = self.list_tasks([name], web=web, is_tuning=is_tuning)
        return nauc_of_means(*(self._get_aucs(each, tasks) for each in (name, BASELINE, ORACLE))) if tasks else nan

    def compute_lead(self, name: str, other: str) -> ConfidenceInterval:
        """Return the nAUC of `name` minus that of `other` over all webs. The bootstrap draws whole topics."""
        tasks = self.list_tasks([name, other])
        groups = [f"{self.task_rows[task]['web']}: {self.task_rows[task]['topic']}" for task in tasks]
        bootstrap = Bootstrap(len(tasks), groups=groups, min_groups=MIN_INTERVAL_GROUPS)
        aucs = (self._get_aucs(each, tasks) for each in (name, other, BASELINE, ORACLE))
        return bootstrap.nauc_difference_interval(*aucs)

    def get_rows(self, name: str) -> list[ResultRow]:
        """Return the rows of a strategy."""
        return [row for row in self.rows if row["strategy"] == name]

    def _get_aucs(self, name: str, tasks: Iterable[str]) -> list[float]:
        return [self.aucs[name][task] for task in tasks]


@dataclass(frozen=True)
class HarvestReport:
    """Markdown tables of a benchmark. `tables` has one entry per kind of tasks, with the same webs."""

    tables: Sequence[HarvestTable]
    command: str
    budget: int
    seconds_to_parse: dict[str, float] = field(default_factory=dict)  # web → CPU seconds to parse a page

    @property
    def webs(self) -> list[str]:
        """Names of the webs."""
        return list(dict.fromkeys(web for table in self.tables for web in table.webs))

    @cached_property
    def ranking(self) -> list[str]:
        """Strategies by their mean nAUC over the kinds of tasks, best first."""
        names = dict.fromkeys(name for table in self.tables for name in table.strategies)
        means = {name: fmean(table.compute_nauc(name) for table in self.tables) for name in names}
        return sorted(means, key=lambda name: (isnan(means[name]), -means[name], name))

    def render(self) -> str:
        """Return all tables as Markdown."""
        parts = [
            self.render_head(),
            "## 1. nAUC of each strategy\n\n" + self.render_naucs(),
            "## 2. Tuning topics and other topics\n\n" + self.render_topics(),
            f"## 3. Lead of `{OWN}`\n\n" + self.render_leads(),
        ]
        if any(name in table.aucs for table in self.tables for name in NEIGHBOURS):
            parts.append(f"## 4. Neighbouring settings of `{OWN}`\n\n" + self.render_neighbours())
        return "\n".join(parts)

    def render_head(self) -> str:
        """Return the date, the command, and the numbers of tasks and runs."""
        counts = [
            f"{table.kind}: " + ", ".join(f"{len(table.list_tasks([], web=web))} tasks of {web}" for web in table.webs)
            for table in self.tables
        ]
        rows = [row for table in self.tables for row in table.rows]
        hours = sum(row["cpu"] + row["training"] for row in rows) / HOUR
        parsing = ", ".join(f"{1000 * seconds:.1f} ms on {web}" for web, seconds in self.seconds_to_parse.items())
        today = date.today()
        lines = [
            f"Measured on {today.day} {today:%B %Y} with `{self.command}`, Topicrawl {__version__}: {len(rows):,} "
            f"runs, {self.budget:,} fetches each, {hours:.1f} CPU hours without parsing. Tasks: {'; '.join(counts)}. "
            "There is no limit of pages per host.",
            "",
            "nAUC is 0 for breadth-first and 1 for the greedy oracle, as a ratio of means over the tasks.",
        ]
        if parsing:
            lines[-1] += f" CPU time is without parsing a page ({parsing})."
        return "\n".join(lines) + "\n"

    def render_naucs(self) -> str:
        """Return the nAUC by web and kind of tasks, with CPU seconds (crawl and training) and MB per run (medians)."""
        head = ["strategy", *self._list_columns(), "CPU s", "training s", "MB"]
        rows = []
        for name in self.ranking:
            runs = [row for table in self.tables for row in table.get_rows(name)]
            cpu, training, memory = (median(row[key] for row in runs) for key in ("cpu", "training", "memory"))
            rows.append([f"`{name}`", *self._format_naucs(name), f"{cpu:.1f}", f"{training:.1f}", f"{memory:.0f}"])
        text = format_table(head, rows)
        if missing := self._describe_missing():
            text += f"\n{missing}\n"
        return text

    def render_topics(self) -> str:
        """Return the nAUC on the tuning topics and on the other topics."""
        others = [name for name in self.ranking if name not in (OWN, BASELINE)][:SHOWN_OTHERS]
        rows = []
        for name in (OWN, *others):
            for is_tuning in (True, False):
                label = "tuning" if is_tuning else "others"
                rows.append([f"`{name}`", label, *self._format_naucs(name, is_tuning=is_tuning)])
        note = "The tuning topics are the first, third, fifth … topic of each web in alphabetical order: " + "; ".join(
            f"{web}: {', '.join(names)}" for web, names in self._list_tuning_topics().items()
        )
        return f"{format_table(['strategy', 'topics', *self._list_columns()], rows)}\n{note}.\n"

    def render_leads(self) -> str:
        """Return the lead of `apprentice` over every other strategy, with intervals and a summary."""
        head = ["ahead of", *(text for table in self.tables for text in (f"{table.kind}: nAUC", "95 %", "excludes 0"))]
        rows: list[list[str]] = []
        not_ahead: dict[str, list[str]] = {table.kind: [] for table in self.tables}
        for name in self.ranking:
            if name == OWN:
                continue
            row = [f"`{name}`"]
            for table in self.tables:
                lead = table.compute_lead(OWN, name)
                limits = f"{format_figure(lead.low)} … {format_figure(lead.high)}" if lead.has_limits else "–"
                row += [format_figure(lead.value), limits, "yes" if lead.excludes_zero else "no"]
                if not (lead.excludes_zero and lead.value > 0):
                    not_ahead[table.kind].append(f"`{name}`")
            rows.append(row)
        sentences = [
            f"With the {kind} tasks, `{OWN}` is ahead of every other strategy, and every interval excludes zero."
            if not names
            else f"With the {kind} tasks, `{OWN}` is not significantly ahead of {', '.join(names)}."
            for kind, names in not_ahead.items()
        ]
        note = f"All webs together, paired bootstrap over topics. {' '.join(sentences)}"
        if not all(table.compute_lead(OWN, BASELINE).has_limits for table in self.tables):
            note += f" Intervals need at least {MIN_INTERVAL_GROUPS} topics."
        return f"{format_table(head, rows)}\n{note}\n"

    def render_neighbours(self) -> str:
        """Return the nAUC of the neighbouring settings, and their lowest, highest and mean value."""
        names = [OWN, *(name for name in NEIGHBOURS if all(name in table.aucs for table in self.tables))]
        values = {name: [table.compute_nauc(name, web=web) for table, web in self._list_cells()] for name in names}
        columns = list(zip(*values.values(), strict=True))
        rows = [[f"`{name}`", *map(format_figure, row)] for name, row in values.items()]
        for label, summarize in (("lowest", min), ("highest", max), ("mean", fmean)):
            rows.append([label, *(format_figure(summarize(column)) for column in columns)])
        return format_table(["setting", *self._list_columns()], rows)

    def _list_cells(self) -> list[tuple[HarvestTable, str]]:
        """Return the columns of the tables: each web and all webs together ("") with each kind of tasks."""
        webs = [*self.webs, *([""] if len(self.webs) > 1 else [])]
        return [(table, web) for web in webs for table in self.tables]

    def _list_columns(self) -> list[str]:
        return [f"{web or 'all'}, {table.kind}" for table, web in self._list_cells()]

    def _format_naucs(self, name: str, *, is_tuning: bool | None = None) -> list[str]:
        return [
            format_figure(table.compute_nauc(name, web=web, is_tuning=is_tuning)) for table, web in self._list_cells()
        ]

    def _list_tuning_topics(self) -> dict[str, list[str]]:
        chosen = sorted(self.tables[0].tuning_topics)
        return {web: [topic for name, topic in chosen if name == web] for web in self.webs}

    def _describe_missing(self) -> str:
        """Return a sentence about strategies that did not run on all tasks."""
        parts = []
        for table in self.tables:
            total = len(table.list_tasks([]))
            counts = {name: len(table.list_tasks([name])) for name in table.strategies}
            parts += [f"`{name}` {count} of {total} ({table.kind})" for name, count in counts.items() if count < total]
        return f"Measured on fewer tasks: {', '.join(parts)}." if parts else ""


def format_figure(value: float) -> str:
    """Format a figure with two digits, without the zero before the point.

    >>> format_figure(0.58), format_figure(-0.1), format_figure(1.0), format_figure(-0.001), format_figure(float("nan"))
    ('.58', '−.10', '1.00', '.00', '–')
    """
    if isnan(value):
        return "–"
    text = f"{value:.2f}"
    if float(text) == 0:
        return ".00"
    return text.replace("0.", ".", 1).replace("-", "−") if abs(float(text)) < 1 else text.replace("-", "−")


def format_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


@dataclass(frozen=True)
class HarvestOptions:
    """Command-line options."""

    quick: bool
    tasks: str
    webs: Sequence[Path]
    budget: int
    jobs: int
    out: Path
    html: bool

    @property
    def kinds(self) -> list[str]:
        """Kinds of tasks."""
        return list(TASK_FILES) if self.tasks == "both" else [self.tasks]

    @property
    def strategies(self) -> list[str]:
        """Strategies and neighbouring settings to run."""
        return list(QUICK) if self.quick else [*strategies.list_strategies(), *NEIGHBOURS]

    def count_runs(self) -> int:
        """Return the number of runs of the complete benchmark, with the oracle."""
        tasks = sum(len(read_tasks(web / TASK_FILES[kind])) for web in self.webs for kind in self.kinds)
        return tasks * (len(resolve_strategies(self.strategies)) + 1)

    def describe_duration(self) -> str:
        """Return a line with the number of runs and the time that they take without stored results."""
        runs = self.count_runs()
        seconds = runs * SECONDS_PER_RUN / self.jobs
        time_needed = f"about {format_duration(seconds)}" if seconds > HOUR else "less than an hour"
        return (
            f"This takes {time_needed} on {self.jobs} cores the first time: {runs:,} runs on "
            f"{', '.join(path.name for path in self.webs)}. Completed runs are stored and not repeated."
        )


async def run_benchmark(options: HarvestOptions) -> dict[str, Comparison]:
    """Execute the runs without a stored result, and return a comparison for each kind of tasks."""
    results = ResultsFile(options.out / "results.jsonl")
    comparisons = {}
    try:
        for kind in options.kinds:
            config = ComparisonConfig(options.webs, options.strategies, options.budget, tasks_name=TASK_FILES[kind])
            comparison = comparisons[kind] = Comparison(config, resolve_strategies(config.strategies))
            await report_progress(comparison.parse_webs(options.jobs), "passes over the pages")
            comparison.load_tasks()
        costs = estimate_pending(comparisons.values(), results)
        left = f", about {format_duration(sum(costs) / options.jobs)}" if costs else ""
        report(f"{len(costs):,} runs have no stored result{left}")
        for kind, comparison in comparisons.items():
            await report_progress(comparison.run(results, options.jobs), f"runs with {kind} tasks")
    finally:
        results.close()
    return comparisons


def estimate_pending(comparisons: Iterable[Comparison], results: ResultsFile) -> list[float]:
    """Estimate the CPU seconds of each run without a stored result, from the stored runs of the same strategy."""
    costs: dict[str, list[float]] = {}
    for row in results.list_rows():
        costs.setdefault(row["strategy"], []).append(START_SECONDS + row["cpu"] + row["training"])
    means = {spec: fmean(values) for spec, values in costs.items()}
    return [
        means.get(spec, SECONDS_PER_RUN)
        for comparison in comparisons
        for key, _, spec, _ in comparison.build_requests()
        if results.get_row(key) is None
    ]


async def report_progress(steps: AsyncIterator[tuple[int, int, str]], unit: str) -> None:
    """Print the progress on standard error, every five per cent."""
    started, first, shown = time.monotonic(), None, 0
    async for done, total, _ in steps:
        first = done if first is None else first
        if done * 20 // total > shown or done == total:
            shown = done * 20 // total
            left = (time.monotonic() - started) / (done - first + 1) * (total - done)
            report(f"{done:,} of {total:,} {unit}" + (f", about {format_duration(left)} left" if done < total else ""))


def report(text: str) -> None:
    """Print a line on standard error, so that standard output contains only the tables."""
    print(text, file=sys.stderr, flush=True)


def format_duration(seconds: float) -> str:
    """Format a duration in hours or minutes.

    >>> format_duration(9000), format_duration(600), format_duration(20)
    ('2.5 hours', '10 minutes', '1 minute')
    """
    if seconds >= HOUR:
        return f"{seconds / HOUR:.1f} hours"
    minutes = max(1, round(seconds / 60))
    return f"{minutes} minute{'s' if minutes > 1 else ''}"


def parse_options(arguments: Sequence[str]) -> HarvestOptions:
    """Parse the command line and find the recorded webs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"run only {', '.join(QUICK)}")
    parser.add_argument("--tasks", choices=[*TASK_FILES, "both"], default="both", help="kind of tasks")
    parser.add_argument("--web", action="append", default=[], metavar="NAME", help="only this web; may be repeated")
    parser.add_argument("--budget", type=int, default=1000, help="fetches per run")
    parser.add_argument("--jobs", type=int, default=2, help="concurrent runs")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "harvest", help="directory for the results")
    parser.add_argument("--html", action="store_true", help="also write the HTML report of `topicrawl lab compare`")
    given = parser.parse_args(arguments)
    webs = {path.parent.name: path.parent for path in sorted(WEBS.glob("*/tasks.json"))}
    if not webs:
        parser.error(
            f"no recorded webs in {WEBS}: a web is a directory with pages.warc.gz, labels.tsv and tasks.json; "
            "set TOPICRAWL_WEBS to the directory that contains them"
        )
    if unknown := [name for name in given.web if name not in webs]:
        parser.error(f"no web {unknown[0]!r} in {WEBS}: webs are {', '.join(webs)}")
    chosen = [webs[name] for name in given.web or webs]
    return HarvestOptions(given.quick, given.tasks, chosen, given.budget, given.jobs, given.out, given.html)


def main() -> None:
    """Run the benchmark, print the tables and write them to a file."""
    options = parse_options(sys.argv[1:])
    arguments = shlex.join(sys.argv[1:])
    command = f"make bench-harvest OPTIONS={shlex.quote(arguments)}" if arguments else "make bench-harvest"
    try:
        report(options.describe_duration())
        comparisons = asyncio.run(run_benchmark(options))
    except TopicrawlError as error:
        sys.exit(f"bench/harvest.py: {error}")
    except KeyboardInterrupt:
        sys.exit("interrupted; the same command continues")
    for kind, comparison in comparisons.items():
        for row in comparison.failures:
            report(f"{row['strategy']} failed on {row['task']} ({kind}): {row['failure']}")
        if options.html:
            write_report(options.out / kind, comparison, Leaderboard(comparison.rows, options.budget))
    tables = [HarvestTable(kind, comparison.rows) for kind, comparison in comparisons.items()]
    parse_seconds = next(iter(comparisons.values())).parse_seconds
    text = HarvestReport(tables, command, options.budget, parse_seconds).render()
    (options.out / "harvest.md").write_text(text, "utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
