"""Harvest curves as charts: a stand-alone SVG image, and braille characters for the terminal.

A curve is a list of values, one for each fetched page. The name of each curve is at its end, so that no legend is
needed. The colours are those of Okabe and Ito. Dashes distinguish the lines in print.
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
_LETTER_WIDTH = 7.2  # approximate width of a letter in a label
_LINE_HEIGHT = 17.0  # height of a label
_LONGEST_NAME, _LONGEST_TITLE = 28, 72
_MAX_POINTS = 400

_STYLE = (
    "text{font-family:system-ui,-apple-system,'Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',sans-serif;"
    "font-size:13px;fill:#1f2933}.title{font-size:17px;font-weight:600}.tick{fill:#52606d;font-size:12px}"
    ".axis{fill:#52606d}.value{fill:#52606d}"
)

Curves = Mapping[str, Sequence[float]]


def axis_ticks(top: float, max_steps: int) -> list[float]:
    """Return axis ticks from 0 to at least `top`, in at most `max_steps` steps.

    A step is 1, 2, 5 (or 25) times a power of ten. A `top` of 0 or less gives the ticks 0 and 1.

    >>> axis_ticks(183, 5)
    [0.0, 50.0, 100.0, 150.0, 200.0]
    >>> axis_ticks(0.83, 5)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if top <= 0:
        return [0.0, 1.0]
    power = 10.0 ** floor(log10(top / max_steps))
    # Steps of 2.5 only from 25 upwards, because counts of pages are integers.
    factors = (1, 2, 2.5, 5, 10) if power >= 10 else (1, 2, 5, 10)
    step = next(factor * power for factor in factors if factor * power * max_steps >= top * (1 - 1e-9))
    return [round(step * turn, 10) for turn in range(ceil(top / step * (1 - 1e-9)) + 1)]


def spread_labels(positions: Sequence[float], distance: float, low: float, high: float) -> list[float]:
    """Return positions near the given ones with at least `distance` between neighbours, in the same order.

    All positions lie between `low` and `high`, if there is enough room.

    >>> spread_labels([10.0, 11.0, 50.0], 5.0, 0.0, 100.0)
    [8.0, 13.0, 50.0]
    >>> spread_labels([99.0, 99.0], 5.0, 0.0, 100.0)
    [95.0, 100.0]
    """
    sorted_indexes = sorted(range(len(positions)), key=lambda index: (positions[index], index))
    # Positions that are too close form a block around their mean; blocks that then overlap are merged.
    blocks: list[tuple[float, list[int]]] = []
    for index in sorted_indexes:
        middle, members = positions[index], [index]
        while True:
            span = (len(members) - 1) * distance
            middle = max(low + span / 2, min(high - span / 2, middle))
            if not blocks or blocks[-1][0] + (len(blocks[-1][1]) - 1) * distance / 2 + distance <= middle - span / 2:
                break
            members = blocks.pop()[1] + members
            middle = sum(positions[member] for member in members) / len(members)
        blocks.append((middle, members))
    places = [0.0] * len(positions)
    for middle, members in blocks:
        for offset, member in enumerate(members):
            places[member] = middle + (offset - (len(members) - 1) / 2) * distance
    return places


def format_number(value: float) -> str:
    """Format a value with thousands separators and at most two decimals.

    >>> format_number(1500.0), format_number(0.25), format_number(182)
    ('1,500', '0.25', '182')
    """
    return f"{value:,.0f}" if value == round(value) else f"{value:,.2f}".rstrip("0")


def _shorten(text: str, max_length: int = _LONGEST_NAME) -> str:
    return text if len(text) <= max_length else text[: max_length - 1] + "…"


@dataclass(frozen=True, slots=True)
class _PlotScale:
    """Mapping of values to coordinates in the SVG image."""

    right: float
    x_max: float
    y_max: float

    def scale_x(self, count: float) -> float:
        """Return the x coordinate of a number of pages."""
        return _LEFT + (self.right - _LEFT) * count / self.x_max

    def scale_y(self, value: float) -> float:
        """Return the y coordinate of a value."""
        return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * value / self.y_max


