"""Tests of the similarities of terms to a topic."""

from __future__ import annotations

import pytest

from topicrawl.relevance.semantic_similarity import LiMeasure, PathMeasure
from topicrawl.relevance.term_similarity import OntologyTerms, TermSimilarity
from topicrawl.text.tokenizer import tokenise
from topicrawl.text.wordnet import load_wordnet
from topicrawl.topic import Topic


def terms(phrase: str) -> OntologyTerms:
    return OntologyTerms(Topic.of(phrase), load_wordnet())


def test_inflected_forms_are_one_term() -> None:
    assert terms("fever").count_terms(tokenise("Fevers of the fever, feverish")) == {"fevers": 2.0, "feverish": 1.0}


def test_multi_word_terms_are_not_counted_in_addition_to_their_words() -> None:
    assert terms("steam engine").topic_weights == {"steam": 1.0, "engine": 1.0}
    assert terms("fever").count_terms(tokenise("the steam engines")) == {"steam": 1.0, "engines": 1.0}


def test_a_multi_word_term_with_an_unknown_word_replaces_its_words() -> None:
    assert not load_wordnet().get_senses("aegypti")
    assert terms("aedes aegypti").topic_weights == {"aedes aegypti": 1.0}
    counts = terms("fever").count_terms(tokenise("Aedes aegypti, Aedes and fever"))
    assert counts == {"aedes": 1.0, "fever": 1.0, "aedes aegypti": 1.0}


def test_words_of_the_topic_are_never_stop_words() -> None:
    who = terms("the who")
    assert {"the", "who"} <= set(who.topic_weights)
    assert who.count_terms(["the", "who", "and", "others"]) == {"the": 1.0, "who": 1.0, "others": 1.0}


def test_heaviest_term_of_a_topic_has_weight_1() -> None:
    topic = Topic("fever", {"dengue": 4.0, "fever": 2.0})
    assert OntologyTerms(topic, load_wordnet()).topic_weights == {"dengue": 1.0, "fever": 0.5}


def test_idf_of_a_term_is_that_of_its_rarest_word() -> None:
    found = terms("fever")
    assert found.idf("dengue fever") == found.idf("dengue") > found.idf("fever")


@pytest.mark.parametrize("measure", [PathMeasure(), LiMeasure()])
def test_unknown_words_are_similar_only_to_themselves(measure: PathMeasure | LiMeasure) -> None:
    likeness = TermSimilarity(terms("qqqq owls"), measure)
    assert likeness.get_similarities("qqqq") == (1.0, 0.0)
    assert likeness.get_similarities("owl")[1] == 1.0
    assert likeness.get_similarities("zzzz") == (0.0, 0.0)


def test_similarities_below_the_minimum_count_as_0() -> None:
    (value,) = TermSimilarity(terms("car"), PathMeasure()).get_similarities("fever")
    assert 0 < value < 0.1
    assert TermSimilarity(terms("car"), PathMeasure(), min_similarity=0.1).get_similarities("fever") == (0.0,)


def test_weights_are_tf_idf() -> None:
    rows = TermSimilarity(terms("car"), PathMeasure()).build_rows({"car": 2.0, "owl": 1.0})
    plain = TermSimilarity(terms("car"), PathMeasure(), use_idf=False).build_rows({"car": 2.0, "owl": 1.0})
    rarity = terms("car")
    assert [weight for weight, _ in plain] == [1.0, 0.5]
    assert [weight for weight, _ in rows] == [rarity.idf("car"), rarity.idf("owl") / 2]
