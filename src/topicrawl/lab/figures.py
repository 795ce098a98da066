"""Harvest curves as pictures: a stand-alone SVG for reports and pages, and braille dots for the terminal.

A curve is a list of values, one for each page fetched, the first after one page. Names stand at the ends of
the lines, so nobody has to match colours with a legend; the colours are those of Okabe and Ito, and dashes
tell the lines apart in print.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "12 4", "5 2 1 2 1 2", "1 2")
_WIDTH, _HEIGHT = 760, 420
_TOP, _LEFT, _BOTTOM = 70, 70, 62
_LETTER = 7.2  # how wide a letter of the labels is, about
_LINE = 17.0  # how high a label is
_LONGEST_NAME, _LONGEST_TITLE = 28, 72
_MOST_POINTS = 400

_STYLE = (
    "text{font-family:system-ui,-apple-system,'Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',sans-serif;"
    "font-size:13px;fill:#1f2933}.title{font-size:17px;font-weight:600}.tick{fill:#52606d;font-size:12px}"
    ".axis{fill:#52606d}.value{fill:#52606d}"
)

Curves = Mapping[str, Sequence[float]]


def ticks(top: float, most: int) -> list[float]:
    """Round values from 0 up to at least `top`, in at most `most` steps of 1, 2, 5 (or 25) times a power of ten.

    >>> ticks(183, 5)
    [0.0, 50.0, 100.0, 150.0, 200.0]
    >>> ticks(0.83, 5)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if top <= 0:
        return [0.0, 1.0]
    power = 10.0 ** floor(log10(top / most))
    # Quarters only where they are whole: nobody finds two and a half pages.
    factors = (1, 2, 2.5, 5, 10) if power >= 10 else (1, 2, 5, 10)
    step = next(factor * power for factor in factors if factor * power * most >= top * (1 - 1e-9))
    return [round(step * turn, 10) for turn in range(ceil(top / step * (1 - 1e-9)) + 1)]


def spread(wanted: Sequence[float], distance: float, low: float, high: float) -> list[float]:
    """Places as near as may be to the wanted ones that keep a distance from each other, in the same order.

    >>> spread([10.0, 11.0, 50.0], 5.0, 0.0, 100.0)
    [8.0, 13.0, 50.0]
    >>> spread([99.0, 99.0], 5.0, 0.0, 100.0)
    [95.0, 100.0]
    """
    order = sorted(range(len(wanted)), key=lambda index: (wanted[index], index))
    # Neighbours that crowd each other become one block around their mean; blocks that then touch are joined.
    blocks: list[tuple[float, list[int]]] = []
    for index in order:
        middle, members = wanted[index], [index]
        while True:
            room = (len(members) - 1) * distance
            middle = max(low + room / 2, min(high - room / 2, middle))
            if not blocks or blocks[-1][0] + (len(blocks[-1][1]) - 1) * distance / 2 + distance <= middle - room / 2:
                break
            members = blocks.pop()[1] + members
            middle = sum(wanted[member] for member in members) / len(members)
        blocks.append((middle, members))
    places = [0.0] * len(wanted)
    for middle, members in blocks:
        for turn, member in enumerate(members):
            places[member] = middle + (turn - (len(members) - 1) / 2) * distance
    return places


def number(value: float) -> str:
    """A value as people write it.

    >>> number(1500.0), number(0.25), number(182)
    ('1,500', '0.25', '182')
    """
    return f"{value:,.0f}" if value == round(value) else f"{value:,.2f}".rstrip("0")


def _shortened(text: str, longest: int = _LONGEST_NAME) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


