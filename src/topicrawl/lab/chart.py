"""What all pictures of a report share: colours for families, a frame with axes, lines with bands, texts.

Colours are those of Okabe and Ito, told apart by people with any kind of colour vision; dashes and marks say the same
once more, for print.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from topicrawl.lab.figures import number, spread, ticks

#: Families that always have the same colours; others get those that are left.
FAMILIES = ("classic", "learning", "semantic", "summary", "importance", "multi-metric")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("", "6 2.5", "2 2", "8 2.5 2 2.5", "11 3", "4 2 1 2 1 2", "1 2", "14 3 2 3", "3 5", "9 2 4 2")
GREY = "#c3cad1"
LETTER = 6.7  # how wide a letter of a label is, about
LINE = 15.0  # how high a label is


class Box(NamedTuple):
    """A piece of the picture that something stands on."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


@dataclass(frozen=True)
class Look:
    """How a strategy is drawn in every picture."""

    colour: str
    dash: str
    mark: int  # which shape


def looks(families: Mapping[str, str]) -> dict[str, Look]:
    """A look for each strategy: a colour and a shape for its family, a dash for its place in the family.

    >>> {name: look.colour for name, look in looks({"a": "classic", "b": "learning", "c": "classic"}).items()}
    {'a': '#0072B2', 'b': '#D55E00', 'c': '#0072B2'}
    """
    order = list(dict.fromkeys((*FAMILIES, *sorted(families.values()))))
    members: dict[str, int] = {}
    found = {}
    for name, family in families.items():
        place = members[family] = members.get(family, -1) + 1
        colour = order.index(family)
        found[name] = Look(COLOURS[colour % len(COLOURS)], DASHES[place % len(DASHES)], colour)
    return found


@dataclass(frozen=True)
class Frame:
    """Where values stand in a picture: both axes start at 0."""

    width: float
    height: float
    x_top: float
    y_top: float
    right: float = 16  # margins
    left: float = 40
    top: float = 26
    bottom: float = 34

    def x(self, value: float) -> float:
        return self.left + (self.width - self.left - self.right) * value / self.x_top

    def y(self, value: float) -> float:
        return self.height - self.bottom - (self.height - self.bottom - self.top) * value / self.y_top

    def axes(self, x_label: str, y_ticks: Sequence[float], x_most: int = 4) -> list[str]:
        """Thin lines across, numbers beside them."""
        parts = []
        end = self.width - self.right
        for value in y_ticks:
            y = self.y(value)
            parts.append(f'<path class="{"axis" if not value else "grid"}" d="M{self.left:.1f} {y:.1f}H{end:.1f}"/>')
            parts.append(text(self.left - 6, y + 3.5, number(value), "tick end"))
        low = self.height - self.bottom
        for value in ticks(self.x_top, x_most):
            if value <= self.x_top:
                parts.append(f'<path class="axis" d="M{self.x(value):.1f} {low:.1f}v4"/>')
                parts.append(text(self.x(value), low + 15, number(value), "tick mid"))
        return [*parts, text((self.left + end) / 2, self.height - 5, x_label, "tick mid")]


@dataclass(frozen=True)
class Line:
    """A curve with its name and look."""

    name: str
    values: Sequence[float]
    look: Look
    band: Sequence[tuple[float, float]] = ()
    width: float = 2.0
    named: bool = True  # whether its name stands at its end


@dataclass(frozen=True)
class Panel:
    """Curves in a frame, with a title above and names at the ends."""

    title: str
    lines: Sequence[Line]
    places: Sequence[float]
    size: tuple[float, float] = (350, 240)
    x_label: str = "fetches"
    behind: Sequence[Sequence[float]] = ()  # curves of others, in grey

    def svg(self) -> str:
        names = [line for line in self.lines if line.named]
        margin = 22 + LETTER * max((len(line.name) for line in names), default=0)
        every = [*(value for line in self.lines for value in line.values), *(v for curve in self.behind for v in curve)]
        y_ticks = ticks(max(every, default=1.0) or 1.0, 5)
        frame = Frame(*self.size, self.places[-1], y_ticks[-1], right=margin if names else 14)
        parts = [
            text(8, 15, self.title, "head"),
            *frame.axes(self.x_label, y_ticks),
            *(_polyline(frame, self.places, curve, f'stroke="{GREY}" stroke-width="1"') for curve in self.behind),
            *(_band(frame, self.places, line) for line in self.lines if line.band),
            *(_drawn(frame, self.places, line) for line in reversed(self.lines)),
            *_names(frame, self.places, names),
        ]
        told = "; ".join(f"{line.name} {line.values[-1]:.2f}" for line in self.lines if line.values)
        return picture(self.size, f"{self.title}: {told}", parts)


