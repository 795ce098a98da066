"""How much a page is about the topic, for a learner: its title and headings say more than its body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from math import log, sqrt

import numpy as np

from topicrawl.records import Page
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.tokens import words as tokenise

_TOWARDS, _AWAY = 0.75, 0.15  # what the means of relevant and other examples count beside the topic's words
_TERMS = 60  # of the topic and the examples together
_TITLE, _HEADING = 2.0, 2.0  # added to the count of a word in the title, which counts once already; in a heading


class Judge:
    """The cosine of the topic and the page, where a word that is said ten times does not say ten times as much.

        weight(t) = (1 + ln f(t)) · idf(t),   f(t) = in the body + 3 · in the title + 2 · in headings

    >>> from topicrawl.topic import Topic
    >>> judge = Judge(Vsm(Topic.of("dengue fever")))
    >>> round(judge(Page("http://a/", title="Dengue", words=("fever", "in", "towns"))), 3)
    0.956
    """

    def __init__(self, vsm: Vsm) -> None:
        self._vsm = vsm
        length = float(np.sqrt(sum(weight * weight for weight in vsm.query.values())))
        self._query = {term: weight / length for term, weight in vsm.query.items()}

    def widen(self, relevant: Sequence[Page], irrelevant: Sequence[Page]) -> None:
        """Look for what example pages have in common as well: Rocchio's rule, the strongest terms of it."""
        wanted = dict(self._query)
        for pages, share in ((relevant, _TOWARDS), (irrelevant, -_AWAY)):
            for page in pages:
                weights = self._vsm.weights(page)
                length = sqrt(sum(weight * weight for weight in weights.values()))
                for term, weight in weights.items():
                    wanted[term] = wanted.get(term, 0.0) + share * weight / (length * len(pages))
        strongest = sorted(wanted.items(), key=lambda item: (-item[1], item[0]))[:_TERMS]
        length = sqrt(sum(weight * weight for _, weight in strongest if weight > 0))
        self._query = {term: weight / length for term, weight in strongest if weight > 0}

    def state(self) -> dict[str, float]:
        return dict(self._query)

    def restore(self, query: Mapping[str, float]) -> None:
        self._query = dict(query)

    def __call__(self, page: Page) -> float:
        weights, lexicon = self._vsm.weights(page), self._vsm.lexicon
        if self._query.keys().isdisjoint(weights):
            return 0.0
        known, rarest = lexicon.rarity
        idf = np.fromiter(map(known.get, weights, repeat(rarest)), np.float64, len(weights))
        counts = np.fromiter(weights.values(), np.float64, len(weights)) / np.maximum(idf, 1e-9)
        vector = (1 + np.log(np.maximum(counts, 1.0))) * idf
        square = float(vector @ vector)
        louder = self._louder(page, weights)
        for old, new in louder.values():
            square += new * new - old * old
        product = 0.0
        for term, weight in self._query.items():
            if term in weights:
                product += weight * (louder[term][1] if term in louder else _damped(weights[term], lexicon.idf(term)))
        return min(1.0, product / sqrt(square)) if square > 0 else 0.0

    def _louder(self, page: Page, weights: Mapping[str, float]) -> dict[str, tuple[float, float]]:
        """What the terms of title and headings weigh without and with the place they stand in."""
        said: dict[str, float] = {}
        for text, worth in ((page.title, _TITLE), *((heading, _HEADING) for heading in page.headings)):
            for term in self._vsm.lexicon.terms(tokenise(text)):
                said[term] = said.get(term, 0.0) + worth
        found = {}
        for term, more in said.items():
            if (weight := weights.get(term)) is not None:
                idf = self._vsm.lexicon.idf(term)
                found[term] = (_damped(weight, idf), _damped(weight + more * idf, idf))
        return found


def _damped(weight: float, idf: float) -> float:
    """The weight of a term whose tf·idf is given, with its frequency on a logarithmic scale.

    >>> round(_damped(6.0, 2.0), 4), _damped(1.0, 2.0), _damped(0.0, 0.0)
    (4.1972, 2.0, 0.0)
    """
    return (1 + log(max(weight / idf, 1.0))) * idf if idf > 0 else 0.0
