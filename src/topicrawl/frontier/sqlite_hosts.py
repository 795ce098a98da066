"""The hosts of a frontier on disk; those with nothing to do are not kept in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from math import inf
from typing import TypeAlias

from topicrawl.frontier.contract import Rules
from topicrawl.frontier.hosts import Host, Top
from topicrawl.frontier.sqlite_file import File

Row: TypeAlias = tuple[int, str, float | None, float | None, float | None, float | None, float | None, int]
Saved: TypeAlias = tuple[float, float, float, float, float, int, int, Top | None]

_COLUMNS = "number, name, delay, last, hold, wait, blocked, pages"
_NAMED = f"SELECT {_COLUMNS} FROM hosts WHERE name = ?"
_NUMBERED = f"SELECT {_COLUMNS} FROM hosts WHERE number = ?"
_TOP = "FROM links INDEXED BY open_links WHERE state = 0 AND host = number ORDER BY score DESC, seq LIMIT 1"
_OCCUPIED = f"""
    SELECT {_COLUMNS}, (SELECT score {_TOP}), (SELECT seq {_TOP}) FROM hosts
    WHERE EXISTS (SELECT 1 FROM links INDEXED BY open_links WHERE state = 0 AND host = number)
"""
_BEST = "SELECT score, seq FROM links INDEXED BY open_links WHERE state = 0 AND host = ? ORDER BY score DESC, seq"
_INSERT = "INSERT INTO hosts (number, name) VALUES (?, ?)"
_SAVE = "UPDATE hosts SET delay = ?, last = ?, hold = ?, wait = ?, blocked = ?, pages = ? WHERE number = ?"


class StoredHosts:
    """Hosts by name and by number. Changes inside a transaction can be taken back."""

    def __init__(self, file: File, rules: Rules, out: AbstractSet[int], *, crashed: float, idle: int) -> None:
        self._file = file
        self._rules = rules
        self._out = out  # rows on lease
        self._crashed = crashed  # hosts may have been asked right up to this moment
        self._named: dict[str, Host] = {}
        self._numbered: dict[int, Host] = {}
        self._touched: dict[int, tuple[Host, Saved | None]] = {}
        self._limit = self._idle = idle
        (self.total,) = file.execute("SELECT coalesce(max(number) + 1, 0) FROM hosts").fetchone()

    def __iter__(self) -> Iterator[Host]:
        return iter(self._named.values())

    def load(self) -> list[Host]:
        """Read the hosts that have links waiting."""
        for *row, score, seq in self._file.execute(_OCCUPIED).fetchall():
            self._restored(row).top = (-score, seq)
        return list(self._named.values())

    def known(self, name: str) -> Host | None:
        """The host of that name if it is in memory."""
        return self._named.get(name)

    def named(self, name: str) -> Host:
        """The host of that name, known or new; must be inside a transaction."""
        host = self._named.get(name)
        if host is None:
            row = self._file.execute(_NAMED, (name,)).fetchone()
            host = self._new(name) if row is None else self._loaded(row)
        return host

    def numbered(self, number: int) -> Host:
        """The known host of that number."""
        host = self._numbered.get(number)
        return host or self._loaded(self._file.execute(_NUMBERED, (number,)).fetchone())

    def best_of(self, host: Host) -> Top | None:
        """The best waiting link of a host."""
        for score, seq in self._file.execute(_BEST, (host.number,)):
            if seq not in self._out:
                return -score, seq
        return None

    def touch(self, host: Host) -> Host:
        """Remember what a host was before it is changed."""
        if host.number not in self._touched:
            self._touched[host.number] = (host, _saved(host))
        return host

    def save(self, hosts: Iterable[Host]) -> None:
        """Write down what must survive of these hosts."""
        self._file.executemany(_SAVE, [self._values(host) for host in hosts])

    def take_back(self) -> None:
        """The transaction failed: hosts are what they were before."""
        for number, (host, saved) in self._touched.items():
            if saved is None:
                host.top = None
                self.total -= 1
                del self._named[host.name], self._numbered[number]
            else:
                (
                    host.delay,
                    host.last,
                    host.hold,
                    host.wait,
                    host.blocked,
                    host.pages,
                    host.leased,
                    host.top,
                ) = saved

    def release(self) -> list[Host]:
        """The transaction is over; returns the hosts that were touched."""
        touched = [host for host, _ in self._touched.values()]
        self._touched.clear()
        return touched

    @property
    def is_crowded(self) -> bool:
        """Are there many hosts in memory that need not be?"""
        return len(self._named) > self._limit

    def idle(self) -> list[Host]:
        """The hosts in memory that have nothing to do."""
        return [host for host in self._named.values() if host.top is None and not host.leased]

    def forget(self, hosts: Iterable[Host]) -> None:
        """Keep these hosts on disk only; they have been saved."""
        for host in hosts:
            del self._named[host.name], self._numbered[host.number]
        self._limit = 2 * len(self._named) + self._idle

    def _new(self, name: str) -> Host:
        host = Host(name, self.total, self._rules.delay)
        self._file.execute(_INSERT, (host.number, name))
        self.total += 1
        self._touched[host.number] = (host, None)
        self._named[name] = self._numbered[host.number] = host
        return host

    def _loaded(self, row: Row) -> Host:
        host = self._restored(row)
        host.top = self.best_of(host)
        return host

    def _restored(self, row: Row) -> Host:
        """A host from its row."""
        number, name, delay, last, hold, wait, blocked, pages = row
        host = Host(name, number, max(self._rules.delay, delay or 0.0), pages=pages)
        host.last = max(-inf if last is None else last, self._crashed)
        host.wait = wait or 0.0
        host.hold = -inf if hold is None else hold
        host.blocked = -inf if blocked is None else blocked
        self._named[host.name] = self._numbered[host.number] = host
        return host

    def _values(self, host: Host) -> tuple[float | None, ...]:
        delay = host.delay if host.delay > self._rules.delay else None
        return delay, host.last, host.hold, host.wait, host.blocked, host.pages, host.number


def _saved(host: Host) -> Saved:
    return host.delay, host.last, host.hold, host.wait, host.blocked, host.pages, host.leased, host.top
