"""A crawl's discoveries as they come: how much of its topic it seems to have found, and whether to go on.

Every fetch is a yes or a no: is the page relevant enough to count as found? From the row of answers `remaining`
foretells what as many fetches again would find. A look costs milliseconds, so it is taken seldom: when the crawl has
grown by a tenth since the last one. A crawl is over when four looks in a row say so, while it grows by a third: between
two clusters of relevant pages one look is easily wrong. On recorded webs half of the crawls that would have stopped at
the first look would have missed more than a tenth of what they later found, and two of thirteen at the fourth.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from topicrawl.remaining import Outlook, Remaining

_GROWTH = 10  # a new look when so many per cent more were fetched
_AGREED = 4  # looks in a row


@dataclass
class Discoveries:
    """What a crawl has found, and whether that is nearly all.

    >>> found = Discoveries(threshold=0.2, enough=0.95)
    >>> found.again(step < 60 and step % 2 == 0 or step < 160 and step % 5 == 0 for step in range(500))
    >>> found.outlook().words, found.over()
    ('about 80–100 % found', True)
    """

    threshold: float  # the relevance from which on a page counts as found
    enough: float = 0.0  # the crawl is over when this share seems to be found; 0: never
    left: Remaining = field(default_factory=Remaining)
    _agreed: int = 0  # looks in a row that found enough
    _next: int = 0  # fetches before the next look whether it is over
    _shown: Outlook | None = None
    _stale: int = 0  # fetches from which on what was shown is too old

    def seen(self, relevance: float | None) -> None:
        """One fetch more; None: it brought no page."""
        self.left.add(relevance is not None and relevance >= self.threshold)

    def again(self, row: Iterable[bool]) -> None:
        """The fetches of earlier runs, in their order; looks are taken as they were then."""
        for relevant in row:
            self.left.add(relevant)
            self.over()

    def outlook(self, waiting: int | None = None) -> Outlook:
        """What is thought to be still out there, as of a moment ago; nothing where no link waits."""
        left = self.left
        if waiting == 0:
            return left.outlook(0)
        if self._shown is not None and left.fetches < self._stale:
            return self._shown
        # What is not to be relied on is not computed either.
        if doubt := left.doubt(left.fetches):
            return Outlook(left.found, left.fetches, 0.0, 0.0, 0.0, doubt)
        return self._look()

    def over(self) -> bool:
        """Whether enough seems to be found. Once it is over, it stays over."""
        left = self.left
        if self.enough and self._agreed < _AGREED and left.fetches >= self._next:
            self._next = _later(left.fetches)
            # Should the rate fall to a fifth at once, and that still brings too much, no closer look is needed.
            much = left.lately() * left.fetches / 5 > left.found * (1 / self.enough - 1)
            enough = not much and not left.doubt(left.fetches) and self._look().nearly_all(self.enough)
            self._agreed = self._agreed + 1 if enough else 0
        return self._agreed == _AGREED

    def _look(self) -> Outlook:
        self._shown, self._stale = self.left.outlook(), _later(self.left.fetches)
        return self._shown


def _later(fetches: int) -> int:
    return fetches + max(1, fetches * _GROWTH // 100)
