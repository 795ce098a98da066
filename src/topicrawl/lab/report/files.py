"""Write the results of a comparison to files: HTML report, leaderboard and runs as CSV, all data as JSON."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from topicrawl.database import write_text_file
from topicrawl.errors import SpaceError
from topicrawl.lab.compare import Comparison
from topicrawl.lab.leaderboard import (
    Leaderboard,
    leaderboard_to_rows,
    round_or_none,
    row_auc,
    row_fetches_to_recall,
    row_recall_at,
)
from topicrawl.lab.recall_forecast import DISCOVERY_KINDS, measure_accuracy
from topicrawl.lab.recommendation import describe_best_strategy
from topicrawl.lab.report.html import render_report

_COSTS = ("cpu", "training", "memory")


def write_report(directory: Path, comparison: Comparison, leaderboard: Leaderboard) -> Path:
    """Write report.html, report.json, standings.csv and runs.csv. Return the path of the HTML report.

    Each file replaces an earlier one when it is complete. Raise `SpaceError` if a file cannot be written.
    """
    runs = [run_to_row(row, leaderboard) for row in comparison.rows]
    report = {
        "budget": comparison.config.fetches,
        "examples": comparison.config.examples,
        "recommendation": describe_best_strategy(leaderboard),
        "notes": comparison.notes,
        "standings": leaderboard_to_rows(leaderboard),
        "by_web": {web: leaderboard_to_rows(web_leaderboard) for web, web_leaderboard in leaderboard.by_web.items()},
        "runs": [{**run, "found": row["found"]} for run, row in zip(runs, comparison.rows, strict=True)],
        "duels": [
            {
                "row": first,
                "column": second,
                **{key: round_or_none(value) for key, value in difference._asdict().items()},
            }
            for (first, second), difference in leaderboard.pairwise_differences.items()
        ],
        "foresight": {
            name: {kind: measure_accuracy(leaderboard.get_rows(name), kind).to_dict() for kind in DISCOVERY_KINDS}
            for name in leaderboard.names
        },
        "not_run": [{"task": name, "reason": reason} for name, reason in comparison.skipped],
        "failed": [{key: row[key] for key in ("strategy", "task", "failure")} for row in comparison.failures],
    }
    texts = {
        "standings.csv": rows_to_csv(_build_leaderboard_rows(leaderboard)),
        "runs.csv": rows_to_csv(runs),
        "report.json": json.dumps(report, indent=1, ensure_ascii=False) + "\n",
        "report.html": render_report(comparison, leaderboard),
    }
    for name, text in texts.items():
        try:
            directory.mkdir(parents=True, exist_ok=True)
            write_text_file(directory / name, text)
        except OSError as error:
            raise SpaceError(f"{directory / name} cannot be written: {error.strerror}") from error
    return directory / "report.html"


def _build_leaderboard_rows(overall: Leaderboard) -> list[dict[str, Any]]:
    """Return the leaderboard rows of all webs together, then of each web."""
    leaderboards = {"all": overall, **(overall.by_web if len(overall.by_web) > 1 else {})}
    return [
        {"web": web, **row} for web, leaderboard in leaderboards.items() for row in leaderboard_to_rows(leaderboard)
    ]


def run_to_row(row: dict[str, Any], leaderboard: Leaderboard) -> dict[str, Any]:
    """Return a run as plain values: task and quality first, costs last."""
    columns = ("web", "task", "topic", "back", "strategy", "budget", "targets", "reachable", "fetches")
    values = {name: row[name] for name in columns}
    values |= {f"recall_{point}": round(row_recall_at(row, point), 4) for point in leaderboard.recall_points}
    values |= {
        "auc": round(row_auc(row), 4),
        "p50": row_fetches_to_recall(row, 0.5),
        "p80": row_fetches_to_recall(row, 0.8),
    }
    return values | {name: row.get(name) for name in _COSTS}


def rows_to_csv(rows: list[dict[str, Any]]) -> str:
    """Return rows as CSV. None becomes an empty cell.

    >>> rows_to_csv([{"a": 1, "b": None}])
    'a,b\\n1,\\n'
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
