"""Tests of the small neural network: accuracy, state and reproducibility."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicrawl.ml.network import NeuralNetwork, _compute_gradients

ROWS = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)]


@pytest.mark.parametrize("seed", range(5))
def test_it_learns_exclusive_or(seed: int) -> None:
    network = NeuralNetwork.fit(ROWS, [0, 1, 1, 0], hidden=(5,), seed=seed)
    assert [round(network.predict(row)) for row in ROWS] == [0, 1, 1, 0]


def test_without_a_hidden_layer_the_network_is_linear() -> None:
    network = NeuralNetwork.fit(ROWS, [0, 0, 0, 1], hidden=())
    assert [round(network.predict(row)) for row in ROWS] == [0, 0, 0, 1]


def test_inputs_are_scaled() -> None:
    rows = [(1000.0 + x, 5.0) for x in (0.1, 0.2, 0.8, 0.9)]
    network = NeuralNetwork.fit(rows, [0, 0, 1, 1], hidden=(3,))
    assert [round(network.predict(row)) for row in rows] == [0, 0, 1, 1]


def test_the_same_seed_gives_the_same_network() -> None:
    assert NeuralNetwork.fit(ROWS, [0, 1, 1, 1], seed=3) == NeuralNetwork.fit(ROWS, [0, 1, 1, 1], seed=3)
    assert NeuralNetwork.fit(ROWS, [0, 1, 1, 1], seed=3) != NeuralNetwork.fit(ROWS, [0, 1, 1, 1], seed=4)


def test_it_survives_json() -> None:
    network = NeuralNetwork.fit(ROWS, [0, 1, 1, 0], hidden=(3, 2), epochs=20)
    again = NeuralNetwork.from_state(json.loads(json.dumps(network.get_state())))
    assert [again.predict(row) for row in ROWS] == [network.predict(row) for row in ROWS]


def test_layers_have_the_requested_sizes() -> None:
    network = NeuralNetwork.fit([(0.0,) * 6, (1.0,) * 6], [0, 1], hidden=(5,), epochs=1)
    assert [(len(layer), len(layer[0])) for layer in network.layers] == [(5, 7), (1, 6)]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.booleans()), min_size=1, max_size=8))
def test_outputs_lie_between_0_and_1(rows: list[tuple[float, float, bool]]) -> None:
    network = NeuralNetwork.fit([row[:2] for row in rows], [float(row[2]) for row in rows], hidden=(2,), epochs=10)
    assert all(0 <= network.predict(row[:2]) <= 1 for row in rows)


def test_gradients_match_finite_differences() -> None:
    np = pytest.importorskip("numpy")
    random = np.random.default_rng(0)
    weights = [random.normal(size=(3, 3)), random.normal(size=(1, 4))]
    inputs, labels = random.normal(size=(6, 2)), random.integers(0, 2, 6).astype(float)

    def loss() -> float:
        values = inputs
        for layer in weights:
            values = 1 / (1 + np.exp(-(np.hstack([values, np.ones((6, 1))]) @ layer.T)))
        fit = -np.mean(labels * np.log(values[:, 0]) + (1 - labels) * np.log(1 - values[:, 0]))
        return float(fit + sum(5e-4 * (layer**2).sum() for layer in weights))

    slopes = _compute_gradients(weights, inputs, labels)
    for layer, slope in zip(weights, slopes, strict=True):
        for index in np.ndindex(layer.shape):
            original = layer[index]
            layer[index] = original + 1e-6
            high = loss()
            layer[index] = original - 1e-6
            low = loss()
            layer[index] = original
            assert slope[index] == pytest.approx((high - low) / 2e-6, abs=1e-6)


@pytest.mark.parametrize(("rows", "labels"), [([], []), ([(1.0,)], [0, 1])])
def test_rows_and_labels_must_match(rows: list[tuple[float]], labels: list[int]) -> None:
    with pytest.raises(ValueError, match="rows and"):
        NeuralNetwork.fit(rows, labels)
