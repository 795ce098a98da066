"""Section of the report about the accuracy of recall forecasts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from topicrawl.lab.recall_forecast import STOP_RECALL, RecallForecast, measure_accuracy
from topicrawl.lab.report.chart import SeriesStyle, svg_image, svg_text
from topicrawl.lab.report.harvest_curve import format_number
from topicrawl.lab.results import ResultRow

_SIDE = 330.0
_EDGE = 46.0
_TITLES = {"judged": "Pages judged relevant by the crawl", "labels": "Targets by their labels"}
DESCRIPTION = (
    "After 30, 50 and 70 % of its fetches, each run forecasts which share of the relevant pages it has found, compared "
    "with a crawl of twice that length (at most the whole run). Points on the diagonal are exact forecasts; points "
    "below it underestimate the number of pages still to be found. Hollow points are outside their 90 % interval. "
    "Forecasts with a reservation (too early, no end in sight) are left out. The last columns show what each run had "
    f"found when its estimated recall reached {100 * STOP_RECALL:g} %, which is when a crawl with --stop-when-found "
    f"{STOP_RECALL:g} stops."
)


def render_forecasts(
    rows: Mapping[str, Sequence[ResultRow]], styles: Mapping[str, SeriesStyle], strategies: Sequence[str]
) -> str:
    """Return the section as HTML, or an empty string if no run has forecasts.

    `rows` maps each strategy to its runs. The charts and tables show those in `strategies`.
    """
    with_forecasts = {name: runs for name, runs in rows.items() if measure_accuracy(runs, "judged").runs}
    if not with_forecasts:
        return ""
    shown = {name: with_forecasts[name] for name in strategies if name in with_forecasts}
    keys = "".join(
        f'<li><span class="swatch" style="background:{styles[name].colour}"></span>{escape(name)}</li>'
        for name in shown
    )
    panels = "".join(f"<figure>{_draw_scatter(kind, shown, styles)}</figure>" for kind in _TITLES)
    tables = "".join(_render_table(kind, with_forecasts, strategies) for kind in _TITLES)
    return f'<ul class="keys">{keys}</ul><div class="panels">{panels}</div>{tables}'


def _draw_scatter(kind: str, rows: Mapping[str, Sequence[ResultRow]], styles: Mapping[str, SeriesStyle]) -> str:
    """Draw all forecasts without a reservation: predicted recall against true recall."""
    low, high = _EDGE, _SIDE - 12

    def scale(share: float) -> float:
        return low + (high - low) * share

    parts = [svg_text(8, 15, _TITLES[kind], "head")]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        across, up = scale(share), _SIDE - scale(share) + 18
        parts.append(f'<path class="grid" d="M{low:.1f} {up:.1f}H{high:.1f}M{across:.1f} 30V{_SIDE - low + 18:.1f}"/>')
        parts.append(svg_text(low - 6, up + 4, format_number(share), "tick end"))
        parts.append(svg_text(across, _SIDE - low + 33, format_number(share), "tick mid"))
    parts.append(f'<path class="axis" d="M{low:.1f} {_SIDE - low + 18:.1f}L{high:.1f} 30"/>')
    parts.append(svg_text((low + high) / 2, _SIDE + 4, "predicted recall (x axis), true recall (y axis)", "tick mid"))
    for name, runs in rows.items():
        for forecast in measure_accuracy(runs, kind).forecasts:
            parts.append(
                _draw_point(
                    scale(forecast.predicted_recall),
                    _SIDE - scale(forecast.true_recall) + 18,
                    styles[name].colour,
                    forecast,
                    name,
                )
            )
    return svg_image((_SIDE, _SIDE + 10), f"{_TITLES[kind]}: predicted recall against true recall", parts)


def _draw_point(x: float, y: float, colour: str, forecast: RecallForecast, name: str) -> str:
    tooltip = (
        f"{name} after {forecast.fetches} fetches: {forecast.predicted_recall:.2f} predicted, "
        f"{forecast.true_recall:.2f} true"
    )
    # Points outside their interval are hollow, because colour must not be the only distinction.
    attributes = (
        f'fill="{colour}" fill-opacity="0.45"' if forecast.within_interval else f'fill="none" stroke="{colour}"'
    )
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.8" {attributes}><title>{escape(tooltip)}</title></circle>'


def _render_table(kind: str, rows: Mapping[str, Sequence[ResultRow]], strategies: Sequence[str]) -> str:
    shown: dict[str, Sequence[ResultRow]] = {"all strategies": [row for runs in rows.values() for row in runs]}
    shown |= {name: rows[name] for name in strategies if name in rows}
    head = (
        f'<tr><th class="left">{_TITLES[kind].lower()}</th><th>forecasts</th><th>in 90 %<br>interval</th>'
        "<th>recall error<br>(median)</th><th>(90th<br>percentile)</th><th>runs</th><th>runs<br>stopped</th>"
        "<th>after<br>(median)</th><th>recall<br>(median)</th><th>recall<br>(worst)</th></tr>"
    )
    body = "".join(_render_row(name, measure_accuracy(runs, kind).to_dict()) for name, runs in shown.items())
    return f'<div class="wide"><table>{head}{body}</table></div>'


def _render_row(name: str, values: Mapping[str, Any]) -> str:
    cells = (
        f"{values['answered']} of {values['asked']}",
        _format_percent(values["held"]),
        _format_decimal(values["off_median"]),
        _format_decimal(values["off_nine_of_ten"]),
        str(values["runs"]),
        str(values["stopped"]),
        _format_percent(values["stopped_at"]),
        _format_percent(values["had_median"]),
        _format_percent(values["had_worst"]),
    )
    return f'<tr><td class="left">{escape(name)}</td>' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _format_percent(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}".replace("%", " %")


def _format_decimal(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
