"""The formats of an export: JSON lines, CSV, Parquet, WARC, and a folder of Markdown. One page at a time goes in."""

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
from topicrawl.collection.export import Exported, Pages
from topicrawl.collection.export_output import compressed
from topicrawl.collection.warc import metadata, record_id, warcinfo

#: Takes a page in; what was taken in is whole when the context ends.
Write: TypeAlias = Callable[[Exported], None]
#: Where to, how it is compressed, and the pages, for formats that copy their records.
Format: TypeAlias = Callable[[Path, str, Pages], AbstractContextManager[Write]]

NAMES = tuple(item.name for item in fields(Exported))


def plain(page: Exported) -> dict[str, object]:
    """A page as JSON has it: times as text, lists as lists."""
    return {name: _plain(getattr(page, name)) for name in NAMES}


@contextmanager
def jsonl(path: Path, kind: str, pages: Pages) -> Iterator[Write]:
    """One JSON object a line."""
    with compressed(path, kind) as file:
        yield lambda page: _written(file, json.dumps(plain(page), ensure_ascii=False) + "\n")


@contextmanager
def table(path: Path, kind: str, pages: Pages) -> Iterator[Write]:
    """CSV with a line of names; lists are joined by a space, since neither addresses nor wishes hold one.

    A wish such as `max-snippet: 20` loses its own.
    """
    line = io.StringIO()
    rows = csv.writer(line, lineterminator="\n")
    with compressed(path, kind) as file:
        rows.writerow(NAMES)

        def write(page: Exported) -> None:
            rows.writerow([_cell(getattr(page, name)) for name in NAMES])
            _written(file, line.getvalue())
            line.seek(0)
            line.truncate()

        yield write
        # The names alone, when no page came after them.
        _written(file, line.getvalue())


@contextmanager
def warc(path: Path, kind: str, pages: Pages) -> Iterator[Write]:
    """Response records copied byte for byte, each with a metadata record: the row as JSON, without the text."""
    random = Random(0)  # the same pages make the same records
    name = path.name.removeprefix(".").removesuffix(".part")
    about = {"software": f"topicrawl/{__version__}", "description": f"pages about {pages.topic.name}"}
    with path.open("wb") as file:
        file.write(warcinfo(name, about, pages.latest(), random))

        def write(page: Exported) -> None:
            member = pages.member(page)
            row = {name: value for name, value in plain(page).items() if name != "text"}
            told = json.dumps(row, ensure_ascii=False).encode()
            file.write(member)
            file.write(metadata(record_id(member), page.url, page.fetched.timestamp(), told, random))

        yield write


@contextmanager
def folder(path: Path, kind: str, pages: Pages) -> Iterator[Write]:
    """A file for each page, named by its id, in folders named by its first two digits; the row stands on top."""
    path.mkdir()

    def write(page: Exported) -> None:
        row = {name: value for name, value in plain(page).items() if name != "text"}
        # JSON is YAML: no title can break out of its line.
        front = "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in row.items())
        place = path / page.id[:2]
        place.mkdir(exist_ok=True)
        (place / f"{page.id}.md").write_text(f"---\n{front}---\n\n{page.text}\n", "utf-8")

    yield write


def _written(file: IO[bytes], text: str) -> None:
    file.write(text.encode())


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds").replace("+00:00", "Z")
    return list(value) if isinstance(value, tuple) else value


def _cell(value: object) -> object:
    if isinstance(value, tuple):
        return " ".join(item.replace(" ", "") for item in value)
    if isinstance(value, bool):
        return str(value).lower()
    return _plain(value)
