"""A frontier in one SQLite file: survives a kill at any instant, and needs memory for its hosts only.

Every call that changes something is one transaction. What is in memory (hosts with links, leases, a cache of
scores) follows the file: it is put back when a transaction fails, and read anew when the file is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from math import inf
from pathlib import Path

from topicrawl.frontier.best_known import BestKnown
from topicrawl.frontier.contract import Counts, End, Lease, Offer, Rules
from topicrawl.frontier.hosts import Host, Schedule
from topicrawl.frontier.known import DROPPED, LEASED, SWEPT, WAITING, Change, Known, check_scores, follow
from topicrawl.frontier.leases import Leases, Out
from topicrawl.frontier.sqlite_file import File
from topicrawl.frontier.sqlite_hosts import StoredHosts
from topicrawl.frontier.sqlite_links import StoredLinks
from topicrawl.frontier.sqlite_look import SqliteLook, key, read_row
from topicrawl.frontier.sqlite_session import resumed, started
from topicrawl.records import Link, Place
from topicrawl.urls import host as host_of

_CHUNK = 1000  # links that are scored anew at a time


class Sqlite(SqliteLook):
    """Known links, best first, host by host, in one file.

    `cached` links are remembered with their best score, so that offers of them need not ask the file. `idle` hosts,
    those without waiting links, are in memory at most.
    """

    def __init__(
        self, path: Path | str, rules: Rules, clock: Callable[[], float], *, cached: int = 100_000, idle: int = 10_000
    ) -> None:
        super().__init__(File(Path(path)))
        self._rules = rules
        self._schedule = Schedule(rules)
        self._scores = BestKnown(cached)
        try:
            self._clock = resumed(self._file, clock)
            now = self._clock.now()
            openings, crashed = started(self._file, rules, self._clock)
            self._links = StoredLinks(self._file)
            self._hosts = StoredHosts(self._file, rules, self._links.out, crashed=crashed, idle=idle)
            self._schedule.file_all(self._hosts.load(), now)
        except BaseException:
            self._file.close()
            raise
        # A token of an earlier opening must never fit a lease of this one.
        self._leases: Leases[Known] = Leases(first_token=(openings << 32) + 1)
        self._offset = self._clock.offset
        self._closed = False

    async def add(self, offers: Sequence[Offer]) -> int:
        """Put links in. Returns how many were new."""
        promising = self._scores.promising(offers)
        now = self._begin()
        if not promising and not self._overflows():
            return 0
        with self._change(now):
            return self._absorb(promising)

    async def lease(self, n: int, *, focus: float = 0.0, few: int = 0) -> list[Lease]:
        """The best `n` links whose hosts may be asked now, best first."""
        now = self._begin()
        found: list[tuple[Known, Host]] = []
        n, floor = self._schedule.modest(n, focus, few - len(self._leases), now)
        if n <= 0 or self._schedule.best(now, floor) is None:
            return []
        with self._change(now):
            while len(found) < n and (host := self._schedule.best(now, floor)) is not None and host.top is not None:
                known = read_row(self._file, host.top[1])
                self._links.lease(known)
                self._hosts.touch(host)
                host.last = now
                host.leased += 1
                host.top = self._hosts.best_of(host)
                self._schedule.file(host, now)
                self._schedule.lately.append(known.place.score)
                found.append((known, host))
        until = now + self._rules.lease_seconds
        return [self._handed_out(known, host, until) for known, host in found]

    async def complete(
        self, lease: Lease, reason: str, offers: Sequence[Offer] = (), *, wait: float = 0.0, unused: bool = False
    ) -> bool:
        """Acknowledge and add the out-links in one step. False: the lease was stale."""
        (done,) = await self.complete_all([End(lease, reason, offers, wait, unused)])
        return done

    async def complete_all(self, ends: Sequence[End]) -> list[bool]:
        """`complete` for each in turn, in one transaction."""
        promising = [self._scores.promising(end.offers) for end in ends]
        now = self._begin()
        outs = [self._leases.find(end.lease.token) for end in ends]
        ended = [out for out in outs if out is not None]
        if ended:
            with self._change(now):
                for end, out, offers in zip(ends, outs, promising, strict=True):
                    if out is not None:
                        self._finish(end, out, now)
                        if offers or self._overflows():
                            self._absorb(offers)
        for out in ended:
            self._end(out)
        self._scores.set([(out.item.url, inf) for out in ended])
        return [out is not None for out in outs]

    def _finish(self, end: End, out: Out[Known], now: float) -> None:
        """Mark a leased link as done; must be inside `_change`."""
        host = self._hosts.touch(out.host)
        host.pages += 1
        host.leased -= 1
        host.spare(end.unused)
        host.postpone(now, end.wait)
        if self._rules.host_pages or end.wait > self._rules.delay:
            # A shorter wait need not be written down: after a crash every host waits for its delay.
            self._hosts.save([host])
        self._links.finish(out.item, str(end.reason))
        if self._schedule.is_spent(host):
            self._links.drop_host(host.number)
            host.top = None

    async def give_back(self, lease: Lease, *, wait: float = 0.0, count: bool = True, unused: bool = False) -> bool:
        """The link waits again; its host is asked in `wait` seconds at the earliest."""
        now = self._begin()
        out = self._leases.find(lease.token)
        if out is None:
            return False
        if unused:
            self._schedule.forget(lease.place.score)
            self._hosts.touch(out.host).spare(unused)
        self._come_back([out], now, count=count, wait=wait)
        return True

    async def extend(self, lease: Lease) -> bool:
        """The lease runs for its full time again, from now. False: it was stale."""
        return self._leases.extend(lease.token, self._begin() + self._rules.lease_seconds)

    async def settle(self, urls: Iterable[str], reason: str) -> None:
        """Mark URLs as done without a lease."""
        now = self._begin()
        ends = {key(url): Offer(Link(url), Place(0.0)) for url in urls}
        with self._change(now):
            rows = self._links.lookup(ends)
            for row, offer in ends.items():
                known = rows.get(row)
                if known is None:
                    host = self._hosts.named(host_of(offer.link.url))
                    known = self._new(offer, host)
                    self._links.insert({row: known})
                before = known.state
                if known.settle(str(reason)):
                    self._links.set_state(known, before)
                    host = self._hosts.touch(self._hosts.numbered(known.host))
                    host.top = self._hosts.best_of(host)
                self._scores.remember(offer.link.url, known)

    async def reopen(self, offers: Sequence[Offer]) -> None:
        """Put done links back with the offered place."""
        check_scores([offer.place.score for offer in offers])
        now = self._begin()
        with self._change(now):
            self._absorb(offers, reopen=True)
        # Hosts that were closed to offers may be open again.
        self._scores.forget(everything=True)

    async def rescore(self, scores: Mapping[str, float]) -> int:
        """New scores for links that wait. Returns how many were waiting."""
        check_scores(scores.values())
        now, count = self._begin(), 0
        urls = list(scores)
        changed: dict[int, None] = {}
        with self._change(now):
            for start in range(0, len(urls), _CHUNK):
                chunk = {key(url): url for url in urls[start : start + _CHUNK]}
                hosts = self._links.rescore({row: scores[url] for row, url in chunk.items()})
                count += len(hosts)
                changed.update(dict.fromkeys(hosts.values()))
                self._scores.set((chunk[row], scores[chunk[row]]) for row in hosts)
            for number in changed:
                host = self._hosts.touch(self._hosts.numbered(number))
                host.top = self._hosts.best_of(host)
        return count

    async def set_delay(self, host: str, delay: float) -> None:
        """The host's own delay from now on, never below the rules'."""
        now = self._begin()
        known = self._hosts.known(host)
        if known is not None and known.delay == max(self._rules.delay, delay):
            return
        with self._change(now):
            found = self._hosts.touch(self._hosts.named(host))
            found.delay = max(self._rules.delay, delay)
            self._hosts.save([found])

    async def block(self, host: str, until: float) -> None:
        """Ask nothing of the host before `until`."""
        now = self._begin()
        with self._change(now):
            found = self._hosts.touch(self._hosts.named(host))
            found.blocked = self._clock.inside(until)
            self._hosts.save([found])

    async def next_ready(self) -> float | None:
        """Seconds until some host may be asked."""
        now = self._begin()
        when = min(self._schedule.soonest(now), self._leases.soonest())
        return None if when == inf else max(0.0, when - now)

    async def resting(self) -> int:
        """How many hosts have links that wait and may not be asked yet."""
        self._schedule.best(self._begin())
        return self._schedule.resting

    async def counts(self) -> Counts:
        """How many links are in each state."""
        waiting, leased, done, dropped = self._links.counts
        return Counts(waiting, leased, done, dropped, self._hosts.total)

    async def close(self) -> None:
        """Write all down and let go of the file; what is out on lease waits again."""
        if self._closed:
            return
        self._closed = True
        try:
            now = self._begin()
            self._come_back(list(self._leases), now, count=False)
            with self._file.transaction():
                self._hosts.save(self._hosts)
                self._file.execute("UPDATE crawl SET closed = 1, outer = ?", (self._clock.outer,))
        finally:
            self._file.close()

    def _may_wait(self, url: str) -> bool:
        return not self._scores.is_closed(url)

    @contextmanager
    def _change(self, now: float) -> Iterator[None]:
        """One transaction, for the file and for what is in memory."""
        links = self._links
        counts, following = links.counts.copy(), links.next
        try:
            with self._file.transaction():
                yield
                if links.counts[DROPPED] != counts[DROPPED]:
                    links.save_counts()
        except BaseException:
            links.counts, links.next = counts, following
            links.out.clear()
            links.out.update(out.item.seq for out in self._leases)
            self._scores.forget(everything=True)
            self._hosts.take_back()
            raise
        finally:
            self._scores.forget()
            self._schedule.file_all(self._hosts.release(), now)

    def _begin(self) -> float:
        """The time; leases whose time is over have gone back."""
        now = self._clock.now()
        if self._clock.offset != self._offset:
            with self._file.transaction():
                self._file.execute("UPDATE crawl SET offset = ?, outer = ?", (self._clock.offset, self._clock.outer))
            self._offset = self._clock.offset
        if self._hosts.is_crowded:
            idle = self._hosts.idle()
            with self._file.transaction():
                self._hosts.save(idle)
            self._hosts.forget(idle)
        if overdue := self._leases.overdue(now):
            self._come_back(overdue, now, count=True)
        return now

    def _absorb(self, offers: Sequence[Offer], *, reopen: bool = False) -> int:
        """Take offers in; must be inside `_change`. Returns how many were new."""
        links, hosts = self._links, self._hosts
        keys = [key(offer.link.url) for offer in offers]
        rows = links.lookup(dict(zip(keys, offers, strict=True)))
        new: dict[int, Known] = {}
        changes: dict[int, Change] = {}
        lowered: dict[int, Host] = {}
        for row, offer in zip(keys, offers, strict=True):
            known = rows.get(row)
            if known is None:
                host = hosts.named(host_of(offer.link.url))
                if not self._schedule.is_spent(host):
                    known = rows[row] = new[row] = self._new(offer, host)
            else:
                before, host = known.state, hosts.touch(hosts.numbered(known.host))
                change = follow(known, offer, host, self._schedule, reopen=reopen)
                links.moved(before, known.state)
                if change and row not in new:
                    changes[row] = max(change, changes.get(row, change))
                if change and reopen:
                    hosts.save([host])
            self._scores.remember(offer.link.url, known)
            if known is not None and known.state == WAITING and not _rises(hosts.touch(host), known):
                lowered[host.number] = host
        links.insert(new)
        for row, change in changes.items():
            links.update(rows[row], change)
        for host in lowered.values():
            host.top = hosts.best_of(host)
        if self._overflows():
            self._sweep()
        return len(new)

    def _new(self, offer: Offer, host: Host) -> Known:
        known = Known(self._links.next, host.number, offer.link, offer.place)
        self._links.next += 1
        self._links.counts[WAITING] += 1
        return known

    def _overflows(self) -> bool:
        return 0 < self._rules.capacity < self._links.counts[WAITING]

    def _sweep(self) -> None:
        """Drop the worst, and make room for more."""
        surplus = self._links.counts[WAITING] - int(self._rules.capacity * SWEPT)
        limit = self._links.drop_worst(surplus)
        for host in self._hosts:
            # If a host's best is among the dropped, so is all the rest of it.
            if host.top is not None and host.top >= limit:
                self._hosts.touch(host).top = None

    def _handed_out(self, known: Known, host: Host, until: float) -> Lease:
        token = self._leases.hand_out(known, host, until)
        self._links.sources[known.url] = known.seq
        return known.as_lease(host.name, token, self._clock.outside(until))

    def _come_back(self, outs: Sequence[Out[Known]], now: float, *, count: bool, wait: float = 0.0) -> None:
        """Leases that ended without an answer."""
        returned = [copy(out.item) for out in outs]
        with self._change(now):
            for out, known in zip(outs, returned, strict=True):
                host = self._hosts.touch(out.host)
                known.come_back(self._rules.attempts, count=count)
                self._links.unlease(known.seq)
                self._links.set_state(known, LEASED)
                host.leased -= 1
                host.top = self._hosts.best_of(host)
                if wait > 0:
                    host.postpone(now, wait)
                    self._hosts.save([host])
        for out, known in zip(outs, returned, strict=True):
            self._end(out)
            self._scores.remember(known.url, known)

    def _end(self, out: Out[Known]) -> None:
        self._leases.end(out.token)
        self._links.sources.pop(out.item.url, None)


def _rises(host: Host, known: Known) -> bool:
    """Put a waiting link on top of its host if it belongs there; False: one must look at the others."""
    rank = (-known.place.score, known.seq)
    if host.top is None or rank < host.top:
        host.top = rank
    return host.top[1] != known.seq or host.top == rank
