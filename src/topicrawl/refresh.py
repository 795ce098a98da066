"""Looking at pages again: what becomes of what is found.

The loop, its manners and its patience are those of a crawl. What differs is the agenda: pages that are kept already,
the most overdue first, each asked for only if it has changed. A changed page replaces what it was, which becomes a
version; links that are new on it go to the crawl's frontier, for the crawl to follow.

A kill loses nothing: a look that was not written down is made again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from topicrawl.collection import history
from topicrawl.collection.directory import Collection
from topicrawl.collection.history import Look, Outcome
from topicrawl.collection.links import packed
from topicrawl.collection.store import FORGOTTEN, Kept, Statement, Stored
from topicrawl.errors import DamagedError
from topicrawl.frontier.contract import End, Frontier, Lease, Offer, Rules
from topicrawl.frontier.memory import Memory
from topicrawl.parts import Found, Parts
from topicrawl.records import Failure, Link, Place, Response, Visit
from topicrawl.strategies.strategy import Strategy
from topicrawl.urls import fingerprint

_NOT_MODIFIED = 304
_LONGEST_VALIDATOR = 1000
_VALIDATORS = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}


class Looked(NamedTuple):
    """A page that was looked at, for people."""

    url: str
    outcome: str
    relevance: float | None
    links: int  # new ones, or forgotten ones, that it leads to


class Onlooker(Strategy):
    """The crawl's strategy, which sees changed pages alone: from the others it has learned before.

    `changed` gives a visit as the visit of the crawl that it repeats; None: nothing has changed.
    """

    name, family, paper = "onlooker", "", ""

    def __init__(self, inner: Strategy, changed: Callable[[Visit], Visit | None]) -> None:
        self.inner, self.changed = inner, changed
        self.setting = inner.setting

    def learn(self, visit: Visit) -> None:
        if (seen := self.changed(visit)) is not None:
            self.inner.learn(seen)

    def place(self, links: Sequence[Link], visit: Visit) -> list[Place | None]:
        seen = self.changed(visit)
        return [None] * len(links) if seen is None else self.inner.place(links, seen)

    def combine(self, old: Place, new: Place) -> Place:
        return self.inner.combine(old, new)

    def revise(self) -> Mapping[str, float]:
        return self.inner.revise()

    @property
    def combines(self) -> bool:
        return self.inner.combines


@dataclass
class Agenda(Memory):
    """The frontier and the keeper of a refresh: pages to look at, and what was found, in the collection's terms."""

    parts: Parts  # of the crawl
    collection: Collection
    rules: Rules
    threshold: float  # relevance from which a page is on topic
    forget: float = 0.0  # seconds after which pages of no use may be offered again; 0: never
    outcomes: Counter[str] = field(default_factory=Counter)
    links: int = 0  # new links so far
    looked: dict[str, Looked] = field(default_factory=dict)  # by address, until somebody takes it
    _rows: dict[str, Stored] = field(default_factory=dict)
    _found: list[Found] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(self.rules, self.parts.clock)

    def for_crawl(self) -> Parts:
        """The parts of the crawl with this in place of the frontier, the keeper and the pupil."""
        # Pages that stay the same look like a trap, and like their own duplicates.
        fences = replace(self.parts.fences, monotony=None)
        strategy = Onlooker(self.parts.strategy, self._changed)
        parts = replace(self.parts, frontier=self, keep=self, strategy=strategy, fences=fences)
        return replace(parts, twin_of=None, discoveries=None, more=None)

    async def fill(self, due: Sequence[tuple[int, float]]) -> int:
        """Put pages on the agenda by their ids; the more overdue, the sooner. Returns how many there are."""
        store, offers = self.collection.store, []
        for page, overdue in due:
            row = next(store.visits("step = (SELECT step FROM pages WHERE id = ?)", (page,)), None)
            if row is not None:
                self._rows[row.url] = row
                offers.append(Offer(replace(row.link, url=row.url), Place(overdue)))
        return await self.add(offers)

    def validators(self, url: str) -> Mapping[str, str]:
        """The headers that ask for a page only if it has changed since it was archived."""
        row = self._rows.get(url)
        if row is None or row.spot is None:
            return {}
        try:
            headers = self.collection.archive.read(row.spot).headers
        except DamagedError:
            return {}
        found = {asked: headers.get(name, "") for name, asked in _VALIDATORS.items()}
        return {
            name: value
            for name, value in found.items()
            if value and value.isascii() and value.isprintable() and len(value) <= _LONGEST_VALIDATOR
        }

    # What the loop tells

    async def set_delay(self, host: str, delay: float) -> None:
        await super().set_delay(host, delay)
        await self.parts.frontier.set_delay(host, delay)

    async def places(self, urls: Sequence[str]) -> dict[str, Place]:
        return await self.parts.frontier.places(urls)

    async def rescore(self, scores: Mapping[str, float]) -> int:
        return await self.parts.frontier.rescore(scores)

    def step_of(self, link: Link) -> int | None:
        return None

    def keep(self, found: Sequence[Found]) -> None:
        # Written down in `complete_all`: first the links go where they are safe.
        self._found = list(found)

    def settled(self) -> None:
        pass

    def retry(self, link: Link, response: Response, attempt: int) -> None:
        self.parts.keep.retry(link, response, attempt)

    async def complete(
        self, lease: Lease, reason: str, offers: Sequence[Offer] = (), *, wait: float = 0.0, unused: bool = False
    ) -> bool:
        """A page that leads elsewhere now, where its host has to be waited for."""
        row = self._rows[lease.link.url]
        before: list[Statement] = []
        await self._moved(row, [offer.link.url for offer in offers], before)
        self.collection.store.add((), before=before)
        return await super().complete(lease, reason, wait=wait, unused=unused)

    async def complete_all(self, ends: Sequence[End]) -> list[bool]:
        before: list[Statement] = []
        offers = {end.lease.link.url: end.offers for end in ends}
        kept = [
            row
            for found in self._found
            # A file of an archive is looked at when its archive is crawled, not for itself.
            if found.visit.link.url in offers
            and (row := await self._taken(found, offers[found.visit.link.url], before)) is not None
        ]
        self._found = []
        self.collection.store.add(kept, before=before)
        self.collection.check_space()
        # Past our own `complete`, which is told of pages that have moved.
        return [await Memory.complete(self, end.lease, end.reason, wait=end.wait, unused=end.unused) for end in ends]

    # What becomes of it

    async def _taken(self, found: Found, offers: Sequence[Offer], before: list[Statement]) -> Kept | None:
        """Write a look down; returns the page if there is something new to keep."""
        visit, response, outlinks = found
        row = self._rows[visit.link.url]
        page = fingerprint(row.url)
        if visit.failure is None and visit.url != row.url:
            await self._moved(row, [visit.url], before)
            return None
        outcome = self._outcome(row, visit, response)
        links = await self._offered(row, offers, before) if outcome == Outcome.CHANGED else 0
        self._tell(row, outcome, row.relevance if outcome == Outcome.UNCHANGED else visit.relevance, links)
        before.append(history.noted(Look(page, self.parts.clock(), outcome, visit.status)))
        if visit.failure is Failure.NOINDEX:
            before += history.withdrawn(page, Failure.NOINDEX, "the page asks no longer to be kept")
        if outcome != Outcome.CHANGED:
            return None
        before.append(history.versioned(page))
        # Asked, so that pages to come are compared with what this one is now.
        if self.parts.twin_of is not None and visit.page is not None:
            self.parts.twin_of(visit.page)
        return self.collection.version(_as_first(visit, row), response, packed(outlinks))

    def _outcome(self, row: Stored, visit: Visit, response: Response) -> str:
        if response.status == _NOT_MODIFIED:
            return Outcome.UNCHANGED
        if visit.failure is not None:
            return Outcome.GONE if visit.failure is Failure.NOT_FOUND else visit.failure
        return Outcome.UNCHANGED if self._changed(visit) is None else Outcome.CHANGED

    def _changed(self, visit: Visit) -> Visit | None:
        """The visit as that of the crawl, if its page says something else now."""
        row = self._rows.get(visit.link.url)
        if row is None or visit.failure is not None or visit.page is None or visit.url != row.url:
            return None
        ((digest,),) = self.collection.store.rows("SELECT digest FROM pages WHERE id = ?", (fingerprint(row.url),))
        return None if visit.page.digest == digest else _as_first(visit, row)

    async def _offered(self, row: Stored, offers: Sequence[Offer], before: list[Statement]) -> int:
        """Hand the links of a changed page to the crawl's frontier: new ones, and those that may be forgotten."""
        frontier: Frontier = self.parts.frontier
        old = [(offer, visit) for offer in offers if (visit := self._of_no_use(offer.link.url)) is not None]
        if old:
            await frontier.reopen([offer for offer, _ in old])
            before += [statement for _, visit in old for statement in history.forgotten(visit)]
        return await frontier.add(offers) + len(old)

    def _of_no_use(self, url: str) -> Stored | None:
        """A visit that brought nothing, so long ago that it may bring something now."""
        if not self.forget:
            return None
        visit = next(self.collection.store.visits("id = ?", (fingerprint(url),)), None)
        if visit is None or visit.detail == FORGOTTEN or visit.at > self.parts.clock() - self.forget:
            return None
        return visit if visit.failure is not None or (visit.relevance or 0.0) < self.threshold else None

    async def _moved(self, row: Stored, targets: Sequence[str], before: list[Statement]) -> None:
        links = [replace(row.link, url=url, depth=row.depth + 1) for url in targets]
        offers = [Offer(link, row.place) for link in links if self.parts.fences.refusal(link) is None]
        new = await self.parts.frontier.add(offers)
        self._tell(row, Outcome.MOVED, None, new)
        before.append(history.noted(Look(fingerprint(row.url), self.parts.clock(), Outcome.MOVED, 0)))

    def _tell(self, row: Stored, outcome: str, relevance: float | None, links: int) -> None:
        self.outcomes[outcome] += 1
        self.links += links
        self.looked[row.url] = Looked(row.url, outcome, relevance, links)


def _as_first(visit: Visit, row: Stored) -> Visit:
    """A look as the visit that it repeats."""
    return replace(visit, step=row.step, link=row.link, place=row.place)
