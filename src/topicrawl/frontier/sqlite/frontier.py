"""Best-first frontier in one SQLite file. It survives a kill at any instant and needs memory for its hosts only.

Every call that changes the frontier is one transaction. The data in memory (hosts with links, leases, a cache of
scores) mirrors the file: it is rolled back when a transaction fails, and it is rebuilt when the file is opened.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from math import inf
from pathlib import Path

from topicrawl.frontier.base import (
    NO_LIMITS,
    Completion,
    FrontierCounts,
    FrontierEntry,
    FrontierRules,
    Lease,
    LeaseLimits,
    Offer,
)
from topicrawl.frontier.entry import (
    DROPPED,
    FILL_AFTER_SWEEP,
    LEASED,
    WAITING,
    LinkRecord,
    OfferEffect,
    apply_offer,
    check_scores,
)
from topicrawl.frontier.host_schedule import HostSchedule, HostState, LeaseBudget
from topicrawl.frontier.leases import ActiveLease, LeaseTable
from topicrawl.frontier.score_cache import ScoreCache
from topicrawl.frontier.sqlite.file import FrontierDatabase
from topicrawl.frontier.sqlite.hosts import FrontierHostStore
from topicrawl.frontier.sqlite.links import FrontierLinkStore
from topicrawl.frontier.sqlite.reader import SqliteFrontierReader, iterate_done_links, read_record, url_key
from topicrawl.frontier.sqlite.session import restore_clock, start_session
from topicrawl.models import Link, Priority
from topicrawl.urls import get_host as host_of

_RESCORE_BATCH = 1000  # links that `rescore` looks up in one statement


class SqliteFrontier(SqliteFrontierReader):
    """Best-first frontier with per-host politeness, in one SQLite file.

    If the disk is full, an operation raises `SpaceError` and changes nothing. `cache_size` is the number of links whose
    best score is cached, so that their offers need no lookup. `max_idle_hosts` is the number of hosts without waiting
    links that may stay in memory.
    """

    def __init__(
        self,
        path: Path | str,
        rules: FrontierRules,
        clock: Callable[[], float],
        *,
        cache_size: int = 100_000,
        max_idle_hosts: int = 10_000,
    ) -> None:
        super().__init__(FrontierDatabase(Path(path)))
        self._rules = rules
        self._schedule = HostSchedule(rules)
        self._score_cache = ScoreCache(cache_size)
        try:
            self._clock = restore_clock(self._database, clock)
            now = self._clock.now()
            openings, crashed = start_session(self._database, rules, self._clock)
            self._links = FrontierLinkStore(self._database)
            self._hosts = FrontierHostStore(
                self._database, rules, self._links.leased_rows, last_crash=crashed, max_idle=max_idle_hosts
            )
            self._schedule.update_hosts(self._hosts.load_hosts(), now)
        except BaseException:
            self._database.close()
            raise
        #: Number of the session with the file. Each opening for writing starts a new session.
        self.session = openings
        # A token of an earlier session must never match a lease of this session.
        self._leases: LeaseTable[LinkRecord] = LeaseTable(first_token=(openings << 32) + 1)
        self._saved_offset = self._clock.offset
        self._closed = False

    async def add(self, offers: Sequence[Offer]) -> int:
        """Add links and return how many of them are new."""
        promising = self._score_cache.select_promising(offers)
        now = self._start_operation()
        if not promising and not self._is_over_capacity():
            return 0
        with self._transaction(now):
            return self._add_offers(promising)

    def find_closed(self, urls: Sequence[str]) -> set[str]:
        """Return the URLs of which the score cache proves that no offer can change them."""
        return self._score_cache.find_closed(urls)

    async def lease(self, n: int, limits: LeaseLimits = NO_LIMITS) -> list[Lease]:
        """Lease up to `n` of the best links whose hosts are ready, best first, as far as the limits allow."""
        now = self._start_operation()
        leased: list[tuple[LinkRecord, HostState, bool]] = []
        budget = self._create_budget(limits, now)
        if n <= 0 or self._schedule.get_best_host(now, budget.min_score) is None:
            return []
        with self._transaction(now):
            while (
                len(leased) < n
                and (host := self._schedule.get_best_host(now, budget.min_score)) is not None
                and host.best_rank is not None
            ):
                record = read_record(self._database, host.best_rank[1])
                self._links.lease(record)
                self._hosts.track_change(host)
                host.last_lease = now
                host.leased += 1
                host.best_rank = self._hosts.find_best_rank(host)
                self._schedule.update_host(host, now)
                leased.append((record, host, budget.count_lease(record.priority.score)))
        until = now + self._rules.lease_seconds
        return [self._create_lease(record, host, until, is_poor=is_poor) for record, host, is_poor in leased]

    async def complete(
        self, lease: Lease, reason: str, offers: Sequence[Offer] = (), *, wait: float = 0.0, unused: bool = False
    ) -> bool:
        """Mark a leased link as done and add its out-links, atomically. Return False if the lease is stale."""
        (done,) = await self.complete_all([Completion(lease, reason, offers, wait, unused)])
        return done

    async def complete_all(self, completions: Sequence[Completion]) -> list[bool]:
        """Complete several leases in one transaction."""
        promising = [self._score_cache.select_promising(end.offers) for end in completions]
        now = self._start_operation()
        leases = [self._leases.get_lease(end.lease.token) for end in completions]
        valid = [lease for lease in leases if lease is not None]
        if valid:
            with self._transaction(now):
                for end, lease, offers in zip(completions, leases, promising, strict=True):
                    if lease is not None:
                        self._complete_lease(end, lease, now)
                        if offers or self._is_over_capacity():
                            self._add_offers(offers)
        for lease in valid:
            self._end_lease(lease)
        self._score_cache.set_scores([(lease.item.url, inf) for lease in valid])
        return [lease is not None for lease in leases]

    def _complete_lease(self, completion: Completion, lease: ActiveLease[LinkRecord], now: float) -> None:
        """Mark a leased link as done. Must be called inside `_transaction`."""
        host = self._hosts.track_change(lease.host)
        host.pages += 1
        host.leased -= 1
        host.refund_delay(completion.unused)
        host.postpone(now, completion.wait)
        if self._rules.limits_pages or completion.wait > self._rules.get_delay(host.name):
            # A shorter wait need not be saved: after a crash every host waits for its delay.
            self._hosts.save_hosts([host])
        self._links.complete(lease.item, str(completion.reason))
        if self._schedule.is_budget_spent(host):
            self._links.drop_host(host.number)
            host.best_rank = None

    async def release(
        self, lease: Lease, *, wait: float = 0.0, count_attempt: bool = True, unused: bool = False
    ) -> bool:
        """Return a leased link to the queue. Return False if the lease is stale."""
        now = self._start_operation()
        active = self._leases.get_lease(lease.token)
        if active is None:
            return False
        if unused:
            self._hosts.track_change(active.host).refund_delay(unused)
        self._requeue([active], now, count_attempts=count_attempt, wait=wait)
        return True

    async def extend(self, lease: Lease) -> bool:
        """Restart the full duration of a lease now. Return False if the lease is stale."""
        return self._leases.extend(lease.token, self._start_operation() + self._rules.lease_seconds)

    async def mark_done(self, urls: Iterable[str], reason: str) -> None:
        """Mark URLs as done without a lease."""
        now = self._start_operation()
        offers = {url_key(url): Offer(Link(url), Priority(0.0)) for url in urls}
        with self._transaction(now):
            records = self._links.find_records(offers)
            for link_key, offer in offers.items():
                record = records.get(link_key)
                if record is None:
                    host = self._hosts.get_or_create(host_of(offer.link.url))
                    record = self._create_record(offer, host)
                    self._links.insert({link_key: record})
                before = record.state
                if record.mark_done(str(reason)):
                    self._links.set_state(record, before)
                    host = self._hosts.track_change(self._hosts.get_by_number(record.host_number))
                    host.best_rank = self._hosts.find_best_rank(host)
                self._score_cache.update_entry(offer.link.url, record)

    async def reopen(self, offers: Sequence[Offer]) -> None:
        """Queue done links again with the offered priority. The change is synced to disk."""
        check_scores([offer.priority.score for offer in offers])
        now = self._start_operation()
        with self._transaction(now, durable=True):
            self._add_offers(offers, reopen=True)
        # Hosts that accepted no more links may accept links again.
        self._score_cache.evict(everything=True)

    async def iterate_done(self) -> AsyncIterator[Sequence[FrontierEntry]]:
        """Yield all done links in batches."""
        for batch in iterate_done_links(self._database):
            yield batch

    async def sync_to_disk(self) -> None:
        """Sync all changes to disk."""
        self._database.sync_to_disk()

    async def rescore(self, scores: Mapping[str, float]) -> int:
        """Set new scores of waiting links and return how many of the URLs are waiting."""
        check_scores(scores.values())
        now, count = self._start_operation(), 0
        urls = list(scores)
        changed: dict[int, None] = {}
        with self._transaction(now):
            for start in range(0, len(urls), _RESCORE_BATCH):
                chunk = {url_key(url): url for url in urls[start : start + _RESCORE_BATCH]}
                hosts = self._links.rescore({link_key: scores[url] for link_key, url in chunk.items()})
                count += len(hosts)
                changed.update(dict.fromkeys(hosts.values()))
                self._score_cache.set_scores((chunk[link_key], scores[chunk[link_key]]) for link_key in hosts)
            for number in changed:
                host = self._hosts.track_change(self._hosts.get_by_number(number))
                host.best_rank = self._hosts.find_best_rank(host)
        return count

    async def set_host_delay(self, host: str, delay: float) -> None:
        """Set the crawl delay of a host. The delay of the rules is the minimum."""
        now = self._start_operation()
        cached = self._hosts.get_cached(host)
        if cached is not None and cached.delay == max(self._rules.get_delay(host), delay):
            return
        with self._transaction(now):
            host_state = self._hosts.track_change(self._hosts.get_or_create(host))
            host_state.delay = max(self._rules.get_delay(host), delay)
            self._hosts.save_hosts([host_state])

    async def block(self, host: str, until: float) -> None:
        """Do not lease links of a host before `until`."""
        now = self._start_operation()
        with self._transaction(now):
            host_state = self._hosts.track_change(self._hosts.get_or_create(host))
            host_state.blocked_until = self._clock.to_internal(until)
            self._hosts.save_hosts([host_state])

    async def seconds_until_ready(self, limits: LeaseLimits = NO_LIMITS) -> float | None:
        """Return the seconds until a link within the limits can be leased, or None if none ever can."""
        now = self._start_operation()
        min_score = self._create_budget(limits, now).min_score
        ready_at = min(self._schedule.get_next_ready_time(now, min_score), self._leases.get_next_ready_time())
        return None if ready_at == inf else max(0.0, ready_at - now)

    async def count_delayed_hosts(self) -> int:
        """Count the hosts that have waiting links and are not ready yet."""
        self._schedule.get_best_host(self._start_operation())
        return self._schedule.delayed_count

    async def get_counts(self) -> FrontierCounts:
        """Count the links in each state."""
        waiting, leased, done, dropped = self._links.counts
        return FrontierCounts(waiting, leased, done, dropped, self._hosts.total)

    async def close(self) -> None:
        """Write all changes and close the file. Leased links wait again."""
        if self._closed:
            return
        self._closed = True
        try:
            now = self._start_operation()
            self._requeue(list(self._leases), now, count_attempts=False)
            with self._database.transaction():
                self._hosts.save_hosts(self._hosts)
                self._database.execute("UPDATE crawl SET closed = 1, outer = ?", (self._clock.last_external,))
        finally:
            self._database.close()

    def _may_wait(self, url: str) -> bool:
        return not self._score_cache.is_closed(url)

    @contextmanager
    def _transaction(self, now: float, *, durable: bool = False) -> Iterator[None]:
        """Run one transaction on the file and on the data in memory.

        After an exception, the counts, hosts and leased rows in memory are restored, and the score cache is emptied. At
        the end, the hosts that changed are rescheduled.
        """
        links = self._links
        counts, next_sequence = links.counts.copy(), links.next_sequence
        try:
            with self._database.durable_transaction() if durable else self._database.transaction():
                yield
                if links.counts[DROPPED] != counts[DROPPED]:
                    links.save_counts()
        except BaseException:
            links.counts, links.next_sequence = counts, next_sequence
            links.leased_rows.clear()
            links.leased_rows.update(lease.item.seq for lease in self._leases)
            self._score_cache.evict(everything=True)
            self._hosts.roll_back()
            raise
        finally:
            self._score_cache.evict()
            self._schedule.update_hosts(self._hosts.end_transaction(), now)

    def _create_budget(self, limits: LeaseLimits, now: float) -> LeaseBudget:
        """Return which links may be leased now."""
        scores = (record.priority.score for record in self._leases.iter_recent(now))
        return self._schedule.create_budget(limits, now, leased_scores=scores, leased=len(self._leases))

    def _start_operation(self) -> float:
        """Requeue the links of expired leases, with a counted attempt, and return the current time.

        Also save a changed clock offset, and move idle hosts to disk if too many are in memory.
        """
        now = self._clock.now()
        if self._clock.offset != self._saved_offset:
            with self._database.transaction():
                self._database.execute(
                    "UPDATE crawl SET offset = ?, outer = ?", (self._clock.offset, self._clock.last_external)
                )
            self._saved_offset = self._clock.offset
        if self._hosts.is_crowded:
            idle = self._hosts.get_idle_hosts()
            with self._database.transaction():
                self._hosts.save_hosts(idle)
            self._hosts.evict_hosts(idle)
        if expired := self._leases.get_expired(now):
            self._requeue(expired, now, count_attempts=True)
        return now

    def _add_offers(self, offers: Sequence[Offer], *, reopen: bool = False) -> int:
        """Add new links and apply the offers of known ones. Return how many links are new.

        Must be called inside `_transaction`. Links of a host whose page budget is used up are not added. If the
        capacity is exceeded, the worst links are dropped.
        """
        links, hosts = self._links, self._hosts
        keys = [url_key(offer.link.url) for offer in offers]
        records = links.find_records(dict(zip(keys, offers, strict=True)))
        new: dict[int, LinkRecord] = {}
        changes: dict[int, OfferEffect] = {}
        lowered: dict[int, HostState] = {}
        for link_key, offer in zip(keys, offers, strict=True):
            record = records.get(link_key)
            if record is None:
                host = hosts.get_or_create(host_of(offer.link.url))
                if not self._schedule.is_budget_spent(host):
                    record = records[link_key] = new[link_key] = self._create_record(offer, host)
            else:
                before, host = record.state, hosts.track_change(hosts.get_by_number(record.host_number))
                change = apply_offer(record, offer, host, self._schedule, reopen=reopen)
                links.update_counts(before, record.state)
                if change and link_key not in new:
                    changes[link_key] = max(change, changes.get(link_key, change))
                if change and reopen:
                    hosts.save_hosts([host])
            self._score_cache.update_entry(offer.link.url, record)
            if (
                record is not None
                and record.state == WAITING
                and not _raise_best_rank(hosts.track_change(host), record)
            ):
                lowered[host.number] = host
        links.insert(new)
        for link_key, change in changes.items():
            links.update(records[link_key], change)
        for host in lowered.values():
            host.best_rank = hosts.find_best_rank(host)
        if self._is_over_capacity():
            self._drop_worst()
        return len(new)

    def _create_record(self, offer: Offer, host: HostState) -> LinkRecord:
        """Create the record of a new waiting link and count it. The caller inserts its row."""
        record = LinkRecord(self._links.next_sequence, host.number, offer.link, offer.priority)
        self._links.next_sequence += 1
        self._links.counts[WAITING] += 1
        return record

    def _is_over_capacity(self) -> bool:
        """Return whether more links are waiting than the capacity allows."""
        return 0 < self._rules.capacity < self._links.counts[WAITING]

    def _drop_worst(self) -> None:
        """Drop the worst waiting links until `FILL_AFTER_SWEEP` of the capacity is filled, inside `_transaction`."""
        surplus = self._links.counts[WAITING] - int(self._rules.capacity * FILL_AFTER_SWEEP)
        limit = self._links.drop_worst(surplus)
        for host in self._hosts:
            # If the best link of a host was dropped, all its waiting links were.
            if host.best_rank is not None and host.best_rank >= limit:
                self._hosts.track_change(host).best_rank = None

    def _create_lease(self, record: LinkRecord, host: HostState, expires_at: float, *, is_poor: bool) -> Lease:
        """Create a lease in memory for a link that `FrontierLinkStore.lease` has marked as leased."""
        token = self._leases.create_lease(record, host, expires_at)
        self._links.source_rows[record.url] = record.seq
        return record.as_lease(host.name, token, self._clock.to_external(expires_at), is_poor=is_poor)

    def _requeue(
        self, leases: Sequence[ActiveLease[LinkRecord]], now: float, *, count_attempts: bool, wait: float = 0.0
    ) -> None:
        """End leases without a result in one transaction: each link waits again, or is dropped after its last attempt.

        `wait` holds their hosts for that many seconds. If the transaction fails, the leases stay active.
        """
        # Copies, because the records must stay unchanged if the transaction fails.
        requeued = [copy(lease.item) for lease in leases]
        with self._transaction(now):
            for lease, record in zip(leases, requeued, strict=True):
                host = self._hosts.track_change(lease.host)
                record.requeue(self._rules.attempts, count_attempt=count_attempts)
                self._links.end_lease(record.seq)
                self._links.set_state(record, LEASED)
                host.leased -= 1
                host.best_rank = self._hosts.find_best_rank(host)
                if wait > 0:
                    host.postpone(now, wait)
                    self._hosts.save_hosts([host])
        for lease, record in zip(leases, requeued, strict=True):
            self._end_lease(lease)
            self._score_cache.update_entry(record.url, record)

    def _end_lease(self, lease: ActiveLease[LinkRecord]) -> None:
        """Remove a lease from memory, after the transaction that ended it in the file."""
        self._leases.end_lease(lease.token)
        self._links.source_rows.pop(lease.item.url, None)


def _raise_best_rank(host: HostState, record: LinkRecord) -> bool:
    """Raise the best rank of a host to that of a waiting link if it is better.

    Return False if the link was the best one and its rank has become worse, so that the best link must be searched.
    """
    rank = (-record.priority.score, record.seq)
    if host.best_rank is None or rank < host.best_rank:
        host.best_rank = rank
    return host.best_rank[1] != record.seq or host.best_rank == rank
