"""The vector space model: Batsakis 2007, section 2.3, equations 1 and 2.

A text is a vector of its terms (stop words out, Porter stems), weighted by tf·idf, where the term frequency is
divided by that of the most frequent term and idf comes from the word frequencies of the language, so that it needs
no look at the web that is crawled. Similarity to the topic is the cosine of the two vectors.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum

from topicrawl.errors import TopicError
from topicrawl.records import Page
from topicrawl.relevance.model import Relevance
from topicrawl.text.bag import Bag, bag_of
from topicrawl.text.tokens import FENCE, fenced
from topicrawl.text.tokens import words as tokenise
from topicrawl.text.vectors import norm
from topicrawl.topic import Topic

#: Short texts whose similarities are remembered: menus say the same on every page of a site. Some 10 MB.
_REMEMBERED = 20_000


class Vsm:
    """Cosine of the tf·idf vectors of a text and the topic.

        similarity(i, q) = Σⱼ Wij·Wqj / (√Σⱼ Wij² · √Σⱼ Wqj²),   Wij = fij / max fi · idfj

    i: the text; q: the topic; j: a term; fij: how often j occurs in i.

    A text of the topic's words in the topic's proportions has similarity 1, one without any of them 0:

    >>> vsm = Vsm(Topic.of("dengue fever"))
    >>> round(vsm.phrase("Fevers of the Dengue"), 6), vsm.phrase("steam locomotive")
    (1.0, 0.0)
    """

    judge: Relevance | None = None  # who scores pages in its place, for all that ask it; texts are still its own

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.lexicon = topic.lexicon
        tokens = {token: None for word in topic.words for token in tokenise(word)}
        # The topic's own words are never stop words: "The Who" is a topic.
        self._own = frozenset(token for token in tokens if not self.lexicon.terms([token]))
        terms: dict[str, float] = {}
        for word, weight in topic.words.items():
            for term in self.lexicon.terms(tokenise(word), self._own):
                terms[term] = terms.get(term, 0.0) + weight
        heaviest = max(terms.values(), default=1.0)
        self.query = {term: weight / heaviest * self.lexicon.idf(term) for term, weight in terms.items()}
        self._terms = frozenset(self.query)
        self._norm = norm(self.query)
        if not self._norm:
            raise TopicError(f"the words of the topic {topic.name!r} stand in every text: add a word that does not")
        self._page: Page | None = None
        self._page_bag = bag_of((), self.lexicon)
        self._page_score = 0.0
        self._phrases: dict[str, float] = {}

    def retell(self, topic: Topic) -> None:
        """Be the judge of another topic from now on: whoever shares this one need not be told."""
        vars(self).update(vars(type(self)(topic)))

    def score(self, page: Page) -> float:
        """The page's similarity. Judge and guide both ask for the same page, so the last answer is kept."""
        if self.judge is not None:
            return self.judge.score(page)
        self.bag(page)
        return self._page_score

    def weights(self, page: Page) -> Mapping[str, float]:
        """The page's terms, title included, each with how often it occurs times its idf."""
        return self.bag(page).weights

    def bag(self, page: Page) -> Bag:
        """The page's terms, title included."""
        if page is not self._page:
            self._page_bag, self._page_score = self._read(page)
            self._page = page
        return self._page_bag

    def _read(self, page: Page) -> tuple[Bag, float]:
        """The page's bag and its score."""
        bag = self._bag(page.words, tokenise(page.title))
        return bag, self._cosine(bag)

    def learn(self, page: Page, relevant: bool) -> None:
        """The model has nothing to learn: the topic's words are all it knows."""

    def phrase(self, text: str) -> float:
        """The similarity of one short text."""
        return self._cosine(self._bag(tokenise(text)))

    def phrases(self, texts: Sequence[str]) -> list[float]:
        """The similarities of many short texts, such as the anchors of a page."""
        scores = list(map(self._phrases.get, texts))
        if None in scores:
            new = list(dict.fromkeys(text for text, score in zip(texts, scores, strict=True) if score is None))
            if len(self._phrases) + len(new) > _REMEMBERED:
                self._phrases.clear()
            found = dict(zip(new, self._compared(new), strict=True))
            self._phrases.update(found)
            return [found[text] if score is None else score for text, score in zip(texts, scores, strict=True)]
        return scores  # type: ignore[return-value]  # none is missing

    def _compared(self, texts: Sequence[str]) -> list[float]:
        """Going through all texts at once is four times as fast as one by one."""
        if self._own:
            return [self.phrase(text) for text in texts]  # stop words matter
        tokens = fenced(texts)
        terms = self.lexicon.aligned(tokens)
        scores = [0.0] * len(texts)
        # Few anchors hold a word of the topic: only these are looked at.
        hits = [index for index, term in enumerate(terms) if term in self._terms]
        if not hits:
            return scores
        fences = [-1, *(index for index, token in enumerate(tokens) if token == FENCE), len(tokens)]
        for number in dict.fromkeys(bisect(fences, hit) for hit in hits):
            counts = _counted(terms[fences[number - 1] + 1 : fences[number]])
            weights = {term: count * self.lexicon.idf(term) for term, count in counts.items()}
            scores[number - 1] = self._cosine(bag_of((), self.lexicon, weights))
        return scores

    def _bag(self, words: Sequence[str], title: Sequence[str] = ()) -> Bag:
        if not self._own:
            return bag_of(words, self.lexicon, title=title)
        counts = Counter(self.lexicon.terms((*title, *words), self._own))
        return bag_of((), self.lexicon, {term: count * self.lexicon.idf(term) for term, count in counts.items()})

    def _cosine(self, bag: Bag) -> float:
        # The same as `vectors.cosine` of `vectors.tf_idf`: what tf is divided by cancels out.
        held = bag.held(self.query)
        if not held:
            return 0.0
        product = fsum([self.query[term] * weight for term, weight in held.items()])
        return min(1.0, product / (bag.length * self._norm)) if bag.length else 0.0


def _counted(terms: Sequence[str]) -> dict[str, int]:
    """How often each of a few terms occurs; for many, `Counter` is faster."""
    counts: dict[str, int] = {}
    for term in terms:
        if term:
            counts[term] = counts.get(term, 0) + 1
    return counts
