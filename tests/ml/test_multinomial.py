"""Tests of multinomial naive Bayes, computed by hand."""

from __future__ import annotations

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.ml.multinomial import MultinomialNaiveBayes, scale_weights

TERMS = ["owl", "car"]


def test_probabilities_of_terms_by_hand() -> None:
    """Documents count as ten words: 10 + 5 owls and 5 cars of 20, each plus one, of 22."""
    model = MultinomialNaiveBayes.fit([[{"owl": 2.0}, {"owl": 0.3, "car": 0.3}], [{"car": 1.0}]], TERMS)
    assert model.log_probabilities[0] == pytest.approx((log(16 / 22), log(6 / 22)))
    assert model.log_probabilities[1] == pytest.approx((log(1 / 12), log(11 / 12)))


def test_posteriors_by_hand() -> None:
    model = MultinomialNaiveBayes.fit([[{"owl": 1.0}], [{"car": 1.0}]], TERMS)
    # Seven and a half owls and two and a half cars: 11 to 1 for each owl, 1 to 11 for each car.
    odds = 11**7.5 / 11**2.5
    assert model.compute_posteriors({"owl": 3.0, "car": 1.0, "of": 9.0}) == pytest.approx(
        [odds / (odds + 1), 1 / (odds + 1)]
    )


def test_a_document_without_any_term_gives_equal_posteriors() -> None:
    model = MultinomialNaiveBayes.fit([[{"owl": 1.0}], [{"car": 1.0}], []], TERMS)
    assert model.compute_posteriors({"the": 5.0}) == pytest.approx([1 / 3] * 3)


@given(st.dictionaries(st.sampled_from(["owl", "car", "the"]), st.floats(0.01, 100)), st.floats(0.01, 1000))
def test_length_does_not_matter(document: dict[str, float], factor: float) -> None:
    model = MultinomialNaiveBayes.fit([[{"owl": 1.0}], [{"car": 1.0, "owl": 1.0}]], TERMS)
    longer = {term: weight * factor for term, weight in document.items()}
    found = model.compute_posteriors(document)
    assert sum(found) == pytest.approx(1.0)
    assert model.compute_posteriors(longer) == pytest.approx(found)


def test_scaling_leaves_other_terms_out() -> None:
    assert scale_weights({"owl": 1.0, "the": 9.0, "car": 0.0}, TERMS) == {"owl": 10.0}
    assert scale_weights({}, TERMS) == {}
