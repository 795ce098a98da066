"""The in-links of relevant pages, as far as the crawl has seen them (Kluev 2000, section 1).

The paper asks a search engine for the first ten pages that link to a relevant one, and looks at these. Pages that a
crawl knows to link somewhere have been visited, so what is left to look at are their other links. A page that leads to
a relevant page is therefore worth the mean of its own score and the scores of all pages that it has led to, if that
is more than its own, and so are its links that still wait. What is remembered is bounded: the last pages, and the
first links of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from topicrawl.records import Carry

_PAGES = 100
_LINKS = 60


class Known(NamedTuple):
    """A visited page."""

    own: float  # its score
    total: float  # of its score and those of the pages that it led to
    number: int
    links: tuple[str, ...]

    @property
    def worth(self) -> float:
        return max(self.own, self.total / self.number)


@dataclass
class InLinks:
    """Who links to whom, among the last pages.

    A page of score .2 leads to one of score .8, so its links are worth .5 now:

    >>> known = InLinks()
    >>> known.add("http://hub/", 0.2, ["http://a/", "http://b/"])
    >>> known.visited("http://a/", 0.8, relevant=True)
    >>> known.revised()
    {'http://a/': 0.5, 'http://b/': 0.5}
    """

    most: int = 10  # in-links of one page that count, the first first
    pages: dict[str, Known] = field(default_factory=dict)
    changed: dict[str, None] = field(default_factory=dict)

    def add(self, url: str, score: float, links: Sequence[str]) -> None:
        """A visited page with its score and where it links to."""
        if not self.most:
            return
        self.pages[url] = Known(score, score, 1, tuple(dict.fromkeys(links[:_LINKS])))
        if len(self.pages) > _PAGES:
            oldest = next(iter(self.pages))
            del self.pages[oldest]
            self.changed.pop(oldest, None)

    def visited(self, url: str, score: float, *, relevant: bool) -> None:
        """A page was judged: those that link to it are worth more or less, and a relevant page raises their links."""
        parents = [parent for parent, known in self.pages.items() if url in known.links and parent != url]
        for parent in parents[: self.most]:
            known = self.pages[parent]
            self.pages[parent] = known._replace(total=known.total + score, number=known.number + 1)
            if relevant and self.pages[parent].worth > known.worth:
                self.changed[parent] = None

    def revised(self) -> dict[str, float]:
        """New scores for the links of pages that gained: the mean of the pages that link there."""
        worths: dict[str, list[float]] = {url: [] for parent in self.changed for url in self.pages[parent].links}
        self.changed.clear()
        for known in self.pages.values() if worths else ():
            for url in known.links:
                if url in worths:
                    worths[url].append(known.worth)
        return {url: sum(found) / len(found) for url, found in worths.items()}

    def state(self) -> Carry:
        pages = {url: [known.own, known.total, known.number, list(known.links)] for url, known in self.pages.items()}
        return cast(Carry, [pages, list(self.changed)])

    def restore(self, state: Carry) -> None:
        pages, changed = cast(tuple[dict[str, list[Any]], list[str]], state)
        self.pages = {url: Known(own, total, n, tuple(links)) for url, (own, total, n, links) in pages.items()}
        self.changed = dict.fromkeys(changed)
