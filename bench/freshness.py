"""Freshness of the recrawl policies of `topicrawl refresh` on simulated pages that change at known rates.

    python bench/freshness.py [webs]

The recrawl code of Topicrawl selects the pages and estimates the change rates from its visits alone. Freshness is the
share of up-to-date pages, weighted by importance, half a day after each refresh from day 20 to day 60.
"""

from __future__ import annotations

import sys
from random import Random

import numpy as np

from topicrawl.collection.history import FloatArray, RevisitCandidates, RevisitLog
from topicrawl.recrawl.policies import POLICIES
from topicrawl.recrawl.schedule import RecrawlRound, select_due_pages

DAY = 86_400.0
PAGES, DAYS, WARM = 100, 60, 20
#: Change rates per day of the pages of each web.
WEBS = {
    "log-normal": lambda random: [random.lognormvariate(-2, 1.5) for _ in range(PAGES)],
    "four kinds": lambda random: [2.0, 0.5, 0.1, 0.02] * (PAGES // 4),
    "slow": lambda random: [0.3, 0.1, 0.03, 0.01] * (PAGES // 4),
}


def simulate_freshness(
    policy: str, rates: list[float], importance: FloatArray, looks_a_day: int, random: Random
) -> float:
    """Return the mean freshness of a policy on one web."""
    changes = [np.cumsum([random.expovariate(rate) for _ in range(int(rate * DAYS * 3) + 20)]) for rate in rates]
    last, freshness = np.zeros(PAGES), []
    rows: tuple[list[int], list[float], list[bool]] = ([], [], [])

    def version(page: int, day: float) -> int:
        return int(np.searchsorted(changes[page], day))

    for day in range(1, DAYS + 1):
        looks = RevisitLog(np.array(rows[0], np.int64), np.array(rows[1]), np.array(rows[2], np.bool_))
        history = RevisitCandidates(np.arange(PAGES), importance, last * DAY, looks)
        for page, _ in select_due_pages(history, RecrawlRound(day * DAY, looks_a_day, DAY), day * DAY, policy):
            for column, value in zip(
                rows, (page, day - last[page], version(page, day) != version(page, last[page])), strict=True
            ):
                column.append(value)
            last[page] = day
        if day > WARM:
            fresh = np.array([version(page, day + 0.5) == version(page, last[page]) for page in range(PAGES)])
            freshness.append(float((importance * fresh).sum() / importance.sum()))
    return float(np.mean(freshness))


def main(webs: int) -> None:
    """Print the mean freshness, and the gain over the better of uniform and proportional with its interval."""
    print(f"{'web':<12}{'visits/day':>12}", *(f"{name:>13}" for name in POLICIES), f"{'gain of balanced':>26}")
    for name, draw_rates in WEBS.items():
        for looks_a_day in (6, 16):
            scores: dict[str, list[float]] = {policy: [] for policy in POLICIES}
            for seed in range(webs):
                random = Random(seed)
                rates = draw_rates(random)
                importance = np.array([random.uniform(0.05, 1) for _ in rates])
                for policy in POLICIES:
                    scores[policy].append(
                        simulate_freshness(policy, rates, importance, looks_a_day, Random(seed + 1000))
                    )
            means = {policy: float(np.mean(values)) for policy, values in scores.items()}
            baseline = max(("uniform", "proportional"), key=means.__getitem__)
            gains = [ours - theirs for ours, theirs in zip(scores["balanced"], scores[baseline], strict=True)]
            low, high = bootstrap_interval(gains)
            figures = " ".join(f"{means[policy]:>13.3f}" for policy in POLICIES)
            print(
                f"{name:<12}{looks_a_day:>12} {figures}   {np.mean(gains):+.3f} ({low:+.3f} … {high:+.3f})", flush=True
            )


def bootstrap_interval(values: list[float]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the mean."""
    random = np.random.default_rng(0)
    means = random.choice(values, (10_000, len(values))).mean(axis=1)
    return float(np.percentile(means, 2.5)), float(np.percentile(means, 97.5))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
