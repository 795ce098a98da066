"""The best known scores of many links: spares most offers the way to the disk.

Most links of a page are known already and no better than before. For them the cache holds the best known
score: infinity when no offer can change anything. It may be too low (then the file is asked), never too high.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from math import inf

from topicrawl.frontier.contract import Offer
from topicrawl.frontier.known import DONE, DROPPED, Known, check_scores
from topicrawl.records import Refusal


class BestKnown:
    """URL → best known score, of at most so many links."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._scores: dict[str, float] = {}

    def promising(self, offers: Sequence[Offer]) -> list[Offer]:
        """The offers that may change something, as far as the cache knows."""
        check_scores([offer.place.score for offer in offers])
        found = []
        replaced: set[str] = set()
        known = self._scores.get
        for offer in offers:
            url = offer.link.url
            score = known(url)
            if score is None or offer.place.score > score:
                found.append(offer)
            elif (offer.replace and score < inf) or url in replaced:
                # It may be lowered, and then a later offer of the same page is better.
                replaced.add(url)
                found.append(offer)
        return found

    def is_closed(self, url: str) -> bool:
        """Is it certain, without asking the file, that the link does not wait?"""
        return self._scores.get(url) == inf

    def remember(self, url: str, known: Known | None) -> None:
        """Note the best known score of a link; None: its host takes no more."""
        if known is None or known.state == DONE or (known.state == DROPPED and known.reason != Refusal.DROPPED):
            self._scores[url] = inf
        else:
            self._scores[url] = known.place.score

    def set(self, scores: Iterable[tuple[str, float]]) -> None:
        """Note new scores of links."""
        self._scores.update(scores)

    def forget(self, *, everything: bool = False) -> None:
        """Keep the cache within its bounds; the oldest half goes."""
        if everything:
            self._scores.clear()
        elif len(self._scores) > self._most:
            for url in list(islice(self._scores, len(self._scores) // 2)):
                del self._scores[url]
