"""Guides: three models behind one question, and thresholds from rows."""

from __future__ import annotations

import json

import pytest

from topicrawl.strategies.guides import KINDS, Guide, Recipe, tuned

#: Safran et al. 2012, Table 2: URL words, anchor, parents, surrounding; six relevant rows, two others.
ROWS = [
    (0.25, 0.97, 0.64, 0.76), (0.66, 0.67, 0.69, 0.65), (0.32, 0.79, 0.60, 0.32), (0.0, 0.82, 0.67, 0.46),
    (0.54, 0.89, 0.67, 0.29), (0.12, 0.85, 0.29, 0.69), (0.0, 0.50, 0.20, 0.60), (0.51, 0.50, 0.16, 0.18),
]  # fmt: skip
LABELS = [True] * 6 + [False] * 2
LIMITS = (0.30, 0.75, 0.60, 0.60)


def test_thresholds_of_safran_are_to_be_exceeded() -> None:
    """Table 2 as yes and no: .60 of the third row's parents and of the seventh's surroundings is no."""
    guide = Guide.fit(Recipe("nb", LIMITS), ROWS, LABELS)
    expected = ["NYYY", "YNYY", "YYNN", "NYYN", "YYYN", "NYNY", "NNNN", "YNNN"]
    for row, letters in zip(ROWS, expected, strict=True):
        as_bits = tuple(1.0 if letter == "Y" else 0.0 for letter in letters)
        assert guide.predict(row) == guide.predict(as_bits)
    assert guide.predict((0, 0, 0.60, 0)) == guide.predict((0, 0, 0, 0)) != guide.predict((0, 0, 0.61, 0))


@pytest.mark.parametrize("kind", KINDS)
def test_every_guide_tells_safran_table_2_apart(kind: str) -> None:
    guide = Guide.fit(Recipe(kind, LIMITS), ROWS, LABELS)
    assert [guide.predict(row) > 0.5 for row in ROWS] == LABELS


@pytest.mark.parametrize("kind", KINDS)
def test_every_guide_survives_json(kind: str) -> None:
    guide = Guide.fit(Recipe(kind, LIMITS, tune=True), ROWS, LABELS)
    again = Guide.of(json.loads(json.dumps(guide.state())))
    assert again.thresholds == guide.thresholds
    assert [again.predict(row) for row in ROWS] == [guide.predict(row) for row in ROWS]


@pytest.mark.parametrize(
    ("values", "labels", "usual", "expected"),
    [
        ([0.1, 0.2, 0.6, 0.8], [False, False, True, True], 0.9, 0.4),
        ([0.1, 0.2, 0.6, 0.8], [False, False, True, True], 0.3, 0.3),  # the usual one is as good
        ([0.9, 0.8, 0.1, 0.0], [False, False, True, True], 0.7, 0.7),  # nothing favours the relevant
        ([0.5, 0.5, 0.5, 0.5], [False, False, True, True], 0.7, 0.7),
        ([0.1, 0.3, 0.2, 0.9], [False, False, True, True], 0.2, 0.15),  # .6 is as good and farther
    ],
)
def test_thresholds_can_be_taken_from_rows(
    values: list[float], labels: list[bool], usual: float, expected: float
) -> None:
    (cut,) = tuned([(value,) for value in values], labels, (usual,))
    assert cut == pytest.approx(expected)
