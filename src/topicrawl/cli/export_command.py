"""`topicrawl export`: the pages of a crawl for other programs."""

from __future__ import annotations

import dataclasses
import json
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from topicrawl.cli import INTERRUPTED
from topicrawl.cli.moments import Moment
from topicrawl.errors import DamagedError

if TYPE_CHECKING:
    from topicrawl.collection.export import Choice
    from topicrawl.collection.export_run import Done

_EVERY = {True: 0.5, False: 5.0}  # seconds between two signs of life, on a terminal and elsewhere


@click.command("export")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--to", required=True, type=click.Choice(["jsonl", "parquet", "csv", "warc", "markdown"]))
@click.option(
    "--out", type=click.Path(path_type=Path), help="File or folder; - is standard output. [default: named by DIRECTORY]"
)
@click.option(
    "--text",
    type=click.Choice(["visible", "main", "markdown", "none"]),
    help="What stands in the column text. [default: visible; for --to markdown: markdown]",
)
@click.option("--all", "everything", is_flag=True, help="All pages, not only relevant ones.")
@click.option(
    "--relevance",
    type=click.FloatRange(0, 1),
    help="Pages of at least this relevance. [default: the topic's threshold]",
)
@click.option(
    "--language", "languages", multiple=True, metavar="CODE", help="Pages in this language (en, de …); may be repeated."
)
@click.option(
    "--host", "hosts", multiple=True, metavar="NAME", help="Pages of this host and the hosts below it; may be repeated."
)
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    help="Pages of this media type, such as text/html or application; may be repeated.",
)
@click.option("--since", type=Moment(), help="Pages fetched then or later: 2026-11-01, 7d.")
@click.option("--until", type=Moment(), help="Pages fetched before then.")
@click.option(
    "--compress",
    "compression",
    type=click.Choice(["gz", "zst"]),
    help="For jsonl and csv; also told by the name of --out.",
)
@click.option("--card/--no-card", default=True, help="Write a dataset card beside it. [default: --card]")
@click.option("--force", is_flag=True, help="Replace an export that exists.")
@click.option("--json", "as_json", is_flag=True, help="What was done as JSON, for programs.")
def command(directory: Path, **options: Any) -> None:
    """Write the relevant pages of a crawl to a file: text, metadata, score, provenance, licence and robots signals.

    Safe while the crawl runs. The file takes its name when it is whole; Ctrl-C leaves nothing behind. A page has the
    same id in every format. Parquet needs `pip install 'topicrawl[parquet]'`.

    \b
    Examples:
      topicrawl export dengue-fever --to parquet
      topicrawl export dengue-fever --to jsonl --out pages.jsonl.zst --language en --since 30d
      topicrawl export dengue-fever --to csv --out - --text none | head
      topicrawl export dengue-fever --to markdown --host who.int --relevance 0.4
    """  # fmt: skip
    from topicrawl.collection.export import Pages, Text
    from topicrawl.collection.export_run import Job, export, text_for

    to, asked = options["to"], options["text"]
    job = Job.named(to, directory, options["out"], compression=options["compression"] or "", force=options["force"])
    job = dataclasses.replace(job, card=options["card"])
    pages = Pages(directory, _choice(options), text_for(to, Text(asked) if asked else None))
    signal.signal(signal.SIGTERM, _interrupted)
    try:
        done = export(pages, job, _Progress(pages).tick)
    except KeyboardInterrupt:
        click.echo("interrupted: nothing was written", err=True)
        sys.exit(INTERRUPTED)
    finally:
        pages.close()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if options["as_json"]:
        click.echo(json.dumps(dataclasses.asdict(done)), err=str(job.out) == "-")
    else:
        _told(done, directory)
    # A file with the smaller part of the pages is not what was asked for.
    if done.unreadable > done.pages:
        sys.exit(DamagedError.exit_code)


def _choice(options: dict[str, Any]) -> Choice:
    """Which pages are wanted."""
    from topicrawl.collection.export import Choice

    lowered = {key: tuple(name.lower() for name in options[key]) for key in ("languages", "hosts", "types")}
    return Choice(
        relevance=0.0 if options["everything"] and options["relevance"] is None else options["relevance"],
        since=options["since"] or 0.0,
        until=float("inf") if options["until"] is None else options["until"],
        **lowered,
    )


def _told(done: Done, directory: Path) -> None:
    more = f"; {done.unreadable} more are damaged in the archive, see `topicrawl doctor {directory}`"
    lost = more if done.unreadable else ""
    none = "" if done.pages or lost else "; none fits what was chosen, --all takes those of little relevance too"
    see = f"; see {done.card}" if done.card else ""
    click.echo(f"{done.pages} pages in {done.path}{lost}{none}{see}", err=True)


def _interrupted(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


class _Progress:
    """A line now and then; on a terminal, one that is written over."""

    def __init__(self, pages: Any) -> None:
        self._pages, self._total = pages, pages.candidates()
        self._over = sys.stderr.isatty()
        self._begun = time.monotonic()
        self._next = self._begun + _EVERY[self._over]

    def tick(self) -> None:
        if (now := time.monotonic()) < self._next:
            return
        self._next = now + _EVERY[self._over]
        speed = self._pages.seen / (now - self._begun)
        left = int(max(0, self._total - self._pages.seen) / speed) if speed else 0
        line = f"{self._pages.seen} of {self._total} pages, {speed:.0f}/s, {left // 60}:{left % 60:02d} left"
        click.echo(f"\r\x1b[K{line}" if self._over else line, err=True, nl=not self._over)
