"""A judge that readers teach, after Rocchio 1971: towards what they liked, away from what they did not.

Without a verdict it is the judge it was made from. Words are cut and weighed as that judge does it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum, hypot

from topicrawl.records import Page
from topicrawl.relevance.centroid import mean_direction
from topicrawl.relevance.vsm import Vsm

_TERMS = 200  # kept of a page
_PROFILE = 400  # kept of all of them together
_SHARE = 0.3  # how far a page that is all like the liked ones is moved
_PAGES = 400  # verdicts that count, the latest


class Taught:
    """The topic's similarity, moved by that to pages with verdicts.

        score(p) = similarity(p, topic) + .3 · (similarity(p, liked) - similarity(p, disliked)),   within 0…1

    liked, disliked: the mean directions of the pages that readers called relevant and irrelevant.

    >>> from topicrawl.topic import Topic
    >>> judge = Taught(Vsm(Topic.of("owl")))
    >>> page = Page("http://a/", words=("owl", "night", "feather"))
    >>> before = judge.score(page)
    >>> judge.learn(Page("http://b/", words=("night", "feather")), relevant=False)
    >>> before > judge.score(page)
    True
    """

    def __init__(self, vsm: Vsm) -> None:
        self.vsm = vsm
        self._pages: dict[str, tuple[bool, Mapping[str, float]]] = {}
        self._profiles: dict[bool, dict[str, float]] = {}

    def score(self, page: Page) -> float:
        """From 0, nothing to do with the topic, to 1, all about it."""
        score = self.vsm.score(page)
        if not self._pages:
            return score
        weights = self.vsm.weights(page)
        length = hypot(*weights.values()) or 1.0
        for liked in (True, False):
            profile = self._profile(liked)
            product = fsum([weights[term] * weight for term, weight in profile.items() if term in weights])
            score += (_SHARE if liked else -_SHARE) * product / length
        return max(0.0, min(1.0, score))

    def learn(self, page: Page, relevant: bool) -> None:
        """A reader's verdict on a page; the last one counts."""
        heaviest = sorted(self.vsm.weights(page).items(), key=lambda item: (-item[1], item[0]))[:_TERMS]
        self._pages.pop(page.url, None)
        self._pages[page.url] = (relevant, dict(heaviest))
        if len(self._pages) > _PAGES:
            del self._pages[next(iter(self._pages))]
        self._profiles.clear()

    def forget(self, url: str) -> None:
        """A verdict was taken back."""
        if self._pages.pop(url, None) is not None:
            self._profiles.clear()

    def _profile(self, liked: bool) -> dict[str, float]:
        if liked not in self._profiles:
            vectors = [vector for relevant, vector in self._pages.values() if relevant is liked]
            self._profiles[liked] = mean_direction(vectors, _PROFILE)
        return self._profiles[liked]
