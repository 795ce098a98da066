"""A comparison without a crawl: as many strategies and tasks as one wants, with figures that look real."""

from __future__ import annotations

from pathlib import Path
from random import Random

from topicrawl.lab.compare import Asked, Comparison, Entrant, Match
from topicrawl.lab.foresight import ASKED, KINDS, Answer
from topicrawl.lab.results import Row
from topicrawl.lab.run import ORACLE
from topicrawl.lab.standings import Standings
from topicrawl.lab.tasks import LabTask
from topicrawl.strategies.breadth_first import BreadthFirst

FAMILIES = ("classic", "importance", "learning", "semantic", "summary", "multi-metric", "own")


def compared(strategies: int = 28, topics: int = 19, fetches: int = 1000) -> tuple[Comparison, Standings]:
    """A plan with its rows, and the standings; the same for the same numbers."""
    random = Random(strategies)
    names = ["breadth_first", *(f"strategy_{'ab' * (n % 5)}{n}" for n in range(1, strategies))]
    kinds = [type(f"Kind{n}", (BreadthFirst,), {"family": FAMILIES[n % len(FAMILIES)]}) for n in range(len(names))]
    plan = Comparison(
        Asked([Path("one"), Path("two")], names, fetches),
        [Entrant(name, name, kind, given=False) for name, kind in zip(names, kinds, strict=True)],
        parsing={"one": 0.002},
        skipped=[("one 99: dragons", "one: dragons: no page has the label Dragons")],
    )
    skill = {ORACLE: 0.004, **{name: random.uniform(0.0002, 0.002) for name in names}, "breadth_first": 0.0004}
    for number in range(topics * 2):
        topic = f"topic number {number // 2} of them"
        task = LabTask("one" if number % 4 < 2 else "two", topic, "words", ("label",), ("http://seed/",))
        match = Match(number, Path(task.web), task, tuple(map(str, range(90))), 4000, (), (), fetches)
        plan.matches.append(match)
        plan.rows += [_row(match, name, rate, random) for name, rate in skill.items()]
    failed = {"strategy": names[-1], "task": plan.matches[0].name, "failure": "it needs <examples> & sessions"}
    plan.failures.append(failed)
    return plan, Standings(plan.rows, fetches)


def _row(match: Match, name: str, rate: float, random: Random) -> Row:
    chance = rate * random.uniform(0.7, 1.3)
    # Every target has its moment; what comes after the last fetch is not found.
    moments = sorted(1 + int(random.expovariate(chance)) for _ in match.targets)
    return {
        "web": match.task.web, "task": match.name, "topic": match.task.topic, "back": 0, "strategy": name,
        "budget": match.fetches, "targets": len(match.targets), "reachable": match.reachable,
        "fetches": match.fetches, "found": [moment for moment in moments if moment <= match.fetches],
        "foresight": {kind: _foretold(match, random) for kind in KINDS},
        "cpu": round(match.fetches * 10 ** random.gauss(-2.9, 0.4), 4), "training": 0.5, "memory": 80.5,
    }  # fmt: skip


def _foretold(match: Match, random: Random) -> dict[str, object]:
    """Answers that are right, more or less."""
    answers = []
    for share in ASKED:
        found, came = random.randint(20, 80), random.randint(0, 60)
        guess = max(0.0, came + random.gauss(0, 12))
        low, high = guess / 2, 2 * guess
        at = int(share * match.fetches)
        answers.append(Answer(at, at, found, guess, low, high, came, random.random() < 0.7))
    stop = random.choice([None, 450])
    return {"answers": [tuple(it) for it in answers], "found": 90, "stop": stop, "had": stop and random.randint(40, 90)}
