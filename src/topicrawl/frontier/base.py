"""Frontier contract. The memory, SQLite and Redis implementations pass the same conformance suite.

A link is in one of four states: waiting, leased, done or dropped. `lease` returns the best waiting links over all
hosts that are ready, **exactly**: there is no fixed host order and no sampling. Links with equal scores leave in the
order in which they were found. A host is ready when its delay since its last lease has passed, it is not blocked,
fewer than `parallel` of its links are leased, and its completed and leased links are fewer than `host_pages`.

    add ──▶ waiting ──lease──▶ leased ──complete──▶ done
              │  ▲                │
              │  └── release, expired lease, crash, close
              └────▶ dropped: "dropped" (over capacity), "host_budget", "set_aside" (too many attempts)

Any prefix of the written data is a consistent frontier: after a crash a link may be fetched again, but it is never
lost. Time never runs backwards: if the clock is set back, delays and leases continue from where they were.

A frontier stores the URL, source, anchor text and depth of a link. The other link fields are only used for scoring and
are discarded. A frontier that workers share keeps little more than the state and the reason of a link that is done or
dropped.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from math import inf
from typing import Literal, NamedTuple, Protocol

from msgspec import Struct

from topicrawl.models import Link, Priority

#: Maximum seconds for which it is worth waiting for good links. See `LeaseLimits`.
EXPECTED_SECONDS = 60.0
#: Seconds after which a leased link is slow: its page may never arrive.
SLOW_LEASE_SECONDS = 10.0

#: Reason of a done link whose page is stored. Other reasons are failures, refusals and moves to another URL.
FETCHED = "fetched"

LinkState = Literal["waiting", "leased", "done", "dropped"]


class Offer(NamedTuple):
    """Link with the priority that a strategy assigned.

    `replace` overwrites the priority of a waiting link, even with a lower one.
    """

    link: Link
    priority: Priority
    replace: bool = False


@dataclass(frozen=True, slots=True)
class FrontierRules:
    """Politeness rules and limits of a frontier."""

    delay: float = 1.0  # seconds between the starts of two requests to one host
    parallel: int = 1  # concurrent leases per host; 0: no limit (replay)
    host_pages: int = 0  # completed links per host; 0: no limit
    host_delays: Mapping[str, float] = field(default_factory=dict)  # delays of single hosts, not in shared crawls
    host_page_limits: Mapping[str, int] = field(default_factory=dict)  # page limits of single hosts; 0: no limit
    lease_seconds: float = 300.0  # duration of a lease; live crawls do not use the default
    attempts: int = 3  # leases of one link that may end without a result before the link is set aside
    capacity: int = 0  # waiting links; the worst links beyond it are dropped; 0: no limit

    @property
    def limits_pages(self) -> bool:
        """Whether any host has a page limit."""
        return self.host_pages > 0 or any(self.host_page_limits.values())

    def get_delay(self, host: str) -> float:
        """Return the minimum delay of a host."""
        return self.host_delays.get(host, self.delay)

    def get_page_limit(self, host: str) -> float:
        """Return the page limit of a host, or infinity.

        >>> rules = FrontierRules(host_pages=9, host_page_limits={"a.org": 0, "b.org": 3})
        >>> [rules.get_page_limit(host) for host in ("a.org", "b.org", "c.org")]
        [inf, 3, 9]
        """
        return self.host_page_limits.get(host, self.host_pages) or inf


@dataclass(frozen=True, slots=True)
class LeaseLimits:
    """Which of the ready links `lease` may return.

    A link is poor if it scores below `focus` times the reference, the score of the best waiting or leased link. If the
    reference is not positive, no link is poor.

    Waiting links of a host count for the reference only if the host is ready or expected soon. A host is expected if it
    will be ready within its crawl delay, and within `EXPECTED_SECONDS`: it does not count while it waits longer after a
    failure. A leased link, and a host with as many leases as possible, do not count if the last lease is older than
    `SLOW_LEASE_SECONDS`.
    """

    min_score: float = -inf  # links that score less are not leased
    focus: float = 0.0  # 0: no link is poor
    max_poor: int = 0  # poor links in one call
    min_leased: int = 0  # poor links may be leased too while fewer links than this are leased, by all workers


#: Limits that allow every link.
NO_LIMITS = LeaseLimits()


class Lease(Struct, frozen=True):
    """Leased link, which the caller must complete or release."""

    link: Link
    priority: Priority
    host: str
    token: int  # identifies the lease; the frontier rejects stale tokens
    attempts: int  # 1 for the first lease of the link
    expires_at: float
    is_poor: bool = False  # whether the link was poor by the limits of the call


class Completion(NamedTuple):
    """Result of one lease: the arguments of `complete`, for `complete_all`."""

    lease: Lease
    reason: str
    offers: Sequence[Offer] = ()
    wait: float = 0.0
    unused: bool = False


class FrontierEntry(Struct, frozen=True):
    """Stored state of one URL."""

    link: Link
    priority: Priority
    state: LinkState
    attempts: int  # leases so far, including the current one
    first_score: float  # score of the first offer
    reason: str = ""  # why the link is done or dropped


@dataclass(frozen=True, slots=True)
class FrontierCounts:
    """Number of links in each state, and number of known hosts."""

    waiting: int
    leased: int
    done: int
    dropped: int
    hosts: int


class FrontierReader(Protocol):
    """Read access to a frontier, also for other processes while a crawl runs."""

    async def get_priorities(self, urls: Sequence[str]) -> dict[str, Priority]:
        """Return the priorities of those URLs that are waiting."""

    async def get_entry(self, url: str) -> FrontierEntry | None:
        """Return the entry of a URL, or None if the URL is unknown."""

    async def get_best_entries(self, n: int) -> list[FrontierEntry]:
        """Return the `n` best waiting links, whether or not their hosts are ready."""

    async def get_counts(self) -> FrontierCounts:
        """Count the links in each state."""

    async def close(self) -> None:
        """Write all changes and close the frontier. Leased links wait again, without a counted attempt."""


class Frontier(FrontierReader, Protocol):
    """Best-first queue of links with per-host politeness.

    Scores must be finite. A call with another score raises ValueError and changes nothing.
    """

    async def add(self, offers: Sequence[Offer]) -> int:
        """Add links and return how many of them are new.

        A better offer of a waiting link replaces its priority, source and anchor text, and its depth if the new depth
        is smaller. The link keeps its position among equal scores. A link that was dropped for lack of capacity waits
        again when it is offered with a better score.
        """

    def find_closed(self, urls: Sequence[str]) -> Set[str]:
        """Return those URLs that are known, without I/O, to be closed: no offer can change them.

        A link is closed if it is done, or dropped for another reason than lack of capacity. The result may be
        incomplete, because not all links are in memory.
        """

    async def lease(self, n: int, limits: LeaseLimits = NO_LIMITS) -> list[Lease]:
        """Lease up to `n` of the best links whose hosts are ready, best first, as far as the limits allow.

        The reference of `LeaseLimits.focus` is the best score before the call. It includes the links of all workers.
        """

    async def complete(
        self, lease: Lease, reason: str, offers: Sequence[Offer] = (), *, wait: float = 0.0, unused: bool = False
    ) -> bool:
        """Mark a leased link as done and add its out-links, atomically. Return False if the lease is stale.

        The host becomes ready when its delay since the lease has passed, but not before `wait` seconds from now.
        `unused` means that no request was sent, so the delay of the host does not start again.
        """

    async def complete_all(self, completions: Sequence[Completion]) -> list[bool]:
        """Complete several leases in one atomic step. Return for each whether its lease was valid.

        A stale lease is ignored, and the others are completed. No lease may occur twice.
        """

    async def release(
        self, lease: Lease, *, wait: float = 0.0, count_attempt: bool = True, unused: bool = False
    ) -> bool:
        """Return a leased link to the queue. Return False if the lease is stale.

        The host is not ready before `wait` seconds from now. With `count_attempt=False` the lease does not count as an
        attempt. `unused` has the same meaning as in `complete`.
        """

    async def extend(self, lease: Lease) -> bool:
        """Restart the full duration of a lease now. Return False if the lease is stale."""

    async def mark_done(self, urls: Iterable[str], reason: str) -> None:
        """Mark URLs as done without a lease, such as the target of a redirect.

        URLs that are unknown become known. Leased URLs, and URLs that are done already, are left unchanged.
        """

    async def reopen(self, offers: Sequence[Offer]) -> None:
        """Queue done links again with the offered priority because their result was lost. Treat others like `add`.

        The change survives a power failure of this machine.
        """

    def iterate_done(self) -> AsyncIterator[Sequence[FrontierEntry]]:
        """Yield in batches the done links whose results a power failure may have removed from the collection."""

    async def sync_to_disk(self) -> None:
        """Sync all changes, so that they survive a power failure of this machine."""

    async def rescore(self, scores: Mapping[str, float]) -> int:
        """Set new scores of waiting links and return how many of the URLs are waiting. Other URLs are ignored."""

    async def set_host_delay(self, host: str, delay: float) -> None:
        """Set the crawl delay of a host. The delay of the rules is the minimum. It counts from the last lease."""

    async def block(self, host: str, until: float) -> None:
        """Do not lease links of a host before `until` (seconds since 1970; infinity: never).

        The last call wins, so an earlier `until` lifts a block.
        """

    async def seconds_until_ready(self, limits: LeaseLimits = NO_LIMITS) -> float | None:
        """Return the seconds until a link within the limits can be leased (0: now).

        A leased link counts with the end of its lease. Return None if no such link can ever be leased.
        """

    async def count_delayed_hosts(self) -> int:
        """Count the hosts that have waiting links and are not ready yet."""
