"""Context graphs: Diligenti, Coetzee, Lawrence, Giles and Gori 2000; Batsakis 2007, sections 2.5 and 3.4."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from topicrawl.errors import StrategyError
from topicrawl.records import Carry, Link, Place, Visit
from topicrawl.strategies.layers import Layers, Shape, bag_of
from topicrawl.strategies.material import Material, file_text
from topicrawl.strategies.strategy import Setting, Strategy


@dataclass
class ContextGraph(Strategy):
    """A link is worth more the fewer links its page is away from relevant ones, as far as its words can tell.

        priority(i) = (N + 1 − layer(p) + P(layer | p)) / (N + 2)

    p: the page on which the link i stands; layer(p): 0 for a page like the relevant examples, 1 for a page like those
    that link to them, up to N, the last layer, and N + 1 for a page like none of these. The layer is the likeliest one
    by naive Bayes over the tf·idf weights of the 40 terms that weigh most in the layers 0 and 1, all layers equally
    likely beforehand. A page is like none when even its layer's probability is below a line that nine in ten of the
    training pages reach. Each layer is the paper's queue of its own: it fills one band of the priorities, so that no
    link of a further layer comes before one of a nearer layer, and within the band the probability decides.

    The paper asks a search engine which pages link to a page; here the links of a recorded web or of an earlier crawl
    say so, in the lab at once, for a live crawl through `topicrawl train context-graph` and `model=FILE`; or engines of
    today, with the setting `back_links`, which gives the examples and one layer. Every page counts as ten words, or the
    probabilities of long pages would all be 0 or 1.

    Three layers beyond the first, a page in layer 1, probability .6: (4 − 1 + .6) / 5.

    >>> round(band(1, 0.6, 3), 6), round(band(4, 0.3, 3), 6)
    (0.72, 0.06)
    """

    name = "context_graph"
    family = "learning"
    paper = "Diligenti et al. 2000; Batsakis 2007, 2.5"
    inputs = ("words", "examples")

    layers: int = 3  # N: layers beyond the examples
    parents: int = 10  # pages that lead to a page of the graph, at most
    width: int = 100  # pages of a layer, at most
    terms: int = 40  # words that tell layers apart
    model: str = ""  # a file made by `topicrawl train context-graph`
    _layers: Layers | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if min(self.layers, self.parents, self.width, self.terms) < 1:
            raise StrategyError(f"{self.name}: layers, parents, width and terms are 1 or more")

    def begin(self, setting: Setting) -> None:
        super().begin(setting)
        self._lexicon = setting.vsm.lexicon

    def prepare(self, material: Material) -> None:
        if self.model:
            self._layers = read_model(self.model)
        else:
            shape = Shape(self.layers, self.parents, self.width, self.terms)
            self._layers = Layers.trained(material, self._lexicon, shape, self.name)

    def place(self, links: Sequence[Link], visit: Visit) -> list[Place | None]:
        if self._layers is None or visit.page is None:
            return [Place(0.0) for _ in links]
        last = len(self._layers.model.logs) - 1
        layer, likely = self._layers.of(bag_of(visit.page, self._lexicon))
        score = band(layer, likely, last)
        return [Place(score, None, (("layer", float(layer)), ("probability", likely)))] * len(links)

    def state(self) -> Carry:
        return self._layers.packed() if self._layers is not None else None

    def restore(self, state: Carry) -> None:
        if state is not None:
            self._layers = Layers.unpacked(state)


def band(layer: int, probability: float, last: int) -> float:
    """The priority of a page's links: the layer's band, and the place within it."""
    return (last + 1 - layer + min(probability, 1 - 1e-9)) / (last + 2)


def read_model(path: str) -> Layers:
    """The layers that a file holds."""
    text = file_text(path, ContextGraph.name)
    try:
        table = json.loads(text)
        if table["kind"] != "context-graph":
            raise ValueError("another kind of model")
        return Layers.unpacked(table["model"])
    except (ValueError, KeyError, TypeError) as error:
        raise StrategyError(
            f"{ContextGraph.name}: {path} is not a model of its kind: make one with `topicrawl train context-graph`"
        ) from error
