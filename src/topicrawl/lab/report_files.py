"""A comparison in files: a page for people, the standings as CSV, everything as JSON."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from topicrawl.errors import SpaceError
from topicrawl.lab.compare import Comparison
from topicrawl.lab.foresight import KINDS, foresight
from topicrawl.lab.report import report_html
from topicrawl.lab.standings import Standings, auc, fetches_to, figures, recall_at

_COSTS = ("cpu", "training", "memory")


def write_report(out: Path, plan: Comparison, standings: Standings) -> Path:
    """Write report.html, report.json, standings.csv and runs.csv; returns the page's path."""
    runs = [run_values(row, standings) for row in plan.rows]
    told = {
        "budget": plan.asked.fetches,
        "examples": plan.asked.examples,
        "standings": figures(standings),
        "by_web": {web: figures(of) for web, of in standings.webs.items()},
        "runs": [{**run, "found": row["found"]} for run, row in zip(runs, plan.rows, strict=True)],
        "duels": [
            {"row": one, "column": two, **{key: round(value, 4) for key, value in lead._asdict().items()}}
            for (one, two), lead in standings.duels.items()
        ],
        "foresight": {
            name: {kind: foresight(standings.rows(name), kind).values() for kind in KINDS} for name in standings.names
        },
        "not_run": [{"task": name, "reason": reason} for name, reason in plan.skipped],
        "failed": [{key: row[key] for key in ("strategy", "task", "failure")} for row in plan.failures],
    }
    texts = {
        "standings.csv": table(_by_web(standings)),
        "runs.csv": table(runs),
        "report.json": json.dumps(told, indent=1, ensure_ascii=False) + "\n",
        "report.html": report_html(plan, standings),
    }
    for name, text in texts.items():
        part = out / f"{name}.part"
        try:
            part.write_text(text, "utf-8")
            part.replace(out / name)
        except OSError as error:
            raise SpaceError(f"{out / name} cannot be written: {error.strerror}") from error
    return out / "report.html"


def _by_web(standings: Standings) -> list[dict[str, Any]]:
    """The standings on all webs together, then on each."""
    every = {"all": standings, **(standings.webs if len(standings.webs) > 1 else {})}
    return [{"web": web, **row} for web, of in every.items() for row in figures(of)]


def run_values(row: dict[str, Any], standings: Standings) -> dict[str, Any]:
    """One run as plain values: quality first, what it cost last."""
    kept = ("web", "task", "topic", "back", "strategy", "budget", "targets", "reachable", "fetches")
    found = {name: row[name] for name in kept}
    found |= {f"recall_{point}": round(recall_at(row, point), 4) for point in standings.points}
    found |= {"auc": round(auc(row), 4), "p50": fetches_to(row, 0.5), "p80": fetches_to(row, 0.8)}
    return found | {name: row.get(name) for name in _COSTS}


def table(rows: list[dict[str, Any]]) -> str:
    """Rows as CSV; what is not known is an empty cell.

    >>> table([{"a": 1, "b": None}])
    'a,b\\n1,\\n'
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
