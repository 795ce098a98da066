"""Cache of the best known link scores, which saves most database lookups in `add`.

Most links of a page are already known and are not offered with a better score. The cache holds the best known score of
a link, or infinity if no offer can change the link. A cached score may be too low (then the database is read), but it
is never too high.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from math import inf

from topicrawl.frontier.base import Offer
from topicrawl.frontier.entry import LinkRecord, check_scores


class ScoreCache:
    """Map from URL to best known score, with a maximum size.

    The score infinity means that the link is closed, so that no offer can change it.
    """

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        self._scores: dict[str, float] = {}

    def select_promising(self, offers: Sequence[Offer]) -> list[Offer]:
        """Return the offers that may change the frontier, as far as the cache knows.

        Raise ValueError if a score is NaN or infinite.
        """
        check_scores([offer.priority.score for offer in offers])
        promising = []
        replaced: set[str] = set()
        get_score = self._scores.get
        for offer in offers:
            url = offer.link.url
            score = get_score(url)
            if score is None or offer.priority.score > score:
                promising.append(offer)
            elif (offer.replace and score < inf) or url in replaced:
                # `replace` may lower the score, and then a later offer of the same page may be better.
                replaced.add(url)
                promising.append(offer)
        return promising

    def find_closed(self, urls: Iterable[str]) -> set[str]:
        """Return the URLs of which the cache proves that no offer can change them."""
        get_score = self._scores.get
        return {url for url in urls if get_score(url) == inf}

    def is_closed(self, url: str) -> bool:
        """Return whether the cache proves that the link is not waiting."""
        return self._scores.get(url) == inf

    def update_entry(self, url: str, known: LinkRecord | None) -> None:
        """Store the best known score of a link. None means that its host accepts no more links."""
        self._scores[url] = inf if known is None or known.is_closed else known.priority.score

    def set_scores(self, scores: Iterable[tuple[str, float]]) -> None:
        """Store new scores of links, given as (URL, score); infinity closes a link."""
        self._scores.update(scores)

    def evict(self, *, everything: bool = False) -> None:
        """Remove the older half of the cache if it is too large, or all scores with `everything`."""
        if everything:
            self._scores.clear()
        elif len(self._scores) > self._max_size:
            for url in list(islice(self._scores, len(self._scores) // 2)):
                del self._scores[url]
