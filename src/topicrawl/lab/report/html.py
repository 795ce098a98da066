"""HTML report of a comparison in one self-contained file: leaderboard, curves, costs and pairwise comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import isnan

from topicrawl import __version__
from topicrawl.lab.bootstrap import ConfidenceInterval
from topicrawl.lab.compare import BASELINE, Comparison
from topicrawl.lab.leaderboard import Leaderboard, StrategyResult
from topicrawl.lab.recommendation import describe_best_strategy
from topicrawl.lab.report.chart import CurveLine, CurvePanel, SeriesStyle, assign_styles, svg_image, svg_marker
from topicrawl.lab.report.forecast_section import DESCRIPTION, render_forecasts
from topicrawl.lab.report.harvest_curve import format_number
from topicrawl.lab.report.point_charts import draw_cost_chart, draw_difference_matrix, draw_recall_chart
from topicrawl.lab.report.style import STYLE
from topicrawl.lab.run import ORACLE

_LEADER_COUNT = 5  # number of strategies named in the charts of single topics
_ORACLE_STYLE = SeriesStyle("#7b8794", "3 3", 0)


@dataclass(frozen=True)
class HtmlReport:
    """Builder of the HTML report of a comparison."""

    comparison: Comparison
    leaderboard: Leaderboard

    @property
    def families(self) -> dict[str, str]:
        """Family of each strategy, in the order of the leaderboard."""
        family_by_spec = {entrant.spec: entrant.family for entrant in self.comparison.strategies}
        return {result.strategy: family_by_spec.get(result.strategy, "") for result in self.leaderboard.ranking}

    @property
    def styles(self) -> dict[str, SeriesStyle]:
        """Style of each strategy in the charts."""
        return assign_styles(self.families)

    def render(self) -> str:
        """Return the whole report as HTML."""
        web_leaderboards = self.leaderboard.by_web if len(self.leaderboard.by_web) > 1 else {}
        sections = (
            self._render_leaderboard("Leaderboard", self.leaderboard),
            *(
                self._render_leaderboard(f"Leaderboard of {web}", standings)
                for web, standings in web_leaderboards.items()
            ),
            self._render_leaders(),
            self._render_families(),
            self._render_recall(),
            self._render_cost(),
            self._render_matrix(),
            self._render_topics(),
            self._render_forecasts(),
            self._render_missing(),
            self._render_method(),
        )
        webs = " and ".join(dict.fromkeys(task.task.web for task in self.comparison.tasks))
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>Strategy comparison: {escape(webs)}</title><style>{STYLE}</style></head><body><main>\n"
            f"<h1>Strategy comparison on {escape(webs)}</h1>\n"
            f'<p class="soft">{len(self.leaderboard.ranking)} strategies on {len(self.comparison.tasks)} tasks, '
            f"{format_number(self.comparison.config.fetches)} fetches each.</p>\n"
            f"<p><strong>{escape(describe_best_strategy(self.leaderboard))}</strong></p>\n"
            + "".join(f'<p class="soft">{escape(note)}</p>\n' for note in self.comparison.notes)
            + "\n".join(filter(None, sections))
            + "\n</main></body></html>\n"
        )

    def _render_leaderboard(self, title: str, leaderboard: Leaderboard) -> str:
        points = "".join(f"<th>recall<br>at {format_number(point)}</th>" for point in leaderboard.recall_points)
        head = (
            f'<tr><th></th><th class="left">strategy</th><th class="left">family</th>{points}<th>AUC</th><th>nAUC</th>'
            "<th>95 %</th><th></th><th>CPU ms<br>per page</th><th>training<br>seconds</th><th>MB</th>"
            "<th>tasks</th></tr>"
        )
        results = [result for result in (leaderboard.oracle, *leaderboard.ranking) if result is not None]
        limits = [value for result in results for value in (result.nauc.value, result.nauc.low) if not isnan(value)]
        span = (min([0.0, *limits]), 1.0)
        first = 1 if leaderboard.oracle is None else 0
        rows = "\n".join(self._render_row(place, result, span) for place, result in enumerate(results, first))
        description = (
            "Recall is the share of the target pages that the crawl found. AUC is the mean recall over the crawl. nAUC "
            "is 0 for breadth-first and 1 for an oracle that knows the whole web. The line shows nAUC with its 95 % "
            "confidence interval."
            + (f" {leaderboard.missing_interval_reason}." if leaderboard.missing_interval_reason else "")
        )
        return _wrap_section(title, description, f'<div class="wide"><table>{head}\n{rows}</table></div>')

    def _render_row(self, rank: int, result: StrategyResult, span: tuple[float, float]) -> str:
        is_oracle = result.strategy == ORACLE
        look = _ORACLE_STYLE if is_oracle else self.styles[result.strategy]
        kind = ' class="oracle"' if is_oracle else ' class="base"' if result.strategy == BASELINE else ""
        shares = "".join(
            f"<td>{value.value:.3f}</td>".replace("-", "−") for value in (*result.recall, result.auc, result.nauc)
        )
        cost = (
            "<td></td>" * 3
            if is_oracle
            else f"<td>{result.cpu:.2f}</td><td>{result.training:.1f}</td><td>{result.memory:.0f}</td>"
        )
        return (
            f'<tr{kind}><td>{"" if is_oracle else rank}</td><td class="left">'
            f'<span class="swatch" style="background:{look.colour}"></span>{escape(result.strategy)}</td>'
            f'<td class="left">{escape(self.families.get(result.strategy, ""))}</td>{shares}'
            f"<td>{_format_limits(result.nauc)}</td>"
            f"<td>{_draw_whisker(result.nauc, span, look.colour)}</td>"
            f"{cost}<td>{result.tasks}</td></tr>"
        )

    def _get_leaders(self) -> list[str]:
        """Return the best strategies and breadth-first."""
        names = [result.strategy for result in self.leaderboard.ranking]
        return [name for place, name in enumerate(names) if place < _LEADER_COUNT or name == BASELINE]

    def _render_leaders(self) -> str:
        names, lines = self._get_leaders(), []
        for result in (self.leaderboard.oracle, *self.leaderboard.ranking):
            if result is not None and (result.strategy in names or result.strategy == ORACLE):
                look = self.styles.get(result.strategy, _ORACLE_STYLE)
                band = [(value.low, value.high) for value in result.curve if value.has_limits]
                lines.append(CurveLine(result.strategy, [value.value for value in result.curve], look, band))
        panel = CurvePanel("Mean recall over all tasks", lines, self.leaderboard.curve_points, (1000, 440))
        description = (
            "The best strategies, breadth-first and the oracle. Bands are 95 % confidence intervals over topics."
        )
        return _wrap_section("Mean recall", description, _wrap_wide(panel.to_svg()))

    def _render_families(self) -> str:
        curves = {result.strategy: [value.value for value in result.curve] for result in self.leaderboard.ranking}
        panels = []
        for family in dict.fromkeys(self.families.values()):
            members = [name for name in curves if self.families[name] == family]
            lines = [CurveLine(name, curves[name], self.styles[name]) for name in members]
            behind = [curve for name, curve in curves.items() if name not in members]
            panels.append(
                _wrap_figure(
                    CurvePanel(family, lines, self.leaderboard.curve_points, (350, 260), background=behind).to_svg()
                )
            )
        description = "The same curves, one chart per family. The curves of the other families are grey."
        return _wrap_section("Mean recall by family", description, f'<div class="panels">{"".join(panels)}</div>')

    def _render_recall(self) -> str:
        description = "Lines are 95 % confidence intervals of the last point."
        return _wrap_section(
            "Recall during the crawl", description, _wrap_wide(draw_recall_chart(self.leaderboard, self.styles))
        )

    def _render_cost(self) -> str:
        parsing = ", ".join(
            f"{1000 * seconds:.1f} ms on {web}" for web, seconds in self.comparison.parse_seconds.items()
        )
        description = "Strategies in the upper left have high quality at low cost. " + (
            f"The time to parse a page is not included: about {parsing}." if parsing else ""
        )
        return _wrap_section(
            "Cost and quality",
            description,
            self._render_legend() + _wrap_wide(draw_cost_chart(self.leaderboard.ranking, self.styles)),
        )

    def _render_legend(self) -> str:
        """Return the legend of family colours and marker shapes."""
        shown: dict[str, SeriesStyle] = {}
        for name, family in self.families.items():
            shown.setdefault(family, self.styles[name])
        items = (
            f"<li>{svg_image((14, 14), family, [svg_marker(7, 7, look, family)])}{escape(family)}</li>"
            for family, look in shown.items()
        )
        return f'<ul class="keys">{"".join(items)}</ul>'

    def _render_matrix(self) -> str:
        description = (
            "+ : the strategy of the row has a higher AUC than the strategy of the column, and the 95 % confidence "
            "interval of the difference excludes zero. − : it has a lower AUC. Differences in empty cells are not "
            "significant. Darker colours are larger differences."
        )
        return _wrap_section("Pairwise comparison", description, _wrap_wide(draw_difference_matrix(self.leaderboard)))

    def _render_topics(self) -> str:
        leaders, panels = self._get_leaders(), []
        for topic, tasks in self.leaderboard.group_tasks_by_topic().items():
            shown = [(ORACLE, _ORACLE_STYLE), *((name, self.styles[name]) for name in leaders)]
            curves = [(name, look, self.leaderboard.mean_curve(name, tasks)) for name, look in shown]
            lines = [CurveLine(name, mean_curve, look) for name, look, mean_curve in curves if mean_curve]
            others = (
                self.leaderboard.mean_curve(name, tasks) for name in self.leaderboard.names if name not in leaders
            )
            panel = CurvePanel(
                _shorten(topic),
                lines,
                self.leaderboard.curve_points,
                (350, 230),
                background=[curve for curve in others if curve],
            )
            panels.append(_wrap_figure(panel.to_svg()))
        description = (
            "Mean recall over the tasks of each topic: the best strategies over all tasks, the others in grey."
        )
        return _wrap_section("Mean recall by topic", description, f'<div class="panels">{"".join(panels)}</div>')

    def _render_forecasts(self) -> str:
        rows = {result.strategy: self.leaderboard.get_rows(result.strategy) for result in self.leaderboard.ranking}
        body = render_forecasts(rows, self.styles, self._get_leaders())
        return _wrap_section("Recall forecasts", DESCRIPTION, body) if body else ""

    def _render_missing(self) -> str:
        rows = [("task", name, reason) for name, reason in self.comparison.skipped]
        rows += [("run", f"{row['strategy']} on {row['task']}", row["failure"]) for row in self.comparison.failures]
        if not rows:
            return ""
        description = (
            "These tasks and runs are not included in any figure above. Each strategy is measured on the tasks it ran."
        )
        head = '<tr><th class="left">type</th><th class="left">name</th><th class="left">reason</th></tr>'
        return _wrap_section(
            "Missing tasks and runs",
            description,
            f'<div class="wide"><table>{head}{_render_table_rows(rows)}</table></div>',
        )

    def _render_method(self) -> str:
        tasks = self.comparison.tasks
        most = max((len(task.relevant) for task in tasks), default=0)
        head = "".join(
            f"<th>{name}</th>" for name in ("task", "links from topic", "reachable pages", "targets", "examples")
        )
        rows = "".join(
            f"<tr><td>{escape(task.name)}</td><td>{task.task.back}</td><td>{format_number(task.reachable)}</td>"
            f"<td>{format_number(len(task.targets))}</td><td>{len(task.relevant)} + {len(task.irrelevant)}</td></tr>"
            for task in tasks
        )
        description = (
            "The simulation makes one fetch at a time on recorded pages. Links out of the recording are ignored, and "
            "links with equal scores are fetched in the order of discovery. Targets are the labelled pages that are "
            "reachable from the seeds, without the seeds. Strategies that learn from examples receive up to "
            f"{most} pages on the topic and as many off it, drawn from the labels. Example pages are not targets for "
            "any strategy. Strategies that learn from browsing sessions receive the sessions of the web, if it has "
            "any. All other strategies know only the words of the topic. Confidence intervals come from 2,000 "
            "bootstrap samples of whole topics, the same for all strategies; tasks from phrases are resampled one by "
            "one. CPU time and memory depend on the machine "
            f"and vary between runs; all other figures are reproducible. Created by Topicrawl {__version__}."
        )
        return _wrap_section("Method", description, f'<div class="wide"><table><tr>{head}</tr>{rows}</table></div>')


def _wrap_section(title: str, description: str, body: str) -> str:
    kind = ' class="whole"' if body.count("<figure>") == 1 else ""  # avoid a page break inside when printed
    return f'<section{kind}><h2>{escape(title)}</h2><p class="soft">{escape(description)}</p>\n{body}</section>'


def _wrap_figure(svg: str) -> str:
    return f"<figure>{svg}</figure>"


def _wrap_wide(svg: str) -> str:
    """Wrap a chart so that it scrolls on a narrow screen instead of shrinking until its text is unreadable."""
    return f'<div class="wide">{_wrap_figure(svg)}</div>'


def _draw_whisker(value: ConfidenceInterval, span: tuple[float, float], colour: str) -> str:
    """Draw an interval as a small line with a dot, as SVG; "" if there is no value."""
    if isnan(value.value):
        return ""
    low, high = span

    def x(number: float) -> float:
        return 4 + 92 * (min(max(number, low), high) - low) / (high - low)

    parts = [
        f'<path class="axis" d="M{x(0.0):.1f} 1v14"/>',
        *(
            [f'<path d="M{x(value.low):.1f} 8H{x(value.high):.1f}" stroke="{colour}" stroke-width="2"/>']
            if value.has_limits
            else []
        ),
        f'<circle cx="{x(value.value):.1f}" cy="8" r="3.6" fill="{colour}"/>',
    ]
    return svg_image((100, 16), f"nAUC {value.value:.2f}", parts)


def _format_limits(value: ConfidenceInterval) -> str:
    return f"{_format_signed(value.low)} … {_format_signed(value.high)}" if value.has_limits else "–"


def _format_signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def _render_table_rows(rows: Iterable[Sequence[str]]) -> str:
    return "".join("<tr>" + "".join(f'<td class="wrap">{escape(cell)}</td>' for cell in row) + "</tr>" for row in rows)


def _shorten(name: str, max_length: int = 44) -> str:
    return name if len(name) <= max_length else name[: max_length - 1] + "…"


def render_report(comparison: Comparison, leaderboard: Leaderboard) -> str:
    """Return the HTML report of a comparison."""
    return HtmlReport(comparison, leaderboard).render()
