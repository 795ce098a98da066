"""One known link, and what an offer, the end of a lease or a redirect does to it, in every frontier."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from math import isfinite

from topicrawl.frontier.contract import Entry, Lease, Offer, State
from topicrawl.frontier.hosts import Host, Schedule
from topicrawl.records import Link, Place, Refusal

WAITING, LEASED, DONE, DROPPED = range(4)
STATES: tuple[State, ...] = ("waiting", "leased", "done", "dropped")
SET_ASIDE = "set_aside"
#: How full a frontier is after a sweep: sweeping is dear, so it makes room for many.
SWEPT = 0.9


class Change(IntEnum):
    """What an offer did to a known link."""

    NONE = 0
    PLACE = 1
    LINK = 2  # and its place


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

    def take(self, offer: Offer) -> Change:
        """Follow an offer of a link that is known already."""
        better = offer.place.score > self.place.score
        if self.state == DROPPED and self.reason == Refusal.DROPPED and better:
            self.state, self.reason = WAITING, ""
        if self.state != WAITING or not (better or offer.replace):
            return Change.NONE
        self.place = offer.place
        if not better:
            return Change.PLACE
        self._follow(offer.link)
        return Change.LINK

    def reopen(self, offer: Offer) -> Change:
        """Wait again after all was done."""
        if self.state != DONE:
            return self.take(offer)
        self.state, self.attempts, self.reason = WAITING, 0, ""
        self.place = offer.place
        self._follow(offer.link)
        return Change.LINK

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


def follow(known: Known, offer: Offer, host: Host, schedule: Schedule, *, reopen: bool) -> Change:
    """Let a known link follow an offer; on a host that has given all it may, none does."""
    credit = reopen and known.state == DONE and known.attempts > 0
    if schedule.is_spent(host, credit=credit):
        return Change.NONE
    change = known.reopen(offer) if reopen else known.take(offer)
    if change:
        host.pages -= credit
    return change


def check_scores(scores: Iterable[float]) -> None:
    """Refuse scores that have no order.

    >>> check_scores([0.5, float("nan")])
    Traceback (most recent call last):
    ValueError: a score must be a finite number
    """
    if not all(map(isfinite, scores)):
        raise ValueError("a score must be a finite number")
