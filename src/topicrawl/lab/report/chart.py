"""Shared elements of the SVG charts: family colours, plot frame with axes, curves with confidence bands, labels.

The colours are those of Okabe and Ito, which remain distinguishable with any kind of colour vision. Dashes and marker
shapes repeat the information for print.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from topicrawl.lab.report.harvest_curve import axis_ticks, format_number, spread_labels

#: Families with fixed colours. Other families get the remaining colours.
FAMILIES = ("classic", "learning", "semantic", "summary", "importance", "multi-metric")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("", "6 2.5", "2 2", "8 2.5 2 2.5", "11 3", "4 2 1 2 1 2", "1 2", "14 3 2 3", "3 5", "9 2 4 2")
GREY = "#c3cad1"
LETTER_WIDTH = 6.7  # approximate width of a letter in a label
LINE_HEIGHT = 15.0  # height of a label


class BoundingBox(NamedTuple):
    """Bounding box of an element of the chart."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: BoundingBox) -> bool:
        """Return whether the boxes overlap."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


@dataclass(frozen=True)
class SeriesStyle:
    """Colour, dash pattern and marker shape of a strategy in all charts."""

    colour: str
    dash: str
    marker: int  # number of the marker shape


def assign_styles(families: Mapping[str, str]) -> dict[str, SeriesStyle]:
    """Return the style of each strategy: colour and marker by family, dash pattern by position in the family.

    >>> {name: look.colour for name, look in assign_styles({"a": "classic", "b": "learning", "c": "classic"}).items()}
    {'a': '#0072B2', 'b': '#D55E00', 'c': '#0072B2'}
    """
    order = list(dict.fromkeys((*FAMILIES, *sorted(families.values()))))
    members: dict[str, int] = {}
    styles = {}
    for name, family in families.items():
        position = members[family] = members.get(family, -1) + 1
        family_index = order.index(family)
        styles[name] = SeriesStyle(COLOURS[family_index % len(COLOURS)], DASHES[position % len(DASHES)], family_index)
    return styles


@dataclass(frozen=True)
class PlotFrame:
    """Mapping of values to coordinates in a chart. Both axes start at 0."""

    width: float
    height: float
    x_max: float
    y_max: float
    right: float = 16  # margins
    left: float = 40
    top: float = 26
    bottom: float = 34

    def scale_x(self, value: float) -> float:
        """Return the x coordinate of a value."""
        return self.left + (self.width - self.left - self.right) * value / self.x_max

    def scale_y(self, value: float) -> float:
        """Return the y coordinate of a value."""
        return self.height - self.bottom - (self.height - self.bottom - self.top) * value / self.y_max

    def draw_axes(self, x_label: str, y_ticks: Sequence[float], max_x_steps: int = 4) -> list[str]:
        """Return the grid lines, ticks and numbers of both axes as SVG elements."""
        parts = []
        end = self.width - self.right
        for value in y_ticks:
            y = self.scale_y(value)
            parts.append(f'<path class="{"axis" if not value else "grid"}" d="M{self.left:.1f} {y:.1f}H{end:.1f}"/>')
            parts.append(svg_text(self.left - 6, y + 3.5, format_number(value), "tick end"))
        low = self.height - self.bottom
        for value in axis_ticks(self.x_max, max_x_steps):
            if value <= self.x_max:
                parts.append(f'<path class="axis" d="M{self.scale_x(value):.1f} {low:.1f}v4"/>')
                parts.append(svg_text(self.scale_x(value), low + 15, format_number(value), "tick mid"))
        return [*parts, svg_text((self.left + end) / 2, self.height - 5, x_label, "tick mid")]


@dataclass(frozen=True)
class CurveLine:
    """A curve with its name and style."""

    name: str
    values: Sequence[float]
    style: SeriesStyle
    band: Sequence[tuple[float, float]] = ()
    width: float = 2.0
    show_name: bool = True  # whether the name is written at the end of the curve


@dataclass(frozen=True)
class CurvePanel:
    """Chart of several curves, with a title above and names at the ends of the curves."""

    title: str
    lines: Sequence[CurveLine]
    x_values: Sequence[float]
    size: tuple[float, float] = (350, 240)
    x_label: str = "fetches"
    background: Sequence[Sequence[float]] = ()  # curves drawn in grey behind the others
    has_origin: bool = True  # whether the curves start at 0, 0

    def to_svg(self) -> str:
        """Return the chart as an SVG image."""
        names = [line for line in self.lines if line.show_name]
        margin = 22 + LETTER_WIDTH * max((len(line.name) for line in names), default=0)
        all_values = [
            *(value for line in self.lines for value in line.values),
            *(v for curve in self.background for v in curve),
        ]
        y_ticks = axis_ticks(max(all_values, default=1.0) or 1.0, 5)
        frame = PlotFrame(*self.size, self.x_values[-1], y_ticks[-1], right=margin if names else 14)
        parts = [
            svg_text(8, 15, self.title, "head"),
            *frame.draw_axes(self.x_label, y_ticks),
            *(
                _svg_polyline(frame, self.x_values, curve, f'stroke="{GREY}" stroke-width="1"')
                for curve in self.background
            ),
            *(_draw_band(frame, self.x_values, line) for line in self.lines if line.band),
            *(_draw_line(frame, self.x_values, line, has_origin=self.has_origin) for line in reversed(self.lines)),
            *_draw_names(frame, self.x_values, names),
        ]
        description = "; ".join(f"{line.name} {line.values[-1]:.2f}" for line in self.lines if line.values)
        return svg_image(self.size, f"{self.title}: {description}", parts)


def svg_image(size: tuple[float, float], description: str, parts: Iterable[str]) -> str:
    """Return an SVG image for embedding in HTML. The description goes to `aria-label` for screen readers."""
    width, height = size
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{escape(description)}">\n' + "\n".join(parts) + "\n</svg>"
    )


def svg_text(x: float, y: float, content: str, css_class: str = "", attributes: str = "") -> str:
    """Return an SVG text. `css_class` has CSS classes for its style and alignment, `attributes` further attributes."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{css_class}"{attributes}>{escape(content)}</text>'


