"""Index of in-links within the last pages of the crawl (Kluev 2000, section 1).

The paper queries a search engine for the first ten pages that link to a relevant page, and examines them. A page known
to link to a relevant page has already been visited, so this crawler examines its other links. The score of a page that
leads to a relevant page becomes the mean of its own score and the scores of all pages that it led to, if this mean is
higher. Its waiting links get the same score. Memory is bounded: the last pages, and the first links of each page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from msgspec import convert

from topicrawl.models import JsonValue

_MAX_PAGES = 100
_MAX_LINKS_PER_PAGE = 60


class LinkingPage(NamedTuple):
    """A visited page with the scores of the pages that it led to."""

    own_score: float  # score of the page
    score_sum: float  # sum of its score and the scores of the pages that it led to
    score_count: int
    links: tuple[str, ...]

    @property
    def boosted_score(self) -> float:
        """The higher of the own score and the mean score."""
        return max(self.own_score, self.score_sum / self.score_count)


@dataclass
class InLinkIndex:
    """In-links among the last visited pages.

    A page of score .2 leads to a page of score .8, so its links now score .5:

    >>> known = InLinkIndex()
    >>> known.add_page("http://hub/", 0.2, ["http://a/", "http://b/"])
    >>> known.record_score("http://a/", 0.8, relevant=True)
    >>> known.pop_new_scores()
    {'http://a/': 0.5, 'http://b/': 0.5}
    """

    max_in_links: int = 10  # maximum number of in-links of a page that count, the first ones
    pages: dict[str, LinkingPage] = field(default_factory=dict)
    boosted_pages: dict[str, None] = field(default_factory=dict)

    def add_page(self, url: str, score: float, links: Sequence[str]) -> None:
        """Add a visited page with its score and the targets of its links."""
        if not self.max_in_links:
            return
        self.pages[url] = LinkingPage(score, score, 1, tuple(dict.fromkeys(links[:_MAX_LINKS_PER_PAGE])))
        if len(self.pages) > _MAX_PAGES:
            oldest = next(iter(self.pages))
            del self.pages[oldest]
            self.boosted_pages.pop(oldest, None)

    def record_score(self, url: str, score: float, *, relevant: bool) -> None:
        """Add the score of a visited page to the pages that link to it.

        If the page is relevant and the score of a linking page rises, the next `pop_new_scores` call rescores the links
        of that page.
        """
        parents = [parent for parent, known in self.pages.items() if url in known.links and parent != url]
        for parent in parents[: self.max_in_links]:
            known = self.pages[parent]
            self.pages[parent] = known._replace(score_sum=known.score_sum + score, score_count=known.score_count + 1)
            if relevant and self.pages[parent].boosted_score > known.boosted_score:
                self.boosted_pages[parent] = None

    def pop_new_scores(self) -> dict[str, float]:
        """Return new scores for the links of pages whose score has risen, and clear the list of these pages.

        The score of a link is the mean over the known pages that link to it.
        """
        scores: dict[str, list[float]] = {url: [] for parent in self.boosted_pages for url in self.pages[parent].links}
        self.boosted_pages.clear()
        for known in self.pages.values() if scores else ():
            for url in known.links:
                if url in scores:
                    scores[url].append(known.boosted_score)
        return {url: sum(found) / len(found) for url, found in scores.items()}

    def get_state(self) -> JsonValue:
        """Return the index as plain values."""
        pages = {
            url: [known.own_score, known.score_sum, known.score_count, list(known.links)]
            for url, known in self.pages.items()
        }
        return cast(JsonValue, [pages, list(self.boosted_pages)])

    def restore_state(self, state: JsonValue) -> None:
        """Restore the values of `get_state`."""
        self.pages, changed = convert(state, tuple[dict[str, LinkingPage], list[str]], strict=False)
        self.boosted_pages = dict.fromkeys(changed)
