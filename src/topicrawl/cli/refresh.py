"""`topicrawl refresh`: revisit the pages of a crawl, and list new and changed pages."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicrawl.cli import EXIT_INTERRUPTED
from topicrawl.cli.completion import add_completion_options, check_completion_options, send_notices
from topicrawl.cli.datetime_param import DateTimeParam
from topicrawl.cli.setting_options import add_network_options, collect_network_settings
from topicrawl.engine.limits import StopReason
from topicrawl.errors import CollectionError, TopicrawlError, UsageError
from topicrawl.settings import Settings

if TYPE_CHECKING:
    from topicrawl.collection.history import PageChange
    from topicrawl.engine.crawl import Crawl
    from topicrawl.recrawl.sink import RecrawlSink

_SECONDS_PER_DAY = 86_400.0
_PROGRESS_INTERVAL = 5.0  # seconds between two lines of progress


@click.command("refresh")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--pages",
    type=click.IntRange(0),
    default=200,
    metavar="N",
    help="Revisit this many pages; 0: all. [default: 200]",
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
    help="How the revisits are distributed over the pages. [default: balanced]",
)
@click.option(
    "--forget",
    type=click.FloatRange(0),
    default=90.0,
    metavar="DAYS",
    help="Add failed and irrelevant links to the frontier again after this many days; 0: never. [default: 90]",
)
@click.option(
    "--since", type=DateTimeParam(), help="Fetch nothing; list the new and changed pages since 2026-11-01 or 7d."
)
@click.option("--atom", is_flag=True, help="With --since: write an Atom feed.")
@click.option(
    "--relevance",
    type=click.FloatRange(0, 1),
    help="With --since: minimum relevance of the pages. [default: the threshold of the topic]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
@add_completion_options
@add_network_options
def refresh_command(directory: Path, **options: Any) -> None:
    """Revisit the pages of a crawl. Relevant pages that change often come first.

    Requests are conditional (ETag, Last-Modified). The old content of a changed page is kept as a version. New links
    on changed pages are added to the frontier, and `topicrawl crawl` follows them. The same command resumes an
    interrupted refresh.

    \b
    Examples:
      topicrawl refresh dengue-fever --pages 500
      topicrawl refresh dengue-fever --since 7d
      topicrawl refresh dengue-fever --since 2026-11-01 --atom > dengue.xml
    """
    from topicrawl.collection.directory import contains_crawl

    check_completion_options(options)
    if not contains_crawl(directory):
        raise CollectionError(f"there is no crawl in {directory}: create one with `topicrawl crawl`")
    if options["since"] is not None:
        if options["atom"] and options["as_json"]:
            raise UsageError("give --atom or --json, not both")
        _list_changes(directory, options)
        return
    if options["atom"] or options["relevance"] is not None:
        raise UsageError("--atom and --relevance can only be used with --since")
    if not isfinite(options["seconds"]) or not isfinite(options["forget"]):
        raise UsageError("--seconds and --forget must be finite numbers; 0 means no limit and never")
    from topicrawl.cli.event_loop import run_async

    refresh_options = RefreshOptions(
        directory,
        options["pages"],
        options["seconds"],
        options["policy"],
        options["forget"] * _SECONDS_PER_DAY,
        options["as_json"],
        collect_network_settings(options),
        {name: options[name] for name in ("on_completion", "webhook")},
    )
    sys.exit(run_async(run_refresh(refresh_options)))


@dataclass(frozen=True)
class RefreshOptions:
    """Options of `topicrawl refresh`."""

    directory: Path
    pages: int = 200
    seconds: float = 0.0
    policy: str = "balanced"
    forget: float = 90 * _SECONDS_PER_DAY  # seconds
    as_json: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)  # settings that replace those of the crawl
    notices: Mapping[str, str] = field(default_factory=dict)  # options of `add_completion_options`


async def run_refresh(options: RefreshOptions, clock: Callable[[], float] = time.time) -> int:
    """Revisit the due pages, send the notices, and return the exit code. An interrupted refresh can be resumed."""
    started = time.monotonic()
    try:
        code, result, settings = await _revisit_due_pages(options, clock)
    except TopicrawlError as error:
        # The settings of the crawl may be unreadable.
        result = {"exit_code": error.exit_code, "error": str(error)}
        await _send_refresh_notices(options, result, started, Settings(**options.settings))
        raise
    await _send_refresh_notices(options, {"exit_code": code, **result}, started, settings)
    return code


async def _send_refresh_notices(
    options: RefreshOptions, result: Mapping[str, object], started: float, settings: Settings
) -> None:
    """Send the notices at the end of a refresh."""
    if options.notices:
        summary = {"event": "completed", "directory": str(options.directory), **result}
        seconds = round(time.monotonic() - started, 1)
        await send_notices(options.notices, {**summary, "seconds": seconds}, settings)


async def _revisit_due_pages(
    options: RefreshOptions, clock: Callable[[], float]
) -> tuple[int, dict[str, object], Settings]:
    """Select the due pages and revisit them. Return the exit code, the results and the settings of the crawl."""
    from topicrawl.builder.crawls import open_recrawl
    from topicrawl.collection.history import load_revisit_candidates
    from topicrawl.recrawl.schedule import build_round_fact, load_round, select_due_pages

    async with open_recrawl(options.directory, options.settings, forget_after=options.forget, clock=clock) as recrawl:
        store = recrawl.sink.collection.store
        pages = load_revisit_candidates(store)
        round_ = load_round(store, pages, options.pages, clock())
        due = [] if round_.is_complete else select_due_pages(pages, round_, clock(), options.policy)
        count = await recrawl.queue.add(recrawl.sink.pages.load_pages(due))
        store.set_facts(build_round_fact(round_, None))
        display = _RefreshDisplay(options.as_json, count, recrawl.sink)
        display.start(options.directory, resumed=round_.is_resumed)
        stop = StopReason.EMPTY
        if count:
            stop = await _run_visits(recrawl.build_crawl(count, options.seconds), display)
        if stop != StopReason.INTERRUPTED:
            store.set_facts(build_round_fact(round_, clock()))
        outcomes, settings = dict(recrawl.sink.outcomes), recrawl.settings
    display.stop(stop, options.directory)
    code = EXIT_INTERRUPTED if stop == StopReason.INTERRUPTED else 0
    return code, {"reason": str(stop), "outcomes": outcomes}, settings


async def _run_visits(crawl: Crawl, display: _RefreshDisplay) -> StopReason:
    """Run the revisits and show their outcomes."""
    from topicrawl.cli.event_loop import install_signal_handlers
    from topicrawl.cli.progress import announce_stop

    restore = install_signal_handlers(crawl.interrupt, announce=lambda: announce_stop(crawl.in_flight))
    try:
        async for _ in crawl.visits():
            display.update()
    finally:
        restore()
        display.update()
    return crawl.stop_reason or StopReason.INTERRUPTED


class _RefreshDisplay:
    """Display of a running refresh: a line every few seconds, or JSON events."""

    def __init__(self, as_json: bool, count: int, sink: RecrawlSink) -> None:
        self._as_json, self._count, self._sink = as_json, count, sink
        self._next_update = time.monotonic() + _PROGRESS_INTERVAL

    def start(self, directory: Path, *, resumed: bool) -> None:
        """Show that the refresh starts or resumes."""
        if self._as_json:
            self._write_event({"event": "start", "directory": str(directory), "resumed": resumed, "pages": self._count})
        else:
            action = "resuming the refresh of" if resumed else "refreshing"
            click.echo(f"{action} {directory}: {self._count} pages. Ctrl-C stops the refresh cleanly.", err=True)

    def update(self) -> None:
        """Show the revisits since the last update: as JSON events, or as a line of progress every few seconds."""
        revisits, self._sink.results = self._sink.results, {}
        if self._as_json:
            for revisit in revisits.values():
                self._write_event({"event": "look", **revisit._asdict()})
        elif (now := time.monotonic()) >= self._next_update:
            self._next_update = now + _PROGRESS_INTERVAL
            click.echo(self._format_progress(), err=True)

    def stop(self, reason: StopReason, directory: Path) -> None:
        """Show the result of the refresh."""
        outcomes, links = dict(self._sink.outcomes), self._sink.new_links
        if self._as_json:
            self._write_event({"event": "stop", "reason": reason, "outcomes": outcomes, "links": links})
            return
        click.echo(self._format_progress() if self._count else "nothing to do: all pages have been revisited", err=True)
        if links:
            click.echo(f"next: topicrawl crawl --out {directory} --pages N   to follow {links} new links", err=True)
        if reason == StopReason.INTERRUPTED:
            click.echo("interrupted; run the same command again to resume", err=True)

    def _format_progress(self) -> str:
        outcomes = self._sink.outcomes
        counts = ", ".join(f"{name} {count}" for name, count in outcomes.most_common()) or "none yet"
        return f"{outcomes.total()} of {self._count} pages revisited: {counts}; {self._sink.new_links} new links"

    def _write_event(self, event: dict[str, object]) -> None:
        sys.stdout.write(json.dumps(event, ensure_ascii=False) + "\n")
        sys.stdout.flush()


def _list_changes(directory: Path, options: dict[str, Any]) -> None:
    """Print the new and changed pages. The collection is opened read-only, so a crawl may run at the same time."""
    from topicrawl.collection.directory import load_crawl_topic
    from topicrawl.collection.feed import build_atom_feed
    from topicrawl.collection.history import list_changes
    from topicrawl.collection.store import CollectionStore

    topic = load_crawl_topic(directory)
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    min_relevance = topic.threshold if options["relevance"] is None else options["relevance"]
    try:
        # The generator must be closed before the store, also when a reader such as `head` closes the pipe early.
        with closing(list_changes(store, options["since"], min_relevance)) as changed:
            if options["atom"]:
                click.echo(build_atom_feed(changed, topic.name, options["since"]))
                return
            is_empty = True
            for change in changed:
                is_empty = False
                click.echo(
                    json.dumps(change._asdict(), ensure_ascii=False) if options["as_json"] else _format_change(change)
                )
        if is_empty and not options["as_json"]:
            click.echo(f"no new or changed pages since {_format_time(options['since'])}", err=True)
    finally:
        store.close()


def _format_change(change: PageChange) -> str:
    # Control characters could change the state of the terminal.
    title = "".join(filter(str.isprintable, " ".join(change.title.split())))
    return f"{_format_time(change.at)}  {change.kind:<7}  {change.relevance:.2f}  {change.url}  {title}"


def _format_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
