"""Texts against a topic, term by term."""

from __future__ import annotations

import pytest

from topicrawl.relevance.likeness import Likeness, Terms
from topicrawl.relevance.semantic import Li, Path
from topicrawl.text.tokens import words
from topicrawl.text.wordnet import wordnet
from topicrawl.topic import Topic


def terms(phrase: str) -> Terms:
    return Terms(Topic.of(phrase), wordnet())


def test_inflections_are_one_term() -> None:
    assert terms("fever").counts(words("Fevers of the fever, feverish")) == {"fevers": 2.0, "feverish": 1.0}


def test_terms_of_several_words_stand_beside_their_words() -> None:
    assert terms("steam engine").topic == {"steam": 1.0, "engine": 1.0, "steam engine": 1.0}
    assert terms("fever").counts(words("the steam engines")) == {"steam": 1.0, "engines": 1.0, "steam engines": 1.0}


def test_the_topics_words_are_never_stop_words() -> None:
    who = terms("the who")
    assert {"the", "who"} <= set(who.topic)
    assert who.counts(["the", "who", "and", "others"]) == {"the": 1.0, "who": 1.0, "others": 1.0}


def test_a_topics_heaviest_term_weighs_1() -> None:
    topic = Topic("fever", {"dengue": 4.0, "fever": 2.0})
    assert Terms(topic, wordnet()).topic == {"dengue": 1.0, "fever": 0.5, "dengue fever": 0.5}


def test_a_term_is_as_rare_as_its_rarest_word() -> None:
    found = terms("fever")
    assert found.idf("dengue fever") == found.idf("dengue") > found.idf("fever")


@pytest.mark.parametrize("measure", [Path(), Li()])
def test_words_that_nobody_knows_are_like_themselves_only(measure: Path | Li) -> None:
    likeness = Likeness(terms("qqqq owls"), measure)
    assert likeness.of("qqqq") == (1.0, 0.0)
    assert likeness.of("owl")[1] == 1.0
    assert likeness.of("zzzz") == (0.0, 0.0)


def test_small_similarities_may_count_as_none() -> None:
    (value,) = Likeness(terms("car"), Path()).of("fever")
    assert 0 < value < 0.1
    assert Likeness(terms("car"), Path(), least=0.1).of("fever") == (0.0,)


def test_weights_are_frequencies_times_rarity() -> None:
    rows = Likeness(terms("car"), Path()).rows({"car": 2.0, "owl": 1.0})
    plain = Likeness(terms("car"), Path(), rare=False).rows({"car": 2.0, "owl": 1.0})
    rarity = terms("car")
    assert [weight for weight, _ in plain] == [1.0, 0.5]
    assert [weight for weight, _ in rows] == [rarity.idf("car"), rarity.idf("owl") / 2]
