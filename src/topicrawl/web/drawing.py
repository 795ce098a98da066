"""Pictures as SVG, drawn by the server: no style of their own, so that the page's colours (and the dark) reach them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 640, 220, 44, 24
_POINTS = 160


def curve_svg(points: Sequence[tuple[int, int]]) -> str:
    """Pages found relevant against pages fetched, with the line that would be perfect.

    >>> curve_svg([(0, 0), (10, 5)]).count("<polyline")
    1
    """
    most = max(1, points[-1][0])
    top = max(1, points[-1][1])
    wide, high = _WIDTH - _LEFT - 8, _HEIGHT - _BOTTOM - 12

    def at(pages: float, relevant: float) -> str:
        return f"{_LEFT + wide * pages / most:.1f},{12 + high * (1 - relevant / top):.1f}"

    line = " ".join(at(*point) for point in points)
    perfect = at(min(most, top), top)
    label = f"{points[-1][1]} relevant pages among {points[-1][0]} fetches"
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}" class="curve">'
        f'<line class="axis" x1="{_LEFT}" y1="{12 + high}" x2="{_WIDTH - 8}" y2="{12 + high}"/>'
        f'<line class="axis" x1="{_LEFT}" y1="12" x2="{_LEFT}" y2="{12 + high}"/>'
        f'<path class="ideal" d="M{at(0, 0)} L{perfect}"/>'
        f'<polyline class="line" points="{line}"/>'
        f'<text x="{_LEFT - 6}" y="18" text-anchor="end">{top}</text>'
        f'<text x="{_LEFT - 6}" y="{14 + high}" text-anchor="end">0</text>'
        f'<text x="{_WIDTH - 8}" y="{_HEIGHT - 6}" text-anchor="end">{most} fetches</text></svg>'
    )


def curves_svg(curves: Mapping[str, Sequence[int]]) -> str:
    """Several curves in one picture, each named where it ends.

    >>> curves_svg({"best_first": [0, 1, 2], "random": [0, 0, 1]}).count("<polyline")
    2
    """
    most = max(len(curve) - 1 for curve in curves.values())
    top = max(1, *(curve[-1] for curve in curves.values()))
    wide, high = _WIDTH - _LEFT - 120, 2 * _HEIGHT - _BOTTOM - 12
    rows = [f'<svg viewBox="0 0 {_WIDTH} {2 * _HEIGHT}" role="img" aria-label="Curves of {len(curves)} strategies">']
    rows.append(f'<path class="axis" fill="none" d="M{_LEFT} 12 V{12 + high} H{_LEFT + wide}"/>')
    lowest = 2 * _HEIGHT
    for number, (name, curve) in enumerate(sorted(curves.items(), key=lambda item: item[1][-1])):
        every = max(1, len(curve) // _POINTS)
        chosen = [*range(0, len(curve), every), len(curve) - 1]
        points = [(_LEFT + wide * at / most, 12 + high * (1 - curve[at] / top)) for at in chosen]
        # Names that would cover each other move up.
        lowest = min(points[-1][1] + 4, lowest - 15)
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        rows.append(f'<polyline class="line c{number % 6}" points="{line}"/>')
        rows.append(f'<text class="c{number % 6}" x="{points[-1][0] + 6:.1f}" y="{lowest:.1f}">{escape(name)}</text>')
    rows.append(f'<text x="{_LEFT - 6}" y="18" text-anchor="end">{top}</text>')
    rows.append(f'<text x="{_LEFT + wide}" y="{2 * _HEIGHT - 6}" text-anchor="end">{most} fetches</text></svg>')
    return "".join(rows)
