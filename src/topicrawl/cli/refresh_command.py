"""`topicrawl refresh`: look at the pages of a crawl again, and tell what is new or changed."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicrawl.budget import Budget, Stop
from topicrawl.cli import INTERRUPTED
from topicrawl.cli.moments import Moment
from topicrawl.errors import CollectionError, UsageError

if TYPE_CHECKING:
    from topicrawl.collection.history import Change
    from topicrawl.crawl import Crawl
    from topicrawl.refresh import Agenda

_DAY = 86_400.0
_EVERY = 5.0  # seconds between two lines of progress


@click.command("refresh")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--pages",
    type=click.IntRange(0),
    default=200,
    metavar="N",
    help="Look at this many pages; 0: at all. [default: 200]",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0),
    default=0.0,
    metavar="X",
    help="Stop after this many seconds; 0: no limit. [default: 0]",
)
@click.option(
    "--policy",
    type=click.Choice(["balanced", "binary", "harmonic", "uniform", "proportional"]),
    default="balanced",
    help="How looks are shared out among the pages. [default: balanced]",
)
@click.option(
    "--forget",
    type=click.FloatRange(0),
    default=90.0,
    metavar="DAYS",
    help="Offer links of no use again after so many days; 0: never. [default: 90]",
)
@click.option("--since", type=Moment(), help="Fetch nothing; list what is new or changed since: 2026-11-01, 7d.")
@click.option("--atom", is_flag=True, help="With --since: as an Atom feed.")
@click.option(
    "--relevance",
    type=click.FloatRange(0, 1),
    help="With --since: of at least this relevance. [default: the topic's threshold]",
)
@click.option("--json", "as_json", is_flag=True, help="As JSON lines, for programs.")
def command(directory: Path, **options: Any) -> None:
    """Look at pages again: relevant pages that change often come first, as often as the budget allows.

    A page is asked for only if it has changed (ETag, Last-Modified). What it was is kept as a version. New links on
    changed pages wait in the frontier: `topicrawl crawl` follows them. A refresh that was interrupted is gone on with.

    \b
    Examples:
      topicrawl refresh dengue-fever --pages 500
      topicrawl refresh dengue-fever --since 7d
      topicrawl refresh dengue-fever --since 2026-11-01 --atom > dengue.xml
    """  # fmt: skip
    from topicrawl.collection.directory import occupied

    if not occupied(directory):
        raise CollectionError(f"there is no crawl in {directory}: `topicrawl crawl` makes one")
    if options["since"] is not None:
        if options["atom"] and options["as_json"]:
            raise UsageError("a feed or JSON? give --atom or --json, not both")
        _list(directory, options)
        return
    if options["atom"] or options["relevance"] is not None:
        raise UsageError("--atom and --relevance go with --since")
    if not isfinite(options["seconds"]) or not isfinite(options["forget"]):
        raise UsageError("--seconds and --forget take a number; 0 is no limit, and never")
    from topicrawl.cli.loop import run

    asked = Asked(
        directory, options["pages"], options["seconds"], options["policy"], options["forget"] * _DAY, options["as_json"]
    )
    sys.exit(run(refreshed(asked)))


@dataclass(frozen=True)
class Asked:
    """What the user wrote."""

    directory: Path
    pages: int = 200
    seconds: float = 0.0
    policy: str = "balanced"
    forget: float = 90 * _DAY
    as_json: bool = False


async def refreshed(asked: Asked, clock: Callable[[], float] = time.time) -> int:
    """Run a refresh and return the exit code."""
    from topicrawl.collection.due import due, noted, round_of
    from topicrawl.collection.history import known

    async with _opened(asked, clock) as (agenda, loop):
        store = agenda.collection.store
        pages = known(store)
        round_ = round_of(store, pages, asked.pages, clock())
        count = 0 if round_.is_complete else await agenda.fill(due(pages, round_, clock(), asked.policy))
        store.set_facts(noted(round_, None))
        show = _Show(asked.as_json, count, agenda)
        show.start(asked.directory, resumed=round_.resumed)
        stop = await _looks(loop(count), agenda, show) if count else Stop.EMPTY
        if stop != Stop.INTERRUPTED:
            store.set_facts(noted(round_, clock()))
    show.stop(stop, asked.directory)
    return INTERRUPTED if stop == Stop.INTERRUPTED else 0


@asynccontextmanager
async def _opened(asked: Asked, clock: Callable[[], float]) -> AsyncIterator[tuple[Agenda, Callable[[int], Crawl]]]:
    """The crawl in a directory, with the agenda of a refresh in place of its frontier."""
    from topicrawl.crawl import Crawl
    from topicrawl.frontier.contract import Rules
    from topicrawl.plan import Keeping, open_crawl, resumed
    from topicrawl.refresh import Agenda

    topic, settings = resumed(asked.directory, {})
    stopped = _stopped(asked.directory)
    async with open_crawl(asked.directory, topic, (), settings) as crawl:
        keeping = crawl.parts.keep
        assert isinstance(keeping, Keeping)
        # Why the crawl ended stays as it was.
        crawl.stopped = stopped
        rules = Rules(delay=settings.delay, lease_seconds=2 * Budget().deadline, attempts=settings.attempts + 20)
        parts = replace(crawl.parts, fetch=keeping.polite, clock=clock)
        agenda = Agenda(parts, keeping.collection, rules, topic.threshold, asked.forget)
        keeping.polite.told, keeping.polite.http.clock = agenda.set_delay, clock
        keeping.polite.http.validators = agenda.validators

        def loop(looks: int) -> Crawl:
            budget = Budget(
                fetches=looks, seconds=asked.seconds, concurrency=settings.concurrency, attempts=settings.attempts,
                patience=settings.patience, focus=0.0,
            )  # fmt: skip
            return Crawl(agenda.for_crawl(), budget)

        # Whoever crawled a moment ago may have asked the same hosts, and whoever crawls next may ask them.
        await asyncio.sleep(settings.delay)
        yield agenda, loop
        await asyncio.sleep(settings.delay)


def _stopped(directory: Path) -> Stop | None:
    from topicrawl.collection.store import Store

    store = Store(directory / "topicrawl.sqlite", readonly=True)
    try:
        stopped = store.fact("stopped")
    finally:
        store.close()
    return Stop(stopped) if stopped in list(Stop) else None


async def _looks(crawl: Crawl, agenda: Agenda, show: _Show) -> Stop:
    """Run the loop and show what it finds."""
    from topicrawl.cli.loop import on_signals

    restore = on_signals(crawl.interrupt)
    try:
        async for _ in crawl.visits():
            show.tick()
    finally:
        restore()
        show.tick()
    return crawl.stopped or Stop.INTERRUPTED


class _Show:
    """What a running refresh shows: a line now and then, or JSON events."""

    def __init__(self, as_json: bool, count: int, agenda: Agenda) -> None:
        self._as_json, self._count, self._agenda = as_json, count, agenda
        self._next = time.monotonic() + _EVERY

    def start(self, directory: Path, *, resumed: bool) -> None:
        if self._as_json:
            self._event({"event": "start", "directory": str(directory), "resumed": resumed, "pages": self._count})
        else:
            doing = "going on with the refresh of" if resumed else "looking again at"
            click.echo(f"{doing} {directory}: {self._count} pages. Ctrl-C stops it cleanly.", err=True)

    def tick(self) -> None:
        looked, self._agenda.looked = self._agenda.looked, {}
        if self._as_json:
            for look in looked.values():
                self._event({"event": "look", **look._asdict()})
        elif (now := time.monotonic()) >= self._next:
            self._next = now + _EVERY
            click.echo(self._line(), err=True)

    def stop(self, reason: Stop, directory: Path) -> None:
        outcomes, links = dict(self._agenda.outcomes), self._agenda.links
        if self._as_json:
            self._event({"event": "stop", "reason": reason, "outcomes": outcomes, "links": links})
            return
        click.echo(self._line() if self._count else "nothing to do: every page has been looked at", err=True)
        if links:
            click.echo(f"next: topicrawl crawl --out {directory} --pages N   to follow {links} new links", err=True)
        if reason == Stop.INTERRUPTED:
            click.echo("interrupted; the same command goes on where it was", err=True)

    def _line(self) -> str:
        outcomes = self._agenda.outcomes
        found = ", ".join(f"{name} {count}" for name, count in outcomes.most_common()) or "nothing yet"
        return f"{outcomes.total()} of {self._count} looked at: {found}; {self._agenda.links} new links"

    def _event(self, event: dict[str, object]) -> None:
        sys.stdout.write(json.dumps(event, ensure_ascii=False) + "\n")
        sys.stdout.flush()


def _list(directory: Path, options: dict[str, Any]) -> None:
    """What is new or changed, read without disturbing whoever crawls."""
    from topicrawl.collection.directory import topic_of
    from topicrawl.collection.feed import atom
    from topicrawl.collection.history import changes
    from topicrawl.collection.store import Store

    topic = topic_of(directory)
    store = Store(directory / "topicrawl.sqlite", readonly=True)
    least = topic.threshold if options["relevance"] is None else options["relevance"]
    try:
        # Closed before the store is: a reader such as `head` may leave early.
        with closing(changes(store, options["since"], least)) as found:
            if options["atom"]:
                click.echo(atom(found, topic.name, options["since"]))
                return
            is_empty = True
            for change in found:
                is_empty = False
                click.echo(json.dumps(change._asdict(), ensure_ascii=False) if options["as_json"] else _line(change))
        if is_empty and not options["as_json"]:
            click.echo(f"nothing is new or changed since {_moment(options['since'])}", err=True)
    finally:
        store.close()


def _line(change: Change) -> str:
    # What would steer the terminal is left out.
    title = "".join(filter(str.isprintable, " ".join(change.title.split())))
    return f"{_moment(change.at)}  {change.kind:<7}  {change.relevance:.2f}  {change.url}  {title}"


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
