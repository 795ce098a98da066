"""`topicrawl lab repeat`: repeat the experiments of a paper on recorded webs."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicrawl.cli.lab.recorded_web import add_cache_options
from topicrawl.errors import SpaceError, UsageError

if TYPE_CHECKING:
    from topicrawl.lab.repeat.paper_report import PaperReport
    from topicrawl.lab.repeat.paper_runs import RepeatOptions

#: Papers whose experiments can be repeated. Each has a module in `topicrawl.lab.repeat`.
PAPERS = ("batsakis", "safran", "hati", "kluev", "mohammadi")
_WEBS_VARIABLE = "TOPICRAWL_WEBS"


@click.command("repeat")
@click.argument("paper", type=click.Choice(PAPERS))
@click.argument("webs", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--topics", default=4, show_default=True, type=click.IntRange(1), help="Topics of each web; one task per topic."
)
@click.option("--budget", type=click.IntRange(4), help="Fetches per run. [default: as in the paper]")
@click.option(
    "--examples",
    type=click.IntRange(4),
    help="Relevant and irrelevant examples each, at most a quarter of the relevant pages. [default: 20; kluev: 100]",
)
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(1), help="Concurrent runs.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The directory for the report and the figures. [default: repeat-PAPER]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@add_cache_options
def repeat_command(paper: str, webs: tuple[Path, ...], out: Path | None, as_json: bool, **options: Any) -> None:
    """Repeat the experiments of a paper and compare its claims with the results.

    The crawlers of the paper run with its budgets on the recorded webs WEBS, by default on those in $TOPICRAWL_WEBS,
    or else on a synthetic web. The report has the claimed beside the measured values, with 95 % intervals over the
    topics, and the figures of the paper. An interrupted command resumes.

    \b
    Examples:
      topicrawl lab repeat batsakis
      topicrawl lab repeat batsakis webs/wikispeedia --topics 4 --budget 500 --out repeated
    """
    import asyncio

    from topicrawl.lab.repeat.paper_runs import RepeatOptions

    directory = out or Path(f"repeat-{paper}")
    if directory.is_file():
        raise UsageError(f"{directory} is a file; give a directory with --out")
    chosen_webs = list(webs) or _find_webs(directory)
    repeat_options = RepeatOptions(
        webs=chosen_webs,
        out=directory,
        topics=options["topics"],
        fetches=options["budget"],
        examples=options["examples"],
        jobs=options["jobs"],
        cache=options["cache"],
        cached=not options["no_cache"],
    )
    report = asyncio.run(_repeat_paper(paper, repeat_options))
    report.command = shlex.join(["topicrawl", *sys.argv[1:]])
    report.date = time.strftime("%Y-%m-%d")
    files = report.write(directory)
    click.echo(json.dumps(report.to_dict(), ensure_ascii=False) if as_json else report.to_text())
    click.echo(f"Report: {', '.join(str(file) for file in files[:3])}", err=True)


async def _repeat_paper(paper: str, options: RepeatOptions) -> PaperReport:
    """Run the experiment of a paper and print the progress."""
    from importlib import import_module

    module = import_module(f"topicrawl.lab.repeat.{paper}")
    report: PaperReport = await module.repeat_experiment(options, _ProgressPrinter().show)
    return report


class _ProgressPrinter:
    """Print the progress of the runs: every run on a terminal, every 10 % elsewhere."""

    def __init__(self) -> None:
        self._tenth = 0

    def show(self, done: int, total: int, name: str) -> None:
        """Print the progress after a run."""
        if sys.stderr.isatty():
            end = "\r\x1b[K" if done == total else ""
            click.echo(f"\r\x1b[K{done} of {total}: {name[:60]}{end}", nl=False, err=True)
        elif done * 10 // total != self._tenth or done == total:
            self._tenth = done * 10 // total
            click.echo(f"{done} of {total}: {name}", err=True)


def _find_webs(directory: Path) -> list[Path]:
    """Return the recorded webs in $TOPICRAWL_WEBS, or write a synthetic web into `directory` and return it."""
    folder = os.environ.get(_WEBS_VARIABLE, "")
    if folder:
        webs = sorted(path.parent for path in Path(folder).glob("*/tasks.json"))
        if not webs:
            raise UsageError(f"{_WEBS_VARIABLE}: {folder} contains no recorded web with a tasks.json")
        return webs
    from topicrawl.sample_web.web import SampleWeb

    web = directory / "sample-web"
    if not (web / "tasks.json").is_file():
        click.echo(f"topicrawl: {_WEBS_VARIABLE} is not set; the crawlers run on a synthetic web in {web}", err=True)
        try:
            web.mkdir(parents=True, exist_ok=True)
            SampleWeb().write(web)
        except OSError as error:
            raise SpaceError(f"{web} cannot be written: {error.strerror}") from error
    return [web]
