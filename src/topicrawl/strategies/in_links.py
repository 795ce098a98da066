"""The in-links of relevant pages, as far as the crawl has seen them (Kluev 2000, section 1).

The paper asks a search engine for the first ten pages that link to a relevant one, and looks at these. Pages that a
crawl knows to link somewhere have been visited, so what is left to look at are their other links. A page that leads to
a relevant page is therefore worth the mean of its own score and the scores of all pages that it has led to, if that
is more than before, and so are its links that still wait. What is remembered is bounded: the last pages, and the
first links of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_PAGES = 100
_LINKS = 60


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
    pages: dict[str, tuple[float, int, tuple[str, ...]]] = field(
        default_factory=dict
    )  # sum and number of scores, links
    changed: dict[str, None] = field(default_factory=dict)

    def add(self, url: str, score: float, links: Sequence[str]) -> None:
        """A visited page with its score and where it links to."""
        if not self.most:
            return
        self.pages[url] = (score, 1, tuple(dict.fromkeys(links[:_LINKS])))
        if len(self.pages) > _PAGES:
            oldest = next(iter(self.pages))
            del self.pages[oldest]
            self.changed.pop(oldest, None)

    def visited(self, url: str, score: float, *, relevant: bool) -> None:
        """A page was judged: those that link to it are worth more or less, and a relevant page raises their links."""
        parents = [parent for parent, (_, _, links) in self.pages.items() if url in links and parent != url]
        for parent in parents[: self.most]:
            total, number, links = self.pages[parent]
            self.pages[parent] = (total + score, number + 1, links)
            if relevant and score > total / number:
                self.changed[parent] = None

    def revised(self) -> dict[str, float]:
        """New scores for the links of pages that gained: the mean of the pages that link there."""
        urls = {url: None for parent in self.changed for url in self.pages[parent][2]}
        self.changed.clear()
        sums = dict.fromkeys(urls, (0.0, 0))
        for total, number, links in self.pages.values() if sums else ():
            for url in links:
                if url in sums:
                    so_far, parents = sums[url]
                    sums[url] = (so_far + total / number, parents + 1)
        return {url: total / parents for url, (total, parents) in sums.items()}

    def state(self) -> list[object]:
        return [{url: [total, n, list(links)] for url, (total, n, links) in self.pages.items()}, list(self.changed)]

    def restore(self, state: Sequence[object]) -> None:
        pages: Mapping[str, tuple[float, int, list[str]]] = state[0]  # type: ignore[assignment]
        changed: Sequence[str] = state[1]  # type: ignore[assignment]
        self.pages = {url: (total, number, tuple(links)) for url, (total, number, links) in pages.items()}
        self.changed = dict.fromkeys(changed)
