"""Pictures of a comparison that are no curves: recall at some points, price against quality, who beats whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, isnan, log10

from topicrawl.lab.bootstrap import Interval
from topicrawl.lab.chart import GREY, LETTER, Box, Look, mark, picture, text
from topicrawl.lab.figures import number, ticks
from topicrawl.lab.standings import Standing, Standings

_ROW = 20.0
_CELL = 21.0
_WIDE = 1000.0
_SCATTER = (_WIDE, 520.0)
_LEAST = 0.01  # milliseconds: nothing is faster
_AHEAD, _BEHIND = "#0072B2", "#D55E00"


def recall_svg(standings: Standings, looks: Mapping[str, Look]) -> str:
    """A row for each strategy, a dot for the recall at each point; the last one with its interval."""
    ranked = standings.ranked
    left = 20 + LETTER * max((len(it.strategy) for it in ranked), default=0)
    width, height = _WIDE, 54 + _ROW * len(ranked)
    marks = ticks(max((it.recall[-1].high for it in ranked), default=1.0) or 1.0, 5)

    def x(value: float) -> float:
        return left + (width - left - 24) * value / marks[-1]

    parts = []
    for share in marks:
        parts.append(f'<path class="grid" d="M{x(share):.1f} 26V{height - 24:.1f}"/>')
        parts.append(text(x(share), height - 9, number(share), "tick mid"))
    shades = [0.35, 0.65, 1.0][-len(standings.points) :]
    for turn, (point, shade) in enumerate(zip(standings.points, shades, strict=True)):
        parts.append(f'<circle cx="{left + 8 + 150 * turn:.1f}" cy="13" r="4.6" fill="#333" fill-opacity="{shade}"/>')
        parts.append(text(left + 18 + 150 * turn, 17, f"after {number(point)} fetches", "tick"))
    for row, it in enumerate(ranked):
        y, colour = 38 + _ROW * row, looks[it.strategy].colour
        parts.append(text(left - 8, y + 4, it.strategy, "label end"))
        last = it.recall[-1]
        parts.append(f'<path d="M{x(last.low):.1f} {y:.1f}H{x(last.high):.1f}" stroke="{colour}" stroke-width="1.5"/>')
        for value, shade in zip(it.recall, shades, strict=True):
            dot = f'<circle cx="{x(value.value):.1f}" cy="{y:.1f}" r="4.6" fill="{colour}" fill-opacity="{shade}"'
            parts.append(f'{dot} stroke="#fff" stroke-width="0.8"><title>{_told(it.strategy, value)}</title></circle>')
    return picture((width, height), "Recall of each strategy at some points of the crawl", parts)


def cost_svg(ranked: Sequence[Standing], looks: Mapping[str, Look]) -> str:
    """Quality against the CPU a page takes; cheap and good is the upper left."""
    shown = [it for it in ranked if not isnan(it.nauc.value)]
    field = _Field.around(shown)
    points = [(field.x(it.cpu), field.y(it.nauc.value)) for it in shown]
    parts = field.axes()
    for it, (x, y) in zip(shown, points, strict=True):
        parts.append(mark(x, y, looks[it.strategy], f"{it.strategy}: nAUC {it.nauc.value:.2f}, {it.cpu:.2f} ms"))
    parts += _labels([it.strategy for it in shown], points)
    return picture(_SCATTER, "Quality against CPU time of each strategy", parts)


@dataclass(frozen=True)
class _Field:
    """Where costs (logarithmic) and qualities stand."""

    low: float  # of the logarithm of the cost
    high: float
    base: float  # of the quality
    top: float
    step: float

    @classmethod
    def around(cls, shown: Sequence[Standing]) -> _Field:
        costs = [log10(max(it.cpu, _LEAST)) for it in shown] or [0.0]
        values = [0.0, *(it.nauc.value for it in shown)]
        step = ticks(max(values) - min(values) or 1.0, 6)[1]
        low, high = floor(min(costs) * 4 - 0.2) / 4, ceil(max(costs) * 4 + 0.2) / 4
        return cls(low, high, step * floor(min(values) / step), step * ceil(max(values) / step + 1e-9), step)

    def x(self, cost: float) -> float:
        return 56 + (_SCATTER[0] - 96) * (log10(max(cost, _LEAST)) - self.low) / (self.high - self.low)

    def y(self, value: float) -> float:
        return _SCATTER[1] - 44 - (_SCATTER[1] - 68) * (value - self.base) / (self.top - self.base)

    def axes(self) -> list[str]:
        width, height = _SCATTER
        label = "milliseconds of CPU a page, parsing not included (logarithmic)"
        parts = [text(8, 14, "nAUC", "tick"), text(width / 2, height - 8, label, "tick mid")]
        for turn in range(round((self.top - self.base) / self.step) + 1):
            value = round(self.base + turn * self.step, 10)
            kind = "grid" if value else "axis"
            parts.append(f'<path class="{kind}" d="M56 {self.y(value):.1f}H{width - 40:.1f}"/>')
            parts.append(text(50, self.y(value) + 4, number(value).replace("-", "−"), "tick end"))
        for cost in (factor * 10.0**power for power in range(-2, 5) for factor in (1, 2, 5)):
            if self.low <= log10(cost) <= self.high:
                parts.append(f'<path class="axis" d="M{self.x(cost):.1f} {height - 44:.1f}v4"/>')
                parts.append(text(self.x(cost), height - 28, number(cost), "tick mid"))
        return parts


def _labels(names: Sequence[str], points: Sequence[tuple[float, float]]) -> list[str]:
    """A name near each point, where nothing else stands; with a thin line to the point where it had to step aside."""
    width, height = _SCATTER
    taken = [Box(x - 7, y - 7, x + 7, y + 7) for x, y in points]
    parts = []
    for name, (x, y) in zip(names, points, strict=True):
        long = LETTER * len(name) + 2
        for reach in range(0, 260, 4):
            boxes = [_beside(x, y, long, reach, turn) for turn in range(8)]
            inside = [box for box in boxes if box.left > 58 and box.right < width and 16 < box.top < height - 60]
            free = [box for box in inside if not any(box.meets(other) for other in taken)]
            if free:
                break
        box = free[0] if free else boxes[0]
        taken.append(box)
        middle = (box.top + box.bottom) / 2
        if reach > 8:
            near = min(max(x, box.left), box.right)
            edge = box.top if middle > y + 8 else box.bottom if middle < y - 8 else middle
            parts.append(f'<path d="M{x:.1f} {y:.1f}L{near:.1f} {edge:.1f}" stroke="{GREY}" fill="none"/>')
        parts.append(text(box.left, middle + 4, name, "label"))
    return parts


def _beside(x: float, y: float, long: float, reach: float, turn: int) -> Box:
    """The box of a name on one of eight sides of a point."""
    across, up = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))[turn]
    left = x + 9 + reach if across > 0 else x - 9 - reach - long if across < 0 else x - long / 2
    middle = y + up * (14 + reach) if not across else y + up * (8 + reach)
    return Box(left, middle - 7, left + long, middle + 7)


def matrix_svg(standings: Standings) -> str:
    """Who beats whom: a mark where the interval of the difference leaves out zero, a shade for its size."""
    names = [it.strategy for it in standings.ranked]
    duels = standings.duels
    most = max((abs(lead.value) for lead in duels.values()), default=1.0) or 1.0
    long = LETTER * max(map(len, names), default=0) + 14
    side = _CELL * len(names)
    parts = []
    for row, one in enumerate(names):
        y = long + _CELL * row
        parts.append(text(long - 6, y + 15, one, "label end"))
        x = long + _CELL * row
        parts.append(text(0, 0, one, "label", f' transform="translate({x + 14.5:.1f} {long - 6:.1f}) rotate(-90)"'))
        for column, two in enumerate(names):
            parts.append(_cell(long + _CELL * column, y, duels.get((one, two)), most, f"{one} against {two}"))
    return picture((long + side + 4, long + side + 4), "Which strategy beats which", parts)


def _cell(x: float, y: float, lead: Interval | None, most: float, told: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{_CELL - 1.5:g}" height="{_CELL - 1.5:g}"'
    if lead is None:
        return f'<rect {place} fill="#eef1f4"/>'
    colour = _AHEAD if lead.value > 0 else _BEHIND
    shade = 0.12 + 0.78 * abs(lead.value) / most if lead.excludes_zero else 0.06
    told = f"{told}: {lead.value:+.3f} AUC ({lead.low:+.3f} … {lead.high:+.3f})"
    box = f'<rect {place} fill="{colour}" fill-opacity="{shade:.2f}"><title>{escape(told)}</title></rect>'
    if not lead.excludes_zero:
        return box
    return box + text(x + _CELL / 2 - 0.75, y + 14, "+" if lead.value > 0 else "−", "sign mid")


def _told(name: str, value: Interval) -> str:
    return escape(f"{name}: {value.value:.3f} ({value.low:.3f} … {value.high:.3f})")
