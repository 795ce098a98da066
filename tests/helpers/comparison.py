"""Synthetic comparison results for any number of strategies and tasks, without a crawl."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

from topicrawl.lab.compare import ComparedStrategy, Comparison, ComparisonConfig, ComparisonTask
from topicrawl.lab.leaderboard import Leaderboard
from topicrawl.lab.recall_forecast import DISCOVERY_KINDS, FORECAST_SHARES, RecallForecast
from topicrawl.lab.report.html import render_report
from topicrawl.lab.results import ResultRow
from topicrawl.lab.run import ORACLE
from topicrawl.lab.tasks import LabTask
from topicrawl.strategies.breadth_first import BreadthFirst

FAMILIES = ("classic", "importance", "learning", "semantic", "summary", "multi-metric", "own")


def build_comparison(strategies: int = 28, topics: int = 19, fetches: int = 1000) -> tuple[Comparison, Leaderboard]:
    """Return a comparison with its rows, and the leaderboard. The result depends only on the parameters."""
    random = Random(strategies)
    names = ["breadth_first", *(f"strategy_{'ab' * (n % 5)}{n}" for n in range(1, strategies))]
    strategy_classes = [
        type(f"Kind{n}", (BreadthFirst,), {"family": FAMILIES[n % len(FAMILIES)]}) for n in range(len(names))
    ]
    plan = Comparison(
        ComparisonConfig([Path("one"), Path("two")], names, fetches),
        [
            ComparedStrategy(name, name, kind, has_examples=False)
            for name, kind in zip(names, strategy_classes, strict=True)
        ],
        parse_seconds={"one": 0.002},
        skipped=[("one 99: dragons", "one: dragons: no page has the label Dragons")],
    )
    skill = {ORACLE: 0.004, **{name: random.uniform(0.0002, 0.002) for name in names}, "breadth_first": 0.0004}
    for number in range(topics * 2):
        topic = f"topic number {number // 2} of them"
        task = LabTask("one" if number % 4 < 2 else "two", topic, "words", ("label",), ("http://seed/",))
        match = ComparisonTask(number, Path(task.web), task, tuple(map(str, range(90))), 4000, (), (), fetches)
        plan.tasks.append(match)
        plan.rows += [_build_row(match, name, rate, random) for name, rate in skill.items()]
    failure = {"strategy": names[-1], "task": plan.tasks[0].name, "failure": "it needs <examples> & sessions"}
    plan.failures.append(failure)
    return plan, Leaderboard(plan.rows, fetches)


def _build_row(match: ComparisonTask, name: str, rate: float, random: Random) -> ResultRow:
    hit_rate = rate * random.uniform(0.7, 1.3)
    # Each target is found at a random fetch; targets after the last fetch are not found.
    steps = sorted(1 + int(random.expovariate(hit_rate)) for _ in match.targets)
    return {
        "web": match.task.web,
        "task": match.name,
        "topic": match.task.topic,
        "back": 0,
        "strategy": name,
        "budget": match.fetches,
        "targets": len(match.targets),
        "reachable": match.reachable,
        "fetches": match.fetches,
        "found": [step for step in steps if step <= match.fetches],
        "foresight": {kind: _build_forecasts(match, random) for kind in DISCOVERY_KINDS},
        "cpu": round(match.fetches * 10 ** random.gauss(-2.9, 0.4), 4),
        "training": 0.5,
        "memory": 80.5,
    }


def _build_forecasts(match: ComparisonTask, random: Random) -> dict[str, object]:
    """Return forecasts with a random error."""
    answers = []
    for share in FORECAST_SHARES:
        found, came = random.randint(20, 80), random.randint(0, 60)
        estimate = max(0.0, came + random.gauss(0, 12))
        low, high = estimate / 2, 2 * estimate
        at = int(share * match.fetches)
        answers.append(RecallForecast(at, at, found, estimate, low, high, came, random.random() < 0.7))
    stop = random.choice([None, 450])
    return {
        "answers": [tuple(answer) for answer in answers],
        "found": 90,
        "stop": stop,
        "had": stop and random.randint(40, 90),
    }


def print_report() -> None:
    """Write the HTML report of a small comparison to standard output, for tests that run it in a subprocess."""
    sys.stdout.buffer.write(render_report(*build_comparison(5, 2)).encode())