def picture(size: tuple[float, float], told: str, parts: Iterable[str]) -> str:
    """An SVG picture to stand in a page; `told` is for those who cannot see it."""
    width, height = size
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{escape(told)}">\n' + "\n".join(parts) + "\n</svg>"
    )


def text(x: float, y: float, words: str, kind: str = "", more: str = "") -> str:
    """A text; its kind says how it looks and where it is held."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}"{more}>{escape(words)}</text>'


def mark(x: float, y: float, look: Look, told: str) -> str:
    """A point in the colour and the shape of its family."""
    shapes = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.6"',
        f'<path d="M{x - 4.4:.1f} {y - 4.4:.1f}h8.8v8.8h-8.8z"',
        f'<path d="M{x:.1f} {y - 5.6:.1f}l5.2 9.4h-10.4z"',
        f'<path d="M{x:.1f} {y - 5.8:.1f}l5.8 5.8l-5.8 5.8l-5.8 -5.8z"',
        f'<path d="M{x:.1f} {y + 5.6:.1f}l5.2 -9.4h-10.4z"',
        f'<path d="M{x - 5.6:.1f} {y - 3:.1f}h11.2v6h-11.2z"',
        f'<path d="M{x - 3:.1f} {y - 5.6:.1f}h6v11.2h-6z"',
    )
    shape = shapes[look.mark % len(shapes)]
    return f'{shape} fill="{look.colour}" stroke="#fff" stroke-width="1"><title>{escape(told)}</title>' + (
        "</circle>" if shape.startswith("<circle") else "</path>"
    )


def _polyline(frame: Frame, places: Sequence[float], values: Sequence[float], how: str) -> str:
    pairs = zip(places, values, strict=False)
    points = " ".join(f"{frame.x(place):.1f},{frame.y(value):.1f}" for place, value in ((0, 0), *pairs))
    return f'<polyline points="{points}" fill="none" stroke-linejoin="round" {how}/>'


def _drawn(frame: Frame, places: Sequence[float], line: Line) -> str:
    dash = f' stroke-dasharray="{line.look.dash}"' if line.look.dash else ""
    return _polyline(frame, places, line.values, f'stroke="{line.look.colour}" stroke-width="{line.width:g}"{dash}')


def _band(frame: Frame, places: Sequence[float], line: Line) -> str:
    above = [(frame.x(place), frame.y(high)) for place, (_, high) in zip(places, line.band, strict=True)]
    below = [(frame.x(place), frame.y(low)) for place, (low, _) in zip(places, line.band, strict=True)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (*above, *reversed(below)))
    return f'<polygon points="{points}" fill="{line.look.colour}" fill-opacity="0.13"/>'


def _names(frame: Frame, places: Sequence[float], lines: Sequence[Line]) -> list[str]:
    """The name of each curve where it ends, or as near as there is room."""
    lines = [line for line in lines if line.values]
    ends = [frame.y(line.values[-1]) for line in lines]
    start = frame.x(places[-1])
    parts = []
    for line, end, place in zip(lines, ends, spread(ends, LINE, frame.top, frame.height - frame.bottom), strict=True):
        how = f'stroke="{line.look.colour}" stroke-width="1.5" fill="none"'
        parts.append(f'<path d="M{start:.1f} {end:.1f}L{start + 10:.1f} {place:.1f}h3" {how}/>')
        parts.append(text(start + 16, place + 4, line.name, "label"))
    return parts
