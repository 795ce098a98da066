"""Context graphs: Diligenti, Coetzee, Lawrence, Giles and Gori 2000; Batsakis 2007, sections 2.5 and 3.4."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from topicrawl.errors import StrategyError
from topicrawl.models import JsonValue, Link, Priority, Visit
from topicrawl.strategies.base import Strategy, StrategyContext
from topicrawl.strategies.training.context_layers import ContextGraphShape, LayerClassifier, compute_page_weights
from topicrawl.strategies.training.training_data import TrainingData, read_text_file


@dataclass
class ContextGraph(Strategy):
    """Score a link by the estimated number of links between its page and relevant pages (context graph).

        priority(i) = (N + 1 − layer(p) + P(layer | p)) / (N + 2)

    p: the page that contains the link i; layer(p): 0 for a page like the relevant examples, 1 for a page like those
    that link to them, up to N, the last layer, and N + 1 for a page like none of these. The layer is the most probable
    one by naive Bayes over the tf·idf weights of the 40 terms with the largest weights in the layers 0 and 1. All
    layers have the same prior probability. A page belongs to no layer if the probability of its layer is below a
    threshold that nine in ten of the training pages reach. The paper has one queue per layer. Here, each layer is one
    band of the priorities: no link of a further layer comes before a link of a nearer layer, and the probability
    decides within a band.

    The paper queries a search engine for the pages that link to a page. Here, the links come from a recorded web or an
    earlier crawl: directly in the lab, and through `topicrawl train context-graph` and `model=FILE` in a live crawl.
    With the setting `back_links`, they come from search engines, for the examples and one layer. Every page counts as
    ten words, because the probabilities of long pages would all be 0 or 1.

    Three layers beyond the first, a page in layer 1, probability .6: (4 − 1 + .6) / 5.

    >>> round(compute_band_score(1, 0.6, 3), 6), round(compute_band_score(4, 0.3, 3), 6)
    (0.72, 0.06)
    """

    name = "context_graph"
    family = "learning"
    paper = "Diligenti et al. 2000; Batsakis 2007, 2.5"
    required_inputs = ("words", "examples")

    layers: int = 3  # N: layers beyond the examples
    parents: int = 10  # maximum number of linking pages per page of the graph
    width: int = 100  # maximum number of pages per layer
    terms: int = 40  # number of terms of the classifier
    model: str = ""  # model file from `topicrawl train context-graph`
    _classifier: LayerClassifier | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if min(self.layers, self.parents, self.width, self.terms) < 1:
            raise StrategyError(f"{self.name}: layers, parents, width and terms are 1 or more")

    def bind(self, context: StrategyContext) -> None:
        """Store the context and the lexicon of the topic."""
        super().bind(context)
        self._lexicon = context.vsm.lexicon

    def fit(self, training_data: TrainingData) -> None:
        """Load the model file, or train a classifier on the training data."""
        if self.model:
            self._classifier = load_model(self.model)
        else:
            shape = ContextGraphShape(self.layers, self.parents, self.width, self.terms)
            self._classifier = LayerClassifier.from_training_data(training_data, self._lexicon, shape, self.name)

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        """Return one priority for all links of a page."""
        if self._classifier is None or visit.page is None:
            return [Priority(0.0) for _ in links]
        last = len(self._classifier.model.log_probabilities) - 1
        layer, probability = self._classifier.classify(compute_page_weights(visit.page, self._lexicon))
        score = compute_band_score(layer, probability, last)
        return [Priority(score, None, (("layer", float(layer)), ("probability", probability)))] * len(links)

    def get_state(self) -> JsonValue:
        """Return the learned state as plain values."""
        return self._classifier.get_state() if self._classifier is not None else None

    def restore_state(self, state: JsonValue) -> None:
        """Restore a state that `get_state` returned."""
        if state is not None:
            self._classifier = LayerClassifier.from_state(state)


def compute_band_score(layer: int, probability: float, last_layer: int) -> float:
    """Return the priority of a page's links: the band of the layer plus the probability within the band."""
    return (last_layer + 1 - layer + min(probability, 1 - 1e-9)) / (last_layer + 2)


def load_model(path: str) -> LayerClassifier:
    """Load the layer classifier from a model file."""
    text = read_text_file(path, ContextGraph.name)
    try:
        table = json.loads(text)
        if table["kind"] != "context-graph":
            raise ValueError("another kind of model")
        return LayerClassifier.from_state(table["model"])
    except (ValueError, KeyError, TypeError) as error:
        raise StrategyError(
            f"{ContextGraph.name}: {path} is not a context graph model: create one with `topicrawl train context-graph`"
        ) from error
