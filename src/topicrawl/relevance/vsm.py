"""Vector space model: Batsakis 2007, section 2.3, equations 1 and 2.

A text is a vector of its terms (without stop words, as Porter stems), weighted by tf·idf. The term frequency is divided
by that of the most frequent term. The idf comes from word frequencies of the language, so it does not depend on the
crawled pages. The similarity to the topic is the cosine of the two vectors.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import compress
from math import fsum

from topicrawl.errors import TopicError
from topicrawl.models import Page
from topicrawl.text.bag_of_words import BagOfWords, VocabularyCache
from topicrawl.text.sparse_vectors import norm
from topicrawl.text.term_vectors import TermVectors, VectorSource
from topicrawl.text.tokenizer import TEXT_SEPARATOR, tokenise, tokenise_texts
from topicrawl.text.word_vectors import load_word_vectors
from topicrawl.topic import Topic

#: Short texts whose similarities are cached, because menus repeat on every page of a site. About 10 MB.
_MAX_CACHED_TEXTS = 20_000


class Vsm:
    """Cosine similarity of the tf·idf vectors of a text and the topic.

        similarity(i, q) = Σⱼ Wij·Wqj / (√Σⱼ Wij² · √Σⱼ Wqj²),   Wij = fij / max fi · idfj

    i: the text; q: the topic; j: a term; fij: the occurrences of j in i.

    A text with the topic's words in the topic's proportions has similarity 1, a text without any of them 0:

    >>> vsm = Vsm(Topic.of("dengue fever"))
    >>> round(vsm.score_text("Fevers of the Dengue"), 6), vsm.score_text("steam locomotive")
    (1.0, 0.0)
    """

    def __init__(
        self,
        topic: Topic,
        vocabularies: VocabularyCache | None = None,
        *,
        vector_source: VectorSource = load_word_vectors,
    ) -> None:
        """Create the model of a topic. `vocabularies` is the cache that the parser of the crawl uses, if there is one.

        A model without it gets its own cache. `vector_source` supplies the term vectors for `find_vectors`.
        """
        self.vocabularies = VocabularyCache() if vocabularies is None else vocabularies
        self.vector_source = vector_source
        self._set_topic(topic)

    def replace_topic(self, topic: Topic) -> None:
        """Replace the topic in place. All objects that share this model see the change.

        Raise `TopicError` and keep the topic if it has no specific word.
        """
        self._set_topic(topic)

    def _set_topic(self, topic: Topic) -> None:
        """Compute the query vector of a topic, store it and clear the cached scores."""
        keep_words, query = _build_query(topic)
        self.topic = topic
        self.lexicon = topic.lexicon
        self.query = query
        self._keep_words = keep_words
        self._query_terms = frozenset(query)
        self._query_norm = norm(query)
        self._cached_page: Page | None = None
        self._cached_bag = self.vocabularies.build_bag((), self.lexicon)
        self._cached_score: float | None = None  # None: not computed yet
        self._text_scores: dict[str, float] = {}

    def find_vectors(self) -> TermVectors | None:
        """Return the term vectors of the language of the model, or None if there are none."""
        return self.vector_source(self.lexicon.language)

    def select_model(self, page: Page) -> Vsm:
        """Return the model that scores a page: this one."""
        return self

    def score(self, page: Page) -> float:
        """Return the similarity of a page. It is cached, because the judge and the strategy score the same page."""
        bag = self.get_bag(page)
        if self._cached_score is None:
            self._cached_score = self._score_bag(page, bag)
        return self._cached_score

    def get_weights(self, page: Page) -> Mapping[str, float]:
        """Return the weights of a page's terms, including its title: occurrences times idf."""
        return self.get_bag(page).weights

    def get_bag(self, page: Page) -> BagOfWords:
        """Return the bag of words of a page, including its title. The last one is cached."""
        if page is not self._cached_page:
            self._cached_bag, self._cached_score = self._build_page_bag(page), None
            self._cached_page = page
        return self._cached_bag

    def _build_page_bag(self, page: Page) -> BagOfWords:
        """Build the bag of words of a page."""
        return self._build_bag(page.words, tokenise(page.title))

    def _score_bag(self, page: Page, bag: BagOfWords) -> float:
        """Return the similarity of a page with this bag of words. Some judges do not use it."""
        return self._cosine(bag)

    def learn(self, page: Page, relevant: bool) -> None:
        """Do nothing: this model depends only on the words of the topic."""

    def score_text(self, text: str) -> float:
        """Return the similarity of one short text to the topic, without the cache of `score_texts`."""
        return self._cosine(self._build_bag(tokenise(text)))

    def score_texts(self, texts: Sequence[str]) -> list[float]:
        """Return the similarities of many short texts, such as the anchor texts of a page."""
        scores = list(map(self._text_scores.get, texts))
        if None in scores:
            new = list(dict.fromkeys(text for text, score in zip(texts, scores, strict=True) if score is None))
            if len(self._text_scores) + len(new) > _MAX_CACHED_TEXTS:
                self._text_scores.clear()
            computed = dict(zip(new, self._score_uncached_texts(new), strict=True))
            self._text_scores.update(computed)
            return [computed[text] if score is None else score for text, score in zip(texts, scores, strict=True)]
        return scores  # type: ignore[return-value]  # no score is None here

    def _score_uncached_texts(self, texts: Sequence[str]) -> list[float]:
        """Return the similarities of texts that are not cached. One pass over all is four times as fast as one each."""
        if self._keep_words:
            return [self.score_text(text) for text in texts]  # the topic contains stop words
        tokens = tokenise_texts(texts)
        terms = self.lexicon.align_terms(tokens)
        scores = [0.0] * len(texts)
        # Only the few texts with a word of the topic are compared.
        hits = list(compress(range(len(terms)), map(self._query_terms.__contains__, terms)))
        if not hits:
            return scores
        separators = [-1, *(index for index, token in enumerate(tokens) if token == TEXT_SEPARATOR), len(tokens)]
        for number in dict.fromkeys(bisect(separators, hit) for hit in hits):
            scores[number - 1] = self._score_terms(terms[separators[number - 1] + 1 : separators[number]])
        return scores

    def _score_terms(self, terms: Sequence[str]) -> float:
        """Return the cosine of a few terms and the topic. Empty terms are left out.

        With a bag of words or with counts, scoring the new anchors of a page takes twice as long.
        """
        idf, rarest = self.lexicon.idf_table
        weights = {term: idf.get(term, rarest) for term in terms if term}
        if len(weights) < len(terms) - terms.count(""):
            weights = {term: terms.count(term) * weight for term, weight in weights.items()}
        length = norm(weights)
        query = self.query
        product = fsum([query[term] * weight for term, weight in weights.items() if term in query])
        return min(1.0, product / (length * self._query_norm)) if length else 0.0

    def _build_bag(self, words: Sequence[str], title: Sequence[str] = ()) -> BagOfWords:
        """Build the bag of words of a title and a text. Words of the topic are never stop words."""
        if not self._keep_words:
            return self.vocabularies.build_bag(words, self.lexicon, title=title)
        counts = Counter(self.lexicon.extract_terms((*title, *words), self._keep_words))
        weights = {term: count * self.lexicon.idf(term) for term, count in counts.items()}
        return self.vocabularies.build_bag((), self.lexicon, weights)

    def _cosine(self, bag: BagOfWords) -> float:
        """Return the cosine of a bag of words and the topic."""
        # Equal to `sparse_vectors.cosine` of `sparse_vectors.tf_idf`: the divisor of tf cancels out.
        matches = bag.get_weights(self.query)
        if not matches:
            return 0.0
        product = fsum([self.query[term] * weight for term, weight in matches.items()])
        return min(1.0, product / (bag.length * self._query_norm)) if bag.length else 0.0


