"""How fresh each policy of `topicrawl refresh` keeps pages that change at known rates, over many simulated months.

    python bench/freshness.py [webs]

Which page is looked at is chosen by the program's own code, which learns the rates from its looks alone. The share of
pages that are up to date, weighted by importance, is taken half a day after each refresh, from day 20 to day 60.
"""

from __future__ import annotations

import sys
from random import Random

import numpy as np

from topicrawl.collection.due import Round, due
from topicrawl.collection.history import Known
from topicrawl.freshness import POLICIES, Array, Looks

DAY = 86_400.0
PAGES, DAYS, WARM = 100, 60, 20
#: Name → the change rates (a day) of the pages of a web.
WEBS = {
    "log-normal": lambda random: [random.lognormvariate(-2, 1.5) for _ in range(PAGES)],
    "four kinds": lambda random: [2.0, 0.5, 0.1, 0.02] * (PAGES // 4),
    "slow": lambda random: [0.3, 0.1, 0.03, 0.01] * (PAGES // 4),
}


def reached(policy: str, rates: list[float], importance: Array, looks_a_day: int, random: Random) -> float:
    """The freshness that a policy reaches on one web."""
    changes = [np.cumsum([random.expovariate(rate) for _ in range(int(rate * DAYS * 3) + 20)]) for rate in rates]
    last, found = np.zeros(PAGES), []
    rows: tuple[list[int], list[float], list[bool]] = ([], [], [])

    def version(page: int, day: float) -> int:
        return int(np.searchsorted(changes[page], day))

    for day in range(1, DAYS + 1):
        looks = Looks(np.array(rows[0], np.int64), np.array(rows[1]), np.array(rows[2], np.bool_))
        known = Known(np.arange(PAGES), importance, last * DAY, looks)
        for page, _ in due(known, Round(day * DAY, looks_a_day, DAY), day * DAY, policy):
            for column, value in zip(
                rows, (page, day - last[page], version(page, day) != version(page, last[page])), strict=True
            ):
                column.append(value)
            last[page] = day
        if day > WARM:
            fresh = np.array([version(page, day + 0.5) == version(page, last[page]) for page in range(PAGES)])
            found.append(float((importance * fresh).sum() / importance.sum()))
    return float(np.mean(found))


def main(webs: int) -> None:
    """Print a table: mean freshness, and the gain over the better of uniform and proportional with its interval."""
    print(f"{'web':<12}{'looks a day':>12}", *(f"{name:>13}" for name in POLICIES), f"{'gain of balanced':>26}")
    for name, made in WEBS.items():
        for looks_a_day in (6, 16):
            scores: dict[str, list[float]] = {policy: [] for policy in POLICIES}
            for seed in range(webs):
                random = Random(seed)
                rates = made(random)
                importance = np.array([random.uniform(0.05, 1) for _ in rates])
                for policy in POLICIES:
                    scores[policy].append(reached(policy, rates, importance, looks_a_day, Random(seed + 1000)))
            means = {policy: float(np.mean(values)) for policy, values in scores.items()}
            rival = max(("uniform", "proportional"), key=means.__getitem__)
            gains = [ours - theirs for ours, theirs in zip(scores["balanced"], scores[rival], strict=True)]
            low, high = interval_of(gains)
            figures = " ".join(f"{means[policy]:>13.3f}" for policy in POLICIES)
            print(
                f"{name:<12}{looks_a_day:>12} {figures}   {np.mean(gains):+.3f} ({low:+.3f} … {high:+.3f})", flush=True
            )


def interval_of(values: list[float]) -> tuple[float, float]:
    random = np.random.default_rng(0)
    means = random.choice(values, (10_000, len(values))).mean(axis=1)
    return float(np.percentile(means, 2.5)), float(np.percentile(means, 97.5))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