def svg_marker(x: float, y: float, style: SeriesStyle, description: str) -> str:
    """Return a point with the colour and shape of its style. The description is shown as a tooltip."""
    shapes = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.6"',
        f'<path d="M{x - 4.4:.1f} {y - 4.4:.1f}h8.8v8.8h-8.8z"',
        f'<path d="M{x:.1f} {y - 5.6:.1f}l5.2 9.4h-10.4z"',
        f'<path d="M{x:.1f} {y - 5.8:.1f}l5.8 5.8l-5.8 5.8l-5.8 -5.8z"',
        f'<path d="M{x:.1f} {y + 5.6:.1f}l5.2 -9.4h-10.4z"',
        f'<path d="M{x - 5.6:.1f} {y - 3:.1f}h11.2v6h-11.2z"',
        f'<path d="M{x - 3:.1f} {y - 5.6:.1f}h6v11.2h-6z"',
    )
    shape = shapes[style.marker % len(shapes)]
    return f'{shape} fill="{style.colour}" stroke="#fff" stroke-width="1"><title>{escape(description)}</title>' + (
        "</circle>" if shape.startswith("<circle") else "</path>"
    )


def _svg_polyline(
    frame: PlotFrame, x_values: Sequence[float], values: Sequence[float], attributes: str, *, has_origin: bool = True
) -> str:
    data = zip(x_values, values, strict=False)
    origin = [(0.0, 0.0)] if has_origin else []
    points = " ".join(f"{frame.scale_x(place):.1f},{frame.scale_y(value):.1f}" for place, value in (*origin, *data))
    return f'<polyline points="{points}" fill="none" stroke-linejoin="round" {attributes}/>'


def _draw_line(frame: PlotFrame, x_values: Sequence[float], line: CurveLine, *, has_origin: bool) -> str:
    dash = f' stroke-dasharray="{line.style.dash}"' if line.style.dash else ""
    attributes = f'stroke="{line.style.colour}" stroke-width="{line.width:g}"{dash}'
    return _svg_polyline(frame, x_values, line.values, attributes, has_origin=has_origin)


def _draw_band(frame: PlotFrame, x_values: Sequence[float], line: CurveLine) -> str:
    above = [(frame.scale_x(place), frame.scale_y(high)) for place, (_, high) in zip(x_values, line.band, strict=True)]
    below = [(frame.scale_x(place), frame.scale_y(low)) for place, (low, _) in zip(x_values, line.band, strict=True)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (*above, *reversed(below)))
    return f'<polygon points="{points}" fill="{line.style.colour}" fill-opacity="0.13"/>'


def _draw_names(frame: PlotFrame, x_values: Sequence[float], lines: Sequence[CurveLine]) -> list[str]:
    """Draw the name of each curve at its end, moved apart where names would overlap."""
    lines = [line for line in lines if line.values]
    ends = [frame.scale_y(line.values[-1]) for line in lines]
    start = frame.scale_x(x_values[-1])
    parts = []
    for line, end, place in zip(
        lines, ends, spread_labels(ends, LINE_HEIGHT, frame.top, frame.height - frame.bottom), strict=True
    ):
        how = f'stroke="{line.style.colour}" stroke-width="1.5" fill="none"'
        parts.append(f'<path d="M{start:.1f} {end:.1f}L{start + 10:.1f} {place:.1f}h3" {how}/>')
        parts.append(svg_text(start + 16, place + 4, line.name, "label"))
    return parts
