"""Tests of naive Bayes: the tables of Safran et al. and Hati et al., and properties of probabilities."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.ml.naive_bayes import BernoulliNaiveBayes

#: Safran et al. 2012, Table 2 as yes and no (URL words, anchor, parents, surrounding): six relevant rows, two
#: irrelevant.
SAFRAN = ["NYYY", "YNYY", "YYNN", "NYYN", "YYYN", "NYNY", "NNNN", "YNNN"]
#: Hati et al. 2010, Table 8 (parents, description, anchor, cohesive text): five relevant rows, two irrelevant.
HATI = ["NYYY", "YYYY", "NNYY", "YYNN", "YYNY", "NNYN", "NYNY"]


def bits(text: str) -> tuple[bool, ...]:
    return tuple(letter == "Y" for letter in text)


def fit_model(rows: list[str], irrelevant: int, *, smoothing: bool) -> BernoulliNaiveBayes:
    labels = [index < len(rows) - irrelevant for index in range(len(rows))]
    return BernoulliNaiveBayes.fit([bits(row) for row in rows], labels, smoothing=smoothing)


@pytest.mark.parametrize(
    ("row", "relevant", "irrelevant", "decision"),
    [("YYYY", 5 / 48, 0.0, True), ("NNNN", 1 / 96, 1 / 8, False), ("YNNY", 1 / 96, 0.0, True)],
)
def test_decisions_of_safran_table_2_as_printed(row: str, relevant: float, irrelevant: float, decision: bool) -> None:
    model = fit_model(SAFRAN, 2, smoothing=False)
    assert model.compute_weights(bits(row)) == pytest.approx((relevant, irrelevant))
    assert (model.predict(bits(row)) > 0.5) == decision


@pytest.mark.parametrize(("row", "posterior"), [("NNNN", 0.2059), ("YNNY", 0.4375)])
def test_decisions_of_safran_table_2_with_smoothing(row: str, posterior: float) -> None:
    assert fit_model(SAFRAN, 2, smoothing=True).predict(bits(row)) == pytest.approx(posterior, abs=5e-5)


def test_the_example_of_hati_with_the_attributes_it_names() -> None:
    model = fit_model(HATI, 2, smoothing=False)
    assert model.compute_weights(bits("NYNY")) == pytest.approx((64 / 625 * 5 / 7, 1 / 8 * 2 / 7))
    assert model.predict(bits("NYNY")) == pytest.approx(256 / 381)


def test_the_example_of_hati_with_the_anchor_it_multiplies() -> None:
    model = fit_model(HATI, 2, smoothing=False)
    assert model.compute_weights(bits("NYYY")) == pytest.approx((0.1097142857, 0.0357142857))
    assert model.predict(bits("NYYY")) == pytest.approx(384 / 509)


def test_the_example_of_hati_with_smoothing() -> None:
    assert fit_model(HATI, 2, smoothing=True).predict(bits("NYNY")) == pytest.approx(0.6665740869)


@pytest.mark.parametrize("row", ["NYYN", "NNYY"])
def test_smoothing_turns_two_rows_of_hati_to_relevant(row: str) -> None:
    assert fit_model(HATI, 2, smoothing=False).predict(bits(row)) < 0.5
    assert fit_model(HATI, 2, smoothing=True).predict(bits(row)) == pytest.approx(0.5160, abs=5e-5)


def test_unseen_rows_are_undecided_without_smoothing() -> None:
    model = BernoulliNaiveBayes.fit([(True, False), (False, True)], [True, False], smoothing=False)
    assert model.predict((True, True)) == 0.5


ROWS = st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=12)


@given(ROWS, st.booleans())
def test_posteriors_of_both_classes_sum_to_1(rows: list[tuple[bool, ...]], smoothing: bool) -> None:
    labels = [row[0] for row in rows]
    there = BernoulliNaiveBayes.fit([row[1:] for row in rows], labels, smoothing=smoothing)
    other = BernoulliNaiveBayes.fit([row[1:] for row in rows], [not label for label in labels], smoothing=smoothing)
    for row in rows:
        assert there.predict(row[1:]) + other.predict(row[1:]) == pytest.approx(1.0)


@given(ROWS)
def test_weights_of_all_possible_rows_sum_to_the_classes_share(rows: list[tuple[bool, ...]]) -> None:
    model = BernoulliNaiveBayes.fit([row[1:] for row in rows], [row[0] for row in rows])
    every = [(a, b, c) for a in (False, True) for b in (False, True) for c in (False, True)]
    assert sum(sum(model.compute_weights(row)) for row in every) == pytest.approx(1.0)


@given(ROWS)
def test_the_order_of_rows_does_not_matter(rows: list[tuple[bool, ...]]) -> None:
    one = BernoulliNaiveBayes.fit([row[1:] for row in rows], [row[0] for row in rows])
    assert one == BernoulliNaiveBayes.fit([row[1:] for row in rows[::-1]], [row[0] for row in rows[::-1]])


def test_rows_and_labels_must_match() -> None:
    with pytest.raises(ValueError, match="2 rows and 1 labels"):
        BernoulliNaiveBayes.fit([(True,), (False,)], [True])