def render_harvest_svg(
    curves: Curves, *, title: str, x_label: str = "pages fetched", y_label: str = "relevant pages found"
) -> str:
    """Return the curves as a stand-alone SVG image on a white background.

    >>> render_harvest_svg({"best first": [1, 2, 2]}, title="Chess")[:43]
    '<svg xmlns="http://www.w3.org/2000/svg" wid'
    """
    values_by_name = {name: list(values) for name, values in curves.items() if len(values)}
    labels = {name: f"{_shorten(name)} {format_number(values[-1])}" for name, values in values_by_name.items()}
    margin = 44 + _LETTER_WIDTH * max(map(len, labels.values()), default=0)
    x_ticks = axis_ticks(max(map(len, values_by_name.values()), default=1), 6)
    y_ticks = axis_ticks(max((max(values) for values in values_by_name.values()), default=1), 5)
    # The x axis ends at the longest curve, not at the next round number, so that the lines use the whole width.
    longest = max(map(len, values_by_name.values()), default=1)
    scale = _PlotScale(_WIDTH - margin, longest, y_ticks[-1])
    ends = "; ".join(
        f"{name}: {format_number(values[-1])} after {len(values):,}" for name, values in values_by_name.items()
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        f"<title>{escape(title)}</title><desc>{escape(f'{y_label} against {x_label}. {ends}')}</desc>",
        f"<style>{_STYLE}</style>",
        f'<rect x="0.5" y="0.5" width="{_WIDTH - 1}" height="{_HEIGHT - 1}" rx="10" fill="#ffffff" stroke="#d8dee4"/>',
        f'<text class="title" x="{_LEFT - 46}" y="32">{escape(_shorten(title, _LONGEST_TITLE))}</text>',
        f'<text class="axis" x="{_LEFT - 46}" y="52">{escape(y_label)}</text>',
        *_draw_grid(scale, x_ticks, y_ticks),
        f'<text class="axis" x="{(_LEFT + scale.right) / 2:.1f}" y="{_HEIGHT - 18}" '
        f'text-anchor="middle">{escape(x_label)}</text>',
        *_draw_lines(values_by_name, scale),
        *_draw_names(values_by_name, scale),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _draw_grid(scale: _PlotScale, x_ticks: list[float], y_ticks: list[float]) -> list[str]:
    """Draw grid lines, ticks and their numbers."""
    parts = []
    for value in y_ticks:
        y, colour = scale.scale_y(value), "#9aa5b1" if value == 0 else "#e4e7eb"
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{scale.right:.1f}" stroke="{colour}" fill="none"/>')
        parts.append(
            f'<text class="tick" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{format_number(value)}</text>'
        )
    bottom = _HEIGHT - _BOTTOM
    for count in x_ticks:
        if count <= scale.x_max and count == round(count):
            x = scale.scale_x(count)
            parts.append(f'<path d="M{x:.1f} {bottom}v5" stroke="#9aa5b1" fill="none"/>')
            place = f'x="{x:.1f}" y="{bottom + 19}" text-anchor="middle"'
            parts.append(f'<text class="tick" {place}>{format_number(count)}</text>')
    return parts


def _draw_lines(curves: Mapping[str, list[float]], scale: _PlotScale) -> list[str]:
    """Draw the curves from 0, the first one on top."""
    parts = []
    for index, values in reversed(list(enumerate(curves.values()))):
        step = max(1, len(values) // _MAX_POINTS)
        counts = [*range(step, len(values), step), len(values)]
        points = [f"{scale.scale_x(count):.1f},{scale.scale_y(values[count - 1]):.1f}" for count in counts]
        dash = f' stroke-dasharray="{_DASHES[index % len(_DASHES)]}"' if _DASHES[index % len(_DASHES)] else ""
        parts.append(
            f'<polyline points="{scale.scale_x(0):.1f},{scale.scale_y(0):.1f} {" ".join(points)}" fill="none" '
            f'stroke="{_COLOURS[index % len(_COLOURS)]}" stroke-width="2.5" stroke-linejoin="round"{dash}/>'
        )
    return parts


def _draw_names(curves: Mapping[str, list[float]], scale: _PlotScale) -> list[str]:
    """Draw the name and the last value of each curve at its end, moved apart where they would overlap."""
    ends = [scale.scale_y(values[-1]) for values in curves.values()]
    places = spread_labels(ends, _LINE_HEIGHT, _TOP, _HEIGHT - _BOTTOM)
    parts = []
    for index, ((name, values), end, place) in enumerate(zip(curves.items(), ends, places, strict=True)):
        colour = _COLOURS[index % len(_COLOURS)]
        start = scale.scale_x(len(values))
        parts.append(f'<circle cx="{start:.1f}" cy="{end:.1f}" r="3.5" fill="{colour}"/>')
        parts.append(
            f'<path d="M{start:.1f} {end:.1f}H{scale.right + 6:.1f}L{scale.right + 16:.1f} {place:.1f}h5" '
            f'stroke="{colour}" stroke-opacity="0.55" fill="none"/>'
        )
        parts.append(
            f'<text x="{scale.right + 25:.1f}" y="{place + 4.5:.1f}">{escape(_shorten(name))} '
            f'<tspan class="value">{format_number(values[-1])}</tspan></text>'
        )
    return parts


class _BrailleCanvas:
    """Canvas of braille characters, each two dots wide and four dots high."""

    _BITS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))

    def __init__(self, columns: int, rows: int) -> None:
        self.width, self.height = columns * 2, rows * 4
        self._cells = [[0] * columns for _ in range(rows)]

    def row_at(self, height: float) -> int:
        """Return the character row at a height of 0…1."""
        return round((1 - height) * (self.height - 1)) // 4

    def set_dot(self, x: int, y: int) -> None:
        """Set the dot at x, y, counted from the upper left."""
        self._cells[y // 4][x // 2] |= self._BITS[x % 2][y % 4]

    def draw_line(self, heights: Sequence[float], every: int) -> None:
        """Draw a line through heights of 0…1, one for each column. Only every `every`th dot is set."""
        previous_y = None
        for x, height in enumerate(heights):
            y = round((1 - height) * (self.height - 1))
            # Steep lines are filled vertically, so that they stay connected.
            between = range(y, previous_y, 1 if y < previous_y else -1) if previous_y is not None and every == 1 else ()
            if x % every == 0 or x == len(heights) - 1:
                for step in (y, *between):
                    self.set_dot(x, step)
            previous_y = y

    def to_lines(self) -> list[str]:
        """Return the canvas as lines of text."""
        return ["".join(chr(0x2800 + cell) if cell else " " for cell in row) for row in self._cells]


def _interpolate(values: Sequence[float], count: float) -> float:
    """Return the value after `count` pages, with linear interpolation. It is 0 at 0 pages."""
    below = min(int(count), len(values))
    low = values[below - 1] if below else 0.0
    high = values[min(below, len(values) - 1)]
    return low + (high - low) * (count - below)


def render_harvest_text(
    curves: Curves,
    *,
    width: int = 78,
    height: int = 16,
    x_label: str = "pages fetched",
    y_label: str = "relevant pages found",
) -> str:
    """Return the curves as text: braille dots between axes, names at the ends. Later curves have fewer dots.

    >>> print(render_harvest_text({"best": [1, 2, 3, 4], "plain": [0, 0, 0, 2]}, width=40, height=5), end="")
    relevant pages found
    5 ┤
      │                      ⣀⡠⠤⠔⠒⠊⠉ best 4
      │              ⢀⣀⠤⠤⠒⠒⠉⠉      ⢀ plain 2
      │       ⣀⡠⠤⠔⠒⠊⠉⠁          ⡀⠄⠂⠁
    0 ┤⣀⡤⡤⡒⡒⡉⡉⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⠄⠂⠁
      └─────────────────────────────
       0 pages fetched             4
    """
    values_by_name = {_shorten(name): list(values) for name, values in curves.items() if len(values)}
    longest = max(map(len, values_by_name.values()), default=1)
    y_ticks = axis_ticks(max((max(values) for values in values_by_name.values()), default=1), max(1, height // 3))
    names = [f" {name} {format_number(values[-1])}" for name, values in values_by_name.items()]
    gutter = max(len(format_number(value)) for value in y_ticks)
    columns = max(8, width - gutter - 2 - max(map(len, names), default=0))
    dots = _BrailleCanvas(columns, height)
    for index, values in enumerate(values_by_name.values()):
        last_column = max(1, round((dots.width - 1) * len(values) / longest))
        counts = [len(values) * x / last_column for x in range(last_column + 1)]
        dots.draw_line([_interpolate(values, count) / y_ticks[-1] for count in counts], index + 1)
    ends = [float(dots.row_at(values[-1] / y_ticks[-1])) for values in values_by_name.values()]
    names_by_row = dict(zip((round(place) for place in spread_labels(ends, 1.0, 0, height - 1)), names, strict=True))
    marks = {dots.row_at(value / y_ticks[-1]): format_number(value) for value in y_ticks}
    lines = [y_label]
    for row, text in enumerate(dots.to_lines()):
        mark, axis = marks.get(row, ""), "┤" if row in marks else "│"
        lines.append(f"{mark:>{gutter}} {axis}{text}{names_by_row.get(row, '')}".rstrip())
    lines.append(f"{'':{gutter}} └{'─' * columns}")
    left_label, right_label = f"0 {x_label}", format_number(longest)
    lines.append(f"{'':{gutter}}  {left_label}{right_label:>{max(1, columns - len(left_label))}}")
    return "\n".join(lines) + "\n"
