"""Context graphs: pages that lead to relevant pages, in layers by link distance.

Diligenti, Coetzee, Lawrence, Giles and Gori 2000; Batsakis 2007, section 2.5 and figure 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Any, cast

from topicrawl.errors import StrategyError
from topicrawl.ml.multinomial import MultinomialNaiveBayes
from topicrawl.models import JsonValue, Page
from topicrawl.strategies.training.training_data import TrainingData
from topicrawl.text.lexicon import LanguageLexicon
from topicrawl.text.tokenizer import tokenise

_REJECTED_SHARE = 0.1  # share of the training pages that may fall below the probability threshold


@dataclass(frozen=True, slots=True)
class ContextGraphShape:
    """Size limits of a context graph."""

    layers: int  # layers beyond the examples
    parents: int  # maximum number of linking pages per page
    width: int  # maximum number of pages per layer
    terms: int  # number of terms of the classifier


def build_layers(training_data: TrainingData, shape: ContextGraphShape) -> list[list[str]]:
    """Return the URLs of each layer of the context graph. A page is in the lowest layer that it belongs to.

    Layer 0 contains the relevant examples, layer 1 the pages with links to them, layer 2 the pages with links to those.
    """
    layers = [[url for url in training_data.relevant if training_data.get_page(url) is not None][: shape.width]]
    seen = set(layers[0]) | set(training_data.relevant)
    for _ in range(shape.layers):
        layer: list[str] = []
        for url in layers[-1]:
            for link in training_data.get_parents(url, shape.parents):
                if link.source not in seen and len(layer) < shape.width:
                    seen.add(link.source)
                    layer.append(link.source)
        layers.append(layer)
    return layers


def compute_page_weights(page: Page, lexicon: LanguageLexicon) -> dict[str, float]:
    """Return the tf·idf weights of a page as in the paper, relative to the largest weight."""
    weights = lexicon.compute_weights((*tokenise(page.title), *page.words))
    most = max(weights.values(), default=1.0)
    return {term: weight / most for term, weight in weights.items()}


@dataclass(frozen=True)
class LayerClassifier:
    """Classifier that estimates from its terms how many links a page is away from the topic."""

    model: MultinomialNaiveBayes
    min_probability: float  # minimum probability of the most probable layer
    page_counts: tuple[int, ...]  # number of training pages per layer

    @classmethod
    def from_training_data(
        cls, training_data: TrainingData, lexicon: LanguageLexicon, shape: ContextGraphShape, strategy: str
    ) -> LayerClassifier:
        """Build the context graph and train the classifier. Error messages contain the name `strategy`."""
        if not training_data.relevant:
            raise StrategyError(
                f"{strategy} needs relevant examples and the pages that link to them, but there are none: create a "
                f"model with `topicrawl train context-graph` and pass it as {strategy}:model=FILE "
                f"(in the lab: --examples)"
            )
        layers = build_layers(training_data, shape)
        if not layers[0] or not layers[1]:
            missing = "is in the training data" if not layers[0] else "has a linking page in the training data"
            raise StrategyError(f"{strategy}: none of the {len(training_data.relevant)} relevant examples {missing}")
        # The recorded web may have fewer layers than requested.
        pages = [[page for url in urls if (page := training_data.get_page(url)) is not None] for urls in layers if urls]
        documents = [[compute_page_weights(page, lexicon) for page in row] for row in pages]
        terms = select_terms((*documents[0], *documents[1]), shape.terms)
        return cls.fit(documents, terms)

    @classmethod
    def fit(cls, documents: Sequence[Sequence[Mapping[str, float]]], terms: Sequence[str]) -> LayerClassifier:
        """Train the classifier on the weighted documents of each layer."""
        model = MultinomialNaiveBayes.fit(documents, terms)
        probabilities = sorted(max(model.compute_posteriors(bag)) for bags in documents for bag in bags)
        return cls(model, probabilities[int(_REJECTED_SHARE * len(probabilities))], tuple(map(len, documents)))

    def classify(self, bag: Mapping[str, float]) -> tuple[int, float]:
        """Return the layer of a page and its probability.

        The number after the last layer means that the page belongs to none.
        """
        posteriors = self.model.compute_posteriors(bag)
        highest = max(posteriors)
        has_terms = any(term in bag for term in self.model.terms)
        return (
            posteriors.index(highest) if has_terms and highest >= self.min_probability else len(posteriors)
        ), highest

    def get_state(self) -> dict[str, JsonValue]:
        """Return the classifier as plain values."""
        return {
            "terms": list(self.model.terms),
            "logs": [list(row) for row in self.model.log_probabilities],
            "line": self.min_probability,
            "pages": list(self.page_counts),
        }

    @classmethod
    def from_state(cls, state: JsonValue) -> LayerClassifier:
        """Create the classifier from the values of `get_state`. Raise ValueError if they are inconsistent."""
        table = cast("dict[str, Any]", state)
        rows = tuple(tuple(map(float, row)) for row in table["logs"])
        terms, pages = tuple(map(str, table["terms"])), tuple(map(int, table["pages"]))
        if not terms or len(rows) < 2 or any(len(row) != len(terms) for row in rows):
            raise ValueError("the layers do not fit the terms")
        return cls(MultinomialNaiveBayes(terms, rows), float(table["line"]), pages)


def select_terms(bags: Sequence[Mapping[str, float]], count: int) -> list[str]:
    """Return the terms with the largest total weight over all documents, in descending order.

    >>> select_terms([{"owl": 1.0, "night": 0.4}, {"car": 0.5, "night": 0.2}], 2)
    ['owl', 'night']
    """
    total: dict[str, float] = {}
    for bag in bags:
        for term, weight in bag.items():
            total[term] = total.get(term, 0.0) + weight
    return nlargest(count, total, key=total.__getitem__)