@dataclass(frozen=True, slots=True)
class _Scale:
    """Where a value stands in the picture."""

    right: float
    x_top: float
    y_top: float

    def x(self, count: float) -> float:
        return _LEFT + (self.right - _LEFT) * count / self.x_top

    def y(self, value: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * value / self.y_top


def harvest_svg(
    curves: Curves, *, title: str, x_label: str = "pages fetched", y_label: str = "relevant pages found"
) -> str:
    """The curves as a stand-alone SVG picture on a white card.

    >>> harvest_svg({"best first": [1, 2, 2]}, title="Chess")[:43]
    '<svg xmlns="http://www.w3.org/2000/svg" wid'
    """
    drawn = {name: list(values) for name, values in curves.items() if len(values)}
    labels = {name: f"{_shortened(name)} {number(values[-1])}" for name, values in drawn.items()}
    margin = 44 + _LETTER * max(map(len, labels.values()), default=0)
    x_ticks = ticks(max(map(len, drawn.values()), default=1), 6)
    y_ticks = ticks(max((max(values) for values in drawn.values()), default=1), 5)
    # Lines may use the whole width; a round number behind their end would only waste it.
    longest = max(map(len, drawn.values()), default=1)
    scale = _Scale(_WIDTH - margin, longest, y_ticks[-1])
    ends = "; ".join(f"{name}: {number(values[-1])} after {len(values):,}" for name, values in drawn.items())
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        f"<title>{escape(title)}</title><desc>{escape(f'{y_label} against {x_label}. {ends}')}</desc>",
        f"<style>{_STYLE}</style>",
        f'<rect x="0.5" y="0.5" width="{_WIDTH - 1}" height="{_HEIGHT - 1}" rx="10" fill="#ffffff" stroke="#d8dee4"/>',
        f'<text class="title" x="{_LEFT - 46}" y="32">{escape(_shortened(title, _LONGEST_TITLE))}</text>',
        f'<text class="axis" x="{_LEFT - 46}" y="52">{escape(y_label)}</text>',
        *_grid(scale, x_ticks, y_ticks),
        f'<text class="axis" x="{(_LEFT + scale.right) / 2:.1f}" y="{_HEIGHT - 18}" '
        f'text-anchor="middle">{escape(x_label)}</text>',
        *_lines(drawn, scale),
        *_names(drawn, scale),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _grid(scale: _Scale, x_ticks: list[float], y_ticks: list[float]) -> list[str]:
    """Thin lines across, ticks below, and their numbers."""
    parts = []
    for value in y_ticks:
        y, colour = scale.y(value), "#9aa5b1" if value == 0 else "#e4e7eb"
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{scale.right:.1f}" stroke="{colour}" fill="none"/>')
        parts.append(f'<text class="tick" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{number(value)}</text>')
    bottom = _HEIGHT - _BOTTOM
    for count in x_ticks:
        if count <= scale.x_top and count == round(count):
            x = scale.x(count)
            parts.append(f'<path d="M{x:.1f} {bottom}v5" stroke="#9aa5b1" fill="none"/>')
            place = f'x="{x:.1f}" y="{bottom + 19}" text-anchor="middle"'
            parts.append(f'<text class="tick" {place}>{number(count)}</text>')
    return parts


def _lines(drawn: Mapping[str, list[float]], scale: _Scale) -> list[str]:
    """The curves, the first one on top; all start at nothing found."""
    parts = []
    for turn, values in reversed(list(enumerate(drawn.values()))):
        step = max(1, len(values) // _MOST_POINTS)
        counts = [*range(step, len(values), step), len(values)]
        points = [f"{scale.x(count):.1f},{scale.y(values[count - 1]):.1f}" for count in counts]
        dash = f' stroke-dasharray="{_DASHES[turn % len(_DASHES)]}"' if _DASHES[turn % len(_DASHES)] else ""
        parts.append(
            f'<polyline points="{scale.x(0):.1f},{scale.y(0):.1f} {" ".join(points)}" fill="none" '
            f'stroke="{_COLOURS[turn % len(_COLOURS)]}" stroke-width="2.5" stroke-linejoin="round"{dash}/>'
        )
    return parts


def _names(drawn: Mapping[str, list[float]], scale: _Scale) -> list[str]:
    """The name and the last value of each curve, at the height where it ends or as near as there is room."""
    ends = [scale.y(values[-1]) for values in drawn.values()]
    places = spread(ends, _LINE, _TOP, _HEIGHT - _BOTTOM)
    parts = []
    for turn, ((name, values), end, place) in enumerate(zip(drawn.items(), ends, places, strict=True)):
        colour = _COLOURS[turn % len(_COLOURS)]
        start = scale.x(len(values))
        parts.append(f'<circle cx="{start:.1f}" cy="{end:.1f}" r="3.5" fill="{colour}"/>')
        parts.append(
            f'<path d="M{start:.1f} {end:.1f}H{scale.right + 6:.1f}L{scale.right + 16:.1f} {place:.1f}h5" '
            f'stroke="{colour}" stroke-opacity="0.55" fill="none"/>'
        )
        parts.append(
            f'<text x="{scale.right + 25:.1f}" y="{place + 4.5:.1f}">{escape(_shortened(name))} '
            f'<tspan class="value">{number(values[-1])}</tspan></text>'
        )
    return parts


class _Dots:
    """A sheet of braille characters, two dots wide and four high each."""

    _BITS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))

    def __init__(self, columns: int, rows: int) -> None:
        self.width, self.height = columns * 2, rows * 4
        self._cells = [[0] * columns for _ in range(rows)]

    def row(self, height: float) -> int:
        """The row of characters at a height of 0…1."""
        return round((1 - height) * (self.height - 1)) // 4

    def put(self, x: int, y: int) -> None:
        """A dot, counted from the upper left."""
        self._cells[y // 4][x // 2] |= self._BITS[x % 2][y % 4]

    def draw(self, heights: Sequence[float], every: int) -> None:
        """A line through heights of 0…1, one for each column; only each `every`th dot of it is put."""
        before = None
        for x, height in enumerate(heights):
            y = round((1 - height) * (self.height - 1))
            # A steep line is filled up, so that it does not fall apart.
            between = range(y, before, 1 if y < before else -1) if before is not None and every == 1 else ()
            if x % every == 0 or x == len(heights) - 1:
                for step in (y, *between):
                    self.put(x, step)
            before = y

    def rows(self) -> list[str]:
        return ["".join(chr(0x2800 + cell) if cell else " " for cell in row) for row in self._cells]


def _at(values: Sequence[float], count: float) -> float:
    """The value after `count` pages, between two pages the part between; nothing after none."""
    below = min(int(count), len(values))
    low = values[below - 1] if below else 0.0
    high = values[min(below, len(values) - 1)]
    return low + (high - low) * (count - below)


def harvest_text(
    curves: Curves,
    *,
    width: int = 78,
    height: int = 16,
    x_label: str = "pages fetched",
    y_label: str = "relevant pages found",
) -> str:
    """The curves as lines of text: braille dots between axes, names at the ends. Later curves are thinner.

    >>> print(harvest_text({"best": [1, 2, 3, 4], "plain": [0, 0, 0, 2]}, width=40, height=5), end="")
    relevant pages found
    5 ┤
      │                      ⣀⡠⠤⠔⠒⠊⠉ best 4
      │              ⢀⣀⠤⠤⠒⠒⠉⠉      ⢀ plain 2
      │       ⣀⡠⠤⠔⠒⠊⠉⠁          ⡀⠄⠂⠁
    0 ┤⣀⡤⡤⡒⡒⡉⡉⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⠄⠂⠁
      └─────────────────────────────
       0 pages fetched             4
    """
    drawn = {_shortened(name): list(values) for name, values in curves.items() if len(values)}
    longest = max(map(len, drawn.values()), default=1)
    y_ticks = ticks(max((max(values) for values in drawn.values()), default=1), max(1, height // 3))
    names = [f" {name} {number(values[-1])}" for name, values in drawn.items()]
    gutter = max(len(number(value)) for value in y_ticks)
    columns = max(8, width - gutter - 2 - max(map(len, names), default=0))
    dots = _Dots(columns, height)
    for turn, values in enumerate(drawn.values()):
        reach = max(1, round((dots.width - 1) * len(values) / longest))
        counts = [len(values) * x / reach for x in range(reach + 1)]
        dots.draw([_at(values, count) / y_ticks[-1] for count in counts], turn + 1)
    ends = [float(dots.row(values[-1] / y_ticks[-1])) for values in drawn.values()]
    beside = dict(zip((round(place) for place in spread(ends, 1.0, 0, height - 1)), names, strict=True))
    marks = {dots.row(value / y_ticks[-1]): number(value) for value in y_ticks}
    lines = [y_label]
    for row, text in enumerate(dots.rows()):
        mark, axis = marks.get(row, ""), "┤" if row in marks else "│"
        lines.append(f"{mark:>{gutter}} {axis}{text}{beside.get(row, '')}".rstrip())
    lines.append(f"{'':{gutter}} └{'─' * columns}")
    first, last = f"0 {x_label}", number(longest)
    lines.append(f"{'':{gutter}}  {first}{last:>{max(1, columns - len(first))}}")
    return "\n".join(lines) + "\n"
