"""The sentence that recommends a strategy: lead, significance, and the cases without an answer."""

from __future__ import annotations

from typing import Any

import pytest

from topicrawl.lab.leaderboard import Leaderboard
from topicrawl.lab.recommendation import describe_best_strategy
from topicrawl.lab.run import ORACLE

TARGETS = 10


def build_rows(steps: dict[str, list[int]], topics: int = 6) -> list[dict[str, Any]]:
    """Return runs on one task per topic. `steps` has the fetch at which a strategy finds all targets of each task."""
    every = {ORACLE: [10] * topics, "breadth_first": [90] * topics, **steps}
    return [
        {
            "web": "web",
            "task": f"web {number}: t{number}",
            "topic": f"t{number}",
            "strategy": name,
            "budget": 100,
            "targets": TARGETS,
            "found": [first] * TARGETS,
            "fetches": 100,
            "cpu": 0.1,
            "training": 0.0,
        }
        for name, found in every.items()
        for number, first in enumerate(found[:topics])
    ]


def describe(steps: dict[str, list[int]], topics: int = 6) -> str:
    return describe_best_strategy(Leaderboard(build_rows(steps, topics), 100))


def test_a_significant_lead_has_its_interval() -> None:
    said = describe({"a": [18] * 6, "b": [42] * 6})
    assert said == "a suits these topics best: nAUC 0.90, ahead of b by 0.30 (95 % interval +0.30 … +0.30)."


def test_a_lead_that_changes_sign_between_tasks_is_not_significant() -> None:
    said = describe({"a": [20, 60, 20, 60, 20, 50], "b": [60, 20, 60, 20, 60, 30], "c": [80] * 6})
    assert said.startswith("No strategy is significantly best for these topics: a (nAUC 0.65) is ahead of b by 0.04 (")
    assert said.endswith("; not significantly worse than a: b.")


def test_many_strategies_without_a_significant_difference_are_counted() -> None:
    same = {name: [20, 60, 20, 60, 20, 50] for name in "abcdef"}
    assert describe(same).endswith("not significantly worse than a: b, c, d and 2 others.")


@pytest.mark.parametrize(
    ("topics", "doubt"), [(1, "one task cannot show"), (4, "4 tasks cannot show")], ids=["one", "four"]
)
def test_few_tasks_give_no_interval(topics: int, doubt: str) -> None:
    said = describe({"a": [18] * 6, "b": [42] * 6}, topics)
    topic = "the topic" if topics == 1 else "these topics"
    assert said.startswith(f"a suits {topic} best in this comparison: nAUC 0.90, ahead of b by 0.30; {doubt}")
    assert "interval" not in said


def test_equal_strategies_without_interval_are_called_equal() -> None:
    assert describe({"a": [18], "b": [18]}, 1).startswith("a and b suit the topic equally well (nAUC 0.90)")


def test_only_strategies_that_ran_on_all_tasks_are_recommended() -> None:
    said = describe({"a": [11], "b": [30] * 6})
    assert said.startswith("b suits these topics best")


def test_phrases_for_one_topic_are_one_topic() -> None:
    rows = [{**row, "group": row["task"]} for row in build_rows({"a": [18] * 6, "b": [42] * 6})]
    assert describe_best_strategy(Leaderboard(rows, 100)).startswith("a suits the topic best: nAUC")


def test_tasks_that_breadth_first_solves_like_the_oracle_distinguish_nothing() -> None:
    rows = [{**row, "found": [10] * TARGETS} for row in build_rows({"a": [20] * 6})]
    assert describe_best_strategy(Leaderboard(rows, 100)).startswith("The tasks do not distinguish the strategies")
