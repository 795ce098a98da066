"""The judge of a crawl over a parsed web: the vector space model, with vectors that are known already."""

from __future__ import annotations

from topicrawl.lab.web import ParsedWeb
from topicrawl.records import Page
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.bag import Bag, bag_of
from topicrawl.text.tokens import words as tokenise
from topicrawl.topic import Topic


class RecordedVsm(Vsm):
    """The same similarity as `Vsm` for every page; a page's terms are counted and stemmed once for all topics."""

    def __init__(self, topic: Topic, web: ParsedWeb) -> None:
        super().__init__(topic)
        self._web = web

    def _read(self, page: Page) -> tuple[Bag, float]:
        # A topic with stop words of its own weighs pages in its own way.
        if self._own:
            return super()._read(page)
        lexicon = self.lexicon
        weights = self._web.weights(
            page, lexicon.language, lambda: lexicon.weights((*tokenise(page.title), *page.words))
        )
        bag = bag_of((), lexicon, weights)
        return bag, self._cosine(bag)
