"""Training set in an editable, tab-separated text file: keywords first, then examples.

    counted     tf      14
    keyword     stock   1.0
    keyword     market  0.78012
    url url_words       anchor  parents surrounding     label   origin
    http://www.nasdaq.com/      0.25    0.97    0.64    0.76    relevant        examples.tsv

The attribute values depend on these keywords, on the weighting and on the number of terms that count in each text (line
`counted`), so all three are stored together. With the weighting `tf_seed_idf`, the fourth column of a keyword is its
idf in the examples. Columns can have any order. Columns that a strategy does not use are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from topicrawl.errors import StrategyError
from topicrawl.text.keyword_weights import WEIGHTINGS

LABELS = {"relevant": True, "irrelevant": False}


@dataclass(frozen=True, slots=True)
class TrainingRow:
    """One training example: its attribute values and its label."""

    url: str
    values: tuple[float, ...]
    relevant: bool
    origin: str = ""  # source of the example, for information


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """Keywords with weights, and rows of attributes computed with them."""

    attributes: tuple[str, ...]
    keywords: Mapping[str, float]
    rows: Sequence[TrainingRow]
    table_weighting: tuple[str, int] | None = None  # weighting, and the number of terms of a text that count
    idf: Mapping[str, float] = field(default_factory=dict)  # idf of the keywords in the examples, for tf_seed_idf

    def to_tsv(self, origin: str = "") -> str:
        """Return the content of the file. `origin` describes in one line how the set was created."""
        lines = [f"# {' '.join(origin.split())}"] if origin else []
        lines.append("# You can edit, add or delete lines. Values are from 0 to 1. Labels are relevant or irrelevant.")
        lines += [f"counted\t{self.table_weighting[0]}\t{self.table_weighting[1]}"] if self.table_weighting else []
        for word, weight in self.keywords.items():
            idf = f"\t{self.idf[word]:.6g}" if word in self.idf else ""
            lines.append(f"keyword\t{word}\t{weight:.6g}{idf}")
        lines.append("\t".join(("url", *self.attributes, "label", "origin")))
        for row in self.rows:
            label = "relevant" if row.relevant else "irrelevant"
            lines.append("\t".join((row.url, *(f"{value:.6g}" for value in row.values), label, row.origin)))
        return "\n".join(lines) + "\n"


def parse_training_set(text: str, path: str, attributes: Sequence[str]) -> TrainingSet:
    """Parse the text of a training set file. Raise `StrategyError` with the line number of the first error."""
    keywords: dict[str, float] = {}
    idf: dict[str, float] = {}
    rows: list[TrainingRow] = []
    columns: list[str] = []
    counted: tuple[str, int] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        cells = line.rstrip("\r").split("\t")
        where = f"{path}:{number}"
        if not line.strip() or line.startswith("#"):
            continue
        if cells[0] == "keyword":
            if len(cells) not in (3, 4) or not cells[1].strip():
                raise StrategyError(f"{where}: expected keyword, a tab, a word, a tab and its weight")
            word = cells[1].strip()
            keywords[word] = _parse_number(cells[2], f"{where}: the weight of {word!r}", max_value=1e6)
            if len(cells) == 4:
                idf[word] = _parse_number(cells[3], f"{where}: the idf of {word!r}", max_value=1e6)
        elif cells[0] == "counted":
            counted = _parse_weighting_line(cells, where)
        elif cells[0] == "url":
            columns = _parse_header(cells, where, attributes)
        elif not columns:
            raise StrategyError(
                f"{where}: the line that names the columns is missing: {_format_expected_columns(attributes)}"
            )
        else:
            rows.append(_parse_row(cells, where, columns, attributes))
    _check_both_labels(rows, path)
    return TrainingSet(tuple(attributes), keywords, rows, counted, idf)


def _parse_weighting_line(cells: Sequence[str], where: str) -> tuple[str, int]:
    """Parse the line `counted` to the weighting and the number of terms."""
    if len(cells) != 3 or cells[1].strip() not in WEIGHTINGS or not cells[2].strip().isdecimal() or not int(cells[2]):
        weightings = " or ".join(WEIGHTINGS)
        raise StrategyError(f"{where}: expected counted, a tab, {weightings}, a tab and a number of words")
    return cells[1].strip(), int(cells[2])


def _parse_header(cells: Sequence[str], where: str, attributes: Sequence[str]) -> list[str]:
    """Parse the header line and check that all required columns occur once."""
    columns = [cell.strip() for cell in cells]
    for name in ("url", *attributes, "label"):
        if columns.count(name) != 1:
            times = "is missing" if name not in columns else "is named more than once"
            raise StrategyError(
                f"{where}: the column {name!r} {times}: expected {_format_expected_columns(attributes)}"
            )
    return columns


def _parse_row(cells: Sequence[str], where: str, columns: Sequence[str], attributes: Sequence[str]) -> TrainingRow:
    """Parse the line of one example."""
    if len(cells) != len(columns):
        raise StrategyError(f"{where}: expected {len(columns)} columns ({', '.join(columns)}), found {len(cells)}")
    cell = dict(zip(columns, (text.strip() for text in cells), strict=True))
    if cell["label"] not in LABELS:
        raise StrategyError(f"{where}: label is relevant or irrelevant, not {cell['label'][:40]!r}")
    values = tuple(_parse_number(cell[name], f"{where}: {name}") for name in attributes)
    return TrainingRow(cell["url"], values, LABELS[cell["label"]], cell.get("origin", ""))


def _parse_number(text: str, what: str, *, max_value: float = 1.0) -> float:
    """Parse a number from 0 to `max_value`. `what` names the value in error messages."""
    try:
        value = float(text)
    except ValueError as error:
        raise StrategyError(f"{what} must be a number, not {text[:40]!r}") from error
    if not 0 <= value <= max_value:
        raise StrategyError(f"{what} must be a number from 0 to {max_value:g}, not {text[:40]!r}")
    return value


def _check_both_labels(rows: Sequence[TrainingRow], path: str) -> None:
    """Raise `StrategyError` unless there are rows of both labels."""
    for label, wanted in LABELS.items():
        if not any(row.relevant == wanted for row in rows):
            raise StrategyError(f"{path}: there is no {label} row: a classifier needs rows of both labels")


def _format_expected_columns(attributes: Sequence[str]) -> str:
    """Return the expected column names for error messages."""
    return ", ".join(("url", *attributes, "label", "origin"))
