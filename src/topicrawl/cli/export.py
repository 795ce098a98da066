"""`topicrawl export`: export the pages of a crawl."""

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

from topicrawl.cli import EXIT_INTERRUPTED
from topicrawl.cli.datetime_param import DateTimeParam
from topicrawl.errors import DamagedError

if TYPE_CHECKING:
    from topicrawl.collection.export.rows import ExportPages
    from topicrawl.collection.export.run import ExportResult
    from topicrawl.collection.page_filter import ExportFilter

_PROGRESS_INTERVAL = {True: 0.5, False: 5.0}  # seconds between two lines of progress, on a terminal and elsewhere


@click.command("export")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--to", required=True, type=click.Choice(["jsonl", "parquet", "csv", "warc", "markdown"]))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The file or folder; -: standard output. [default: the name of DIRECTORY]",
)
@click.option(
    "--text",
    type=click.Choice(["visible", "main", "markdown", "summary", "none"]),
    help="Content of the column text. [default: visible; for --to markdown: markdown]",
)
@click.option("--all", "everything", is_flag=True, help="Export all pages, not only the relevant ones.")
@click.option(
    "--relevance",
    type=click.FloatRange(0, 1),
    help="Minimum relevance of a page. [default: the threshold of the topic]",
)
@click.option(
    "--verdict",
    "verdicts",
    multiple=True,
    type=click.Choice(["relevant", "irrelevant", "unsure", "none"]),
    help="Pages whose last verdict is this one, none: without a verdict; may be repeated.",
)
@click.option(
    "--language", "languages", multiple=True, metavar="CODE", help="Pages in this language (en, de …); may be repeated."
)
@click.option(
    "--host", "hosts", multiple=True, metavar="NAME", help="Pages of this host and its subdomains; may be repeated."
)
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    help="Pages of this media type, such as text/html or application; may be repeated.",
)
@click.option(
    "--text-contains", "contains", default="", metavar="TEXT", help="Pages with this text in the title or URL."
)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Pages with this tag; may be repeated.")
@click.option("--url", "urls", multiple=True, metavar="URL", help="Only this page; may be repeated.")
@click.option("--max-relevance", type=click.FloatRange(0, 1), help="Maximum relevance of a page.")
@click.option("--since", type=DateTimeParam(), help="Pages fetched at or after this time: 2026-11-01, 7d.")
@click.option("--until", type=DateTimeParam(), help="Pages fetched before this time.")
@click.option(
    "--compress",
    "compression",
    type=click.Choice(["gz", "zst"]),
    help="Compression of jsonl and csv. [default: by the extension of --out]",
)
@click.option("--card/--no-card", default=True, help="Write a data card next to the export. [default: --card]")
@click.option("--force", is_flag=True, help="Replace an existing export.")
@click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON.")
def export_command(directory: Path, **options: Any) -> None:
    """Export the relevant pages of a crawl: text, metadata, score, provenance, licence and robots signals.

    The last verdict on a page decides whether it is relevant; without a verdict, its relevance does. The crawl may be
    running. The file gets its final name when it is complete, and Ctrl-C leaves no file behind. A
    page has the same id in every format. Parquet needs `pip install 'topicrawl[parquet]'`.

    \b
    Examples:
      topicrawl export dengue-fever --to parquet
      topicrawl export dengue-fever --to jsonl --out pages.jsonl.zst --language en --since 30d
      topicrawl export dengue-fever --to csv --out - --text none | head
      topicrawl export dengue-fever --to csv --verdict relevant --verdict unsure
      topicrawl export dengue-fever --to markdown --host who.int --relevance 0.4
    """
    from topicrawl.collection.export.rows import ExportPages, TextKind
    from topicrawl.collection.export.run import ExportJob, choose_text_kind, run_export

    to, text = options["to"], options["text"]
    job = ExportJob.from_options(
        to, directory, options["out"], compression=options["compression"] or "", force=options["force"]
    )
    job = dataclasses.replace(job, card=options["card"])
    pages = ExportPages(directory, _build_page_filter(options), choose_text_kind(to, TextKind(text) if text else None))
    signal.signal(signal.SIGTERM, _raise_interrupt)
    try:
        done = run_export(pages, job, _ExportProgress(pages).update)
    except KeyboardInterrupt:
        click.echo("interrupted: no file was written", err=True)
        sys.exit(EXIT_INTERRUPTED)
    finally:
        pages.close()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if options["as_json"]:
        click.echo(json.dumps(dataclasses.asdict(done)), err=str(job.out) == "-")
    else:
        _print_result(done, directory)
    # An export with less than half of the pages counts as failed.
    if done.unreadable > done.pages:
        sys.exit(DamagedError.exit_code)


def _build_page_filter(options: dict[str, Any]) -> ExportFilter:
    """Convert the options to a filter of pages."""
    from topicrawl.collection.page_filter import ExportFilter
    from topicrawl.urls import canonicalize_url

    lowered = {key: tuple(name.lower() for name in options[key]) for key in ("languages", "hosts", "types", "tags")}
    return ExportFilter(
        relevance=options["relevance"],
        verdicts=options["verdicts"],
        includes_irrelevant=options["everything"],
        since=options["since"] or 0.0,
        until=float("inf") if options["until"] is None else options["until"],
        max_relevance=options["max_relevance"],
        text=options["contains"],
        urls=tuple(canonicalize_url(url) or url for url in options["urls"]),
        **lowered,
    )


def _print_result(done: ExportResult, directory: Path) -> None:
    damaged = f"; {done.unreadable} more are damaged in the archive, see `topicrawl doctor {directory}`"
    lost = damaged if done.unreadable else ""
    none = "" if done.pages or lost else "; no page matches the options, --all also exports irrelevant pages"
    card = f"; see {done.card}" if done.card else ""
    click.echo(f"{done.pages} pages in {done.path}{lost}{none}{card}", err=True)


def _raise_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


class _ExportProgress:
    """Print the progress every few seconds; on a terminal, overwrite the last line."""

    def __init__(self, pages: ExportPages) -> None:
        self._pages, self._total = pages, pages.count_candidates()
        self._is_terminal = sys.stderr.isatty()
        self._started = time.monotonic()
        self._next_update = self._started + _PROGRESS_INTERVAL[self._is_terminal]

    def update(self) -> None:
        """Print the progress if the last line is old enough."""
        if (now := time.monotonic()) < self._next_update:
            return
        self._next_update = now + _PROGRESS_INTERVAL[self._is_terminal]
        speed = self._pages.candidates_seen / (now - self._started)
        left = int(max(0, self._total - self._pages.candidates_seen) / speed) if speed else 0
        line = f"{self._pages.candidates_seen} of {self._total} pages, {speed:.0f}/s, {left // 60}:{left % 60:02d} left"
        click.echo(f"\r\x1b[K{line}" if self._is_terminal else line, err=True, nl=not self._is_terminal)
