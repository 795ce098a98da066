"""Relevance feedback after Rocchio 1971: move scores towards relevant pages and away from irrelevant ones.

Without annotations the judge returns the score of its base model. It uses the tokenisation and the term weights of that
model.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum, hypot

from topicrawl.models import Page
from topicrawl.relevance.centroid import compute_centroid
from topicrawl.relevance.vsm import Vsm

_MAX_PAGE_TERMS = 200  # heaviest terms of a page
_MAX_PROFILE_TERMS = 400  # heaviest terms of a profile
_FEEDBACK_WEIGHT = 0.3  # largest change of a score by one profile
_MAX_ANNOTATIONS = 400  # most recent annotations that count


class RocchioJudge:
    """Similarity to the topic, corrected by the similarity to annotated pages.

        score(p) = similarity(p, topic) + .3 · (similarity(p, liked) - similarity(p, disliked)),   within 0…1

    liked, disliked: the centroids of the pages that users annotated as relevant and as irrelevant.

    >>> from topicrawl.topic import Topic
    >>> judge = RocchioJudge(Vsm(Topic.of("owl")))
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
        """Return the relevance of a page, from 0 to 1."""
        score = self.vsm.score(page)
        if not self._pages:
            return score
        weights = self.vsm.get_weights(page)
        length = hypot(*weights.values()) or 1.0
        for liked in (True, False):
            profile = self._get_profile(liked)
            product = fsum([weights[term] * weight for term, weight in profile.items() if term in weights])
            score += (_FEEDBACK_WEIGHT if liked else -_FEEDBACK_WEIGHT) * product / length
        return max(0.0, min(1.0, score))

    def learn(self, page: Page, relevant: bool) -> None:
        """Learn from a user's annotation of a page. The last annotation of a page counts."""
        heaviest = sorted(self.vsm.get_weights(page).items(), key=lambda item: (-item[1], item[0]))[:_MAX_PAGE_TERMS]
        self._pages.pop(page.url, None)
        self._pages[page.url] = (relevant, dict(heaviest))
        if len(self._pages) > _MAX_ANNOTATIONS:
            del self._pages[next(iter(self._pages))]
        self._profiles.clear()

    def forget(self, url: str) -> None:
        """Discard the annotation of the page at a URL."""
        if self._pages.pop(url, None) is not None:
            self._profiles.clear()

    def _get_profile(self, liked: bool) -> dict[str, float]:
        """Return the centroid of the relevant or the irrelevant pages. It is cached until the next annotation."""
        if liked not in self._profiles:
            vectors = [vector for relevant, vector in self._pages.values() if relevant is liked]
            self._profiles[liked] = compute_centroid(vectors, _MAX_PROFILE_TERMS)
        return self._profiles[liked]
