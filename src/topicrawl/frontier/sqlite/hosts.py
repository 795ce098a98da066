"""Hosts of an SQLite frontier. Hosts without waiting or leased links are kept on disk only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from math import inf
from typing import TypeAlias

from topicrawl.frontier.base import FrontierRules
from topicrawl.frontier.host_schedule import HostState, LinkRank
from topicrawl.frontier.sqlite.file import FrontierDatabase

HostRow: TypeAlias = tuple[int, str, float | None, float | None, float | None, float | None, float | None, int]
HostSnapshot: TypeAlias = tuple[float, float, float, float, float, int, int, LinkRank | None]

_COLUMNS = "number, name, delay, last, hold, wait, blocked, pages"
_SELECT_BY_NAME = f"SELECT {_COLUMNS} FROM hosts WHERE name = ?"
_SELECT_BY_NUMBER = f"SELECT {_COLUMNS} FROM hosts WHERE number = ?"
_BEST_LINK = "FROM links INDEXED BY open_links WHERE state = 0 AND host = number ORDER BY score DESC, seq LIMIT 1"
_SELECT_WITH_LINKS = f"""
    SELECT {_COLUMNS}, (SELECT score {_BEST_LINK}), (SELECT seq {_BEST_LINK}) FROM hosts
    WHERE EXISTS (SELECT 1 FROM links INDEXED BY open_links WHERE state = 0 AND host = number)
