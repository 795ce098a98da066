"""Report of a repeated experiment: claimed and measured values, tables and figures in several formats."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from html import escape
from pathlib import Path
from typing import Any

from topicrawl.database import write_text_file
from topicrawl.errors import SpaceError
from topicrawl.lab.bootstrap import ConfidenceInterval
from topicrawl.lab.leaderboard import round_or_none
from topicrawl.lab.report.style import STYLE


class ClaimOutcome(StrEnum):
    """Whether a claim of a paper holds in the measurement."""

    HOLDS = "holds"
    UNDECIDED = "undecided"  # the interval contains the case in which the claim does not hold
    FAILS = "does not hold"
    NONE = ""  # the values cannot be compared, or there is no interval


@dataclass(frozen=True)
class ClaimCheck:
    """A claim of a paper beside the measured value."""

    source: str  # figure, table or section of the paper
    statement: str
    claimed: str
    measured: ConfidenceInterval | None  # None: not measured
    outcome: ClaimOutcome
    signed: bool = False  # whether the measured value is a difference
    note: str = ""

    def format_measured(self) -> str:
        """Return the measured value with its interval, or "-"."""
        return format_interval(self.measured, signed=self.signed) if self.measured is not None else "-"


def check_order(source: str, statement: str, difference: ConfidenceInterval) -> ClaimCheck:
    """Check the claim that one crawler is better than another. `difference` is better − worse.

    >>> check_order("Fig 12", "a > b", ConfidenceInterval(3.0, 1.0, 5.0)).outcome.value
    'holds'
    >>> check_order("Fig 12", "a > b", ConfidenceInterval(-3.0, -5.0, 1.0)).outcome.value
    'undecided'
    """
    if not difference.has_limits:
        outcome = ClaimOutcome.NONE
    elif not difference.excludes_zero:
        outcome = ClaimOutcome.UNDECIDED
    else:
        outcome = ClaimOutcome.HOLDS if difference.value > 0 else ClaimOutcome.FAILS
    return ClaimCheck(source, statement, "> 0", difference, outcome, signed=True)


def check_equality(source: str, statement: str, difference: ConfidenceInterval) -> ClaimCheck:
    """Check the claim that two crawlers are equally good: the interval of the difference contains 0."""
    outcome = ClaimOutcome.FAILS if difference.excludes_zero else ClaimOutcome.HOLDS
    return ClaimCheck(
        source, statement, "0", difference, outcome if difference.has_limits else ClaimOutcome.NONE, signed=True
    )


def check_minimum(source: str, statement: str, claimed: float, measured: ConfidenceInterval) -> ClaimCheck:
    """Check a claim of at least this value: it holds if the interval is above it, and fails if it is below.

    >>> check_minimum("Table 5", "precision", 0.96, ConfidenceInterval(0.9, 0.85, 0.94)).outcome.value
    'does not hold'
    """
    if measured.has_limits:
        limits = (measured.low >= claimed, measured.high >= claimed)
        outcome = {(True, True): ClaimOutcome.HOLDS, (False, False): ClaimOutcome.FAILS}.get(
            limits, ClaimOutcome.UNDECIDED
        )
    else:
        outcome = ClaimOutcome.NONE
    return ClaimCheck(source, statement, f"≥ {format_figure(claimed)}", measured, outcome)


def check_exact(source: str, statement: str, claimed: float, computed: float, *, places: int = 6) -> ClaimCheck:
    """Check a printed value that can be computed again from other printed values.

    >>> check_exact("Table 6", "cosine", 0.936151, 0.9361510071).outcome.value
    'holds'
    """
    outcome = ClaimOutcome.HOLDS if abs(claimed - computed) <= 0.5 * 10**-places * 1.01 else ClaimOutcome.FAILS
    value = round(computed, 8)
    return ClaimCheck(source, statement, f"{claimed:g}", ConfidenceInterval(value, value, value), outcome)


def format_figure(value: float) -> str:
    """Format a figure: two decimals below 10, one below 100, none above.

    >>> format_figure(0.256), format_figure(25.61), format_figure(256.1)
    ('0.26', '25.6', '256')
    """
    size = abs(value)
    return f"{value:.2f}" if size < 10 else f"{value:.1f}" if size < 100 else f"{value:,.0f}"


def format_interval(interval: ConfidenceInterval, *, signed: bool = False) -> str:
    """Format a figure with its interval.

    >>> format_interval(ConfidenceInterval(0.5, 0.4, 0.6)), format_interval(ConfidenceInterval(2, 2, 2), signed=True)
    ('0.50 (0.40 to 0.60)', '+2.00')
    """
    sign = "+" if signed and interval.value > 0 else ""
    text = f"{sign}{format_figure(interval.value)}"
    if not interval.has_limits or interval.low == interval.high:
        # A value without an interval may be compared with many printed decimals.
        return text if signed or interval.value != round(interval.value, 8) else f"{sign}{_trim(interval.value)}"
    return f"{text} ({format_figure(interval.low)} to {format_figure(interval.high)})"


def _trim(value: float) -> str:
    return f"{value:.2f}" if round(value, 2) == value else f"{value:.6g}"


@dataclass(frozen=True)
class ReportTable:
    """A table of a report. The first column contains names."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class ReportFigure:
    """A figure of a report."""

    name: str  # file name without suffix
    title: str
    svg: str  # a stand-alone image


