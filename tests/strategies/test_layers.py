"""Layers of a context graph on a small web made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from topicrawl.errors import StrategyError
from topicrawl.records import Link, Page
from topicrawl.strategies.layers import Layers, Shape, bag_of, layers_of
from topicrawl.text.lexicon import lexicon
from topicrawl.text.tokens import words

TEXTS = {
    "owl": "owls hunt at night, owls see and hear well",
    "barn": "barn owls nest in a barn",
    "birds": "birds of the forest: owls, finches, woodpeckers",
    "forest": "forest birds and forest animals, birds of all kinds",
    "nature": "nature in the country: animals, plants, lakes",
    "portal": "portal: nature, sport, news, weather",
    "cars": "cars and engines",
}
# Page → where its links lead: portal → nature → birds, forest → owl, barn; barn and owl link to each other.
LINKS = {
    "portal": ["nature", "cars"],
    "nature": ["birds", "forest", "portal"],
    "forest": ["birds", "barn"],
    "birds": ["owl", "barn"],
    "owl": ["barn"],
    "barn": ["owl"],
}


class Woods:
    """Material of seven pages; the relevant ones are owl and barn."""

    relevant: Sequence[str] = ("owl", "barn")
    irrelevant: Sequence[str] = ()
    sessions: Sequence[Sequence[str]] = ()

    def page(self, url: str) -> Page | None:
        return Page(url, url, words=tuple(words(TEXTS[url]))) if url in TEXTS else None

    def parents(self, url: str, most: int = 5) -> Sequence[Link]:
        return [Link(url, source) for source, targets in LINKS.items() if url in targets][:most]


@pytest.mark.parametrize(
    ("shape", "layers"),
    [
        (Shape(3, 10, 10, 40), [["owl", "barn"], ["birds", "forest"], ["nature"], ["portal"]]),
        (Shape(1, 10, 10, 40), [["owl", "barn"], ["birds", "forest"]]),
        (Shape(2, 1, 10, 40), [["owl", "barn"], ["birds", "forest"], ["nature"]]),  # the first parent of each
        (Shape(2, 10, 1, 40), [["owl"], ["birds"], ["nature"]]),
        (Shape(4, 10, 10, 40), [["owl", "barn"], ["birds", "forest"], ["nature"], ["portal"], []]),
    ],
)
def test_a_page_stands_in_the_nearest_layer(shape: Shape, layers: list[list[str]]) -> None:
    assert layers_of(Woods(), shape) == layers


def trained() -> Layers:
    return Layers.trained(Woods(), lexicon("en"), Shape(3, 10, 10, 40), "context_graph")


def of(text: str) -> tuple[int, float]:
    return trained().of(bag_of(Page("new", words=tuple(words(text))), lexicon("en")))


@pytest.mark.parametrize(
    ("text", "layer"), [("owls in a barn at night", 0), ("birds of the forest", 1), ("engines, engines", 4), ("", 4)]
)
def test_a_page_is_told_by_its_words_and_without_any_of_them_is_like_none(text: str, layer: int) -> None:
    found, probability = of(text)
    assert found == layer
    assert 0 < probability <= 1


def test_words_come_from_the_examples_and_the_pages_that_link_to_them() -> None:
    terms = trained().model.terms
    assert {"owl", "barn", "forest"} <= set(terms)
    assert "sport" not in terms


def test_the_heaviest_words_are_taken() -> None:
    layers = Layers.trained(Woods(), lexicon("en"), Shape(1, 10, 10, 3), "context_graph")
    assert len(layers.model.terms) == 3
    assert layers.pages == (2, 2)


def test_a_web_that_is_shallower_than_asked_for_has_fewer_layers() -> None:
    assert Layers.trained(Woods(), lexicon("en"), Shape(9, 10, 10, 40), "context_graph").pages == (2, 2, 1, 1)


def test_nine_in_ten_training_pages_reach_the_line() -> None:
    owls = [{"owl": 1.0, "car": number / 10} for number in range(20)]
    cars = [{"car": 1.0, "owl": number / 50} for number in range(10)]
    layers = Layers.fitted([owls, cars], ["owl", "car"])
    sure = [max(layers.model.posteriors(bag)) for bag in (*owls, *cars)]
    assert sum(value >= layers.line for value in sure) == 27


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
        (Elsewhere(), "none of the 1 relevant examples is in the web"),
    ],
)
def test_what_is_missing_is_said_in_one_line(material: Woods, says: str) -> None:
    with pytest.raises(StrategyError, match=says) as caught:
        Layers.trained(material, lexicon("en"), Shape(3, 10, 10, 40), "context_graph")
    assert "\n" not in str(caught.value)


def test_an_example_that_nothing_links_to_is_not_enough() -> None:
    class Lonely(Alone):
        def parents(self, url: str, most: int = 5) -> Sequence[Link]:
            return ()

    with pytest.raises(StrategyError, match="has a page there that links to it"):
        Layers.trained(Lonely(), lexicon("en"), Shape(3, 10, 10, 40), "context_graph")


def test_packing_changes_nothing() -> None:
    layers = trained()
    assert Layers.unpacked(layers.packed()) == layers
