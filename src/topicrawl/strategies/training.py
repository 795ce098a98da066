"""A training set as a file that people can read, edit and use again: tab-separated, keywords first, then examples.

    counted	tf	14
    keyword	stock	1.0
    keyword	market	0.78012
    url	url_words	anchor	parents	surrounding	label	origin
    http://www.nasdaq.com/	0.25	0.97	0.64	0.76	relevant	examples.tsv

The values were counted against these keywords, in texts of which so many words mattered, so that all three belong
together. Columns may stand in any order, and columns that a strategy has no use for are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from topicrawl.errors import StrategyError
from topicrawl.text.keywords import WEIGHTINGS

LABELS = {"relevant": True, "irrelevant": False}


@dataclass(frozen=True, slots=True)
class Row:
    """One example: what its attributes are worth, and whether it is on the topic."""

    url: str
    values: tuple[float, ...]
    relevant: bool
    origin: str = ""  # where it came from, for people


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """Keywords with weights, and rows of attributes counted against them."""

    attributes: tuple[str, ...]
    keywords: Mapping[str, float]
    rows: Sequence[Row]
    counted: tuple[str, int] | None = None  # how words were weighed, and how many of a text's own keywords mattered

    def text(self, origin: str = "") -> str:
        """The set as the text of a file; `origin` says in one line how it was made."""
        lines = [f"# {' '.join(origin.split())}"] if origin else []
        lines.append("# Edit, add or delete lines as you like; values are from 0 to 1, labels relevant or irrelevant.")
        lines += [f"counted\t{self.counted[0]}\t{self.counted[1]}"] if self.counted else []
        lines += [f"keyword\t{word}\t{weight:.6g}" for word, weight in self.keywords.items()]
        lines.append("\t".join(("url", *self.attributes, "label", "origin")))
        for row in self.rows:
            label = "relevant" if row.relevant else "irrelevant"
            lines.append("\t".join((row.url, *(f"{value:.6g}" for value in row.values), label, row.origin)))
        return "\n".join(lines) + "\n"


def read_training(text: str, path: str, attributes: Sequence[str]) -> TrainingSet:
    """The set that a file's text holds; every mistake in it is one line that says where."""
    keywords: dict[str, float] = {}
    rows: list[Row] = []
    columns: list[str] = []
    counted: tuple[str, int] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        cells = line.rstrip("\r").split("\t")
        where = f"{path}:{number}"
        if not line.strip() or line.startswith("#"):
            continue
        if cells[0] == "keyword":
            if len(cells) != 3 or not cells[1].strip():
                raise StrategyError(f"{where}: expected keyword, a tab, a word, a tab and its weight")
            keywords[cells[1].strip()] = _number(cells[2], f"{where}: the weight of {cells[1]!r}", most=1e6)
        elif cells[0] == "counted":
            counted = _counted(cells, where)
        elif cells[0] == "url":
            columns = _columns(cells, where, attributes)
        elif not columns:
            raise StrategyError(f"{where}: the line that names the columns is missing: {_expected(attributes)}")
        else:
            rows.append(_row(cells, where, columns, attributes))
    _both(rows, path)
    return TrainingSet(tuple(attributes), keywords, rows, counted)


def _counted(cells: Sequence[str], where: str) -> tuple[str, int]:
    if len(cells) != 3 or cells[1].strip() not in WEIGHTINGS or not cells[2].strip().isdecimal() or not int(cells[2]):
        weightings = " or ".join(WEIGHTINGS)
        raise StrategyError(f"{where}: expected counted, a tab, {weightings}, a tab and how many words matter")
    return cells[1].strip(), int(cells[2])


def _columns(cells: Sequence[str], where: str, attributes: Sequence[str]) -> list[str]:
    columns = [cell.strip() for cell in cells]
    for name in ("url", *attributes, "label"):
        if columns.count(name) != 1:
            times = "is missing" if name not in columns else "is named more than once"
            raise StrategyError(f"{where}: the column {name!r} {times}: expected {_expected(attributes)}")
    return columns


def _row(cells: Sequence[str], where: str, columns: Sequence[str], attributes: Sequence[str]) -> Row:
    if len(cells) != len(columns):
        raise StrategyError(f"{where}: expected {len(columns)} columns ({', '.join(columns)}), found {len(cells)}")
    cell = dict(zip(columns, (text.strip() for text in cells), strict=True))
    if cell["label"] not in LABELS:
        raise StrategyError(f"{where}: label is relevant or irrelevant, not {cell['label'][:40]!r}")
    values = tuple(_number(cell[name], f"{where}: {name}") for name in attributes)
    return Row(cell["url"], values, LABELS[cell["label"]], cell.get("origin", ""))


def _number(text: str, what: str, *, most: float = 1.0) -> float:
    try:
        value = float(text)
    except ValueError as error:
        raise StrategyError(f"{what} must be a number, not {text[:40]!r}") from error
    if not 0 <= value <= most:
        raise StrategyError(f"{what} must be a number from 0 to {most:g}, not {text[:40]!r}")
    return value


def _both(rows: Sequence[Row], path: str) -> None:
    for label, wanted in LABELS.items():
        if not any(row.relevant == wanted for row in rows):
            raise StrategyError(f"{path}: there is no {label} row: a guide learns from rows of both labels")


def _expected(attributes: Sequence[str]) -> str:
    return ", ".join(("url", *attributes, "label", "origin"))
