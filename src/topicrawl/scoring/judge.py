"""How much a page is about the topic, for a learner: its title and headings say more than its body."""

from __future__ import annotations

from collections import Counter
from itertools import repeat

import numpy as np

from topicrawl.records import Page
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.tokens import words as tokenise

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

    def __call__(self, page: Page) -> float:
        weights, lexicon = self._vsm.weights(page), self._vsm.lexicon
        if self._query.keys().isdisjoint(weights):
            return 0.0
        known, rarest = lexicon.rarity
        idf = np.fromiter(map(known.get, weights, repeat(rarest)), np.float64, len(weights))
        counts = np.fromiter(weights.values(), np.float64, len(weights)) / np.maximum(idf, 1e-9)
        place = {term: number for number, term in enumerate(weights)}
        said = Counter({term: _TITLE * count for term, count in self._counts(page.title).items()})
        for heading in page.headings:
            for term, count in self._counts(heading).items():
                said[term] += _HEADING * count  # type: ignore[assignment]
        for term, more in said.items():
            if term in place:
                counts[place[term]] += more
        vector = (1 + np.log(np.maximum(counts, 1.0))) * idf
        product = sum(weight * vector[place[term]] for term, weight in self._query.items() if term in place)
        length = float(np.sqrt(vector @ vector))
        return min(1.0, float(product) / length) if length else 0.0

    def _counts(self, text: str) -> Counter[str]:
        return Counter(self._vsm.lexicon.terms(tokenise(text)))
