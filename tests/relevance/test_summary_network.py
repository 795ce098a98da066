"""The networks that choose summary sentences: the one that comes with the package, and files."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from topicrawl.lab.summary_training import fitted, measured
from topicrawl.learn.network import Network
from topicrawl.relevance.sentence_features import FEATURES
from topicrawl.relevance.summary_network import KIND, model_of, network_in, shipped

ROOT = Path(__file__).parent.parent.parent
SOUND = Network([0.0] * 6, [1.0] * 6, [[[0.1] * 7] * 5, [[0.1] * 6]])


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_summary_data", ROOT / "tools" / "make_summary_data.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_english_network_is_as_good_on_pages_not_seen_as_its_file_says(maker: ModuleType) -> None:
    network = shipped("en")
    assert network is not None
    said = json.loads(maker.NETWORK.read_text("utf-8"))["made_from"]
    count = measured(network, maker.table(range(maker.PAGES, maker.PAGES + maker.HELD_OUT)))
    assert round(count.accuracy, 4) == said["held_out_accuracy"]
    assert round(count.majority, 4) == said["held_out_majority"]
    assert count.accuracy > count.majority + 0.05
    assert f"{count.accuracy:.3f}" in (ROOT / "docs" / "how-to" / "train-a-summariser.md").read_text("utf-8")


def test_the_made_up_pages_are_the_same_for_everybody_and_enough_to_learn_from(maker: ModuleType) -> None:
    rows = maker.table(range(80))
    assert rows == maker.table(range(80))
    assert len({row.label for row in rows}) == 2
    count = measured(fitted(rows), maker.table(range(1000, 1030)))
    assert count.accuracy > count.majority


def test_it_is_a_network_of_six_five_and_one() -> None:
    network = shipped("en")
    assert network is not None
    assert [len(layer) for layer in network.layers] == [5, 1]
    assert len(network.centre) == 6


@pytest.mark.parametrize("language", ["de", "xx", "", "../en", "en.json"])
def test_other_languages_have_none(language: str) -> None:
    assert shipped(language) is None


def test_a_network_reads_back_from_its_file() -> None:
    text = json.dumps({"kind": KIND, "model": model_of(SOUND, "en")})
    assert network_in(text).state() == SOUND.state()


def stored(**changes: Any) -> str:
    model = {**model_of(SOUND, "en"), **changes}
    return json.dumps({"kind": KIND, "model": model})


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "not JSON"),
        ("[]", "no network of"),
        ('{"kind": "hmm"}', "no network of"),
        (json.dumps({"kind": KIND}), "other features"),
        (stored(features=list(FEATURES[:5])), "other features"),
        (stored(network=None), "damaged"),
        (stored(network=[[0.0] * 6, [1.0] * 6, []]), "damaged"),
        (stored(network=[[0.0] * 5, [1.0] * 6, [[[0.0] * 7]]]), "damaged"),
        (stored(network=[[0.0] * 6, [0.0] * 6, [[[0.0] * 7]]]), "damaged"),
        (stored(network=[[0.0] * 6, [1.0] * 6, [[[0.0] * 7] * 5, [[0.0] * 5]]]), "damaged"),
        (stored(network=[[0.0] * 6, [1.0] * 6, [[[0.0] * 7] * 2]]), "damaged"),
        (stored(network=[[0.0] * 6, [1.0] * 6, [[["x"] * 7]]]), "damaged"),
        (stored(network=[[0.0] * 6, [1.0] * 6, [[[float("nan")] * 7]]]), "damaged"),
    ],
)
def test_a_file_that_is_no_network_says_so(text: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        network_in(text)
