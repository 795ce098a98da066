"""Centroid of example pages as the query: Batsakis 2007, section 3.4.2.

Like `topicrawl.relevance.vsm`, but the query is the centroid, which has many more terms and its own weights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum, hypot

from topicrawl.models import Page
from topicrawl.text.lexicon import LanguageLexicon
from topicrawl.text.sparse_vectors import norm
from topicrawl.text.tokenizer import TEXT_SEPARATOR, tokenise, tokenise_texts


def compute_centroid(vectors: Iterable[Mapping[str, float]], limit: int) -> dict[str, float]:
    """Return the centroid of vectors, reduced to its `limit` heaviest terms and scaled to length 1.

    Each vector is scaled to length 1 first, so that long pages do not dominate.

    The sums for owl, night and day are (.6 + .8, .8, .6); the first two are divided by √(1.4² + .8²):

    >>> mean = compute_centroid([{"owl": 3.0, "night": 4.0}, {"owl": 8.0, "day": 6.0}], limit=2)
    >>> {term: round(weight, 6) for term, weight in mean.items()}
    {'night': 0.496139, 'owl': 0.868243}
    """
    total: dict[str, float] = {}
    for vector in vectors:
        length = norm(vector) or 1.0
        for term, weight in vector.items():
            total[term] = total.get(term, 0.0) + weight / length
    # Ties are broken by name, so that the same pages always give the same terms.
    heaviest = sorted(total.items(), key=lambda item: (-item[1], item[0]))[:limit]
    length = norm(dict(heaviest)) or 1.0
    return {term: weight / length for term, weight in sorted(heaviest)}


class Centroid:
    """Cosine similarity of the tf·idf vector of a text and the centroid of example pages.

        similarity(i, c) = Σⱼ Wij·Wcj / (√Σⱼ Wij² · √Σⱼ Wcj²)

    >>> from topicrawl.text.lexicon import load_lexicon
    >>> centroid = Centroid({"owl": 0.6, "night": 0.8}, load_lexicon("xx"))
    >>> centroid.cosine({"owl": 5.0}), centroid.score_texts(["night", "", "steam", "owl"])
    (0.6, [0.8, 0.0, 0.0, 0.6])
    """

    def __init__(self, weights: Mapping[str, float], lexicon: LanguageLexicon) -> None:
        self.weights = dict(weights)
        self.lexicon = lexicon
        self._norm = norm(self.weights)

    def build_vector(self, page: Page) -> dict[str, float]:
        """Return the tf·idf vector of a page, including its title.

        The term frequencies are not normalised, because the divisor cancels out in a cosine.
        """
        return self.lexicon.compute_weights((*tokenise(page.title), *page.words))

    def cosine(self, vector: Mapping[str, float]) -> float:
        """Return the cosine similarity of a tf·idf vector and the centroid."""
        length = hypot(*vector.values()) * self._norm
        weights = self.weights
        product = fsum([weight * weights[term] for term, weight in vector.items() if term in weights])
        return min(1.0, product / length) if length else 0.0

    def score_texts(self, texts: Sequence[str]) -> list[float]:
        """Return the similarities of many short texts. All texts are tokenised in one call."""
        if not texts:
            return []
        tokens = tokenise_texts(texts)
        terms = self.lexicon.align_terms(tokens)
        rarity, rarest = self.lexicon.idf_table
        separators = [index for index, token in enumerate(tokens) if token == TEXT_SEPARATOR]
        scores = []
        start = 0
        for end in (*separators, len(tokens)):
            counts = Counter(filter(None, terms[start:end]))
            vector = {term: count * rarity.get(term, rarest) for term, count in counts.items()}
            scores.append(self.cosine(vector) if vector else 0.0)
            start = end + 1
        return scores
