"""`topicrawl lab run`: run one strategy on a recorded web."""

from __future__ import annotations

import errno
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import IO, TYPE_CHECKING, Any

import click

from topicrawl import strategies
from topicrawl.cli.embedding_option import add_embedding_option
from topicrawl.cli.lab.recorded_web import add_cache_options, open_parsed_web
from topicrawl.errors import SpaceError, UsageError

if TYPE_CHECKING:
    from topicrawl.lab.parsed_web import ParsedWeb
    from topicrawl.lab.simulate import Task
    from topicrawl.models import Visit


@dataclass(frozen=True)
class VisitWriter:
    """Write visits as JSON lines, and print the progress."""

    file: IO[str]
    fetches: int
    progress: bool

    def write_visit(self, visit: Visit) -> None:
        """Write one visit as a JSON line, and print the progress every 25 visits."""
        row = {
            "step": visit.step,
            "url": visit.url,
            "requested": visit.link.url,
            "score": visit.priority.score,
            "relevance": visit.relevance,
            "failure": visit.failure,
            "source": visit.link.source,
            "depth": visit.link.depth,
        }
        self.file.write(json.dumps(row, ensure_ascii=False) + "\n")
        if self.progress and visit.step % 25 == 0:
            click.echo(f"\r{visit.step} of {self.fetches} fetches", nl=False, err=True)


@click.command("run")
@click.argument("web", type=click.Path(path_type=Path))
@click.option("--words", help="The topic in words.")
@click.option(
    "--topic",
    "topic_file",
    type=click.Path(path_type=Path),
    help="A topic.toml instead of words. [default: the topic of the crawl]",
)
@click.option("--seed", "seeds", multiple=True, required=True, help="A seed URL; may be repeated.")
@click.option(
    "--strategy", default=strategies.DEFAULT_STRATEGY, show_default=True, help="A name, or name:parameter=value,…"
)
@click.option(
    "--judge", default="", metavar="TEXT", help="Relevance model: multi_metric, summary, or your own as module:Class."
)
@add_embedding_option
@click.option("--pages", "fetches", default=1000, show_default=True, type=click.IntRange(1), help="Number of fetches.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="A file for the visits, one JSON object per line. [default: standard output]",
)
@click.option(
    "--examples", type=click.Path(path_type=Path), help="Example pages, one per line: url⇥relevant|irrelevant."
)
@click.option("--sessions", type=click.Path(path_type=Path), help="Browsing sessions, TSV or TSV.gz.")
@click.option(
    "--open-world", is_flag=True, help="Also follow links out of the recording; each costs a fetch and fails."
)
@add_cache_options
def run_command(**options: Any) -> None:
    """Crawl a recorded web, one fetch at a time. The same options give the same visits.

    \b
    Example:
      topicrawl lab run webs/wikispeedia --words "bird feathers nest" \\
          --seed http://schools-wikipedia.org/wp/f/Fox.htm --pages 500 --out visits.jsonl
    """
    import asyncio

    run_options = LabRunOptions(**options)
    task = run_options.build_task()
    web = open_parsed_web(run_options.web, run_options.cache, cached=not run_options.no_cache)
    if run_options.out is None or str(run_options.out) == "-":
        asyncio.run(_run_simulation(web, task, VisitWriter(sys.stdout, task.fetches, False)))
        return
    try:
        with run_options.out.open("w", encoding="utf-8") as file:
            asyncio.run(_run_simulation(web, task, VisitWriter(file, task.fetches, sys.stderr.isatty())))
    except OSError as error:
        kind = SpaceError if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else UsageError
        raise kind(f"{run_options.out} cannot be written: {error.strerror}") from error


@dataclass(frozen=True)
class LabRunOptions:
    """Options of `topicrawl lab run`."""

    web: Path
    words: str | None
    topic_file: Path | None
    seeds: tuple[str, ...]
    strategy: str
    judge: str
    embedding: str
    fetches: int
    out: Path | None
    examples: Path | None
    sessions: Path | None
    open_world: bool
    cache: Path | None
    no_cache: bool

    def build_task(self) -> Task:
        """Load the topic, the examples and the sessions, and build the task."""
        from topicrawl.cli.train.inputs import load_topic
        from topicrawl.lab.simulate import Task
        from topicrawl.sessions import LabelledSessions, read_labelled_sessions
        from topicrawl.settings import parse_seed_urls

        topic = load_topic(self.words, self.topic_file, self.examples, web=self.web)
        browsing = read_labelled_sessions(self.sessions) if self.sessions is not None else LabelledSessions(())
        return Task(
            topic=topic.with_examples(browsing.relevant, browsing.irrelevant),
            seeds=parse_seed_urls(self.seeds),
            strategy=self.strategy,
            judge=self.judge,
            embedding=self.embedding,
            fetches=self.fetches,
            sessions=browsing.click_paths,
            open_world=self.open_world,
        )


async def _run_simulation(web: ParsedWeb, task: Task, writer: VisitWriter) -> None:
    """Run the task, write its visits and print a summary."""
    from topicrawl.lab.simulate import simulate

    done = relevant = failed = 0
    started = first = process_time()
    async for visit in simulate(web, task):
        # The time before the first visit is spent on training and on opening the recording.
        first = first if done else process_time()
        writer.write_visit(visit)
        done = visit.step
        failed += visit.failure is not None
        relevant += (visit.relevance or 0.0) >= task.topic.threshold
    ending = "" if done == task.fetches else "; the frontier is empty"
    click.echo(
        f"\r{done} fetches, {relevant} relevant (relevance ≥ {task.topic.threshold:g}), {failed} failed{ending}",
        err=True,
    )
    if done > 1:
        each = 1000 * (process_time() - first) / (done - 1)
        click.echo(f"CPU time: {each:.1f} ms per page, {first - started:.1f} s before the first page", err=True)
