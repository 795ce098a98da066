"""Create the relevance model that a name selects."""

from __future__ import annotations

from topicrawl.relevance import plugin
from topicrawl.relevance.base import Relevance
from topicrawl.relevance.filter_judge import FilterJudge
from topicrawl.relevance.rocchio import RocchioJudge
from topicrawl.relevance.summary_judge import SummaryJudge
from topicrawl.relevance.topic_judge import TopicJudge
from topicrawl.relevance.vsm import Vsm


def create_judge(name: str, vsm: Vsm) -> Relevance:
    """Create the relevance model of a topic: one of `BUILT_IN_JUDGES`, or a class of the user as `module:Class`.

    Crawls of version 0.1 have an empty name for the cosine similarity. Raise `SettingError` if there is no such model.
    """
    if name in ("", "cosine"):
        return RocchioJudge(vsm)
    if name == "topic":
        return TopicJudge(vsm)
    if name == "multi_metric":
        return FilterJudge(vsm.topic)
    return SummaryJudge(vsm) if name == "summary" else plugin.load_judge(name, vsm.topic)


def needs_styles(name: str) -> bool:
    """Return whether the parser must extract styled sentences for a relevance model."""
    return name == "summary"
