"""What every frontier promises; memory, SQLite and Redis answer to one conformance suite.

A link is in one of four states: waiting, leased, done, dropped. `lease` hands out the best waiting links
over all hosts that may be asked now, **exactly**: no host order, no sampling. Equal scores: first found,
first out. A host may be asked when its delay since its last lease has passed, it is not blocked, fewer than
`parallel` of its links are out on lease, and its completed and leased links are fewer than `host_pages`.

    add ──▶ waiting ──lease──▶ leased ──complete──▶ done
              │  ▲                │
              │  └── give_back, lease over, crash, close
              └────▶ dropped: "dropped" (no room), "host_budget", "set_aside" (too many attempts)

Any prefix of what was written is a consistent frontier: after a crash a link may be fetched again, never
lost.
Time runs forward only: when the clock is set back, delays and leases go on from where they were.
Of a link its url, source, anchor and depth are kept; the rest serves placing and is gone afterwards. Where many
workers share a frontier, little more than that is kept of a link once it is done or dropped: its state and its reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from topicrawl.records import Link, Place

LATELY = 32  # leases by whose scores it is judged what is worth fetching

State = Literal["waiting", "leased", "done", "dropped"]


class Offer(NamedTuple):
    """A link with the place a strategy gave it. `replace` sets a waiting link's place even if it is lower."""

    link: Link
    place: Place
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Rules:
    """How a frontier treats its hosts."""

    delay: float = 1.0  # seconds between two starts on a host
    parallel: int = 1  # leases out at once on one host; 0 is no limit (replay)
    host_pages: int = 0  # completed links per host, 0 is no limit
    lease_seconds: float = 300.0  # a lease that is older goes back
    attempts: int = 3  # leases of one link that end without an answer before it is set aside
    capacity: int = 0  # waiting links kept, the worst are dropped beyond; 0 is no limit


@dataclass(frozen=True, slots=True)
class Lease:
    """A link handed out, to be completed or given back."""

    link: Link
    place: Place
    host: str
    token: int  # an old token is refused
    attempts: int  # 1 the first time
    until: float


class End(NamedTuple):
    """How a lease ended: what `complete` is told, for several at once."""

    lease: Lease
    reason: str
    offers: Sequence[Offer] = ()
    wait: float = 0.0
    unused: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """What the frontier knows of one URL."""

    link: Link
    place: Place
    state: State
    attempts: int  # leases so far, the present one included
    first_score: float  # when it was first offered
    reason: str = ""  # for done and dropped: what was given


@dataclass(frozen=True, slots=True)
class Counts:
    waiting: int
    leased: int
    done: int
    dropped: int
    hosts: int  # known hosts


class Look(Protocol):
    """What may be asked of a frontier at any time, also by a bystander while a crawl runs."""

    async def places(self, urls: Sequence[str]) -> dict[str, Place]:
        """The places of those URLs that wait."""

    async def find(self, url: str) -> Entry | None:
        """What is known of a URL."""

    async def best(self, n: int) -> list[Entry]:
        """The best waiting links, whether or not their hosts are ready."""

    async def counts(self) -> Counts:
        """How many links are in each state."""

    async def close(self) -> None:
        """Write all down and let go of it. Links on lease wait again, without an attempt counted."""


class Frontier(Look, Protocol):
    """Known links, best first, host by host. Scores must be finite: ValueError, and nothing is changed."""

    async def add(self, offers: Sequence[Offer]) -> int:
        """Put links in. Returns how many were new.

        A better in-link of a waiting link replaces its place, source and anchor, and its depth if that is
        smaller; first found stays first found. A link dropped for want of room comes back with a better one.
        """

    async def lease(self, n: int, *, focus: float = 0.0, few: int = 0) -> list[Lease]:
        """The best `n` links (fewer if fewer) whose hosts may be asked now, best first.

        With `focus`, none that is worth less than this share of the best among the last `LATELY` leases, if that is
        above 0; where all are worth less, the best ones all the same, as long as fewer than `few` are out in all.
        Both count what any worker has leased. A lease that was given back unused was none.
        """

    async def complete(
        self, lease: Lease, reason: str, offers: Sequence[Offer] = (), *, wait: float = 0.0, unused: bool = False
    ) -> bool:
        """Acknowledge and add the out-links in one step. False: the lease was stale, nothing was changed.

        The host may be asked again when its delay since the lease has passed, and not before `wait` seconds
        from now. `unused`: nothing was asked of it, so its delay does not start anew.
        """

    async def complete_all(self, ends: Sequence[End]) -> list[bool]:
        """`complete` for each in turn, in one step together: all of it is written, or nothing. No lease twice."""

    async def give_back(self, lease: Lease, *, wait: float = 0.0, count: bool = True, unused: bool = False) -> bool:
        """The link waits again; its host is asked in `wait` seconds at the earliest. False: it was stale.

        With `count=False` this was not an attempt. `unused`: as in `complete`.
        """

    async def extend(self, lease: Lease) -> bool:
        """The lease runs for its full time again, from now. False: it was stale."""

    async def settle(self, urls: Iterable[str], reason: str) -> None:
        """Mark URLs as done without a lease: where a redirect ended. One that is out is left to its lease."""

    async def reopen(self, offers: Sequence[Offer]) -> None:
        """Put done links back with the offered place: what they brought was lost. Others: as `add`."""

    async def rescore(self, scores: Mapping[str, float]) -> int:
        """New scores for links that wait. Returns how many were waiting."""

    async def set_delay(self, host: str, delay: float) -> None:
        """The host's own delay (Crawl-delay), never below the rules'. It counts from the last lease."""

    async def block(self, host: str, until: float) -> None:
        """Ask nothing of the host before `until` (seconds since 1970; infinity: never again).

        The last call counts, so an earlier `until` lifts a block.
        """

    async def next_ready(self) -> float | None:
        """Seconds until some host may be asked (0: now); a lease counts with the time when it would go back.

        None: nothing waits or is out on lease that could ever be asked.
        """

    async def resting(self) -> int:
        """How many hosts have links that wait and may not be asked yet."""
