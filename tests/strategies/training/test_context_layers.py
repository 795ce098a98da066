"""Tests of the layers of a context graph on a small hand-made web."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from topicrawl.errors import StrategyError
from topicrawl.models import Link, Page
from topicrawl.strategies.training.context_layers import (
    ContextGraphShape,
    LayerClassifier,
    build_layers,
    compute_page_weights,
)
from topicrawl.text.lexicon import load_lexicon
from topicrawl.text.tokenizer import tokenise

TEXTS = {
    "owl": "owls hunt at night, owls see and hear well",
    "barn": "barn owls nest in a barn",
    "birds": "birds of the forest: owls, finches, woodpeckers",
    "forest": "forest birds and forest animals, birds of all kinds",
    "nature": "nature in the country: animals, plants, lakes",
    "portal": "portal: nature, sport, news, weather",
    "cars": "cars and engines",
}
# Page → link targets: portal → nature → birds, forest → owl, barn; barn and owl link to each other.
LINKS = {
    "portal": ["nature", "cars"],
    "nature": ["birds", "forest", "portal"],
    "forest": ["birds", "barn"],
    "birds": ["owl", "barn"],
    "owl": ["barn"],
    "barn": ["owl"],
}


class Woods:
    """Training data with seven pages. The relevant pages are owl and barn."""

    relevant: Sequence[str] = ("owl", "barn")
    irrelevant: Sequence[str] = ()
    sessions: Sequence[Sequence[str]] = ()

    def get_page(self, url: str) -> Page | None:
        return Page(url, url, words=tuple(tokenise(TEXTS[url]))) if url in TEXTS else None

    def get_parents(self, url: str, limit: int = 5) -> Sequence[Link]:
        return [Link(url, source) for source, targets in LINKS.items() if url in targets][:limit]


@pytest.mark.parametrize(
    ("shape", "layers"),
    [
        (ContextGraphShape(3, 10, 10, 40), [["owl", "barn"], ["birds", "forest"], ["nature"], ["portal"]]),
        (ContextGraphShape(1, 10, 10, 40), [["owl", "barn"], ["birds", "forest"]]),
        (
            ContextGraphShape(2, 1, 10, 40),
            [["owl", "barn"], ["birds", "forest"], ["nature"]],
        ),  # only the first parent of each page
        (ContextGraphShape(2, 10, 1, 40), [["owl"], ["birds"], ["nature"]]),
        (ContextGraphShape(4, 10, 10, 40), [["owl", "barn"], ["birds", "forest"], ["nature"], ["portal"], []]),
    ],
)
def test_a_page_is_in_the_nearest_layer(shape: ContextGraphShape, layers: list[list[str]]) -> None:
    assert build_layers(Woods(), shape) == layers


def train_layers() -> LayerClassifier:
    return LayerClassifier.from_training_data(
        Woods(), load_lexicon("en"), ContextGraphShape(3, 10, 10, 40), "context_graph"
    )


def classify_text(text: str) -> tuple[int, float]:
    return train_layers().classify(compute_page_weights(Page("new", words=tuple(tokenise(text))), load_lexicon("en")))


@pytest.mark.parametrize(
    ("text", "layer"), [("owls in a barn at night", 0), ("birds of the forest", 1), ("engines, engines", 4), ("", 4)]
)
def test_pages_are_classified_by_their_terms_and_may_belong_to_no_layer(text: str, layer: int) -> None:
    found, probability = classify_text(text)
    assert found == layer
    assert 0 < probability <= 1


def test_terms_come_from_the_examples_and_their_parents() -> None:
    terms = train_layers().model.terms
    assert {"owl", "barn", "forest"} <= set(terms)
    assert "sport" not in terms


def test_the_terms_with_the_largest_weights_are_selected() -> None:
    layers = LayerClassifier.from_training_data(
        Woods(), load_lexicon("en"), ContextGraphShape(1, 10, 10, 3), "context_graph"
    )
    assert len(layers.model.terms) == 3
    assert layers.page_counts == (2, 2)


def test_a_shallow_web_has_fewer_layers() -> None:
    assert LayerClassifier.from_training_data(
        Woods(), load_lexicon("en"), ContextGraphShape(9, 10, 10, 40), "context_graph"
    ).page_counts == (2, 2, 1, 1)


def test_nine_in_ten_training_pages_reach_the_minimum_probability() -> None:
    owls = [{"owl": 1.0, "car": number / 10} for number in range(20)]
    cars = [{"car": 1.0, "owl": number / 50} for number in range(10)]
    layers = LayerClassifier.fit([owls, cars], ["owl", "car"])
    sure = [max(layers.model.compute_posteriors(bag)) for bag in (*owls, *cars)]
    assert sum(value >= layers.min_probability for value in sure) == 27


class Alone(Woods):
    relevant = ("cars",)


class Elsewhere(Woods):
    relevant = ("http://elsewhere/",)


class Unmarked(Woods):
    relevant = ()


@pytest.mark.parametrize(
    ("material", "says"),
    [
        (Unmarked(), "train context-graph"),
        (Elsewhere(), "none of the 1 relevant examples is in the training data"),
    ],
)
def test_missing_examples_are_reported_in_one_line(material: Woods, says: str) -> None:
    with pytest.raises(StrategyError, match=says) as caught:
        LayerClassifier.from_training_data(
            material, load_lexicon("en"), ContextGraphShape(3, 10, 10, 40), "context_graph"
        )
    assert "\n" not in str(caught.value)


def test_examples_without_in_links_are_an_error() -> None:
    class Lonely(Alone):
        def get_parents(self, url: str, limit: int = 5) -> Sequence[Link]:
            return ()

    with pytest.raises(StrategyError, match="has a linking page in the training data"):
        LayerClassifier.from_training_data(
            Lonely(), load_lexicon("en"), ContextGraphShape(3, 10, 10, 40), "context_graph"
        )


def test_state_survives_a_round_trip() -> None:
    layers = train_layers()
    assert LayerClassifier.from_state(layers.get_state()) == layers
