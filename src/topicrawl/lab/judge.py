"""The judge of a crawl over a parsed web: the vector space model, with vectors that are known already."""

from __future__ import annotations

from collections.abc import Mapping

from topicrawl.lab.web import ParsedWeb
from topicrawl.records import Page
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.tokens import words as tokenise
from topicrawl.topic import Topic


class RecordedVsm(Vsm):
    """The same similarity as `Vsm` for every page; a page's terms are counted and stemmed once for all topics."""

    def __init__(self, topic: Topic, web: ParsedWeb) -> None:
        super().__init__(topic)
        self._web = web

    def _weighed(self, page: Page) -> Mapping[str, float]:
        # A topic with stop words of its own weighs pages in its own way.
        if self._own:
            return super()._weighed(page)
        weights: Mapping[str, float] = self._web.weights(
            page, self.lexicon.language, lambda: self._weights((*tokenise(page.title), *page.words))
        )
        return weights
