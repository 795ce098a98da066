"""Context graphs: bands of priorities, models from files."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from topicrawl.errors import StrategyError
from topicrawl.strategies import make
from topicrawl.strategies.context_graph import band, read_model

from .material import Made
from .visits import begun, scores, visited


def test_no_link_of_a_further_layer_comes_before_one_of_a_nearer_layer() -> None:
    bands = [(band(layer, 0.0, 3), band(layer, 1.0, 3)) for layer in range(5)]
    assert all(nearer[0] > further[1] for nearer, further in pairwise(bands))
    assert bands[0][1] < 1
    assert bands[-1][0] == 0


@pytest.mark.parametrize(
    ("layer", "probability", "score"), [(0, 0.5, 0.9), (1, 0.6, 0.72), (3, 0.25, 0.25), (4, 0.3, 0.06)]
)
def test_three_layers_by_hand(layer: int, probability: float, score: float) -> None:
    assert band(layer, probability, 3) == pytest.approx(score)


def test_all_links_of_a_page_share_its_layer() -> None:
    crawler = begun("context_graph")
    crawler.prepare(Made())
    on = visited("http://a/", ["http://b/", "http://c/"], text="Dengue fever, the mosquito, the virus of dengue")
    off = visited("http://z/", ["http://b/"], text="nothing of it at all")
    assert len(set(scores(crawler, on).values())) == 1
    assert scores(crawler, on)["http://b/"] > scores(crawler, off)["http://b/"]


def test_a_model_from_a_file_is_the_model_that_was_trained(tmp_path: Path) -> None:
    crawler = begun("context_graph:layers=1")
    crawler.prepare(Made())
    file = tmp_path / "model.json"
    file.write_text(json.dumps({"kind": "context-graph", "model": crawler.state()}), "utf-8")
    again = begun(f"context_graph:model={file}")
    again.prepare(Made())
    assert again.state() == crawler.state()


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"kind": "hmm", "model": {}}', '{"kind": "context-graph", "model": {}}',
        '{"kind": "context-graph", "model": {"terms": ["a"], "logs": [[1], [1, 2]], "line": 0, "pages": []}}',
        '{"kind": "context-graph", "model": {"terms": ["a"], "logs": [["x"], [1]], "line": 0, "pages": []}}',
    ],
)  # fmt: skip
def test_a_file_that_is_no_model_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "model.json"
    file.write_text(text, "utf-8")
    with pytest.raises(StrategyError, match="train context-graph") as caught:
        read_model(str(file))
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(StrategyError, match=r"nowhere\.json cannot be read"):
        read_model("nowhere.json")


def test_numbers_must_be_positive() -> None:
    with pytest.raises(StrategyError, match="1 or more"):
        make("context_graph:layers=0")
