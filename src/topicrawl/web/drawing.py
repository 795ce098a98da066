"""Pictures as SVG, drawn by the server: no style of their own, so that the page's colours (and the dark) reach them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from topicrawl.lab.figures import spread, ticks

COLOURS = 8  # that lines have
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 640, 240, 52, 14, 26
_NAMES = 140  # wide, beside the ends of several curves
_LINE = 15.0  # how high a name is
_POINTS = 160


class _Sheet:
    """A sheet with axes: round numbers at both, and lines across to read heights by."""

    def __init__(self, most: float, top: float, *, high: int, right: int) -> None:
        self.across, self.up = ticks(max(1, most), 5), ticks(max(1, top), 4)
        self.most, self.top = max(1, most), self.up[-1]
        self.wide, self.high = _WIDTH - _LEFT - right, high - _TOP - _BOTTOM
        self.foot = _TOP + self.high

    def at(self, fetches: float, found: float) -> tuple[float, float]:
        return _LEFT + self.wide * fetches / self.most, _TOP + self.high * (1 - found / self.top)

    def line(self, points: Sequence[tuple[float, float]]) -> str:
        return " ".join("{:.1f},{:.1f}".format(*self.at(*point)) for point in points)

    def axes(self) -> list[str]:
        rows = []
        for value in self.up:
            height = self.at(0, value)[1]
            rows.append(f'<path class="axis" d="M{_LEFT} {height:.1f} H{_LEFT + self.wide}"/>')
            rows.append(f'<text x="{_LEFT - 8}" y="{height + 4:.1f}" text-anchor="end">{value:,.0f}</text>')
        for value in self.across:
            if value <= self.most:
                place = self.at(value, 0)[0]
                # The last number must not leave the sheet.
                anchor = "middle" if place < _WIDTH - 24 else "end"
                rows.append(f'<text x="{place:.1f}" y="{self.foot + 18}" text-anchor="{anchor}">{value:,.0f}</text>')
        return rows


def curve_svg(points: Sequence[tuple[int, int]]) -> str:
    """Pages found relevant against pages fetched, with the line that would be perfect.

    >>> curve_svg([(0, 0), (10, 5)]).count("<polyline")
    1
    """
    most, found = points[-1]
    sheet = _Sheet(most, found, high=_HEIGHT, right=12)
    label = f"{found:,} relevant pages among {most:,} fetches"
    rows = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}" class="curve">']
    rows += sheet.axes()
    perfect = min(sheet.most, sheet.top)
    rows.append(f'<path class="ideal" d="M{sheet.line([(0, 0)])} L{sheet.line([(perfect, perfect)])}"/>')
    rows.append(f'<polyline class="line" points="{sheet.line(points)}"/></svg>')
    return "".join(rows)


def curves_svg(curves: Mapping[str, Sequence[int]]) -> str:
    """Several curves in one picture, each named at the height where it ends; colours go by the order of the curves.

    >>> curves_svg({"best_first": [0, 1, 2], "random": [0, 0, 1]}).count("<polyline")
    2
    """
    high = 2 * _HEIGHT - 80
    most, top = max(len(curve) - 1 for curve in curves.values()), max(curve[-1] for curve in curves.values())
    sheet = _Sheet(most, top, high=high, right=_NAMES)
    rows = [f'<svg viewBox="0 0 {_WIDTH} {high}" role="img" aria-label="Curves of {len(curves)} strategies">']
    rows += sheet.axes()
    ends = [sheet.at(len(curve) - 1, curve[-1]) for curve in curves.values()]
    # Names that would cover each other make room, and none leaves the picture.
    heights = spread([height for _, height in ends], _LINE, _TOP, sheet.foot)
    right = max(place for place, _ in ends) + 8
    for number, (name, curve) in enumerate(curves.items()):
        every = max(1, len(curve) // _POINTS)
        chosen = [*range(0, len(curve), every), len(curve) - 1]
        line = sheet.line([(at, curve[at]) for at in chosen])
        rows.append(f'<polyline class="line c{number % COLOURS}" points="{line}"/>')
        place = f'x="{right:.1f}" y="{heights[number] + 4:.1f}"'
        rows.append(f'<text class="name c{number % COLOURS}" {place}>{escape(name)}</text>')
    return "".join([*rows, "</svg>"])
