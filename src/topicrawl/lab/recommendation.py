"""Recommendation of a strategy from a comparison, as one plain sentence."""

from __future__ import annotations

from math import isnan

from topicrawl.lab.bootstrap import ConfidenceInterval
from topicrawl.lab.leaderboard import Leaderboard, StrategyResult

_MAX_NAMES = 3  # strategies that a sentence lists by name


def describe_best_strategy(leaderboard: Leaderboard) -> str:
    """Return a sentence that names the best strategy and its lead, or says that no lead is significant.

    Only strategies that ran on all tasks are considered. A lead is significant if its interval excludes zero.
    """
    most = max((result.tasks for result in leaderboard.ranking), default=0)
    ranked = [result for result in leaderboard.ranking if result.tasks == most]
    if not ranked:
        return "No strategy could be measured on any task."
    if len(ranked) == 1:
        return f"Only {ranked[0].strategy} ran on all tasks, so that there is nothing to compare."
    if isnan(ranked[0].nauc.value):
        return "The tasks do not distinguish the strategies: breadth-first is as good as the oracle."
    best, second = ranked[:2]
    topic = "the topic" if leaderboard.has_single_topic else "these topics"
    leads = {other.strategy: leaderboard.compute_lead(best.strategy, other.strategy) for other in ranked[1:]}
    if not leaderboard.has_intervals:
        doubt = f"{leaderboard.group_count} cannot show whether a difference is significant"
        return f"{_describe_order(best, second, leads[second.strategy], topic)}; {doubt}."
    rivals = [name for name, lead in leads.items() if not lead.excludes_zero]
    lead = leads[second.strategy]
    distance = f"by {lead.value:.2f} (95 % interval {lead.low:+.2f} … {lead.high:+.2f})".replace("-", "−")
    if not rivals:
        return f"{best.strategy} suits {topic} best: nAUC {_format_nauc(best)}, ahead of {second.strategy} {distance}."
    return (
        f"No strategy is significantly best for {topic}: {best.strategy} (nAUC {_format_nauc(best)}) is ahead of "
        f"{second.strategy} {distance}; not significantly worse than {best.strategy}: {_join_names(rivals)}."
    )


def _describe_order(best: StrategyResult, second: StrategyResult, lead: ConfidenceInterval, topic: str) -> str:
    """Describe the two best strategies without confidence intervals."""
    if round(lead.value, 2) == 0:
        return f"{best.strategy} and {second.strategy} suit {topic} equally well (nAUC {_format_nauc(best)})"
    return (
        f"{best.strategy} suits {topic} best in this comparison: nAUC {_format_nauc(best)}, ahead of {second.strategy} "
        f"by {lead.value:.2f}"
    )


def _format_nauc(result: StrategyResult) -> str:
    return f"{result.nauc.value:.2f}".replace("-", "−")


def _join_names(names: list[str]) -> str:
    """Join names to an enumeration, with at most `_MAX_NAMES` of them.

    >>> _join_names(["a"]), _join_names(["a", "b"]), _join_names(["a", "b", "c", "d", "e"])
    ('a', 'a and b', 'a, b, c and 2 others')
    """
    listed, rest = names[:_MAX_NAMES], len(names) - _MAX_NAMES
    last = f"{rest} other{'s' if rest > 1 else ''}" if rest > 0 else listed.pop() if len(listed) > 1 else ""
    return " and ".join(filter(None, [", ".join(listed), last]))
