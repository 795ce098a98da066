"""The part of a report that asks whether crawls could have known how much they had found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from topicrawl.lab.chart import Look, picture, text
from topicrawl.lab.figures import number
from topicrawl.lab.foresight import ENOUGH, Answer, foresight
from topicrawl.lab.results import Row

_SIDE = 330.0
_EDGE = 46.0
_TITLES = {"judged": "Pages it judged relevant itself", "labels": "Targets by their labels"}
TOLD = (
    "After 30, 50 and 70 % of its fetches each run was asked what share it had found of all that it would have found "
    "after as many fetches again. On the diagonal the answer was right; below it, more was still to come than it "
    "said. Hollow points missed their 90 % interval. Answers with a doubt (too early, no end in sight) are left out. "
    f"The last columns: had each run stopped when it seemed to have found {100 * ENOUGH:g} %, as with "
    f"--stop-when-found {ENOUGH:g}."
)


def foresight_html(rows: Mapping[str, Sequence[Row]], looks: Mapping[str, Look], named: Sequence[str]) -> str:
    """Strategy → its rows; two pictures and two tables of those that are named. Empty where no run was asked."""
    known = {name: of for name, of in rows.items() if foresight(of, "judged").runs}
    if not known:
        return ""
    drawn = {name: known[name] for name in named if name in known}
    keys = "".join(
        f'<li><span class="swatch" style="background:{looks[name].colour}"></span>{escape(name)}</li>' for name in drawn
    )
    panels = "".join(f"<figure>{_scatter(kind, drawn, looks)}</figure>" for kind in _TITLES)
    tables = "".join(_table(kind, known, named) for kind in _TITLES)
    return f'<ul class="keys">{keys}</ul><div class="panels">{panels}</div>{tables}'


def _scatter(kind: str, rows: Mapping[str, Sequence[Row]], looks: Mapping[str, Look]) -> str:
    """Every answer without doubt: the recall foretold against the true one."""
    low, high = _EDGE, _SIDE - 12

    def at(share: float) -> float:
        return low + (high - low) * share

    parts = [text(8, 15, _TITLES[kind], "head")]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        across, up = at(share), _SIDE - at(share) + 18
        parts.append(f'<path class="grid" d="M{low:.1f} {up:.1f}H{high:.1f}M{across:.1f} 30V{_SIDE - low + 18:.1f}"/>')
        parts.append(text(low - 6, up + 4, number(share), "tick end"))
        parts.append(text(across, _SIDE - low + 33, number(share), "tick mid"))
    parts.append(f'<path class="axis" d="M{low:.1f} {_SIDE - low + 18:.1f}L{high:.1f} 30"/>')
    parts.append(text((low + high) / 2, _SIDE + 4, "recall foretold (across), true recall (up)", "tick mid"))
    for name, of in rows.items():
        for answer in foresight(of, kind).answers:
            parts.append(_point(at(answer.recall), _SIDE - at(answer.truth) + 18, looks[name].colour, answer, name))
    return picture((_SIDE, _SIDE + 10), f"{_TITLES[kind]}: recall foretold against true recall", parts)


def _point(x: float, y: float, colour: str, answer: Answer, name: str) -> str:
    told = f"{name} after {answer.at} fetches: {answer.recall:.2f} foretold, {answer.truth:.2f} true"
    # A mark that missed its interval is hollow: colour alone must not say it.
    how = f'fill="{colour}" fill-opacity="0.45"' if answer.held else f'fill="none" stroke="{colour}"'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.8" {how}><title>{escape(told)}</title></circle>'


def _table(kind: str, rows: Mapping[str, Sequence[Row]], named: Sequence[str]) -> str:
    shown: dict[str, Sequence[Row]] = {"all strategies": [row for of in rows.values() for row in of]}
    shown |= {name: rows[name] for name in named if name in rows}
    head = (
        f'<tr><th class="left">{_TITLES[kind].lower()}</th><th>answers</th><th>90 % interval<br>held</th>'
        "<th>recall off<br>by (median)</th><th>by (9<br>of 10)</th><th>runs</th><th>would<br>have stopped</th>"
        "<th>after<br>(median)</th><th>had found<br>(median)</th><th>had found<br>(worst)</th></tr>"
    )
    body = "".join(_line(name, foresight(of, kind).values()) for name, of in shown.items())
    return f'<div class="wide"><table>{head}{body}</table></div>'


def _line(name: str, known: Mapping[str, Any]) -> str:
    cells = (
        f"{known['answered']} of {known['asked']}", _share(known["held"]), _plain(known["off_median"]),
        _plain(known["off_nine_of_ten"]), str(known["runs"]), str(known["stopped"]), _share(known["stopped_at"]),
        _share(known["had_median"]), _share(known["had_worst"]),
    )  # fmt: skip
    return f'<tr><td class="left">{escape(name)}</td>' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}".replace("%", " %")


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
