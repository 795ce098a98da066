"""Run an export: write the pages to a file or folder with its data card, completely or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from topicrawl.collection.export import formats
from topicrawl.collection.export.card import CardInfo, ExportStatistics, render_card
from topicrawl.collection.export.formats import OpenFormat
from topicrawl.collection.export.output import CARD_NAME, check_overwrite, get_card_path, write_atomically
from topicrawl.collection.export.parquet import open_parquet
from topicrawl.collection.export.rows import ExportPages, TextKind
from topicrawl.database import translate_errors, write_text_file
from topicrawl.errors import UsageError

#: Format → function that opens it, and suffix of the output name.
FORMATS: dict[str, tuple[OpenFormat, str]] = {
    "jsonl": (formats.open_jsonl, ".jsonl"),
    "parquet": (open_parquet, ".parquet"),
    "csv": (formats.open_csv, ".csv"),
    "warc": (formats.open_warc, ".warc.gz"),
    "markdown": (formats.open_markdown, "-markdown"),
}
COMPRESSIONS = ("gz", "zst")
_LINE_FORMATS = ("jsonl", "csv")  # formats that may be compressed as a whole or written to standard output
STANDARD_OUTPUT = Path("-")


@dataclass(frozen=True)
class ExportJob:
    """Format and output of an export."""

    to: str  # key of `FORMATS`
    out: Path
    compression: str = ""  # "", "gz" or "zst"
    force: bool = False  # replace an existing export
    card: bool = True  # write a data card

    def __post_init__(self) -> None:
        if self.compression and self.to not in _LINE_FORMATS:
            raise UsageError(f"{self.to} has its own compression: omit --compress")
        if self.out == STANDARD_OUTPUT and (self.to not in _LINE_FORMATS or self.compression):
            raise UsageError("only uncompressed jsonl and csv can go to standard output: name a file with --out")

    @classmethod
    def from_options(
        cls, to: str, directory: Path, out: Path | None, *, compression: str = "", force: bool = False
    ) -> ExportJob:
        """Create a job. Derive the output name from the compression, or the compression from the output name.

        >>> str(ExportJob.from_options("jsonl", Path("crawls/dengue"), None, compression="zst").out)
        'dengue.jsonl.zst'
        >>> ExportJob.from_options("csv", Path("dengue"), Path("pages.csv.gz")).compression
        'gz'
        """
        if out is None:
            ending = FORMATS[to][1] + (f".{compression}" if compression else "")
            out = Path(f"{directory.resolve().name}{ending}")
        elif not compression and to in _LINE_FORMATS and out.suffix.removeprefix(".") in COMPRESSIONS:
            compression = out.suffix.removeprefix(".")
        return cls(to, out, compression, force)


@dataclass(frozen=True)
class ExportResult:
    """Result of an export."""

    path: str
    card: str
    pages: int
    unreadable: int


def run_export(
    pages: ExportPages, job: ExportJob, on_page: Callable[[], None], clock: Callable[[], float] = time.time
) -> ExportResult:
    """Write the pages and the data card, completely or not at all. `on_page` is called after each page.

    Raise `UsageError` before the first page if the output must not be replaced, and `SpaceError` if the disk is full.
    """
    to_file = job.out != STANDARD_OUTPUT
    is_folder = job.to == "markdown"
    card_path = None
    if to_file:
        check_overwrite(job.out, pages.directory, force=job.force, folder=is_folder)
        card_path = get_card_path(job.out) if job.card and not is_folder else None
    if card_path is not None:
        check_overwrite(card_path, pages.directory, force=job.force, folder=False)
    tally = ExportStatistics()
    output: AbstractContextManager[Path] = write_atomically(job.out) if to_file else nullcontext(job.out)
    with output as draft:
        with FORMATS[job.to][0](draft, job.compression, pages) as write:
            for page in pages:
                write(page)
                tally.add_page(page)
                on_page()
        about = CardInfo(pages, job.to, job.out.name, clock())
        if is_folder:
            (draft / CARD_NAME).write_text(render_card(tally, about), "utf-8")
        if card_path is not None:
            with translate_errors(card_path):
                write_text_file(card_path, render_card(tally, about))
    written_card = str(job.out / CARD_NAME) if is_folder else str(card_path or "")
    return ExportResult(str(job.out), written_card, tally.pages, pages.unreadable)


def choose_text_kind(to: str, requested: TextKind | None) -> TextKind:
    """Return the content of the column `text`: as requested, or the default of the format."""
    if to == "warc":
        return TextKind.NONE
    return requested or (TextKind.MARKDOWN if to == "markdown" else TextKind.VISIBLE)
