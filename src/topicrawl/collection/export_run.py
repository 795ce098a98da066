"""An export from beginning to end: pages in, a file or folder with its card out, all of it or nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from topicrawl.collection import export_formats
from topicrawl.collection.export import Pages, Text
from topicrawl.collection.export_card import About, Tally, card
from topicrawl.collection.export_formats import Format
from topicrawl.collection.export_output import CARD, card_of, refuse_to_overwrite, replacing
from topicrawl.collection.export_parquet import parquet
from topicrawl.errors import UsageError

#: Format → how it is written, and how its name ends.
FORMATS: dict[str, tuple[Format, str]] = {
    "jsonl": (export_formats.jsonl, ".jsonl"),
    "parquet": (parquet, ".parquet"),
    "csv": (export_formats.table, ".csv"),
    "warc": (export_formats.warc, ".warc.gz"),
    "markdown": (export_formats.folder, "-markdown"),
}
COMPRESSIONS = ("gz", "zst")
_LINES = ("jsonl", "csv")  # what may be compressed as a whole, or go to standard output
STANDARD_OUTPUT = Path("-")


@dataclass(frozen=True)
class Job:
    """What is to be written, and where."""

    to: str
    out: Path
    compression: str = ""  # "", "gz" or "zst"
    force: bool = False  # replace what is there
    card: bool = True

    def __post_init__(self) -> None:
        if self.compression and self.to not in _LINES:
            raise UsageError(f"{self.to} has its own compression: leave out --compress")
        if self.out == STANDARD_OUTPUT and (self.to not in _LINES or self.compression):
            raise UsageError("only plain jsonl and csv go to standard output: name a file with --out")

    @classmethod
    def named(cls, to: str, directory: Path, out: Path | None, *, compression: str = "", force: bool = False) -> Job:
        """A job whose name or compression follows from the other.

        >>> str(Job.named("jsonl", Path("crawls/dengue"), None, compression="zst").out)
        'dengue.jsonl.zst'
        >>> Job.named("csv", Path("dengue"), Path("pages.csv.gz")).compression
        'gz'
        """
        if out is None:
            ending = FORMATS[to][1] + (f".{compression}" if compression else "")
            out = Path(f"{directory.resolve().name}{ending}")
        elif not compression and to in _LINES and out.suffix.removeprefix(".") in COMPRESSIONS:
            compression = out.suffix.removeprefix(".")
        return cls(to, out, compression, force)


@dataclass(frozen=True)
class Done:
    """What was written."""

    path: str
    card: str
    pages: int
    unreadable: int


def export(pages: Pages, job: Job, tick: Callable[[], None], clock: Callable[[], float] = time.time) -> Done:
    """Write the pages; `tick` is called after each."""
    to_file = job.out != STANDARD_OUTPUT
    is_folder = job.to == "markdown"
    beside = None
    if to_file:
        refuse_to_overwrite(job.out, pages.directory, force=job.force, folder=is_folder)
        beside = card_of(job.out) if job.card and not is_folder else None
    if beside is not None:
        refuse_to_overwrite(beside, pages.directory, force=job.force, folder=False)
    tally = Tally()
    place: AbstractContextManager[Path] = replacing(job.out) if to_file else nullcontext(job.out)
    with place as draft:
        with FORMATS[job.to][0](draft, job.compression, pages) as write:
            for page in pages:
                write(page)
                tally.count(page)
                tick()
        about = About(pages, job.to, job.out.name, clock())
        if is_folder:
            (draft / CARD).write_text(card(tally, about), "utf-8")
        if beside is not None:
            with replacing(beside) as text:
                text.write_text(card(tally, about), "utf-8")
    where = str(job.out / CARD) if is_folder else str(beside or "")
    return Done(str(job.out), where, tally.pages, pages.unreadable)


def text_for(to: str, asked: Text | None) -> Text:
    """What stands in the column `text`, if nothing else was asked for."""
    if to == "warc":
        return Text.NONE
    return asked or (Text.MARKDOWN if to == "markdown" else Text.VISIBLE)
