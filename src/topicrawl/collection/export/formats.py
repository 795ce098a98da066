"""Export formats: JSON lines, CSV, WARC and a folder of Markdown files. Writers take one page at a time."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from random import Random
from typing import IO, TypeAlias

from topicrawl import __version__
from topicrawl.collection.export.output import open_compressed
from topicrawl.collection.export.rows import ExportPages, ExportRow
from topicrawl.collection.warc import build_metadata, build_warcinfo, read_record_id

#: Function that writes a page; the output is complete when the context manager ends.
WritePage: TypeAlias = Callable[[ExportRow], None]
#: Context manager that opens a format: path, compression, and the pages, for formats that copy their records.
OpenFormat: TypeAlias = Callable[[Path, str, ExportPages], AbstractContextManager[WritePage]]

COLUMN_NAMES = tuple(item.name for item in fields(ExportRow))


def to_json_row(page: ExportRow) -> dict[str, object]:
    """Return a page as a JSON object: times as text, tuples as lists."""
    return {name: _to_json_value(getattr(page, name)) for name in COLUMN_NAMES}


@contextmanager
def open_jsonl(path: Path, compression: str, pages: ExportPages) -> Iterator[WritePage]:
    """Open a JSON lines file: one JSON object per line."""
    with open_compressed(path, compression) as file:
        yield lambda page: _write_text(file, json.dumps(to_json_row(page), ensure_ascii=False) + "\n")


@contextmanager
def open_csv(path: Path, compression: str, pages: ExportPages) -> Iterator[WritePage]:
    """Open a CSV file with a header line. Lists are joined by spaces.

    Spaces inside list items are removed, as in the robots directive `max-snippet: 20`; URLs contain none.
    """
    line = io.StringIO()
    rows = csv.writer(line, lineterminator="\n")
    with open_compressed(path, compression) as file:
        rows.writerow(COLUMN_NAMES)

        def write(page: ExportRow) -> None:
            rows.writerow([_to_csv_cell(getattr(page, name)) for name in COLUMN_NAMES])
            _write_text(file, line.getvalue())
            line.seek(0)
            line.truncate()

        yield write
        # Without pages, the header line is still in the buffer.
        _write_text(file, line.getvalue())


@contextmanager
def open_warc(path: Path, compression: str, pages: ExportPages) -> Iterator[WritePage]:
    """Open a WARC file: response records copied byte for byte, each with the row as JSON in a metadata record."""
    random = Random(0)  # deterministic record ids: the same pages give the same file
    name = path.name.removeprefix(".").removesuffix(".part")
    about = {"software": f"topicrawl/{__version__}", "description": f"pages about {pages.topic.name}"}
    with path.open("wb") as file:
        file.write(build_warcinfo(name, about, pages.get_latest_fetch_time(), random))

        def write(page: ExportRow) -> None:
            member = pages.read_member(page)
            row = {name: value for name, value in to_json_row(page).items() if name != "text"}
            metadata_json = json.dumps(row, ensure_ascii=False).encode()
            file.write(member)
            file.write(build_metadata(read_record_id(member), page.fetched.timestamp(), metadata_json, random))

        yield write


@contextmanager
def open_markdown(path: Path, compression: str, pages: ExportPages) -> Iterator[WritePage]:
    """Open a folder of Markdown files, named by page id, in subfolders named by its first two digits.

    Each file starts with the row as YAML front matter.
    """
    path.mkdir()

    def write(page: ExportRow) -> None:
        row = {name: value for name, value in to_json_row(page).items() if name != "text"}
        # JSON strings are valid YAML, so no title can break out of its line.
        front = "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in row.items())
        place = path / page.id[:2]
        place.mkdir(exist_ok=True)
        (place / f"{page.id}.md").write_text(f"---\n{front}---\n\n{page.text}\n", "utf-8")

    yield write


def _write_text(file: IO[bytes], text: str) -> None:
    file.write(text.encode())


def _to_json_value(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds").replace("+00:00", "Z")
    return list(value) if isinstance(value, tuple) else value


def _to_csv_cell(value: object) -> object:
    if isinstance(value, tuple):
        return " ".join(item.replace(" ", "") for item in value)
    if isinstance(value, bool):
        return str(value).lower()
    return _to_json_value(value)
