"""The similarity of a page's summary: Mohammadi, sections 2, 5 and 7, equations 2 to 4.

A page is pruned (`pruning`), each sentence that is left becomes six numbers (`sentence_features`), a network of six
inputs, five hidden units and one output says which sentences make the summary, and the topic's words are counted there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import fsum

from topicrawl.learn.network import Network
from topicrawl.records import Page, Sentence
from topicrawl.relevance.pruning import PAPER, Rules, kept
from topicrawl.relevance.sentence_features import features
from topicrawl.text.sentences import sentences
from topicrawl.text.tokens import words as tokenise
from topicrawl.topic import Topic

#: From this output of the network on, a sentence is in the summary.
CHOSEN = 0.5


@dataclass(frozen=True, slots=True)
class Summary:
    """What a page says in short, and how much of it is about the topic.

        Sim = Σⱼ wqⱼ · tfⱼ        D = sentences of the summary / sentences of the page        S = D · Sim        (2–4)

    wqⱼ: the weight of word j in the topic; tfⱼ: how often it stands in the summary. Neither idf nor length counts.
    Sentences of the page are counted before pruning. Weights 1 and 2, found 3 times and once, in 5 of 20 sentences:

    >>> summary = Summary.of({"owl": 1.0, "night": 2.0}, ["owl", "night", "owl", "tree", "owl"], chosen=5, sentences=20)
    >>> summary.similarity, summary.density, summary.value
    (5.0, 0.25, 1.25)
    """

    similarity: float  # Sim, 0 or more
    density: float  # D, 0 to 1
    texts: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        weights: Mapping[str, float],
        terms: Sequence[str],
        *,
        chosen: int,
        sentences: int,
        texts: Sequence[str] = (),
    ) -> Summary:
        similarity = fsum([weights[term] for term in terms if term in weights])
        return cls(similarity, chosen / sentences if sentences else 0.0, tuple(texts))

    @property
    def value(self) -> float:
        """S: from 0 without bound."""
        return self.density * self.similarity

    @property
    def score(self) -> float:
        """S brought into 0 to 1 in the same order, as S / (1 + S): 1.25 becomes .5556.

        >>> round(Summary(5.0, 0.25).score, 4), Summary(0.0, 0.5).score
        (0.5556, 0.0)
        """
        return self.value / (1.0 + self.value)


class Summariser:
    """Sums pages up for a topic, by a network that was trained to choose sentences."""

    def __init__(self, topic: Topic, network: Network, rules: Rules = PAPER) -> None:
        self._lexicon = topic.lexicon
        # Lengths and places are small whole numbers: from page to page, most sentences have features seen before.
        self._worth = lru_cache(maxsize=1 << 14)(network.predict)
        self._rules = rules
        spoken = {word: tokenise(word) for word in topic.words}
        # The topic's own words are never stop words: "The Who" is a topic.
        tokens = (token for words in spoken.values() for token in words)
        self._own = frozenset(token for token in tokens if not self._lexicon.terms([token]))
        self._weights: dict[str, float] = {}
        for word, weight in topic.words.items():
            for term in self._lexicon.terms(spoken[word], self._own):
                self._weights[term] = self._weights.get(term, 0.0) + weight

    def summary(self, page: Page, anchor: str = "") -> Summary:
        """The summary of a page, given the text of the link that led to it."""
        told = page.sentences or plainly(page.text)
        left = kept(told, self._lexicon, self._rules, own=self._own)
        rows = features(left, self._lexicon, anchor=anchor, title=page.title)
        chosen = [each for each, row in zip(left, rows, strict=True) if self._worth(row) >= CHOSEN]
        return Summary.of(
            self._weights,
            [term for each in chosen for term in each.terms],
            chosen=len(chosen),
            sentences=len(told),
            texts=[each.sentence.text for each in chosen],
        )


def plainly(text: str) -> list[Sentence]:
    """The sentences of a text of which nobody knows how it is shown; a line is a paragraph.

    >>> [(sentence.text, sentence.paragraph) for sentence in plainly("One. Two.\\nThree.")]
    [('One.', 0), ('Two.', 0), ('Three.', 1)]
    """
    return [Sentence(each, number) for number, line in enumerate(text.split("\n")) for each in sentences(line)]
