"""`topicrawl lab run`: one crawler over a recorded web."""

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
from topicrawl.cli.lab_web import cache_options, opened_web
from topicrawl.errors import SpaceError, UsageError

if TYPE_CHECKING:
    from topicrawl.lab.simulate import Task
    from topicrawl.lab.web import ParsedWeb
    from topicrawl.records import Visit


@dataclass(frozen=True)
class Out:
    """Where the lines go, and how far the run is."""

    file: IO[str]
    fetches: int
    progress: bool

    def line(self, visit: Visit) -> None:
        row = {
            "step": visit.step,
            "url": visit.url,
            "requested": visit.link.url,
            "score": visit.place.score,
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
@click.option("--topic", "topic_file", type=click.Path(path_type=Path), help="A topic.toml instead of words.")
@click.option("--seed", "seeds", multiple=True, required=True, help="Where to start; may be repeated.")
@click.option("--strategy", default=strategies.USUAL, show_default=True, help="name or name:parameter=value,…")
@click.option("--judge", default="", metavar="TEXT", help="Who judges pages: your own, as module:Class.")
@click.option("--pages", "fetches", default=1000, show_default=True, type=click.IntRange(1), help="Fetches to make.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File for the visits, one JSON object a line. [default: standard output]",
)
@click.option("--examples", type=click.Path(path_type=Path), help="Example pages: lines of url⇥relevant|irrelevant.")
@click.option("--sessions", type=click.Path(path_type=Path), help="Browsing sessions, TSV or TSV.gz.")
@click.option("--open-world", is_flag=True, help="Links out of the recording are offered, cost a fetch and fail.")
@cache_options
def run(**options: Any) -> None:
    """Crawl a recorded web, one fetch at a time, always in the same order.

    \b
    Example:
      topicrawl lab run webs/wikispeedia --words "bird feathers nest" \\
          --seed http://schools-wikipedia.org/wp/f/Fox.htm --pages 500 --out visits.jsonl
    """
    import asyncio

    asked = Run(**options)
    task = asked.task()
    web = opened_web(asked.web, asked.cache, cached=not asked.no_cache)
    if asked.out is None or str(asked.out) == "-":
        asyncio.run(_simulated(web, task, Out(sys.stdout, task.fetches, False)))
        return
    try:
        with asked.out.open("w", encoding="utf-8") as file:
            asyncio.run(_simulated(web, task, Out(file, task.fetches, sys.stderr.isatty())))
    except OSError as error:
        kind = SpaceError if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else UsageError
        raise kind(f"{asked.out} cannot be written: {error.strerror}") from error


@dataclass(frozen=True)
class Run:
    """The options of `lab run`."""

    web: Path
    words: str | None
    topic_file: Path | None
    seeds: tuple[str, ...]
    strategy: str
    judge: str
    fetches: int
    out: Path | None
    examples: Path | None
    sessions: Path | None
    open_world: bool
    cache: Path | None
    no_cache: bool

    def task(self) -> Task:
        from topicrawl.cli.training import topic_of
        from topicrawl.lab.simulate import Task
        from topicrawl.sessions import Sessions, labelled_sessions
        from topicrawl.settings import seed_urls

        topic = topic_of(self.words, self.topic_file, self.examples)
        found = labelled_sessions(self.sessions) if self.sessions is not None else Sessions(())
        return Task(
            topic=topic.with_examples(found.relevant, found.irrelevant),
            seeds=seed_urls(self.seeds),
            strategy=self.strategy,
            judge=self.judge,
            fetches=self.fetches,
            sessions=found.walks,
            open_world=self.open_world,
        )


async def _simulated(web: ParsedWeb, task: Task, out: Out) -> None:
    from topicrawl.lab.simulate import simulate

    done = relevant = failed = 0
    begun = first = process_time()
    async for visit in simulate(web, task):
        # Training, and opening the recording, come before the first visit.
        first = first if done else process_time()
        out.line(visit)
        done = visit.step
        failed += visit.failure is not None
        relevant += (visit.relevance or 0.0) >= task.topic.threshold
    ending = "" if done == task.fetches else "; nothing was left to fetch"
    click.echo(
        f"\r{done} fetches, {relevant} judged relevant (similarity ≥ {task.topic.threshold:g}), "
        f"{failed} failed{ending}", err=True,
    )  # fmt: skip
    if done > 1:
        each = 1000 * (process_time() - first) / (done - 1)
        click.echo(f"CPU: {each:.1f} ms a page, {first - begun:.1f} s before the first", err=True)
