"""Table of sentences for manual labelling: write it from pages and read it back with labels.

Each line contains the label (yes, no or empty), the page, the position of the sentence on the page, the sentence and
its six features. The table alone is therefore sufficient for training. Columns are separated by tabs, and the first
line contains the column names. Sentences removed by pruning are not in the table, because the network never sees them.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from topicrawl.database import write_text_file
from topicrawl.errors import SpaceError, UsageError
from topicrawl.models import Page
from topicrawl.relevance.hidden_text import filter_sentences
from topicrawl.relevance.sentence_features import FEATURE_NAMES, extract_features
from topicrawl.relevance.summary import split_plain_text
from topicrawl.text.lexicon import LanguageLexicon

COLUMNS = ("label", "page", "number", "sentence", *FEATURE_NAMES)
YES_LABELS = frozenset({"yes", "y", "1", "true"})
NO_LABELS = frozenset({"no", "n", "0", "false"})


@dataclass(frozen=True, slots=True)
class SentenceRow:
    """One sentence of a page with its features and its label."""

    page: str
    number: int  # position on the page from 1, including pruned sentences
    sentence: str
    features: tuple[float, ...]
    label: bool | None = None  # None if the sentence is not labelled yet


def build_rows(page: Page, lexicon: LanguageLexicon, *, name: str = "", anchor: str = "") -> list[SentenceRow]:
    """Return unlabelled rows for the sentences of a page that remain after pruning."""
    sentences = page.sentences or split_plain_text(page.text)
    numbers = {id(sentence): number for number, sentence in enumerate(sentences, 1)}
    pruned = filter_sentences(sentences, lexicon)
    return [
        SentenceRow(name or page.url, numbers[id(item.sentence)], item.sentence.text, row)
        for item, row in zip(pruned, extract_features(pruned, lexicon, anchor=anchor, title=page.title), strict=True)
    ]


def write_rows(path: Path, rows: Iterable[SentenceRow]) -> None:
    """Write the table atomically. An interrupted write leaves the previous file unchanged.

    Raise `SpaceError` or `UsageError` if the file cannot be written.
    """
    try:
        write_text_file(path, "".join([_format_line(COLUMNS), *(_format_line(_format_cells(row)) for row in rows)]))
    except OSError as error:
        kind = SpaceError if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else UsageError
        raise kind(f"{path} cannot be written: {error.strerror}") from error


def read_rows(path: Path) -> list[SentenceRow]:
    """Read the rows of a table, labelled or not. Raise `UsageError` with the file and the line if it is invalid."""
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageError(f"{path} cannot be read: {reason}") from error
    header = [name.strip().strip('"') for name in lines[0].rstrip("\r").split("\t")]
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        raise UsageError(
            f"{path}:1: no column {', '.join(map(repr, missing))}: the first line must contain the names "
            f"{', '.join(COLUMNS)}, separated by tabs, as written by `topicrawl train summary --label`"
        )
    indexes = [header.index(name) for name in COLUMNS]
    numbered_lines = enumerate(lines[1:], 2)
    return [
        _parse_row(line.rstrip("\r"), indexes, f"{path}:{number}") for number, line in numbered_lines if line.strip()
    ]


def _parse_row(line: str, indexes: Sequence[int], where: str) -> SentenceRow:
    cells = line.split("\t")
    if len(cells) <= max(indexes):
        raise UsageError(f"{where}: {len(cells)} columns, expected {max(indexes) + 1}, separated by tabs")
    label, page, number, sentence, *values = (cells[place].strip() for place in indexes)
    answer = label.strip('"').lower()
    if answer and answer not in YES_LABELS | NO_LABELS:
        raise UsageError(f"{where}: the label is {label[:40]!r}: write yes or no, or leave it empty")
    if not page:
        raise UsageError(f"{where}: the page is empty: training needs it to hold out whole pages for evaluation")
    try:
        count, row_features = int(number), tuple(map(float, values))
    except ValueError as error:
        raise UsageError(f"{where}: not a number in {', '.join(COLUMNS[2:3] + FEATURE_NAMES)}: {error}") from error
    if not all(map(isfinite, row_features)):
        raise UsageError(f"{where}: the features must be finite numbers")
    return SentenceRow(page, count, sentence, row_features, answer in YES_LABELS if answer else None)


def _format_cells(row: SentenceRow) -> tuple[str, ...]:
    label = "" if row.label is None else "yes" if row.label else "no"
    return (label, row.page, str(row.number), row.sentence, *(f"{value:.4g}" for value in row.features))


def _format_line(cells: Iterable[str]) -> str:
    # Sentences contain no tabs, but the name of a page may.
    return "\t".join(" ".join(cell.split()) for cell in cells) + "\n"
