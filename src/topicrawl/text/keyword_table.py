"""How much of a topic's keyword table a short text, a URL or a page holds.

Safran et al. 2012, section III.1.D and equation 2; Hati et al. 2010, sections 4.3 and 5.2 to 5.4. Found keywords are
the bits of a number, in the order of the table, so that what several texts hold together is `|`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import nlargest
from math import fsum, sqrt

from topicrawl.text.lexicon import Lexicon
from topicrawl.text.tokens import words as tokenise

_CACHED = 200_000  # words whose answers are kept

#: Words that mean the same as a word, or belong to it.
Related = Callable[[str], Iterable[str]]


class KeywordTable:
    """Keywords with weights, and what of them is found.

        Similarity = Σ wᵢ·vᵢ / (√Σ wᵢ² · √Σ vᵢ²)                                                     (2)

    wᵢ: a keyword's weight in the table; vᵢ: its weight in the other table. Where that is a copy of the found keywords
    with the weights of this one, the similarity is √(Σ over found wᵢ² / Σ wᵢ²).

    >>> from topicrawl.text.lexicon import lexicon
    >>> table = KeywordTable({"stock": 1.0, "market": 0.75}, lexicon("en"))
    >>> [round(table.subset(table.found(text.split())), 3) for text in ("the stocks", "stock markets", "owls")]
    [0.8, 1.0, 0.0]
    """

    def __init__(self, words: Mapping[str, float], lexicon: Lexicon, related: Related | None = None) -> None:
        self.words = dict(words)
        self.lexicon = lexicon
        tokens = [token for word in words for token in tokenise(word)]
        # The topic's own words are never stop words: "The Who" is a topic, and "computer" is a keyword.
        self._own = frozenset(token for token in tokens if not lexicon.terms([token]))
        terms: dict[str, float] = {}
        means: dict[str, list[str]] = {}  # term → the words it stands for
        for word, weight in words.items():
            for token in tokenise(word):
                for term in lexicon.terms([token], self._own):
                    terms[term] = max(terms.get(term, 0.0), weight)
                    means.setdefault(term, []).append(token)
        self.terms = tuple(terms)
        self.weights = tuple(terms.values())
        self._squares = [weight * weight for weight in self.weights]
        self._length = sqrt(fsum(self._squares))
        self._place = {term: index for index, term in enumerate(self.terms)}
        self._bits = self._expanded(means, related)
        self._known: dict[str, int] = {}
        self._subsets: dict[int, float] = {0: 0.0}

    def _expanded(self, means: Mapping[str, Sequence[str]], related: Related | None) -> dict[str, int]:
        """Term → the keywords that it stands for: itself, and with `related` those it is related to.

        The papers extend the words of the text; being related is mutual, so extending the keywords comes to the same.
        """
        bits = {term: 1 << index for term, index in self._place.items()}
        for term, index in self._place.items():
            for other in (found for word in means[term] for found in related(word)) if related else ():
                tokens = tokenise(other)
                # Of "stock exchange" neither word alone means what both mean together.
                for match in self.lexicon.terms(tokens) if len(tokens) == 1 else ():
                    bits[match] = bits.get(match, 0) | 1 << index
        return bits

    def found(self, words: Sequence[str]) -> int:
        """The keywords among words and what is related to them."""
        # Asking a plain dictionary stays in C, and nearly all words are known and no keywords.
        hits = list(map(self._known.get, words))
        if None in hits:
            hits = [self._learned(word) if hit is None else hit for word, hit in zip(words, hits, strict=True)]
        bits = 0
        if any(hits):
            for hit in hits:
                bits |= hit or 0
        return bits

    def _learned(self, word: str) -> int:
        if len(self._known) >= _CACHED:
            self._known.clear()
        hit = 0
        for term in self.lexicon.terms([word], self._own):
            hit |= self._bits.get(term, 0)
        self._known[word] = hit
        return hit

    def counts(self, words: Sequence[str], *, heaviest: int = 0, rare: bool = False) -> dict[int, float]:
        """Place of a keyword in the table → how often words have it, without what is related.

        With `heaviest` only for keywords than which fewer than so many terms of the text weigh more: its own table of
        so many keywords, where terms as heavy as the last are in too. `rare`: counts are weighed by idf.
        """
        terms = self.lexicon.terms(words, self._own)
        if self._place.keys().isdisjoint(terms):
            return {}
        weights: dict[str, float] = dict(Counter(terms))
        if rare:
            weights = {term: count * self.lexicon.idf(term) for term, count in weights.items()}
        least = min(nlargest(heaviest, weights.values())) if heaviest else 0.0
        return {
            index: weights[term]
            for term, index in self._place.items()
            if term in weights and weights[term] >= least and weights[term] > 0
        }

    def subset(self, bits: int) -> float:
        """Equation 2 for the found keywords with the table's own weights."""
        if bits not in self._subsets:
            if len(self._subsets) >= _CACHED:
                self._subsets = {0: 0.0}
            squares = [square for index, square in enumerate(self._squares) if bits >> index & 1]
            self._subsets[bits] = min(1.0, sqrt(fsum(squares)) / self._length)
        return self._subsets[bits]

    def share(self, bits: int) -> float:
        """How many of the keywords were found, of all."""
        return bits.bit_count() / len(self.terms) if self.terms else 0.0

    def cosine(self, counts: Mapping[int, float]) -> float:
        """Equation 2 for weights from another text."""
        length = sqrt(fsum(value * value for value in counts.values()))
        if not length or not self._length:
            return 0.0
        return min(1.0, fsum(self.weights[index] * value for index, value in counts.items()) / (length * self._length))
