"""`topicrawl lab tasks`: build tasks for a recorded web that has labels and topics."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from topicrawl.cli.lab.evaluate import write_new_file as write_new
from topicrawl.cli.lab.recorded_web import add_cache_options, open_parsed_web
from topicrawl.errors import UsageError


@click.command("tasks")
@click.argument("web", type=click.Path(path_type=Path))
@click.option(
    "--topics",
    type=click.Path(path_type=Path),
    help="Topics with labels and keywords (JSON). [default: WEB/topics.json]",
)
@click.option(
    "--back",
    "backs",
    multiple=True,
    type=click.IntRange(0),
    default=(0, 2),
    show_default=True,
    help="Distance in links from the seeds to the topic; may be repeated.",
)
@click.option("--seeds-per-task", "seeds", default=3, show_default=True, type=click.IntRange(1), help="Seeds per task.")
@click.option("--sets", default=2, show_default=True, type=click.IntRange(1), help="Tasks per topic and distance.")
@click.option(
    "--fewest", default=5, show_default=True, type=click.IntRange(1), help="Skip topics with fewer target pages."
)
@click.option("--within", multiple=True, metavar="LABEL", help="Targets must also have this label; may be repeated.")
@click.option("--phrase", is_flag=True, help="The words are the name of the topic, as for a file tasks-phrase.json.")
@click.option("--out", type=click.Path(path_type=Path), help="The output file. [default: standard output]")
@add_cache_options
def tasks_command(**options: Any) -> None:
    """Build tasks (topic, words, seeds) for a recorded web that has labels.

    The seeds are pages on the topic (--back 0) and pages that are --back links away from it. The same options always
    give the same seeds.

    \b
    Examples:
      topicrawl lab tasks webs/wikispeedia --seeds-per-task 3 --out tasks.json
      topicrawl lab tasks webs/wikispeedia --phrase --out webs/wikispeedia/tasks-phrase.json
    """
    task_options = TaskBuildOptions(**options)
    text, count = task_options.build_tasks()
    if task_options.out is None:
        click.echo(text, nl=False)
        return
    write_new(task_options.out, text)
    click.echo(f"{count} tasks in {task_options.out}", err=True)


@dataclass(frozen=True)
class TaskBuildOptions:
    """Options of `topicrawl lab tasks`."""

    web: Path
    topics: Path | None
    backs: tuple[int, ...]
    seeds: int
    sets: int
    fewest: int
    within: tuple[str, ...]
    phrase: bool
    out: Path | None
    cache: Path | None
    no_cache: bool

    def build_tasks(self) -> tuple[str, int]:
        """Build the tasks and return their JSON text and their number. Print the topics that are skipped.

        Raise `UsageError` if no task can be built.
        """
        from topicrawl.lab.task_builder import TaskOptions, make_tasks, read_topics
        from topicrawl.lab.tasks import format_tasks, read_labels

        topics, labels = read_topics(self.topics or self.web), read_labels(self.web)
        if self.phrase:
            topics = {name: (topic_labels, name) for name, (topic_labels, _) in topics.items()}
        parsed = open_parsed_web(self.web, self.cache, cached=not self.no_cache)
        try:
            graph = parsed.build_graph(_report_progress if sys.stderr.isatty() else None)
        finally:
            parsed.close()
        wanted = TaskOptions(tuple(dict.fromkeys(self.backs)), self.seeds, self.sets, self.within or ("",), self.fewest)
        built = make_tasks(self.web.resolve().name, topics, labels, graph, wanted)
        for line in built.skipped:
            click.echo(f"topicrawl: {line}", err=True)
        if not built.tasks:
            raise UsageError(f"{self.web}: no task could be built")
        return format_tasks(built.tasks, built.target_counts), len(built.tasks)


def _report_progress(done: int, total: int) -> None:
    if done % 200 == 0 or done == total:
        click.echo(f"\rread {done} of {total} pages", nl=done == total, err=True)
