"""Similarity of a page's summary to the topic: Mohammadi, sections 2, 5 and 7, equations 2 to 4.

Hidden sentences are removed (`topicrawl.relevance.hidden_text`), and each remaining sentence becomes six features
(`topicrawl.relevance.sentence_features`). A network of six inputs, five hidden units and one output selects the
sentences of the summary. The topic's words are counted in these sentences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import fsum

from topicrawl.ml.network import NeuralNetwork
from topicrawl.models import Page, Sentence
from topicrawl.relevance.hidden_text import PAPER_RULES, SentenceRules, filter_sentences
from topicrawl.relevance.sentence_features import extract_features
from topicrawl.text.sentences import split_sentences
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Topic

#: Output of the network from which a sentence belongs to the summary.
SUMMARY_THRESHOLD = 0.5


@dataclass(frozen=True, slots=True)
class PageSummary:
    """Summary of a page, with its similarity to the topic.

        Sim = Σⱼ wqⱼ · tfⱼ        D = sentences of the summary / sentences of the page        S = D · Sim        (2–4)

    wqⱼ: the weight of word j in the topic; tfⱼ: its occurrences in the summary. Neither idf nor length counts. The
    sentences of the page are counted before any are removed. Weights 1 and 2, 3 and 1 occurrences, 5 of 20 sentences:

    >>> summary = PageSummary.from_terms(
    ...     {"owl": 1.0, "night": 2.0}, ["owl", "night", "owl", "tree", "owl"], selected_count=5, sentence_count=20
    ... )
    >>> summary.similarity, summary.density, summary.value
    (5.0, 0.25, 1.25)
    """

    similarity: float  # Sim, 0 or more
    density: float  # D, 0 to 1
    texts: tuple[str, ...] = ()

    @classmethod
    def from_terms(
        cls,
        weights: Mapping[str, float],
        terms: Sequence[str],
        *,
        selected_count: int,
        sentence_count: int,
        texts: Sequence[str] = (),
    ) -> PageSummary:
        """Compute the similarity and the density of a summary from its terms."""
        similarity = fsum([weights[term] for term in terms if term in weights])
        return cls(similarity, selected_count / sentence_count if sentence_count else 0.0, tuple(texts))

    @property
    def value(self) -> float:
        """S, from 0 without an upper bound."""
        return self.density * self.similarity

    @property
    def score(self) -> float:
        """S mapped to the range from 0 to 1, keeping the order: S / (1 + S). 1.25 becomes .5556.

        >>> round(PageSummary(5.0, 0.25).score, 4), PageSummary(0.0, 0.5).score
        (0.5556, 0.0)
        """
        return self.value / (1.0 + self.value)


class Summariser:
    """Summarise pages for a topic with a network trained to select sentences."""

    def __init__(self, topic: Topic, network: NeuralNetwork, rules: SentenceRules = PAPER_RULES) -> None:
        self._lexicon = topic.lexicon
        # Most sentences repeat the features of an earlier one, because lengths and positions are small integers.
        self._predict = lru_cache(maxsize=1 << 14)(network.predict)
        self._rules = rules
        tokens_of = {word: tokenise(word) for word in topic.words}
        # The words of the topic are never stop words: "The Who" is a topic.
        tokens = (token for words in tokens_of.values() for token in words)
        self._keep_words = frozenset(token for token in tokens if not self._lexicon.extract_terms([token]))
        self._weights: dict[str, float] = {}
        for word, weight in topic.words.items():
            for term in self._lexicon.extract_terms(tokens_of[word], self._keep_words):
                self._weights[term] = self._weights.get(term, 0.0) + weight

    def summarise(self, page: Page, anchor: str = "") -> PageSummary:
        """Return the summary of a page. `anchor` is the text of the link that led to it."""
        all_sentences = page.sentences or split_plain_text(page.text)
        remaining = filter_sentences(all_sentences, self._lexicon, self._rules, keep_words=self._keep_words)
        rows = extract_features(remaining, self._lexicon, anchor=anchor, title=page.title)
        selected = [
            sentence for sentence, row in zip(remaining, rows, strict=True) if self._predict(row) >= SUMMARY_THRESHOLD
        ]
        return PageSummary.from_terms(
            self._weights,
            [term for sentence in selected for term in sentence.terms],
            selected_count=len(selected),
            sentence_count=len(all_sentences),
            texts=[sentence.sentence.text for sentence in selected],
        )


def split_plain_text(text: str) -> list[Sentence]:
    """Split text without style information into sentences. Each line is a paragraph.

    >>> [(sentence.text, sentence.paragraph) for sentence in split_plain_text("One. Two.\\nThree.")]
    [('One.', 0), ('Two.', 0), ('Three.', 1)]
    """
    return [Sentence(each, number) for number, line in enumerate(text.split("\n")) for each in split_sentences(line)]
