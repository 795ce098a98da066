"""Vector space model for pages in several languages. Each page is compared in its own language.

Stop words, stems and idf depend on the language. A page in a language of the topic is compared with the topic's words
in that language. A page in any other language is compared with all words of the topic, processed as words of the page's
language: names and loan words count, and words that are stop words there do not (the English "war" on a German page).
A page in an unknown language gets its highest score over the topic's languages.
"""

from __future__ import annotations

from collections.abc import Sequence

from topicrawl.models import Page
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.bag_of_words import BagOfWords, VocabularyCache
from topicrawl.text.lexicon import STEMMING_ALGORITHMS, load_lexicon
from topicrawl.text.term_vectors import VectorSource
from topicrawl.text.tokenizer import tokenise
from topicrawl.text.word_vectors import load_word_vectors
from topicrawl.topic import Topic


class MultilingualVsm(Vsm):
    """`Vsm` in the language of each page; with `foreign` also in languages that are not the topic's.

    >>> topic = Topic("fever", {"fever": 1.0}, languages=("en", "de"), translations={"de": {"fieber": 1.0}})
    >>> model = MultilingualVsm(topic)
    >>> page = Page("u", words=("das", "fieber", "ist", "hoch"), language="de")
    >>> round(model.score(page), 2), Vsm(topic).score(page)
    (0.93, 0.0)
    """

    def __init__(
        self,
        topic: Topic,
        vocabularies: VocabularyCache | None = None,
        *,
        foreign: bool = True,
        vector_source: VectorSource = load_word_vectors,
    ) -> None:
        self._use_foreign_models = foreign
        super().__init__(topic, vocabularies, vector_source=vector_source)

    def _set_topic(self, topic: Topic) -> None:
        codes = dict.fromkeys(load_lexicon(language).language for language in topic.languages or ("en",))
        topic_models = [
            Vsm(topic.for_language(code), self.vocabularies, vector_source=self.vector_source) for code in codes
        ]
        super()._set_topic(topic)
        self._topic_models = topic_models
        self._models = {model.lexicon.language: model for model in topic_models}  # language → model of its pages

    def select_model(self, page: Page) -> Vsm:
        """Return the model for the language of a page."""
        return self._models.get(page.language) or self._find_model(page)

    def _build_page_bag(self, page: Page) -> BagOfWords:
        """Build the bag of words of a page in its own language."""
        return self.select_model(page).get_bag(page)

    def _score_bag(self, page: Page, bag: BagOfWords) -> float:
        """Return the similarity of a page in its own language."""
        return self.select_model(page).score(page)

    def score_text(self, text: str) -> float:
        """Return the highest similarity of a short text over the languages of the topic."""
        return max(model.score_text(text) for model in self._topic_models)

    def _score_uncached_texts(self, texts: Sequence[str]) -> list[float]:
        scores = self._topic_models[0]._score_uncached_texts(texts)
        for model in self._topic_models[1:]:
            scores = list(map(max, scores, model._score_uncached_texts(texts)))
        return scores

    def _find_model(self, page: Page) -> Vsm:
        """Return the model for a page whose language is unknown or is not a language of the topic."""
        if not page.language:
            return max(self._topic_models, key=lambda model: model.score(page))
        code = load_lexicon(page.language).language
        model = self._models.get(code)
        if model is None:
            model = (
                self._build_foreign_model(code)
                if self._use_foreign_models and code in STEMMING_ALGORITHMS
                else self._topic_models[0]
            )
        self._models[page.language] = model
        return model

    def _build_foreign_model(self, code: str) -> Vsm:
        """Build the model for a language that is not a language of the topic."""
        topic, words = self.topic.for_language(code), self.topic.all_words
        known = {word: weight for word, weight in words.items() if load_lexicon(code).extract_terms(tokenise(word))}
        kind, topic = (Vsm, topic.with_words(known)) if known else (NullVsm, topic)
        return kind(topic, self.vocabularies, vector_source=self.vector_source)


class NullVsm(Vsm):
    """Model for a language in which all words of the topic are stop words: every page scores 0."""

    def find_vectors(self) -> None:
        """Return None: the meaning of stop words says nothing about the topic."""

    def _score_bag(self, page: Page, bag: BagOfWords) -> float:
        return 0.0


def build_vsm(
    topic: Topic,
    vocabularies: VocabularyCache | None = None,
    *,
    vector_source: VectorSource = load_word_vectors,
) -> Vsm:
    """Build the vector space model of an experiment: multilingual if the topic has several languages.

    Pages of a recorded web in other languages are compared in the topic's languages, so that measured figures stay
    comparable.
    """
    if len(topic.languages) > 1:
        return MultilingualVsm(topic, vocabularies, foreign=False, vector_source=vector_source)
    return Vsm(topic, vocabularies, vector_source=vector_source)
