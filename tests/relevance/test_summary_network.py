"""Tests of the networks that select summary sentences: the bundled ones and files."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.helpers.markers import LONG

from topicrawl.lab.summary_training import evaluate_network, fit_network
from topicrawl.ml.network import NeuralNetwork
from topicrawl.models import Link, Page, Response
from topicrawl.parse import parse_response
from topicrawl.relevance.sentence_features import FEATURE_NAMES
from topicrawl.relevance.summary_network import (
    MODEL_KIND,
    list_bundled_networks,
    load_bundled_network,
    parse_network,
    serialize_network,
)
from topicrawl.text.lexicon import load_lexicon

ROOT = Path(__file__).parent.parent.parent
SOUND = NeuralNetwork([0.0] * 6, [1.0] * 6, [[[0.1] * 7] * 5, [[0.1] * 6]])


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    return load_tool("make_summary_data")


def load_tool(name: str) -> ModuleType:
    """Import a tool of the repository."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_english_network_reaches_its_recorded_accuracy(maker: ModuleType) -> None:
    network = load_bundled_network("en")
    assert network is not None
    recorded = json.loads(maker.NETWORK.read_text("utf-8"))["made_from"]
    count = evaluate_network(network, maker.label_pages(range(maker.PAGES, maker.PAGES + maker.HELD_OUT)))
    assert round(count.accuracy, 4) == recorded["held_out_accuracy"]
    assert round(count.majority_accuracy, 4) == recorded["held_out_majority"]
    assert count.accuracy > count.majority_accuracy + 0.05
    assert f"{count.accuracy:.3f}" in (ROOT / "docs" / "how-to" / "train-a-summariser.md").read_text("utf-8")


@pytest.mark.parametrize("language", ["de", "fr"])
def test_networks_of_manuals_have_their_recorded_figures_in_the_docs(language: str) -> None:
    network = load_bundled_network(language)
    assert network is not None
    assert [len(layer) for layer in network.layers] == [5, 1]
    details = list_bundled_networks()[language]
    assert details["labels"].startswith("rule: ")
    assert details["held_out_accuracy"] > details["held_out_majority"] + 0.05
    text = (ROOT / "docs" / "how-to" / "train-a-summariser.md").read_text("utf-8")
    assert f"{details['held_out_accuracy']:.3f}" in text
    assert f"{details['held_out_majority']:.3f}" in text


def test_rule_for_manuals_selects_headings_and_topic_sentences() -> None:
    html = """<html lang=de><title>Eulen</title><h2>Die Jagd der Eulen bei Nacht</h2>
        <p>Eulen jagen bei Nacht viele kleine Tiere. Sie fliegen dabei ganz ohne ein Geräusch.</p>
        <p>Es war ein langer Tag im Büro. Die Züge fuhren an diesem Abend nicht.</p>
        <p>Auch dieser Absatz handelt von Eulen im Wald.</p>"""
    html += "<p>Feder, Schnabel, Kralle, Maus, Nest, Baum, Flug, Auge, Gehör, Beute.</p>" * 3
    page = parse_response(Response("http://a/", "http://a/", 200, {}, html.encode()), Link("http://a/"), styles=True)
    assert isinstance(page, Page)
    rows = load_tool("make_manual_summaries").label_page(page, "eulen", load_lexicon("de"))
    assert [row.sentence[:9] for row in rows if row.label] == ["Die Jagd ", "Eulen jag"]
    assert len(rows) == 9


@LONG
def test_training_pages_are_reproducible_and_sufficient(maker: ModuleType) -> None:
    rows = maker.label_pages(range(80))
    assert rows == maker.label_pages(range(80))
    assert len({row.label for row in rows}) == 2
    count = evaluate_network(fit_network(rows), maker.label_pages(range(1000, 1030)))
    assert count.accuracy > count.majority_accuracy


def test_network_has_layers_of_six_five_and_one() -> None:
    network = load_bundled_network("en")
    assert network is not None
    assert [len(layer) for layer in network.layers] == [5, 1]
    assert len(network.centre) == 6


@pytest.mark.parametrize("language", ["nl", "xx", "", "../en", "en.json"])
def test_other_languages_have_no_bundled_network(language: str) -> None:
    assert load_bundled_network(language) is None


def test_network_round_trip() -> None:
    text = json.dumps({"kind": MODEL_KIND, "model": serialize_network(SOUND, "en")})
    assert parse_network(text).get_state() == SOUND.get_state()


def stored(**changes: Any) -> str:
    model = {**serialize_network(SOUND, "en"), **changes}
    return json.dumps({"kind": MODEL_KIND, "model": model})


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "not JSON"),
        ("[]", "not a network"),
        ('{"kind": "hmm"}', "not a network"),
        (json.dumps({"kind": MODEL_KIND}), "does not use the features"),
        (stored(features=list(FEATURE_NAMES[:5])), "does not use the features"),
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
def test_invalid_file_is_reported(text: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        parse_network(text)
