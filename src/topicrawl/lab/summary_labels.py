"""Sentences that a reader labels: a table of one sentence a line, made from pages, filled in, read back.

A line holds the label (yes, no, or nothing yet), the page, the sentence's number on it, the sentence, and its six
features, so that nothing but the table is needed to train. Columns are separated by tabs and have their names in the
first line. Sentences that pruning leaves out are not in it: no network is asked about them.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from topicrawl.errors import SpaceError, UsageError
from topicrawl.records import Page
from topicrawl.relevance.pruning import kept
from topicrawl.relevance.sentence_features import FEATURES, features
from topicrawl.relevance.summary import plainly
from topicrawl.text.lexicon import Lexicon

COLUMNS = ("label", "page", "number", "sentence", *FEATURES)
YES = frozenset({"yes", "y", "1", "true"})
NO = frozenset({"no", "n", "0", "false"})


@dataclass(frozen=True, slots=True)
class Row:
    """One sentence of a page, with what a reader says about it."""

    page: str
    number: int  # 1 is the page's first sentence, pruned ones counted
    sentence: str
    features: tuple[float, ...]
    label: bool | None = None  # None: nobody has read it yet


def rows_of(page: Page, lexicon: Lexicon, *, name: str = "", anchor: str = "") -> list[Row]:
    """The sentences of a page that are left after pruning, not labelled yet."""
    told = page.sentences or plainly(page.text)
    numbers = {id(sentence): number for number, sentence in enumerate(told, 1)}
    left = kept(told, lexicon)
    return [
        Row(name or page.url, numbers[id(each.sentence)], each.sentence.text, row)
        for each, row in zip(left, features(left, lexicon, anchor=anchor, title=page.title), strict=True)
    ]


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write the whole table at once: a stop in the middle leaves the old one."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_text("".join([_line(COLUMNS), *(_line(_cells(row)) for row in rows)]), "utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        kind = SpaceError if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else UsageError
        raise kind(f"{path} cannot be written: {error.strerror}") from error


def read_rows(path: Path) -> list[Row]:
    """The rows of a table, labelled or not; a mistake names the file and the line."""
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageError(f"{path} cannot be read: {reason}") from error
    header = [name.strip().strip('"') for name in lines[0].rstrip("\r").split("\t")]
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        raise UsageError(
            f"{path}:1: no column {', '.join(map(repr, missing))}: the first line must name "
            f"{', '.join(COLUMNS)}, separated by tabs, as `topicrawl train summary --label` writes them"
        )
    places = [header.index(name) for name in COLUMNS]
    numbered = enumerate(lines[1:], 2)
    return [_row(line.rstrip("\r"), places, f"{path}:{number}") for number, line in numbered if line.strip()]


def _row(line: str, places: Sequence[int], where: str) -> Row:
    cells = line.split("\t")
    if len(cells) <= max(places):
        raise UsageError(f"{where}: {len(cells)} columns, expected {max(places) + 1}, separated by tabs")
    label, page, number, sentence, *values = (cells[place].strip() for place in places)
    said = label.strip('"').lower()
    if said and said not in YES | NO:
        raise UsageError(f"{where}: the label is {label[:40]!r}: write yes or no, or leave it empty")
    if not page:
        raise UsageError(f"{where}: the page is empty: without it, nothing can be held out for measuring")
    try:
        count, found = int(number), tuple(map(float, values))
    except ValueError as error:
        raise UsageError(f"{where}: not a number in {', '.join(COLUMNS[2:3] + FEATURES)}: {error}") from error
    if not all(map(isfinite, found)):
        raise UsageError(f"{where}: the features must be finite numbers")
    return Row(page, count, sentence, found, said in YES if said else None)


def _cells(row: Row) -> tuple[str, ...]:
    label = "" if row.label is None else "yes" if row.label else "no"
    return (label, row.page, str(row.number), row.sentence, *(f"{value:.4g}" for value in row.features))


def _line(cells: Iterable[str]) -> str:
    # A sentence has no tabs inside, but the name of a page may.
    return "\t".join(" ".join(cell.split()) for cell in cells) + "\n"
