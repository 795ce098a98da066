"""Tests of the three link classifiers and of threshold tuning."""

from __future__ import annotations

import json

import pytest

from topicrawl.strategies.training.classifiers import (
    CLASSIFIER_KINDS,
    ClassifierConfig,
    LinkClassifier,
    tune_thresholds,
)

#: Safran et al. 2012, Table 2: URL words, anchor, parents, surrounding; six relevant rows, two irrelevant.
ROWS = [
    (0.25, 0.97, 0.64, 0.76),
    (0.66, 0.67, 0.69, 0.65),
    (0.32, 0.79, 0.60, 0.32),
    (0.0, 0.82, 0.67, 0.46),
    (0.54, 0.89, 0.67, 0.29),
    (0.12, 0.85, 0.29, 0.69),
    (0.0, 0.50, 0.20, 0.60),
    (0.51, 0.50, 0.16, 0.18),
]
LABELS = [True] * 6 + [False] * 2
LIMITS = (0.30, 0.75, 0.60, 0.60)


def test_values_must_be_above_the_thresholds_of_safran() -> None:
    """Table 2 as yes and no: .60 in the third row's parents and in the seventh's surroundings is no."""
    guide = LinkClassifier.fit(ClassifierConfig("nb", LIMITS), ROWS, LABELS)
    expected = ["NYYY", "YNYY", "YYNN", "NYYN", "YYYN", "NYNY", "NNNN", "YNNN"]
    for row, letters in zip(ROWS, expected, strict=True):
        as_bits = tuple(1.0 if letter == "Y" else 0.0 for letter in letters)
        assert guide.predict(row) == guide.predict(as_bits)
    assert guide.predict((0, 0, 0.60, 0)) == guide.predict((0, 0, 0, 0)) != guide.predict((0, 0, 0.61, 0))


@pytest.mark.parametrize("kind", CLASSIFIER_KINDS)
def test_every_classifier_separates_safran_table_2(kind: str) -> None:
    guide = LinkClassifier.fit(ClassifierConfig(kind, LIMITS), ROWS, LABELS)
    assert [guide.predict(row) > 0.5 for row in ROWS] == LABELS


@pytest.mark.parametrize("kind", CLASSIFIER_KINDS)
def test_every_classifier_survives_json(kind: str) -> None:
    guide = LinkClassifier.fit(ClassifierConfig(kind, LIMITS, tune=True), ROWS, LABELS)
    again = LinkClassifier.from_state(json.loads(json.dumps(guide.get_state())))
    assert again.thresholds == guide.thresholds
    assert [again.predict(row) for row in ROWS] == [guide.predict(row) for row in ROWS]


@pytest.mark.parametrize(
    ("values", "labels", "usual", "expected"),
    [
        ([0.1, 0.2, 0.6, 0.8], [False, False, True, True], 0.9, 0.4),
        ([0.1, 0.2, 0.6, 0.8], [False, False, True, True], 0.3, 0.3),  # the default is as good
        ([0.9, 0.8, 0.1, 0.0], [False, False, True, True], 0.7, 0.7),  # no threshold favours the relevant rows
        ([0.5, 0.5, 0.5, 0.5], [False, False, True, True], 0.7, 0.7),
        ([0.1, 0.3, 0.2, 0.9], [False, False, True, True], 0.2, 0.15),  # 0.6 is as good but farther from the default
    ],
)
def test_thresholds_can_be_tuned_on_rows(
    values: list[float], labels: list[bool], usual: float, expected: float
) -> None:
    (cut,) = tune_thresholds([(value,) for value in values], labels, (usual,))
    assert cut == pytest.approx(expected)