"""
_SELECT_LINKS = (
    "SELECT score, seq FROM links INDEXED BY open_links WHERE state = 0 AND host = ? ORDER BY score DESC, seq"
)
_INSERT = "INSERT INTO hosts (number, name) VALUES (?, ?)"
_UPDATE = "UPDATE hosts SET delay = ?, last = ?, hold = ?, wait = ?, blocked = ?, pages = ? WHERE number = ?"


class FrontierHostStore:
    """Hosts by name and by number. Changes inside a transaction can be rolled back.

    The caller opens the transactions, calls `track_change` before it changes a host, and ends with `end_transaction`,
    after an error with `roll_back` first. `leased_rows` is the set of leased rows, `last_crash` the time until which a
    crashed process may have sent requests, and `max_idle` the number of hosts without work that may stay in memory.
    """

    def __init__(
        self,
        database: FrontierDatabase,
        rules: FrontierRules,
        leased_rows: AbstractSet[int],
        *,
        last_crash: float,
        max_idle: int,
    ) -> None:
        self._database = database
        self._rules = rules
        self._leased_rows = leased_rows
        self._last_crash = last_crash
        self._by_name: dict[str, HostState] = {}
        self._by_number: dict[int, HostState] = {}
        self._changed: dict[int, tuple[HostState, HostSnapshot | None]] = {}  # hosts before the transaction; None: new
        self._memory_limit = self._max_idle = max_idle
        (self.total,) = database.execute("SELECT coalesce(max(number) + 1, 0) FROM hosts").fetchone()

    def __iter__(self) -> Iterator[HostState]:
        return iter(self._by_name.values())

    def load_hosts(self) -> list[HostState]:
        """Read the hosts that have waiting links into memory, and return all hosts in memory."""
        for *row, score, seq in self._database.execute(_SELECT_WITH_LINKS).fetchall():
            self._restore_host(row).best_rank = (-score, seq)
        return list(self._by_name.values())

    def get_cached(self, name: str) -> HostState | None:
        """Return a host by name, or None if it is not in memory."""
        return self._by_name.get(name)

    def get_or_create(self, name: str) -> HostState:
        """Return a host by name: from memory, from its row, or newly created. Must be called inside a transaction."""
        host = self._by_name.get(name)
        if host is None:
            row = self._database.execute(_SELECT_BY_NAME, (name,)).fetchone()
            host = self._create_host(name) if row is None else self._load_host(row)
        return host

    def get_by_number(self, number: int) -> HostState:
        """Return a host that has a row by its number, and read it into memory if necessary."""
        host = self._by_number.get(number)
        return host or self._load_host(self._database.execute(_SELECT_BY_NUMBER, (number,)).fetchone())

    def find_best_rank(self, host: HostState) -> LinkRank | None:
        """Return the rank of the best waiting link of a host, or None if no link of it waits. Reads the database."""
        for score, seq in self._database.execute(_SELECT_LINKS, (host.number,)):
            if seq not in self._leased_rows:
                return -score, seq
        return None

    def track_change(self, host: HostState) -> HostState:
        """Record the state of a host for a rollback, unless this transaction has done so. Return the host."""
        if host.number not in self._changed:
            self._changed[host.number] = (host, _take_snapshot(host))
        return host

    def save_hosts(self, hosts: Iterable[HostState]) -> None:
        """Write the persistent fields of these hosts to their rows. The caller opens the transaction."""
        self._database.executemany(_UPDATE, [self._to_row(host) for host in hosts])

    def roll_back(self) -> None:
        """Restore the tracked hosts in memory after a failed transaction, and remove those that it created."""
        for number, (host, snapshot) in self._changed.items():
            if snapshot is None:
                host.best_rank = None
                self.total -= 1
                del self._by_name[host.name], self._by_number[number]
            else:
                (
                    host.delay,
                    host.last_lease,
                    host.hold_until,
                    host.hold_seconds,
                    host.blocked_until,
                    host.pages,
                    host.leased,
                    host.best_rank,
                ) = snapshot

    def end_transaction(self) -> list[HostState]:
        """Forget the tracked states and return the hosts that the transaction changed, for the schedule."""
        changed = [host for host, _ in self._changed.values()]
        self._changed.clear()
        return changed

    @property
    def is_crowded(self) -> bool:
        """Whether so many hosts are in memory that idle ones must be evicted."""
        return len(self._by_name) > self._memory_limit

    def get_idle_hosts(self) -> list[HostState]:
        """Return the hosts in memory that have neither waiting nor leased links."""
        return [host for host in self._by_name.values() if host.best_rank is None and not host.leased]

    def evict_hosts(self, hosts: Iterable[HostState]) -> None:
        """Remove hosts from memory. The caller must have written them with `save_hosts`."""
        for host in hosts:
            del self._by_name[host.name], self._by_number[host.number]
        self._memory_limit = 2 * len(self._by_name) + self._max_idle

    def _create_host(self, name: str) -> HostState:
        """Create a host in memory and insert its row. Must be called inside a transaction."""
        host = HostState(name, self.total, self._rules.get_delay(name))
        self._database.execute(_INSERT, (host.number, name))
        self.total += 1
        self._changed[host.number] = (host, None)
        self._by_name[name] = self._by_number[host.number] = host
        return host

    def _load_host(self, row: HostRow) -> HostState:
        """Build a host from its row and find its best link."""
        host = self._restore_host(row)
        host.best_rank = self.find_best_rank(host)
        return host

    def _restore_host(self, row: HostRow) -> HostState:
        """Build a host from its row, without its best link."""
        number, name, delay, last, hold, wait, blocked, pages = row
        host = HostState(name, number, max(self._rules.get_delay(name), delay or 0.0), pages=pages)
        host.last_lease = max(-inf if last is None else last, self._last_crash)
        host.hold_seconds = wait or 0.0
        host.hold_until = -inf if hold is None else hold
        host.blocked_until = -inf if blocked is None else blocked
        self._by_name[host.name] = self._by_number[host.number] = host
        return host

    def _to_row(self, host: HostState) -> tuple[float | None, ...]:
        """Return the parameters of the `UPDATE` statement."""
        delay = host.delay if host.delay > self._rules.get_delay(host.name) else None
        return delay, host.last_lease, host.hold_until, host.hold_seconds, host.blocked_until, host.pages, host.number


def _take_snapshot(host: HostState) -> HostSnapshot:
    """Return the fields that a rollback must restore."""
    return (
        host.delay,
        host.last_lease,
        host.hold_until,
        host.hold_seconds,
        host.blocked_until,
        host.pages,
        host.leased,
        host.best_rank,
    )