def _build_query(topic: Topic) -> tuple[frozenset[str], dict[str, float]]:
    """Return the words of `find_kept_words`, and the weights of the terms of the topic.

    Raise `TopicError` if no term has a positive weight.
    """
    lexicon = topic.lexicon
    keep_words = find_kept_words(topic)
    terms: dict[str, float] = {}
    for word, weight in topic.words.items():
        for term in lexicon.extract_terms(tokenise(word), keep_words):
            terms[term] = terms.get(term, 0.0) + weight
    heaviest = max(terms.values(), default=1.0)
    query = {term: weight / heaviest * lexicon.idf(term) for term, weight in terms.items()}
    if not norm(query):
        raise TopicError(f"all words of the topic {topic.name!r} occur in every text: add a more specific word")
    return keep_words, query


def find_kept_words(topic: Topic) -> frozenset[str]:
    """Return the words of the topic that are terms for this topic, although they are not terms in other texts.

    These are single letters ("programming in C") and, if the topic has no other word, stop words ("The Who").

    >>> [sorted(find_kept_words(Topic.of(phrase))) for phrase in ("search in databases", "programming in C", "The Who")]
    [[], ['c'], ['the', 'who']]
    """
    lexicon = topic.lexicon
    tokens = dict.fromkeys(token for word in topic.words for token in tokenise(word))
    dropped = [token for token in tokens if not lexicon.extract_terms([token])]
    letters = [token for token in dropped if token not in lexicon.stop_words]
    return frozenset(letters if letters or len(dropped) < len(tokens) else dropped)
