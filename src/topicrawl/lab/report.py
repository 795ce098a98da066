"""A comparison as one HTML page that stands alone: standings, curves, price against quality, who beats whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import isnan

from topicrawl import __version__
from topicrawl.lab.bootstrap import Interval
from topicrawl.lab.chart import Line, Look, Panel, looks, mark, picture
from topicrawl.lab.chart_points import cost_svg, matrix_svg, recall_svg
from topicrawl.lab.compare import BASELINE, Comparison
from topicrawl.lab.figures import number
from topicrawl.lab.report_foresight import TOLD, foresight_html
from topicrawl.lab.report_style import STYLE
from topicrawl.lab.run import ORACLE
from topicrawl.lab.standings import Standing, Standings

_LEADERS = 5  # strategies that are named in pictures of single topics
_ORACLE = Look("#7b8794", "3 3", 0)


@dataclass(frozen=True)
class Report:
    """The page for a comparison."""

    plan: Comparison
    standings: Standings

    @property
    def families(self) -> dict[str, str]:
        """Strategy → family; families in the order of their best strategies."""
        known = {entrant.spec: entrant.family for entrant in self.plan.entrants}
        return {it.strategy: known.get(it.strategy, "") for it in self.standings.ranked}

    @property
    def looks(self) -> dict[str, Look]:
        return looks(self.families)

    def html(self) -> str:
        """The whole page."""
        several = self.standings.webs if len(self.standings.webs) > 1 else {}
        sections = (
            self._standings("Standings", self.standings),
            *(self._standings(f"Standings on {web}", standings) for web, standings in several.items()),
            self._leaders(),
            self._by_family(),
            self._recall(),
            self._cost(),
            self._matrix(),
            self._by_topic(),
            self._foresight(),
            self._missing(),
            self._method(),
        )
        webs = " and ".join(dict.fromkeys(match.task.web for match in self.plan.matches))
        best = self.standings.ranked[0].strategy if self.standings.ranked else "no strategy"
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>Which crawler? {escape(webs)}</title><style>{STYLE}</style></head><body><main>\n"
            f"<h1>Which crawler for {escape(webs)}?</h1>\n"
            f'<p class="soft">{len(self.standings.ranked)} strategies on {len(self.plan.matches)} tasks, '
            f"{number(self.plan.asked.fetches)} fetches each. Ahead: <strong>{escape(best)}</strong>.</p>\n"
            + "\n".join(filter(None, sections))
            + "\n</main></body></html>\n"
        )

    def _standings(self, title: str, standings: Standings) -> str:
        points = "".join(f"<th>recall<br>at {number(point)}</th>" for point in standings.points)
        head = (
            f'<tr><th></th><th class="left">strategy</th><th class="left">family</th>{points}<th>AUC</th><th>nAUC</th>'
            "<th>95 %</th><th></th><th>CPU ms<br>a page</th><th>seconds<br>to train</th><th>MB</th>"
            "<th>tasks</th></tr>"
        )
        every = [it for it in (standings.oracle, *standings.ranked) if it is not None]
        span = (min([0.0, *(it.nauc.low for it in every if not isnan(it.nauc.low))]), 1.0)
        first = 1 if standings.oracle is None else 0
        rows = "\n".join(self._row(place, it, span) for place, it in enumerate(every, first))
        told = (
            "Recall: the share of the pages on the topic that were found. AUC: its mean over the crawl. nAUC: 0 is "
            "breadth-first, 1 an oracle that knows the whole web. The line shows nAUC with its 95 % interval."
        )
        return _section(title, told, f'<div class="wide"><table>{head}\n{rows}</table></div>')

    def _row(self, place: int, it: Standing, span: tuple[float, float]) -> str:
        is_oracle = it.strategy == ORACLE
        look = _ORACLE if is_oracle else self.looks[it.strategy]
        kind = ' class="oracle"' if is_oracle else ' class="base"' if it.strategy == BASELINE else ""
        shares = "".join(f"<td>{value.value:.3f}</td>".replace("-", "−") for value in (*it.recall, it.auc, it.nauc))
        cost = (
            "<td></td>" * 3 if is_oracle else f"<td>{it.cpu:.2f}</td><td>{it.training:.1f}</td><td>{it.memory:.0f}</td>"
        )
        return (
            f'<tr{kind}><td>{"" if is_oracle else place}</td><td class="left">'
            f'<span class="swatch" style="background:{look.colour}"></span>{escape(it.strategy)}</td>'
            f'<td class="left">{escape(self.families.get(it.strategy, ""))}</td>{shares}'
            f"<td>{_signed(it.nauc.low)} … {_signed(it.nauc.high)}</td><td>{_whisker(it.nauc, span, look.colour)}</td>"
            f"{cost}<td>{it.tasks}</td></tr>"
        )

    def _named(self) -> list[str]:
        """The best strategies and breadth-first."""
        names = [it.strategy for it in self.standings.ranked]
        return [name for place, name in enumerate(names) if place < _LEADERS or name == BASELINE]

    def _leaders(self) -> str:
        names, lines = self._named(), []
        for it in (self.standings.oracle, *self.standings.ranked):
            if it is not None and (it.strategy in names or it.strategy == ORACLE):
                look = self.looks.get(it.strategy, _ORACLE)
                band = [(value.low, value.high) for value in it.curve]
                lines.append(Line(it.strategy, [value.value for value in it.curve], look, band))
        panel = Panel("Mean recall over all tasks", lines, self.standings.places, (1000, 440))
        told = "The best strategies, breadth-first and the oracle; bands are 95 % intervals over topics."
        return _section("Harvest on average", told, _wide(panel.svg()))

    def _by_family(self) -> str:
        curves = {it.strategy: [value.value for value in it.curve] for it in self.standings.ranked}
        panels = []
        for family in dict.fromkeys(self.families.values()):
            own = [name for name in curves if self.families[name] == family]
            lines = [Line(name, curves[name], self.looks[name]) for name in own]
            behind = [curve for name, curve in curves.items() if name not in own]
            panels.append(_figure(Panel(family, lines, self.standings.places, (350, 260), behind=behind).svg()))
        told = "The same curves, one picture a family; all others are grey behind it."
        return _section("Family by family", told, f'<div class="panels">{"".join(panels)}</div>')

    def _recall(self) -> str:
        told = "Lines are 95 % intervals of the last point."
        return _section("Recall along the way", told, _wide(recall_svg(self.standings, self.looks)))

    def _cost(self) -> str:
        parsing = ", ".join(f"{1000 * seconds:.1f} ms on {web}" for web, seconds in self.plan.parsing.items())
        told = "Cheap and good is the upper left. " + (
            f"Parsing a page comes on top: about {parsing}." if parsing else ""
        )
        return _section("Price and quality", told, self._keys() + _wide(cost_svg(self.standings.ranked, self.looks)))

    def _keys(self) -> str:
        """Which colour and shape stands for which family."""
        shown: dict[str, Look] = {}
        for name, family in self.families.items():
            shown.setdefault(family, self.looks[name])
        items = (
            f"<li>{picture((14, 14), family, [mark(7, 7, look, family)])}{escape(family)}</li>"
            for family, look in shown.items()
        )
        return f'<ul class="keys">{"".join(items)}</ul>'

    def _matrix(self) -> str:
        told = (
            "+ : the strategy of the row found more than the one of the column, and the 95 % interval of the "
            "difference of their AUC leaves out zero; − : it found less. Empty cells are not decided. Deeper colours "
            "are larger differences."
        )
        return _section("Who beats whom", told, _wide(matrix_svg(self.standings)))

    def _by_topic(self) -> str:
        leaders, panels = self._named(), []
        for topic, tasks in self.standings.topics().items():
            shown = [(ORACLE, _ORACLE), *((name, self.looks[name]) for name in leaders)]
            curves = [(name, look, self.standings.curve(name, tasks)) for name, look in shown]
            lines = [Line(name, curve, look) for name, look, curve in curves if curve]
            others = (self.standings.curve(name, tasks) for name in self.standings.names if name not in leaders)
            panel = Panel(
                _shortened(topic), lines, self.standings.places, (350, 230), behind=[it for it in others if it]
            )
            panels.append(_figure(panel.svg()))
        told = "Mean recall over the tasks of each topic: the best strategies of all tasks, the others in grey."
        return _section("Topic by topic", told, f'<div class="panels">{"".join(panels)}</div>')

    def _foresight(self) -> str:
        rows = {it.strategy: self.standings.rows(it.strategy) for it in self.standings.ranked}
        body = foresight_html(rows, self.looks, self._named())
        return _section("What was still to come", TOLD, body) if body else ""

    def _missing(self) -> str:
        rows = [("task", name, reason) for name, reason in self.plan.skipped]
        rows += [("run", f"{row['strategy']} on {row['task']}", row["failure"]) for row in self.plan.failures]
        if not rows:
            return ""
        told = "These have no part in any figure above; a strategy with fewer tasks is measured on those it ran."
        head = '<tr><th class="left">what</th><th class="left">which</th><th class="left">why</th></tr>'
        return _section("What is missing", told, f'<div class="wide"><table>{head}{_table_rows(rows)}</table></div>')

    def _method(self) -> str:
        matches = self.plan.matches
        most = max((len(match.relevant) for match in matches), default=0)
        head = "".join(
            f"<th>{name}</th>" for name in ("task", "links from the topic", "pages in reach", "targets", "examples")
        )
        rows = "".join(
            f"<tr><td>{escape(match.name)}</td><td>{match.task.back}</td><td>{number(match.reachable)}</td>"
            f"<td>{number(len(match.targets))}</td><td>{len(match.relevant)} + {len(match.irrelevant)}</td></tr>"
            for match in matches
        )
        told = (
            "One fetch at a time over recorded pages, links out of the recording not offered, equal scores in the "
            "order of discovery. Targets are the labelled pages that links lead to from the seeds, without the seeds. "
            f"Strategies that learn from examples were given up to {most} pages on the topic and as many off it, drawn "
            "from the labels; example pages are targets for nobody. Those that learn from browsing sessions were given "
            "the sessions of the web, where it has any; the others know the topic by its words alone. Intervals: 2,000 "
            "drawings of whole topics, the same for all strategies. CPU and memory are those of one machine and vary "
            f"from run to run; everything else comes out the same each time. Made by Topicrawl {__version__}."
        )
        return _section("How it was measured", told, f'<div class="wide"><table><tr>{head}</tr>{rows}</table></div>')


def _section(title: str, told: str, body: str) -> str:
    kind = ' class="whole"' if body.count("<figure>") == 1 else ""  # on paper it stays together
    return f'<section{kind}><h2>{escape(title)}</h2><p class="soft">{escape(told)}</p>\n{body}</section>'


def _figure(svg: str) -> str:
    return f"<figure>{svg}</figure>"


def _wide(svg: str) -> str:
    """A picture that a narrow screen moves across instead of making its letters too small to read."""
    return f'<div class="wide">{_figure(svg)}</div>'


def _whisker(value: Interval, span: tuple[float, float], colour: str) -> str:
    """An interval as a small line with a dot."""
    if isnan(value.value):
        return ""
    low, high = span

    def x(number: float) -> float:
        return 4 + 92 * (min(max(number, low), high) - low) / (high - low)

    parts = [
        f'<path class="axis" d="M{x(0.0):.1f} 1v14"/>',
        f'<path d="M{x(value.low):.1f} 8H{x(value.high):.1f}" stroke="{colour}" stroke-width="2"/>',
        f'<circle cx="{x(value.value):.1f}" cy="8" r="3.6" fill="{colour}"/>',
    ]
    return picture((100, 16), f"nAUC {value.value:.2f}", parts)


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def _table_rows(rows: Iterable[Sequence[str]]) -> str:
    return "".join("<tr>" + "".join(f'<td class="wrap">{escape(cell)}</td>' for cell in row) + "</tr>" for row in rows)


def _shortened(name: str, longest: int = 44) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"


def report_html(plan: Comparison, standings: Standings) -> str:
    """The page as text."""
    return Report(plan, standings).html()
