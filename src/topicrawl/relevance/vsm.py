"""The vector space model: Batsakis 2007, section 2.3, equations 1 and 2.

A text is a vector of its terms (stop words out, Porter stems), weighted by tf·idf, where the term frequency is
divided by that of the most frequent term and idf comes from the word frequencies of the language, so that it needs
no look at the web that is crawled. Similarity to the topic is the cosine of the two vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from topicrawl.records import Page
from topicrawl.text.tokens import words as tokenise
from topicrawl.text.vectors import norm, tf_idf
from topicrawl.topic import Topic

_CACHED_PHRASES = 50_000


class Vsm:
    """Cosine of the tf·idf vectors of a text and the topic.

        similarity(i, q) = Σⱼ Wij·Wqj / (√Σⱼ Wij² · √Σⱼ Wqj²),   Wij = fij / max fi · idfj

    i: the text; q: the topic; j: a term; fij: how often j occurs in i.

    A text of the topic's words in the topic's proportions has similarity 1, one without any of them 0:

    >>> vsm = Vsm(Topic.of("dengue fever"))
    >>> round(vsm.phrase("Fevers of the Dengue"), 6), vsm.phrase("steam locomotive")
    (1.0, 0.0)
    """

    def __init__(self, topic: Topic) -> None:
        self.lexicon = topic.lexicon
        # The topic's own words are never stop words: "The Who" is a topic.
        self.own = frozenset(token for word in topic.words for token in tokenise(word))
        terms: dict[str, float] = {}
        for word, weight in topic.words.items():
            for term in self.lexicon.terms(tokenise(word), self.own):
                terms[term] = terms.get(term, 0.0) + weight
        heaviest = max(terms.values(), default=1.0)
        self.query = {term: weight / heaviest * self.lexicon.idf(term) for term, weight in terms.items()}
        self._norm = norm(self.query)
        self._page: Page | None = None
        self._page_score = 0.0
        self._phrases: dict[str, float] = {}

    def score(self, page: Page) -> float:
        """The page's similarity. Judge and guide both ask for the same page, so the last answer is kept."""
        if page is not self._page:
            self._page_score = self.words([*tokenise(page.title), *page.words])
            self._page = page
        return self._page_score

    def learn(self, page: Page, relevant: bool) -> None:
        """The model has nothing to learn: the topic's words are all it knows."""

    def words(self, words: Sequence[str]) -> float:
        """The similarity of a text given as words."""
        terms = self.lexicon.terms(words, self.own)
        if not any(map(self.query.__contains__, terms)):
            return 0.0
        vector = tf_idf(terms, self.lexicon)
        dot = sum(weight * vector.get(term, 0.0) for term, weight in self.query.items())
        return min(1.0, dot / (norm(vector) * self._norm))

    def phrase(self, text: str) -> float:
        """The similarity of a short text. Menus repeat their anchors on every page, so answers are kept."""
        known = self._phrases.get(text)
        if known is None:
            if len(self._phrases) >= _CACHED_PHRASES:
                self._phrases.clear()
            known = self._phrases[text] = self.words(tokenise(text))
        return known
