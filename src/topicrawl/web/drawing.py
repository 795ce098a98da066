"""Pictures as SVG, drawn by the server: no style of their own, so that the page's colours (and the dark) reach them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from math import cos, pi, sin

from topicrawl.collection.store import Store
from topicrawl.urls import host

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 640, 220, 44, 24
_POINTS = 160
_HOSTS = 24
_SIZE = 720


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


def host_links(store: Store) -> tuple[Counter[str], Counter[tuple[str, str]]]:
    """Pages of each host, and how often a page of one host led to a page of another."""
    pages: Counter[str] = Counter()
    ways: Counter[tuple[str, str]] = Counter()
    for url, source in store.each("SELECT url, source FROM visits WHERE failure IS NULL"):
        here = host(str(url))
        pages[here] += 1
        if source and (there := host(str(source))) != here:
            ways[there, here] += 1
    return pages, ways


def map_svg(pages: Counter[str], ways: Counter[tuple[str, str]]) -> str:
    """The largest hosts around a circle, those next to each other that lead to each other most."""
    names = _seated([name for name, _ in pages.most_common(_HOSTS)], ways)
    if not names:
        return ""
    radius = _SIZE / 2 - 185
    places = {}
    for number, name in enumerate(names):
        angle = 2 * pi * number / len(names)
        places[name] = (_SIZE / 2 + radius * cos(angle), _SIZE / 2 + radius * sin(angle), angle)
    largest, widest = max(pages.values()), max(ways.values(), default=1)
    rows = [f'<svg viewBox="0 0 {_SIZE} {_SIZE}" role="img" aria-label="Which hosts led to which" class="map">']
    middle = f"{_SIZE / 2:.0f} {_SIZE / 2:.0f}"
    for (one, other), count in ways.most_common(200):
        if one in places and other in places:
            (x, y, _), (u, v, _) = places[one], places[other]
            rows.append(
                f'<path class="way" d="M{x:.1f} {y:.1f} Q{middle} {u:.1f} {v:.1f}" '
                f'stroke-width="{0.6 + 4 * count / widest:.1f}">'
                f"<title>{escape(one)} → {escape(other)}: {count}</title></path>"
            )
    for name, (x, y, angle) in places.items():
        size = 4 + 10 * (pages[name] / largest) ** 0.5
        # Names stand outwards, and none on its head.
        turn, right = angle * 180 / pi, cos(angle) >= 0
        turn, shift, anchor = (turn, size + 5, "start") if right else (turn + 180, -size - 5, "end")
        rows.append(
            f'<circle class="host" cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}"><title>{escape(name)}: {pages[name]} pages'
            f'</title></circle><text x="{x + shift:.1f}" y="{y + 4:.1f}" text-anchor="{anchor}" '
            f'transform="rotate({turn:.1f} {x:.1f} {y:.1f})">{escape(name[:24])}</text>'
        )
    return "".join([*rows, "</svg>"])


def _seated(names: list[str], ways: Counter[tuple[str, str]]) -> list[str]:
    """Each host beside the one it has most to do with among those not seated yet."""
    if not names:
        return []
    seated, left = [names[0]], names[1:]
    while left:
        last = seated[-1]
        nearest = max(left, key=lambda name: ways[last, name] + ways[name, last])
        left.remove(nearest)
        seated.append(nearest)
    return seated
