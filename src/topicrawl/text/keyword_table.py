"""Match a topic's keyword table against a short text, a URL or a page.

Safran et al. 2012, section III.1.D and equation 2; Hati et al. 2010, sections 4.3 and 5.2 to 5.4. The matched keywords
are the bits of an integer, in the order of the table, so that the matches of several texts are combined with `|`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import nlargest
from math import fsum, sqrt

from topicrawl.text.lexicon import LanguageLexicon
from topicrawl.text.tokenizer import tokenise

_MAX_CACHED_WORDS = 200_000  # words whose matches are cached

#: Returns the words that are synonyms of a word or otherwise related to it.
RelatedWords = Callable[[str], Iterable[str]]


class KeywordTable:
    """Keywords with weights.

        Similarity = Σ wᵢ·vᵢ / (√Σ wᵢ² · √Σ vᵢ²)                                                     (2)

    wᵢ: a keyword's weight in the table; vᵢ: its weight in the other table. If the other table has the matched keywords
    with the weights of this one, the similarity is √(Σ over matched wᵢ² / Σ wᵢ²).

    >>> from topicrawl.text.lexicon import load_lexicon
    >>> table = KeywordTable({"stock": 1.0, "market": 0.75}, load_lexicon("en"))
    >>> [
    ...     round(table.subset_similarity(table.match_keywords(text.split())), 3)
    ...     for text in ("the stocks", "stock markets", "owls")
    ... ]
    [0.8, 1.0, 0.0]
    """

    def __init__(
        self,
        words: Mapping[str, float],
        lexicon: LanguageLexicon,
        related: RelatedWords | None = None,
        *,
        expand: RelatedWords | None = None,
        idf: Mapping[str, float] | None = None,
    ) -> None:
        self.words = dict(words)
        self.lexicon = lexicon
        self._expand = expand  # word of a text → words that match too, for relations that are not symmetric
        self.idf = dict(idf or {})  # idf of the keywords in the seed pages, instead of the idf of the language
        tokens = [token for word in words for token in tokenise(word)]
        # The words of the topic are never stop words: "The Who" is a topic, and "computer" is a keyword.
        self._keep_words = frozenset(token for token in tokens if not lexicon.extract_terms([token]))
        terms: dict[str, float] = {}
        words_of_term: dict[str, list[str]] = {}  # term → its words
        for word, weight in words.items():
            for token in tokenise(word):
                for term in lexicon.extract_terms([token], self._keep_words):
                    terms[term] = max(terms.get(term, 0.0), weight)
                    words_of_term.setdefault(term, []).append(token)
        self.terms = tuple(terms)
        self.weights = tuple(terms.values())
        self._squares = [weight * weight for weight in self.weights]
        self._norm = sqrt(fsum(self._squares))
        self._index = {term: index for index, term in enumerate(self.terms)}
        self._term_idf = {term: self.idf[word] for word in self.idf for term in self._extract_terms(word)}
        self._term_bits = self._expand_terms(words_of_term, related)
        self._word_bits: dict[str, int] = {}
        self._subset_similarities: dict[int, float] = {0: 0.0}

    def _expand_terms(self, words_of_term: Mapping[str, Sequence[str]], related: RelatedWords | None) -> dict[str, int]:
        """Return term → bits of the keywords that it matches: itself, and with `related` the related keywords.

        The papers expand the words of the text. The relation is symmetric, so expanding the keywords is equivalent.
        """
        bits = {term: 1 << index for term, index in self._index.items()}
        for term, index in self._index.items():
            for other in (match for word in words_of_term[term] for match in related(word)) if related else ():
                tokens = tokenise(other)
                # A single word of "stock exchange" does not mean the same as the phrase.
                for match in self.lexicon.extract_terms(tokens) if len(tokens) == 1 else ():
                    bits[match] = bits.get(match, 0) | 1 << index
        return bits

    def match_keywords(self, words: Sequence[str]) -> int:
        """Return the bits of the keywords that the words match, directly or as related words."""
        # A plain dictionary is fast, and nearly all words are cached and match no keyword.
        hits = list(map(self._word_bits.get, words))
        if None in hits:
            hits = [self._match_word(word) if hit is None else hit for word, hit in zip(words, hits, strict=True)]
        bits = 0
        if any(hits):
            for hit in hits:
                bits |= hit or 0
        return bits

    def _match_word(self, word: str) -> int:
        """Match a word that is not cached."""
        if len(self._word_bits) >= _MAX_CACHED_WORDS:
            self._word_bits.clear()
        hit = 0
        for term in self.lexicon.extract_terms([word], self._keep_words):
            hit |= self._term_bits.get(term, 0)
        for other in self._expand(word) if self._expand else ():
            for term in self._extract_terms(other):
                hit |= 1 << self._index[term] if term in self._index else 0
        self._word_bits[word] = hit
        return hit

    def _extract_terms(self, text: str) -> list[str]:
        """Return the terms of a text. The topic's own words are no stop words."""
        return self.lexicon.extract_terms(tokenise(text), self._keep_words)

    def count_keywords(self, words: Sequence[str], *, heaviest: int = 0, use_idf: bool = False) -> dict[int, float]:
        """Count the keywords among words, without related words: index in the table → count.

        With `heaviest`, only keywords among that many heaviest terms of the text are returned, including ties with the
        last one. With `use_idf`, the counts are multiplied by idf. The idf of the seed pages is known for keywords
        only, so with it the most frequent terms are the heaviest.
        """
        terms = self.lexicon.extract_terms(words, self._keep_words)
        if self._index.keys().isdisjoint(terms):
            return {}
        weights: dict[str, float] = dict(Counter(terms))
        if use_idf and not self.idf:
            weights = {term: count * self.lexicon.idf(term) for term, count in weights.items()}
        least = min(nlargest(heaviest, weights.values())) if heaviest else 0.0
        factors = self._term_idf if use_idf else {}
        return {
            index: weights[term] * factors.get(term, 1.0)
            for term, index in self._index.items()
            if term in weights and weights[term] >= least and weights[term] > 0
        }

    def subset_similarity(self, bits: int) -> float:
        """Return equation 2 for matched keywords with the weights of this table."""
        if bits not in self._subset_similarities:
            if len(self._subset_similarities) >= _MAX_CACHED_WORDS:
                self._subset_similarities = {0: 0.0}
            squares = [square for index, square in enumerate(self._squares) if bits >> index & 1]
            self._subset_similarities[bits] = min(1.0, sqrt(fsum(squares)) / self._norm)
        return self._subset_similarities[bits]

    def matched_share(self, bits: int) -> float:
        """Return the share of the keywords that are matched."""
        return bits.bit_count() / len(self.terms) if self.terms else 0.0

    def cosine(self, counts: Mapping[int, float]) -> float:
        """Return equation 2 for weights from another text."""
        length = sqrt(fsum(value * value for value in counts.values()))
        if not length or not self._norm:
            return 0.0
        return min(1.0, fsum(self.weights[index] * value for index, value in counts.items()) / (length * self._norm))
