"""Mutable record of one known link, with the state changes that the memory and the SQLite frontier share."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from math import isfinite

from topicrawl.frontier.base import FrontierEntry, Lease, LinkState, Offer
from topicrawl.frontier.host_schedule import HostSchedule, HostState
from topicrawl.models import Link, Priority, Refusal

WAITING, LEASED, DONE, DROPPED = range(4)
STATES: tuple[LinkState, ...] = ("waiting", "leased", "done", "dropped")
SET_ASIDE = "set_aside"
#: Share of the capacity that is filled after a sweep. A sweep is expensive, so it makes room for many links.
FILL_AFTER_SWEEP = 0.9


class OfferEffect(IntEnum):
    """Effect of an offer on a known link."""

    NONE = 0
    PRIORITY = 1
    LINK = 2  # source, anchor text and depth too


class LinkRecord:
    """Link in the frontier: mutable, and small because there may be millions of them."""

    __slots__ = (
        "anchor",
        "attempts",
        "depth",
        "first_score",
        "heap_entry",
        "host_number",
        "priority",
        "reason",
        "seq",
        "source",
        "state",
        "url",
    )

    def __init__(self, seq: int, host_number: int, link: Link, priority: Priority) -> None:
        self.seq = seq
        self.host_number = host_number
        self.url = link.url
        self.source = link.source
        self.anchor = link.anchor
        self.depth = link.depth
        self.priority = priority
        self.first_score = priority.score
        self.state = WAITING
        self.attempts = 0
        self.reason = ""
        self.heap_entry: tuple[float, int, LinkRecord] | None = None  # its valid heap entry, if any

    @property
    def link(self) -> Link:
        """Link with the stored fields."""
        return Link(self.url, self.source, self.anchor, depth=self.depth)

    @property
    def is_closed(self) -> bool:
        """Whether no offer can change the link: it is done, or dropped for another reason than lack of capacity."""
        return self.state == DONE or (self.state == DROPPED and self.reason != Refusal.DROPPED)

    def apply_offer(self, offer: Offer) -> OfferEffect:
        """Apply an offer of this link, and return which fields of the record changed.

        Only a better score or `replace` changes a waiting link. A link that was dropped for lack of capacity waits
        again if the offer is better. All other offers change nothing.
        """
        better = offer.priority.score > self.priority.score
        if self.state == DROPPED and self.reason == Refusal.DROPPED and better:
            self.state, self.reason = WAITING, ""
        if self.state != WAITING or not (better or offer.replace):
            return OfferEffect.NONE
        self.priority = offer.priority
        if not better:
            return OfferEffect.PRIORITY
        self._update_link(offer.link)
        return OfferEffect.LINK

    def reopen(self, offer: Offer) -> OfferEffect:
        """Make a done link wait again with the offered priority. Apply the offer normally in other states."""
        if self.state != DONE:
            return self.apply_offer(offer)
        self.state, self.attempts, self.reason = WAITING, 0, ""
        self.priority = offer.priority
        self._update_link(offer.link)
        return OfferEffect.LINK

    def requeue(self, max_attempts: int, *, count_attempt: bool) -> None:
        """End a lease without a result: the link waits again, or is dropped after `max_attempts` counted leases."""
        self.state = WAITING
        if not count_attempt:
            self.attempts -= 1
        elif self.attempts >= max_attempts:
            self.state, self.reason = DROPPED, SET_ASIDE

    def mark_done(self, reason: str) -> bool:
        """Mark the link as done without a lease. Return False and change nothing if it is already done or leased."""
        if self.state in (DONE, LEASED):
            return False
        # Zero attempts show later that this link does not count towards the pages of its host.
        self.state, self.reason, self.attempts = DONE, reason, 0
        return True

    def as_entry(self) -> FrontierEntry:
        """Return the public view for `get_entry` and `get_best_entries`."""
        return FrontierEntry(self.link, self.priority, STATES[self.state], self.attempts, self.first_score, self.reason)

    def as_lease(self, host: str, token: int, expires_at: float, *, is_poor: bool) -> Lease:
        """Return the lease that the caller of `Frontier.lease` receives."""
        return Lease(self.link, self.priority, host, token, self.attempts, expires_at, is_poor)

    def _update_link(self, link: Link) -> None:
        """Take over the source, the anchor text and the smaller depth of an offered link."""
        self.source, self.anchor = link.source, link.anchor
        self.depth = min(self.depth, link.depth)


def apply_offer(
    record: LinkRecord, offer: Offer, host: HostState, schedule: HostSchedule, *, reopen: bool
) -> OfferEffect:
    """Apply an offer to a known link and return which of its fields changed.

    If the page budget of its host is used up, nothing changes. A link that is reopened no longer counts as a page of
    its host.
    """
    credit = reopen and record.state == DONE and record.attempts > 0
    if schedule.is_budget_spent(host, credit=credit):
        return OfferEffect.NONE
    change = record.reopen(offer) if reopen else record.apply_offer(offer)
    if change:
        host.pages -= credit
    return change


def check_scores(scores: Iterable[float]) -> None:
    """Raise ValueError if a score is NaN or infinite.

    >>> check_scores([0.5, float("nan")])
    Traceback (most recent call last):
    ValueError: a score must be a finite number
    """
    if not all(map(isfinite, scores)):
        raise ValueError("a score must be a finite number")
