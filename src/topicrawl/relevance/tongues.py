"""The vector space model for pages in several languages: each page is judged in its own.

Which words say nothing, which words are one and how rare each is depends on the language. A page in a language of the
topic is compared with the topic's words in that language. A page in any other language is compared with all of them,
as that language sees them: names and loan words count, and what is a stop word there (the English "war" on a German
page) does not. A page whose language is unknown gets the best of what the topic's languages give it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from topicrawl.records import Page
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.bag import Bag
from topicrawl.text.lexicon import ALGORITHMS, lexicon
from topicrawl.text.tokens import words as tokenise
from topicrawl.topic import Topic


class Tongues(Vsm):
    """`Vsm` in the language of each page; `foreign`: also in languages that are not the topic's.

    >>> topic = Topic("fever", {"fever": 1.0}, languages=("en", "de"), translations={"de": {"fieber": 1.0}})
    >>> tongues = Tongues(topic)
    >>> page = Page("u", words=("das", "fieber", "ist", "hoch"), language="de")
    >>> round(tongues.score(page), 2), Vsm(topic).score(page)
    (0.93, 0.0)
    """

    def __init__(self, topic: Topic, made: Callable[[Topic], Vsm] = Vsm, *, foreign: bool = True) -> None:
        super().__init__(topic)
        self._made, self._foreign = made, foreign
        codes = dict.fromkeys(lexicon(language).language for language in topic.languages or ("en",))
        self._spoken = [made(topic.said_in(code)) for code in codes]
        self._judges = {judge.lexicon.language: judge for judge in self._spoken}  # language → who judges its pages

    def _read(self, page: Page) -> tuple[Bag, float]:
        """The page's terms and its score in its own language."""
        judge = self._judges.get(page.language) or self._judge(page)
        return judge.bag(page), judge.score(page)

    def phrase(self, text: str) -> float:
        """The similarity of one short text, in the language of the topic that gives most."""
        return max(judge.phrase(text) for judge in self._spoken)

    def _compared(self, texts: Sequence[str]) -> list[float]:
        scores = self._spoken[0]._compared(texts)
        for judge in self._spoken[1:]:
            scores = list(map(max, scores, judge._compared(texts)))
        return scores

    def _judge(self, page: Page) -> Vsm:
        """Who judges a page that is not in a language of the topic, or that nobody knows the language of."""
        if not page.language:
            return max(self._spoken, key=lambda judge: judge.score(page))
        code = lexicon(page.language).language
        known = self._judges.get(code)
        if known is None:
            known = self._stranger(code) if self._foreign and code in ALGORITHMS else self._spoken[0]
        self._judges[page.language] = known
        return known

    def _stranger(self, code: str) -> Vsm:
        topic, words = self.topic.said_in(code), self.topic.all_words
        known = {word: weight for word, weight in words.items() if lexicon(code).terms(tokenise(word))}
        return self._made(topic.with_words(known)) if known else Deaf(topic)


class Deaf(Vsm):
    """For a language in which all words of the topic are stop words: no page in it is like the topic."""

    def _read(self, page: Page) -> tuple[Bag, float]:
        return super()._read(page)[0], 0.0


def judge_of(topic: Topic, made: Callable[[Topic], Vsm] = Vsm) -> Vsm:
    """Who judges for an experiment: languages matter when the topic has several.

    On a recorded web pages in other languages are judged in the topic's, so that measured figures stay comparable.
    """
    return Tongues(topic, made, foreign=False) if len(topic.languages) > 1 else made(topic)