@dataclass
class PaperReport:
    """Everything that `topicrawl lab repeat` reports about one paper."""

    paper: str
    title: str  # author, title and year
    setup: str  # what was run: webs, tasks, budgets
    claims: list[ClaimCheck] = field(default_factory=list)
    tables: list[ReportTable] = field(default_factory=list)
    figures: list[ReportFigure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    command: str = ""
    date: str = ""

    @property
    def claim_table(self) -> ReportTable:
        """Table of the claims."""
        rows = [
            (f"{claim.source}: {claim.statement}", claim.claimed, claim.format_measured(), claim.outcome.value)
            for claim in self.claims
        ]
        return ReportTable("Claims of the paper", ("claim", "claimed", "measured", "outcome"), rows)

    def to_text(self) -> str:
        """Return the report as text tables."""
        parts = [f"{self.title}\n{self.setup}\n"]
        parts += (format_text_table(table) for table in (self.claim_table, *self.tables))
        parts += (f"{note}\n" for note in self.notes)
        return "\n".join(parts)

    def to_markdown(self) -> str:
        """Return the report as Markdown, with links to the figures."""
        origin = f"`{self.command}`, {self.date}" if self.command else self.date
        parts = [f"# {self.title}\n", f"{self.setup}\n", f"{origin}\n"]
        parts += (_format_markdown_table(table) for table in (self.claim_table, *self.tables))
        parts += (f"## {figure.title}\n\n![{figure.title}]({figure.name}.svg)\n" for figure in self.figures)
        parts += (f"{note}\n" for note in self.notes)
        return "\n".join(part for part in parts if part.strip())

    def to_html(self) -> str:
        """Return the report as one self-contained HTML file."""
        parts = [f"<h1>{escape(self.title)}</h1>", f"<p>{escape(self.setup)}</p>"]
        parts.append(f'<p class="soft"><code>{escape(self.command)}</code>, {escape(self.date)}</p>')
        parts += (_format_html_table(table) for table in (self.claim_table, *self.tables))
        parts += (
            f"<section><h2>{escape(figure.title)}</h2><figure>{figure.svg}</figure></section>"
            for figure in self.figures
        )
        parts += (f"<p>{escape(note)}</p>" for note in self.notes)
        head = '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        return f"{head}<title>{escape(self.title)}</title><style>{STYLE}</style></head><body><main>\n" + (
            "\n".join(parts) + "\n</main></body></html>\n"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values for JSON."""
        return {
            "paper": self.paper,
            "title": self.title,
            "setup": self.setup,
            "command": self.command,
            "date": self.date,
            "claims": [_claim_to_dict(claim) for claim in self.claims],
            "tables": [
                {"title": table.title, "head": list(table.head), "rows": [list(row) for row in table.rows]}
                for table in self.tables
            ],
            "figures": [f"{figure.name}.svg" for figure in self.figures],
            "notes": self.notes,
        }

    def write(self, directory: Path) -> list[Path]:
        """Write the report and its figures to a directory. Raise `SpaceError` if a file cannot be written."""
        texts = {
            "report.md": self.to_markdown(),
            "report.html": self.to_html(),
            "report.json": json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n",
            **{f"{figure.name}.svg": figure.svg for figure in self.figures},
        }
        for name, text in texts.items():
            try:
                directory.mkdir(parents=True, exist_ok=True)
                write_text_file(directory / name, text)
            except OSError as error:
                raise SpaceError(f"{directory / name} cannot be written: {error.strerror}") from error
        return [directory / name for name in texts]


def _claim_to_dict(claim: ClaimCheck) -> dict[str, Any]:
    measured = claim.measured
    values = {key: round_or_none(value) for key, value in measured._asdict().items()} if measured is not None else None
    row = {"source": claim.source, "statement": claim.statement, "claimed": claim.claimed, "measured": values}
    return {**row, "outcome": claim.outcome.value, **({"note": claim.note} if claim.note else {})}


def format_text_table(table: ReportTable) -> str:
    """Return a table as text with aligned columns."""
    rows = [tuple(table.head), *(tuple(row) for row in table.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.head))]
    lines = [table.title]
    for row in rows:
        cells = (
            text.ljust(width) if not column else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def _format_markdown_table(table: ReportTable) -> str:
    def format_row(cells: Iterable[str]) -> str:
        return "| " + " | ".join(re.sub(r"\|", r"\\|", cell) for cell in cells) + " |"

    lines = [f"## {table.title}", "", format_row(table.head), "|" + "---|" * len(table.head)]
    return "\n".join([*lines, *map(format_row, table.rows)]) + "\n"


def _format_html_table(table: ReportTable) -> str:
    head = "".join(
        f"<th{' class=left' if not column else ''}>{escape(text)}</th>" for column, text in enumerate(table.head)
    )
    rows = "".join(
        "<tr>"
        + "".join(f"<td{' class=left' if not column else ''}>{escape(text)}</td>" for column, text in enumerate(row))
        + "</tr>"
        for row in table.rows
    )
    return (
        f'<section><h2>{escape(table.title)}</h2><div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></section>"
    )
