"""Synchronisation of the judge: workers expand the topic by the best pages of all workers."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from topicrawl.cluster.judge_sync import JudgeSync
from topicrawl.errors import SettingError
from topicrawl.models import JsonValue, Page
from topicrawl.relevance.topic_judge import TopicJudge
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.embedded_vectors import EmbeddingVectorSource, GuardedEmbedding
from topicrawl.topic import Topic

TOPIC = Topic.of("dengue fever")


def build_page(number: int) -> Page:
    text = f"dengue fever is carried by aedes mosquitoes in region {number} and dengue fever patients need platelets"
    return Page(f"http://a/{number}", title="Dengue fever", words=tuple(text.split()))


def learn_pages(judge: TopicJudge, *numbers: int) -> None:
    for number in numbers:
        judge.observe(build_page(number))


def copy_values(values: JsonValue) -> JsonValue:
    """Return the values as the other worker decodes them."""
    return json.loads(json.dumps(values))  # type: ignore[no-any-return]


def test_workers_expand_the_topic_by_the_pages_of_all_workers() -> None:
    one, two = TopicJudge(Vsm(TOPIC)), TopicJudge(Vsm(TOPIC))
    first, second = JudgeSync(one, None), JudgeSync(two, None)
    learn_pages(one, 1, 2, 3)
    learn_pages(two, 4)
    assert not two.expansion.terms
    second.apply_delta(copy_values(first.export_delta()))
    first.apply_delta(copy_values(second.export_delta()))
    assert one.expansion.sources.keys() == two.expansion.sources.keys() == {f"http://a/{n}" for n in (1, 2, 3, 4)}
    assert one.expansion.terms == two.expansion.terms
    assert "aed" in one.expansion.terms or "aedes" in one.expansion.terms
    # A page is sent once, and the pages of other workers are not sent back.
    assert (first.export_delta(), second.export_delta()) == (None, None)


def test_a_worker_that_joins_later_gets_the_pages_of_the_snapshot() -> None:
    one, late = TopicJudge(Vsm(TOPIC)), TopicJudge(Vsm(TOPIC))
    learn_pages(one, 1, 2, 3)
    sync = JudgeSync(late, None)
    sync.load_snapshot(copy_values(JudgeSync(one, None).export_snapshot()))
    assert late.expansion.terms == one.expansion.terms
    assert sync.export_delta() is None


class SmallEmbedding:
    """Embedding with other dimensions than the vectors of the package."""

    dimensions, languages = 3, None

    def embed_words(self, words: Sequence[str]) -> NDArray[np.float32]:
        return np.array([[len(word), ord(word[0]), ord(word[-1])] for word in words], np.float32).reshape(-1, 3)


def test_pages_with_vectors_of_another_embedding_are_refused() -> None:
    source = EmbeddingVectorSource(GuardedEmbedding(SmallEmbedding(), "small"))
    one, other = TopicJudge(Vsm(TOPIC)), TopicJudge(Vsm(TOPIC, vector_source=source.get_vectors))
    learn_pages(one, 1, 2, 3)
    learn_pages(other, 4)
    sync = JudgeSync(one, None)
    with pytest.raises(SettingError, match="the embedding has 3 dimensions, but stored vectors have 256"):
        JudgeSync(other, None).load_snapshot(copy_values(sync.export_snapshot()))
    # A running worker ignores such a delta with a warning, as it does with an unreadable one.
    with pytest.raises(ValueError, match="the embedding has 3 dimensions"):
        JudgeSync(other, None).apply_delta(copy_values(sync.export_delta()))
    assert list(other.expansion.sources) == ["http://a/4"]


def test_values_of_a_strategy_alone_are_passed_on_to_the_strategy() -> None:
    applied: list[JsonValue] = []

    class RecordingSync:
        def export_delta(self) -> JsonValue:
            return {"slots": "x"}

        def apply_delta(self, delta: JsonValue) -> None:
            applied.append(delta)

        def rescore_links(self) -> dict[str, float]:
            return {"http://a/": 1.0}

        def export_snapshot(self) -> JsonValue:
            return {"weights": "y"}

        def load_snapshot(self, snapshot: JsonValue) -> None:
            applied.append(snapshot)

    sync = JudgeSync(TopicJudge(Vsm(TOPIC)), RecordingSync())
    sync.apply_delta({"slots": "x"})
    sync.load_snapshot({"weights": "y"})
    sync.apply_delta(copy_values(sync.export_delta()))
    sync.load_snapshot(copy_values(sync.export_snapshot()))
    assert applied == [{"slots": "x"}, {"weights": "y"}] * 2
    assert sync.rescore_links() == {"http://a/": 1.0}
