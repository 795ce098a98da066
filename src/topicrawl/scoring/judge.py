"""How much a page is about the topic, for a learner: its title and headings say more than its body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np

from topicrawl.records import Page
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.lexicon import Lexicon
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
        bag = self._vsm.bag(page)
        wanted = bag.places(self._query)
        if not wanted:
            return 0.0
        _, counts, idf = bag.counted
        loud = counts.copy()
        said = self._said(page, bag.vocabulary.lexicon)
        if found := bag.places(said):
            loud[list(found.values())] += [said[term] for term in found]
        vector = (1 + np.log(np.maximum(loud, 1.0))) * idf
        weights = vector[list(wanted.values())].tolist()
        product = sum(self._query[term] * weight for term, weight in zip(wanted, weights, strict=True))
        length = sqrt(float(vector @ vector))
        # The numbers of terms, and so their order, differ from run to run; the last digits must not show it.
        return round(min(1.0, product / length), 12) if length else 0.0

    def _said(self, page: Page, lexicon: Lexicon) -> dict[str, float]:
        """The terms of title and headings, and what is added to the counts of each."""
        said: dict[str, float] = {}
        for texts, worth in (((page.title,), _TITLE), (page.headings, _HEADING)):
            for term in lexicon.terms(tokenise("\n".join(texts))):
                said[term] = said.get(term, 0.0) + worth
        return said
