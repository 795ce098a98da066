"""Point charts of a comparison: recall at several points, cost against quality, matrix of pairwise differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, isnan, log10

from topicrawl.lab.bootstrap import ConfidenceInterval
from topicrawl.lab.leaderboard import Leaderboard, StrategyResult
from topicrawl.lab.report.chart import GREY, LETTER_WIDTH, BoundingBox, SeriesStyle, svg_image, svg_marker, svg_text
from topicrawl.lab.report.harvest_curve import axis_ticks, format_number

_ROW_HEIGHT = 20.0
_CELL_SIZE = 21.0
_CHART_WIDTH = 1000.0
_SCATTER_SIZE = (_CHART_WIDTH, 520.0)
_MIN_COST = 0.01  # milliseconds; lower limit of the logarithmic axis
_BETTER_COLOUR, _WORSE_COLOUR = "#0072B2", "#D55E00"


def draw_recall_chart(leaderboard: Leaderboard, styles: Mapping[str, SeriesStyle]) -> str:
    """Draw one row per strategy with a dot for the recall at each point. The last point has its interval."""
    ranked = leaderboard.ranking
    left = 20 + LETTER_WIDTH * max((len(result.strategy) for result in ranked), default=0)
    width, height = _CHART_WIDTH, 54 + _ROW_HEIGHT * len(ranked)
    last = [result.recall[-1] for result in ranked]
    marks = axis_ticks(max((it.high if it.has_limits else it.value for it in last), default=1.0) or 1.0, 5)

    def x(value: float) -> float:
        return left + (width - left - 24) * value / marks[-1]

    parts = []
    for share in marks:
        parts.append(f'<path class="grid" d="M{x(share):.1f} 26V{height - 24:.1f}"/>')
        parts.append(svg_text(x(share), height - 9, format_number(share), "tick mid"))
    shades = [0.35, 0.65, 1.0][-len(leaderboard.recall_points) :]
    for index, (point, shade) in enumerate(zip(leaderboard.recall_points, shades, strict=True)):
        parts.append(f'<circle cx="{left + 8 + 150 * index:.1f}" cy="13" r="4.6" fill="#333" fill-opacity="{shade}"/>')
        parts.append(svg_text(left + 18 + 150 * index, 17, f"after {format_number(point)} fetches", "tick"))
    for row, result in enumerate(ranked):
        y, colour = 38 + _ROW_HEIGHT * row, styles[result.strategy].colour
        parts.append(svg_text(left - 8, y + 4, result.strategy, "label end"))
        last_recall = result.recall[-1]
        if last_recall.has_limits:
            low, high = x(last_recall.low), x(last_recall.high)
            parts.append(f'<path d="M{low:.1f} {y:.1f}H{high:.1f}" stroke="{colour}" stroke-width="1.5"/>')
        for value, shade in zip(result.recall, shades, strict=True):
            dot = f'<circle cx="{x(value.value):.1f}" cy="{y:.1f}" r="4.6" fill="{colour}" fill-opacity="{shade}"'
            parts.append(
                f'{dot} stroke="#fff" stroke-width="0.8">'
                f"<title>{_format_tooltip(result.strategy, value)}</title></circle>"
            )
    return svg_image((width, height), "Recall of each strategy at several points of the crawl", parts)


def draw_cost_chart(ranked: Sequence[StrategyResult], styles: Mapping[str, SeriesStyle]) -> str:
    """Draw quality against CPU time per page. High quality at low cost is in the upper left."""
    plotted = [result for result in ranked if not isnan(result.nauc.value)]
    plot = _CostPlot.from_results(plotted)
    points = [(plot.scale_x(result.cpu), plot.scale_y(result.nauc.value)) for result in plotted]
    parts = plot.draw_axes()
    for result, (x, y) in zip(plotted, points, strict=True):
        parts.append(
            svg_marker(
                x, y, styles[result.strategy], f"{result.strategy}: nAUC {result.nauc.value:.2f}, {result.cpu:.2f} ms"
            )
        )
    parts += _draw_labels([result.strategy for result in plotted], points)
    return svg_image(_SCATTER_SIZE, "Quality against CPU time of each strategy", parts)


@dataclass(frozen=True)
class _CostPlot:
    """Mapping of costs (logarithmic) and qualities to coordinates."""

    low: float  # limits of the logarithm of the cost
    high: float
    base: float  # limits of the quality
    top: float
    step: float

    @classmethod
    def from_results(cls, results: Sequence[StrategyResult]) -> _CostPlot:
        """Return a mapping that covers all results."""
        costs = [log10(max(result.cpu, _MIN_COST)) for result in results] or [0.0]
        values = [0.0, *(result.nauc.value for result in results)]
        step = axis_ticks(max(values) - min(values) or 1.0, 6)[1]
        low, high = floor(min(costs) * 4 - 0.2) / 4, ceil(max(costs) * 4 + 0.2) / 4
        return cls(low, high, step * floor(min(values) / step), step * ceil(max(values) / step + 1e-9), step)

    def scale_x(self, cost: float) -> float:
        """Return the x coordinate of a cost in milliseconds."""
        return 56 + (_SCATTER_SIZE[0] - 96) * (log10(max(cost, _MIN_COST)) - self.low) / (self.high - self.low)

    def scale_y(self, value: float) -> float:
        """Return the y coordinate of a quality."""
        return _SCATTER_SIZE[1] - 44 - (_SCATTER_SIZE[1] - 68) * (value - self.base) / (self.top - self.base)

    def draw_axes(self) -> list[str]:
        """Return the grid lines, ticks and numbers of both axes as SVG elements."""
        width, height = _SCATTER_SIZE
        label = "CPU milliseconds per page, without parsing (logarithmic)"
        parts = [svg_text(8, 14, "nAUC", "tick"), svg_text(width / 2, height - 8, label, "tick mid")]
        for index in range(round((self.top - self.base) / self.step) + 1):
            value = round(self.base + index * self.step, 10)
            kind = "grid" if value else "axis"
            parts.append(f'<path class="{kind}" d="M56 {self.scale_y(value):.1f}H{width - 40:.1f}"/>')
            parts.append(svg_text(50, self.scale_y(value) + 4, format_number(value).replace("-", "−"), "tick end"))
        for cost in (factor * 10.0**power for power in range(-2, 5) for factor in (1, 2, 5)):
            if self.low <= log10(cost) <= self.high:
                parts.append(f'<path class="axis" d="M{self.scale_x(cost):.1f} {height - 44:.1f}v4"/>')
                parts.append(svg_text(self.scale_x(cost), height - 28, format_number(cost), "tick mid"))
        return parts


def _draw_labels(names: Sequence[str], points: Sequence[tuple[float, float]]) -> list[str]:
    """Draw a name near each point without overlaps. A thin line connects a name that is not next to its point."""
    width, height = _SCATTER_SIZE
    occupied = [BoundingBox(x - 7, y - 7, x + 7, y + 7) for x, y in points]
    parts = []
    for name, (x, y) in zip(names, points, strict=True):
        name_width = LETTER_WIDTH * len(name) + 2
        for gap in range(0, 260, 4):
            boxes = [_build_label_box(x, y, name_width, gap, direction) for direction in range(8)]
            inside = [box for box in boxes if box.left > 58 and box.right < width and 16 < box.top < height - 60]
            free = [box for box in inside if not any(box.overlaps(other) for other in occupied)]
            if free:
                break
        box = free[0] if free else boxes[0]
        occupied.append(box)
        middle = (box.top + box.bottom) / 2
        if gap > 8:
            anchor_x = min(max(x, box.left), box.right)
            anchor_y = box.top if middle > y + 8 else box.bottom if middle < y - 8 else middle
            parts.append(f'<path d="M{x:.1f} {y:.1f}L{anchor_x:.1f} {anchor_y:.1f}" stroke="{GREY}" fill="none"/>')
        parts.append(svg_text(box.left, middle + 4, name, "label"))
    return parts


def _build_label_box(x: float, y: float, width: float, gap: float, direction: int) -> BoundingBox:
    """Return the bounding box of a name on one of eight sides of a point."""
    dx, dy = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))[direction]
    left = x + 9 + gap if dx > 0 else x - 9 - gap - width if dx < 0 else x - width / 2
    middle = y + dy * (14 + gap) if not dx else y + dy * (8 + gap)
    return BoundingBox(left, middle - 7, left + width, middle + 7)


def draw_difference_matrix(leaderboard: Leaderboard) -> str:
    """Draw the matrix of differences in AUC, with a sign where the interval excludes zero and a shade for the size."""
    names = [it.strategy for it in leaderboard.ranking]
    differences = leaderboard.pairwise_differences
    largest = max((abs(difference.value) for difference in differences.values()), default=1.0) or 1.0
    label_width = LETTER_WIDTH * max(map(len, names), default=0) + 14
    side = _CELL_SIZE * len(names)
    parts = []
    for row, row_name in enumerate(names):
        y = label_width + _CELL_SIZE * row
        parts.append(svg_text(label_width - 6, y + 15, row_name, "label end"))
        x = label_width + _CELL_SIZE * row
        parts.append(
            svg_text(
                0, 0, row_name, "label", f' transform="translate({x + 14.5:.1f} {label_width - 6:.1f}) rotate(-90)"'
            )
        )
        for column, column_name in enumerate(names):
            parts.append(
                _draw_cell(
                    label_width + _CELL_SIZE * column,
                    y,
                    differences.get((row_name, column_name)),
                    largest,
                    f"{row_name} against {column_name}",
                )
            )
    return svg_image((label_width + side + 4, label_width + side + 4), "Pairwise comparison of the strategies", parts)


def _draw_cell(x: float, y: float, difference: ConfidenceInterval | None, largest: float, tooltip: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{_CELL_SIZE - 1.5:g}" height="{_CELL_SIZE - 1.5:g}"'
    if difference is None:
        return f'<rect {place} fill="#eef1f4"/>'
    colour = _BETTER_COLOUR if difference.value > 0 else _WORSE_COLOUR
    shade = 0.12 + 0.78 * abs(difference.value) / largest if difference.excludes_zero else 0.06
    limits = f" ({difference.low:+.3f} … {difference.high:+.3f})" if difference.has_limits else ""
    tooltip = f"{tooltip}: {difference.value:+.3f} AUC{limits}"
    box = f'<rect {place} fill="{colour}" fill-opacity="{shade:.2f}"><title>{escape(tooltip)}</title></rect>'
    if not difference.excludes_zero:
        return box
    return box + svg_text(x + _CELL_SIZE / 2 - 0.75, y + 14, "+" if difference.value > 0 else "−", "sign mid")


def _format_tooltip(name: str, value: ConfidenceInterval) -> str:
    limits = f" ({value.low:.3f} … {value.high:.3f})" if value.has_limits else ""
    return escape(f"{name}: {value.value:.3f}{limits}")
