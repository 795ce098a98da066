"""The judge of a crawl over a parsed web: the vector space model, with vectors that are known already."""

from __future__ import annotations

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

    def score(self, page: Page) -> float:
        # A topic with stop words of its own weighs pages in its own way.
        if page is not self._page and not self._own:
            weights = self._web.weights(
                page, self.lexicon.language, lambda: self._weights((*tokenise(page.title), *page.words))
            )
            self._page_score = self._cosine(weights)
            self._page = page
        return super().score(page)
