"""Charts as SVG without styles, so that the style sheet of the page (with its dark mode) sets the colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from topicrawl.lab.report.harvest_curve import axis_ticks, spread_labels

COLOURS = 8  # number of line colours
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 640, 240, 52, 14, 26
_LABEL_WIDTH = 140  # width of the labels beside the ends of the curves
_LABEL_HEIGHT = 15.0  # height of a label
_MAX_POINTS = 160  # points of a curve


class _ChartGrid:
    """The coordinate system of a chart: axes with round numbers and horizontal grid lines."""

    def __init__(self, x_max: float, y_max: float, *, height: int, right: int) -> None:
        self.x_ticks, self.y_ticks = axis_ticks(max(1, x_max), 5), axis_ticks(max(1, y_max), 4)
        self.x_max, self.y_max = max(1, x_max), self.y_ticks[-1]
        self.width, self.height = _WIDTH - _LEFT - right, height - _TOP - _BOTTOM
        self.bottom = _TOP + self.height

    def map_point(self, fetches: float, found: float) -> tuple[float, float]:
        """Return the coordinates of a value in the picture."""
        return _LEFT + self.width * fetches / self.x_max, _TOP + self.height * (1 - found / self.y_max)

    def format_points(self, points: Sequence[tuple[float, float]]) -> str:
        """Return values as the coordinates of an SVG polyline."""
        return " ".join("{:.1f},{:.1f}".format(*self.map_point(*point)) for point in points)

    def render_axes(self) -> list[str]:
        """Return the SVG elements of the grid lines and the numbers of both axes."""
        rows = []
        for value in self.y_ticks:
            height = self.map_point(0, value)[1]
            rows.append(f'<path class="axis" d="M{_LEFT} {height:.1f} H{_LEFT + self.width}"/>')
            rows.append(f'<text x="{_LEFT - 8}" y="{height + 4:.1f}" text-anchor="end">{value:,.0f}</text>')
        for value in self.x_ticks:
            if value <= self.x_max:
                x = self.map_point(value, 0)[0]
                # The last number must stay inside the picture.
                anchor = "middle" if x < _WIDTH - 24 else "end"
                rows.append(f'<text x="{x:.1f}" y="{self.bottom + 18}" text-anchor="{anchor}">{value:,.0f}</text>')
        return rows


def render_curves(curves: Mapping[str, Sequence[int]]) -> str:
    """Render several curves in one chart, each with its name at its end; colours follow the order of the curves.

    >>> render_curves({"best_first": [0, 1, 2], "random": [0, 0, 1]}).count("<polyline")
    2
    """
    high = 2 * _HEIGHT - 80
    most, top = max(len(curve) - 1 for curve in curves.values()), max(curve[-1] for curve in curves.values())
    sheet = _ChartGrid(most, top, height=high, right=_LABEL_WIDTH)
    rows = [f'<svg viewBox="0 0 {_WIDTH} {high}" role="img" aria-label="Curves of {len(curves)} strategies">']
    rows += sheet.render_axes()
    ends = [sheet.map_point(len(curve) - 1, curve[-1]) for curve in curves.values()]
    # Move labels apart that would overlap, and keep all inside the picture.
    heights = spread_labels([height for _, height in ends], _LABEL_HEIGHT, _TOP, sheet.bottom)
    right = max(x for x, _ in ends) + 8
    for number, (name, curve) in enumerate(curves.items()):
        step = max(1, len(curve) // _MAX_POINTS)
        fetches = [*range(0, len(curve), step), len(curve) - 1]
        line = sheet.format_points([(at, curve[at]) for at in fetches])
        rows.append(f'<polyline class="line c{number % COLOURS}" points="{line}"/>')
        position = f'x="{right:.1f}" y="{heights[number] + 4:.1f}"'
        rows.append(f'<text class="name c{number % COLOURS}" {position}>{escape(name)}</text>')
    return "".join([*rows, "</svg>"])
