"""Context graphs: the pages that lead to relevant ones, in layers by how many links away they are.

Diligenti, Coetzee, Lawrence, Giles and Gori 2000; Batsakis 2007, section 2.5 and figure 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Any, cast

from topicrawl.errors import StrategyError
from topicrawl.learn.multinomial import Multinomial
from topicrawl.records import Carry, Page
from topicrawl.strategies.material import Material
from topicrawl.text.lexicon import Lexicon
from topicrawl.text.tokens import words as tokenise

_EXPECTED = 0.1  # share of the training pages that may fall below the line to "other"


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a context graph is."""

    layers: int  # beyond the examples
    parents: int  # pages that lead to a page
    width: int  # pages of a layer
    terms: int  # words that tell layers apart


def layers_of(material: Material, shape: Shape) -> list[list[str]]:
    """Layer by layer the URLs of the graph; a page stands in the lowest layer that it belongs to.

    Layer 0 are the relevant examples, layer 1 pages with links to them, layer 2 pages with links to those.
    """
    layers = [[url for url in material.relevant if material.page(url) is not None][: shape.width]]
    seen = set(layers[0]) | set(material.relevant)
    for _ in range(shape.layers):
        found: list[str] = []
        for url in layers[-1]:
            for link in material.parents(url, shape.parents):
                if link.source not in seen and len(found) < shape.width:
                    seen.add(link.source)
                    found.append(link.source)
        layers.append(found)
    return layers


def bag_of(page: Page, lexicon: Lexicon) -> dict[str, float]:
    """A page as the paper has it: tf·idf, the frequency relative to the most frequent term."""
    weights = lexicon.weights((*tokenise(page.title), *page.words))
    most = max(weights.values(), default=1.0)
    return {term: weight / most for term, weight in weights.items()}


@dataclass(frozen=True)
class Layers:
    """Tells from its words how many links away from the topic a page is."""

    model: Multinomial
    line: float  # below this, the most likely layer is not likely enough
    pages: tuple[int, ...]  # how many each layer was learned from

    @classmethod
    def trained(cls, material: Material, lexicon: Lexicon, shape: Shape, strategy: str) -> Layers:
        if not material.relevant:
            raise StrategyError(
                f"{strategy} learns from relevant examples and what links to them, and there are none: make a model "
                f"with `topicrawl train context-graph` and name it: {strategy}:model=FILE (the lab takes --examples)"
            )
        layers = layers_of(material, shape)
        if not layers[0] or not layers[1]:
            missing = "is in the web to learn from" if not layers[0] else "has a page there that links to it"
            raise StrategyError(f"{strategy}: none of the {len(material.relevant)} relevant examples {missing}")
        # A web may be shallower than asked for.
        pages = [[page for url in urls if (page := material.page(url)) is not None] for urls in layers if urls]
        documents = [[bag_of(page, lexicon) for page in row] for row in pages]
        terms = vocabulary((*documents[0], *documents[1]), shape.terms)
        return cls.fitted(documents, terms)

    @classmethod
    def fitted(cls, documents: Sequence[Sequence[Mapping[str, float]]], terms: Sequence[str]) -> Layers:
        model = Multinomial.fitted(documents, terms)
        sure = sorted(max(model.posteriors(bag)) for bags in documents for bag in bags)
        return cls(model, sure[int(_EXPECTED * len(sure))], tuple(map(len, documents)))

    def of(self, bag: Mapping[str, float]) -> tuple[int, float]:
        """The page's layer and how likely it is; behind the last layer stands "other"."""
        posteriors = self.model.posteriors(bag)
        likely = max(posteriors)
        known = any(term in bag for term in self.model.terms)
        return (posteriors.index(likely) if known and likely >= self.line else len(posteriors)), likely

    def packed(self) -> dict[str, Carry]:
        return {
            "terms": list(self.model.terms),
            "logs": [list(row) for row in self.model.logs],
            "line": self.line,
            "pages": list(self.pages),
        }

    @classmethod
    def unpacked(cls, packed: Carry) -> Layers:
        table = cast("dict[str, Any]", packed)
        rows = tuple(tuple(map(float, row)) for row in table["logs"])
        terms, pages = tuple(map(str, table["terms"])), tuple(map(int, table["pages"]))
        if not terms or len(rows) < 2 or any(len(row) != len(terms) for row in rows):
            raise ValueError("the layers do not fit the terms")
        return cls(Multinomial(terms, rows), float(table["line"]), pages)


def vocabulary(bags: Sequence[Mapping[str, float]], count: int) -> list[str]:
    """The terms that weigh most in all the pages together, the heaviest first.

    >>> vocabulary([{"owl": 1.0, "night": 0.4}, {"car": 0.5, "night": 0.2}], 2)
    ['owl', 'night']
    """
    total: dict[str, float] = {}
    for bag in bags:
        for term, weight in bag.items():
            total[term] = total.get(term, 0.0) + weight
    return nlargest(count, total, key=total.__getitem__)
