"""The centroid of example pages as a query: Batsakis 2007, section 3.4.2.

It answers what `topicrawl.relevance.vsm` answers for a topic's words, with many more terms and weights of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum, hypot

from topicrawl.records import Page
from topicrawl.text.lexicon import Lexicon
from topicrawl.text.tokens import FENCE, fenced
from topicrawl.text.tokens import words as tokenise
from topicrawl.text.vectors import norm


def mean_direction(vectors: Iterable[Mapping[str, float]], most: int) -> dict[str, float]:
    """The mean of vectors, each scaled to length 1 first, so that a long page has no louder voice; the `most`
    heaviest terms of it, scaled to length 1.

    (.6 + .8, .8, .6) for owl, night and day; of the first two, divided by √(1.4² + .8²):

    >>> mean = mean_direction([{"owl": 3.0, "night": 4.0}, {"owl": 8.0, "day": 6.0}], most=2)
    >>> {term: round(weight, 6) for term, weight in mean.items()}
    {'night': 0.496139, 'owl': 0.868243}
    """
    total: dict[str, float] = {}
    for vector in vectors:
        length = norm(vector) or 1.0
        for term, weight in vector.items():
            total[term] = total.get(term, 0.0) + weight / length
    # By weight, then by name: the same pages give the same terms.
    heaviest = sorted(total.items(), key=lambda item: (-item[1], item[0]))[:most]
    length = norm(dict(heaviest)) or 1.0
    return {term: weight / length for term, weight in sorted(heaviest)}


class Centroid:
    """Cosine of the tf·idf vector of a text and the centroid of examples.

        similarity(i, c) = Σⱼ Wij·Wcj / (√Σⱼ Wij² · √Σⱼ Wcj²)

    >>> from topicrawl.text.lexicon import lexicon
    >>> centroid = Centroid({"owl": 0.6, "night": 0.8}, lexicon("xx"))
    >>> centroid.cosine({"owl": 5.0}), centroid.phrases(["night", "", "steam", "owl"])
    (0.6, [0.8, 0.0, 0.0, 0.6])
    """

    def __init__(self, weights: Mapping[str, float], lexicon: Lexicon) -> None:
        self.weights = dict(weights)
        self.lexicon = lexicon
        self._length = norm(self.weights)

    def vector(self, page: Page) -> dict[str, float]:
        """The tf·idf vector of a page, title included; what tf would be divided by cancels out in a cosine."""
        return self.lexicon.weights((*tokenise(page.title), *page.words))

    def cosine(self, vector: Mapping[str, float]) -> float:
        length = hypot(*vector.values()) * self._length
        known = self.weights
        product = fsum([weight * known[term] for term, weight in vector.items() if term in known])
        return min(1.0, product / length) if length else 0.0

    def phrases(self, texts: Sequence[str]) -> list[float]:
        """The similarities of many short texts, cut into words all at once."""
        if not texts:
            return []
        tokens = fenced(texts)
        terms = self.lexicon.aligned(tokens)
        rarity, rarest = self.lexicon.rarity
        fences = [place for place, token in enumerate(tokens) if token == FENCE]
        scores = []
        start = 0
        for end in (*fences, len(tokens)):
            counts = Counter(filter(None, terms[start:end]))
            weighed = {term: count * rarity.get(term, rarest) for term, count in counts.items()}
            scores.append(self.cosine(weighed) if weighed else 0.0)
            start = end + 1
        return scores
