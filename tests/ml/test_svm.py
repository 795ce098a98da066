"""Tests of the linear support vector machine."""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicrawl.ml.svm import LinearSvm


def test_linearly_separable_rows_are_separated() -> None:
    random = Random(5)
    rows = [(random.random(), random.random(), random.random()) for _ in range(200)]
    rows = [row for row in rows if abs(row[0] + row[1] - 2 * row[2]) > 0.1]
    labels = [row[0] + row[1] > 2 * row[2] for row in rows]
    machine = LinearSvm.fit(rows, labels, cost=100.0)
    assert [machine.predict(row) > 0.5 for row in rows] == labels


def test_the_plane_is_in_the_middle_of_the_margin() -> None:
    machine = LinearSvm.fit([(0.0, 3.0), (0.2, 3.0), (0.6, 3.0), (1.0, 3.0)], [False, False, True, True], cost=1000.0)
    assert machine.margin((0.4, 3.0)) == pytest.approx(0.0, abs=1e-2)
    assert machine.margin((0.6, 3.0)) == pytest.approx(1.0, abs=1e-2)


def test_a_small_class_is_not_outvoted() -> None:
    rows = [(0.0,)] * 98 + [(1.0,)] * 2
    machine = LinearSvm.fit(rows, [False] * 98 + [True] * 2)
    assert machine.predict((1.0,)) > 0.5 > machine.predict((0.0,))


def test_it_survives_json() -> None:
    machine = LinearSvm.fit([(0.0, 1.0), (1.0, 0.5), (0.3, 0.3)], [False, True, True])
    assert LinearSvm.from_state(json.loads(json.dumps(machine.get_state()))) == machine


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.booleans()), min_size=1, max_size=10))
def test_outputs_lie_between_0_and_1(rows: list[tuple[float, float, bool]]) -> None:
    machine = LinearSvm.fit([row[:2] for row in rows], [row[2] for row in rows])
    assert all(0 <= machine.predict(row[:2]) <= 1 for row in rows)


def test_rows_and_labels_must_match() -> None:
    with pytest.raises(ValueError, match="0 rows and 0 labels"):
        LinearSvm.fit([], [])
