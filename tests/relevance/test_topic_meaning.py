"""Links and pages that are close in meaning to the topic score higher, without any word of the topic."""

from __future__ import annotations

import numpy as np
import pytest

from topicrawl.models import Link, Page
from topicrawl.relevance.topic_judge import TopicJudge
from topicrawl.relevance.topic_meaning import TopicMeaning
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.apprentice.features import SIMILARITY_TEXTS, FeatureExtractor
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Topic

ON_TOPIC = "owls hunt at night and sparrows build their nests in spring where finches and pigeons feed"
OFF_TOPIC = "the locomotive stops at the station while engineers repair the brakes of the wagon"


def score(topic: str, text: str) -> float:
    return TopicJudge(Vsm(Topic.of(topic))).score(Page("http://a/", words=tuple(tokenise(text)), language="en"))


def test_a_page_without_topic_words_is_judged_by_its_meaning() -> None:
    assert score("birds", ON_TOPIC) > 0.1
    assert score("birds", ON_TOPIC) > 3 * score("birds", OFF_TOPIC)
    assert score("railways", OFF_TOPIC) > 3 * score("railways", ON_TOPIC)
    # Without trust, the meaning does not count: both pages have the probability of a page without any evidence.
    assert score("xyzzyq", ON_TOPIC) == score("xyzzyq", OFF_TOPIC) < 0.05


def test_meaning_of_link_texts() -> None:
    links = [
        Link("http://a.example/sparrow.html", anchor="House sparrow"),
        Link("http://a.example/x.html", anchor="Steam locomotive", position=1),
    ]
    found = FeatureExtractor(Vsm(Topic.of("birds"))).extract_features(links, "http://a.example/", Page("http://a/"))
    anchor, address = SIMILARITY_TEXTS.index("anchor"), SIMILARITY_TEXTS.index("address")
    assert found.similarities.max() == 0.0, "no text contains a word of the topic"
    assert found.meanings[0, anchor] > 0.3 > found.meanings[1, anchor]
    assert found.meanings[0, address] > 0.3


@pytest.mark.parametrize(
    ("topic", "least", "most"),
    [
        (Topic.of("birds"), 0.9, 1.0),
        (Topic.of("students of computer science"), 0.1, 0.25),
        (Topic.of("xyzzyq"), 0.0, 0.0),
        (Topic("Vögel", {"vögel": 1.0}, languages=("de",)), 0.0, 0.0),
    ],
)
def test_trust_depends_on_coverage_specificity_and_language(topic: Topic, least: float, most: float) -> None:
    assert least <= TopicMeaning(Vsm(topic)).trust <= most


def test_half_of_the_words_without_a_vector_halve_the_trust() -> None:
    known, mixed = (TopicMeaning(Vsm(Topic.of(words))).trust for words in ("birds", "birds xyzzyq"))
    assert mixed == pytest.approx(known / 2, rel=0.1)


def test_without_trust_no_text_has_a_meaning() -> None:
    extractor = FeatureExtractor(Vsm(Topic.of("xyzzyq")))
    found = extractor.extract_features([Link("http://a/owl", anchor="owl")], "http://a/", Page("http://a/"))
    assert np.array_equal(found.meanings, np.zeros((1, len(SIMILARITY_TEXTS)), np.float32))
