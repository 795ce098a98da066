"""`topicrawl lab compare`: strategies against the tasks of recorded webs, and a report."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicrawl.cli.lab_web import cache_options
from topicrawl.errors import UsageError

if TYPE_CHECKING:
    from topicrawl.lab.compare import Comparison
    from topicrawl.lab.standings import Standings


@click.command("compare")
@click.argument("webs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--tasks", type=click.Path(path_type=Path), help="File of tasks. [default: tasks.json of each web]")
@click.option(
    "--strategies", default="all", show_default=True, help="Names with commas between; all: every one there is."
)
@click.option("--budget", default=1000, show_default=True, type=click.IntRange(4), help="Fetches a run.")
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(1), help="Runs at a time.")
@click.option("--examples", default=20, show_default=True, type=click.IntRange(0), help="Example pages of each kind.")
@click.option("--out", default="comparison", show_default=True, type=click.Path(path_type=Path), help="A directory.")
@cache_options
def compare(**options: Any) -> None:
    """Compare strategies on the tasks of recorded webs.

    Results are kept in the directory as they come: the same command goes on where it was stopped. Strategies may have
    parameters (best_first:page=0.8,anchor=0.2,shark_search); NAME+examples gives examples to one that can do without.

    \b
    Example:
      topicrawl lab compare webs/wikispeedia webs/webkb --strategies best_first,shark_search --jobs 2
    """
    import asyncio

    from topicrawl.lab.report_files import write_report
    from topicrawl.lab.standings import Standings

    asked = Options(**options)
    plan = asyncio.run(_compared(asked))
    standings = Standings(plan.rows, asked.budget)
    if len(standings.webs) > 1:
        for web, of in standings.webs.items():
            click.echo(f"{web}\n{table(of)}")
        click.echo("all together")
    click.echo(table(standings), nl=False)
    click.echo(foreseen(standings), nl=False)
    for note in notes(plan):
        click.echo(note, err=True)
    click.echo(f"The report: {write_report(asked.out, plan, standings)}")
    if plan.failures or plan.skipped:
        click.echo(
            f"{len(plan.failures)} runs and {len(plan.skipped)} tasks are missing; the reasons stand in it", err=True
        )
    if not standings.names:
        raise UsageError(f"no strategy could be measured on any task: {plan.failures[0]['failure']}")


@dataclass(frozen=True)
class Options:
    """The options of `lab compare`."""

    webs: tuple[Path, ...]
    tasks: Path | None
    strategies: str
    budget: int
    jobs: int
    examples: int
    out: Path
    cache: Path | None
    no_cache: bool

    def named(self) -> list[str]:
        """The strategies, each with its parameters."""
        from topicrawl import strategies

        names: list[str] = []
        for text in filter(None, map(str.strip, self.strategies.split(","))):
            if text == "all":
                names += strategies.available()
            elif names and "=" in text and ":" not in text.partition("=")[0]:
                names[-1] += f",{text}"  # one more parameter of the strategy before
            else:
                names.append(text)
        if not names:
            raise UsageError("which strategies? Name some with --strategies a,b,c; `topicrawl strategies` lists them")
        return list(dict.fromkeys(names))


async def _compared(options: Options) -> Comparison:
    """Plan, read and run, with progress; what was done before is not done again."""
    from topicrawl.lab.compare import Asked, Comparison, entrants
    from topicrawl.lab.results import Results

    if options.out.is_file():
        raise UsageError(f"{options.out} is a file; name a directory with --out")
    asked = Asked(
        options.webs, options.named(), options.budget, options.examples, options.tasks, options.cache,
        cached=not options.no_cache,
    )  # fmt: skip
    plan = Comparison(asked, entrants(asked.strategies))
    await _told(plan.read(options.jobs), "readings of the pages")
    plan.plan(lambda text: click.echo(text, err=True) if sys.stderr.isatty() else None)
    results = Results(options.out / "results.jsonl")
    try:
        await _told(plan.run(results, options.jobs), "runs")
    finally:
        results.close()
    return plan


async def _told(steps: AsyncIterator[tuple[int, int, str]], what: str) -> None:
    """Say how far it is: each step on a terminal, each tenth elsewhere."""
    begun, first, tenth = time.monotonic(), None, 0
    async for done, of, which in steps:
        first = done if first is None else first
        if sys.stderr.isatty():
            left = (time.monotonic() - begun) / max(1, done - first + 1) * (of - done)
            end = f", about {left / 60:.0f} min left" if left > 90 else ""
            click.echo(f"\r\x1b[K{done} of {of} {what}{end}: {which[:60]}", nl=False, err=True)
        elif done * 10 // of > tenth or done == of:
            tenth = done * 10 // of
            click.echo(f"{done} of {of} {what}", err=True)
    if sys.stderr.isatty() and first is not None:
        click.echo("\r\x1b[K", nl=False, err=True)


def table(standings: Standings) -> str:
    """The standings as lines of text: quality with intervals, then what it costs."""
    head = [
        "strategy",
        *(f"recall@{point}" for point in standings.points),
        "AUC",
        "nAUC",
        "95 %",
        "ms/page",
        "MB",
        "tasks",
    ]
    rows = [head]
    for it in (*([standings.oracle] if standings.oracle else []), *standings.ranked):
        shares = [f"{value.value:.3f}" for value in (*it.recall, it.auc, it.nauc)]
        cost = [f"{it.cpu:.2f}", f"{it.memory:.0f}"] if it is not standings.oracle else ["", ""]
        rows.append([it.strategy, *shares, f"{it.nauc.low:+.2f} … {it.nauc.high:+.2f}", *cost, str(it.tasks)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = []
    for row in rows:
        cells = (
            text.ljust(width) if not at else text.rjust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def foreseen(standings: Standings) -> str:
    """In one line, how well the runs foretold what they would still find."""
    from topicrawl.lab.foresight import foresight

    known = foresight([row for name in standings.names for row in standings.rows(name)], "judged").values()
    if not known["answered"]:
        return ""
    return (
        f"asked on the way what they would still find, {known['answered']} of {known['asked']} answers were without "
        f"doubt: 90 % intervals held in {known['held']:.0%}, recall off by {known['off_median']:.2f} (median)\n"
    )


def notes(plan: Comparison) -> list[str]:
    """Why tasks and runs are missing, one line for each reason."""
    found = [f"not run: {reason}" for _, reason in plan.skipped]
    reasons: dict[tuple[str, str], int] = {}
    for row in plan.failures:
        reason = (row["strategy"], row["failure"])
        reasons[reason] = reasons.get(reason, 0) + 1
    return found + [f"{name} failed on {count} tasks: {reason}" for (name, reason), count in reasons.items()]
