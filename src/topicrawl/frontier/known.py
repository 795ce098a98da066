"""One known link, and what an offer, the end of a lease or a redirect does to it, in every frontier."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite

from topicrawl.frontier.contract import Entry, Lease, Offer, State
from topicrawl.records import Link, Place, Refusal

WAITING, LEASED, DONE, DROPPED = range(4)
STATES: tuple[State, ...] = ("waiting", "leased", "done", "dropped")
SET_ASIDE = "set_aside"


class Known:
    """A link in the frontier; mutable, and small because there are millions."""

    __slots__ = (
        "anchor", "attempts", "depth", "entry", "first_score", "host",
        "place", "reason", "seq", "source", "state", "url",
    )  # fmt: skip

    def __init__(self, seq: int, host: int, link: Link, place: Place) -> None:
        self.seq = seq
        self.host = host
        self.url = link.url
        self.source = link.source
        self.anchor = link.anchor
        self.depth = link.depth
        self.place = place
        self.first_score = place.score
        self.state = WAITING
        self.attempts = 0
        self.reason = ""
        self.entry: tuple[float, int, Known] | None = None  # its valid entry in a heap, if it has one

    @property
    def link(self) -> Link:
        """The link as far as it is kept."""
        return Link(self.url, self.source, self.anchor, depth=self.depth)

    def take(self, offer: Offer) -> bool:
        """Follow an offer of a link that is known already. Returns whether anything changed."""
        better = offer.place.score > self.place.score
        if self.state == DROPPED and self.reason == Refusal.DROPPED and better:
            self.state, self.reason = WAITING, ""
        if self.state != WAITING or not (better or offer.replace):
            return False
        self.place = offer.place
        if better:
            self._follow(offer.link)
        return True

    def reopen(self, offer: Offer) -> bool:
        """Wait again after all was done. Returns whether anything changed."""
        if self.state != DONE:
            return self.take(offer)
        self.state, self.attempts, self.reason = WAITING, 0, ""
        self.place = offer.place
        self._follow(offer.link)
        return True

    def come_back(self, attempts: int, *, count: bool) -> None:
        """A lease ended without an answer; after too many of them (`attempts`) the link is set aside."""
        self.state = WAITING
        if not count:
            self.attempts -= 1
        elif self.attempts >= attempts:
            self.state, self.reason = DROPPED, SET_ASIDE

    def settle(self, reason: str) -> bool:
        """Done without a lease. Returns whether anything changed."""
        if self.state in (DONE, LEASED):
            return False
        # No attempts: this is how one sees later that it does not count among its host's pages.
        self.state, self.reason, self.attempts = DONE, reason, 0
        return True

    def as_entry(self) -> Entry:
        """What `find` and `best` show."""
        return Entry(self.link, self.place, STATES[self.state], self.attempts, self.first_score, self.reason)

    def as_lease(self, host: str, token: int, until: float) -> Lease:
        """What `lease` hands out."""
        return Lease(self.link, self.place, host, token, self.attempts, until)

    def _follow(self, link: Link) -> None:
        self.source, self.anchor = link.source, link.anchor
        self.depth = min(self.depth, link.depth)


def check_scores(scores: Iterable[float]) -> None:
    """Refuse scores that have no order.

    >>> check_scores([0.5, float("nan")])
    Traceback (most recent call last):
    ValueError: a score must be a finite number, not nan
    """
    for score in scores:
        if not isfinite(score):
            raise ValueError(f"a score must be a finite number, not {score}")
