"""Tests of the context graph strategy: bands of priorities and model files."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from tests.helpers.training_data import SampleTrainingData
from tests.helpers.visits import bind_strategy, build_visit, score_visit_links

from topicrawl.errors import StrategyError
from topicrawl.strategies import create_strategy
from topicrawl.strategies.context_graph import compute_band_score, load_model


def test_no_link_of_a_further_layer_comes_before_one_of_a_nearer_layer() -> None:
    bands = [(compute_band_score(layer, 0.0, 3), compute_band_score(layer, 1.0, 3)) for layer in range(5)]
    assert all(nearer[0] > further[1] for nearer, further in pairwise(bands))
    assert bands[0][1] < 1
    assert bands[-1][0] == 0


@pytest.mark.parametrize(
    ("layer", "probability", "score"), [(0, 0.5, 0.9), (1, 0.6, 0.72), (3, 0.25, 0.25), (4, 0.3, 0.06)]
)
def test_scores_of_three_layers_computed_by_hand(layer: int, probability: float, score: float) -> None:
    assert compute_band_score(layer, probability, 3) == pytest.approx(score)


def test_all_links_of_a_page_share_its_layer() -> None:
    crawler = bind_strategy("context_graph")
    crawler.fit(SampleTrainingData())
    on = build_visit("http://a/", ["http://b/", "http://c/"], text="Dengue fever, the mosquito, the virus of dengue")
    off = build_visit("http://z/", ["http://b/"], text="nothing of it at all")
    assert len(set(score_visit_links(crawler, on).values())) == 1
    assert score_visit_links(crawler, on)["http://b/"] > score_visit_links(crawler, off)["http://b/"]


def test_a_model_file_restores_the_trained_classifier(tmp_path: Path) -> None:
    crawler = bind_strategy("context_graph:layers=1")
    crawler.fit(SampleTrainingData())
    file = tmp_path / "model.json"
    file.write_text(json.dumps({"kind": "context-graph", "model": crawler.get_state()}), "utf-8")
    again = bind_strategy(f"context_graph:model={file}")
    again.fit(SampleTrainingData())
    assert again.get_state() == crawler.get_state()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"kind": "hmm", "model": {}}',
        '{"kind": "context-graph", "model": {}}',
        '{"kind": "context-graph", "model": {"terms": ["a"], "logs": [[1], [1, 2]], "line": 0, "pages": []}}',
        '{"kind": "context-graph", "model": {"terms": ["a"], "logs": [["x"], [1]], "line": 0, "pages": []}}',
    ],
)
def test_an_invalid_model_file_is_reported_in_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "model.json"
    file.write_text(text, "utf-8")
    with pytest.raises(StrategyError, match="train context-graph") as caught:
        load_model(str(file))
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_reported() -> None:
    with pytest.raises(StrategyError, match=r"nowhere\.json cannot be read"):
        load_model("nowhere.json")


def test_numbers_must_be_positive() -> None:
    with pytest.raises(StrategyError, match="1 or more"):
        create_strategy("context_graph:layers=0")
