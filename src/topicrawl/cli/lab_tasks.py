"""`topicrawl lab tasks`: tasks for a recorded web that has labels and topics."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from topicrawl.cli.lab_evaluate import written as write_new
from topicrawl.cli.lab_web import cache_options, opened_web
from topicrawl.errors import UsageError


@click.command("tasks")
@click.argument("web", type=click.Path(path_type=Path))
@click.option(
    "--topics", type=click.Path(path_type=Path), help="Topics with labels and keywords. [default: WEB/topics.json]"
)
@click.option(
    "--back", "backs", multiple=True, type=click.IntRange(0), default=(0, 2), show_default=True,
    help="Links from the seeds to the topic; may be repeated.",
)  # fmt: skip
@click.option(
    "--seeds-per-task", "seeds", default=3, show_default=True, type=click.IntRange(1), help="Seeds of a task."
)
@click.option("--sets", default=2, show_default=True, type=click.IntRange(1), help="Tasks for each topic and distance.")
@click.option(
    "--fewest", default=5, show_default=True, type=click.IntRange(1), help="Topics with fewer targets are left out."
)
@click.option("--within", multiple=True, metavar="LABEL", help="Targets have this label too; may be repeated.")
@click.option("--out", type=click.Path(path_type=Path), help="File to write. [default: standard output]")
@cache_options
def tasks(**options: Any) -> None:
    """Make tasks (topic, words, seeds) for a recorded web that has labels.

    Seeds are drawn the same way each time: pages on the topic, and pages off it that are --back links away.

    \b
    Example:
      topicrawl lab tasks webs/wikispeedia --seeds-per-task 3 --out tasks.json
    """
    asked = Asked(**options)
    text, count = asked.made()
    if asked.out is None:
        click.echo(text, nl=False)
        return
    write_new(asked.out, text)
    click.echo(f"{count} tasks in {asked.out}", err=True)


@dataclass(frozen=True)
class Asked:
    """The options of `lab tasks`."""

    web: Path
    topics: Path | None
    backs: tuple[int, ...]
    seeds: int
    sets: int
    fewest: int
    within: tuple[str, ...]
    out: Path | None
    cache: Path | None
    no_cache: bool

    def made(self) -> tuple[str, int]:
        """The text of the tasks and their number; what could not be made is said on the way."""
        from topicrawl.lab.task_making import Wanted, make_tasks, read_topics
        from topicrawl.lab.tasks import read_labels, written

        topics, labels = read_topics(self.topics or self.web), read_labels(self.web)
        parsed = opened_web(self.web, self.cache, cached=not self.no_cache)
        try:
            graph = parsed.graph(_told if sys.stderr.isatty() else None)
        finally:
            parsed.close()
        wanted = Wanted(tuple(dict.fromkeys(self.backs)), self.seeds, self.sets, self.within or ("",), self.fewest)
        found = make_tasks(self.web.resolve().name, topics, labels, graph, wanted)
        for line in found.skipped:
            click.echo(f"topicrawl: {line}", err=True)
        if not found.tasks:
            raise UsageError(f"{self.web}: not one task could be made")
        return written(found.tasks, found.reached), len(found.tasks)


def _told(done: int, of_all: int) -> None:
    if done % 200 == 0 or done == of_all:
        click.echo(f"\rread {done} of {of_all} pages", nl=done == of_all, err=True)
