"""DNS resolver: look host names up with the system resolver, on daemon threads.

The few threads of the default executor of asyncio are soon blocked by lookups of dead names, and the program waits for
them at exit. The resolver therefore starts its own daemon threads, and caches failed lookups for a short time.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Thread

_MAX_THREADS = 32
_MAX_FAILURES = 10_000
_MAX_CACHED_NAMES = 10_000


class HostResolver:
    """Asynchronous host name resolver. `overrides` maps names to addresses and takes precedence, like a hosts file."""

    def __init__(
        self,
        overrides: Mapping[str, str],
        *,
        cache_seconds: float = 0.0,
        failure_seconds: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        lookup: Callable[[str], list[str]] | None = None,
    ) -> None:
        self._overrides = overrides
        self._cache_seconds = cache_seconds
        self._addresses: dict[str, tuple[float, list[str]]] = {}  # name → end of validity and addresses, oldest first
        self._failure_seconds = failure_seconds
        self._clock = clock
        self._lookup = lookup or resolve_with_system
        self._failures: dict[str, tuple[float, str]] = {}
        self._thread_slots = asyncio.Semaphore(_MAX_THREADS)

    async def resolve(self, name: str) -> list[str]:
        """Return all addresses of a host name, in the order of the system; raise OSError if it has none.

        Addresses are cached for `cache_seconds`. A failed lookup is cached too: for `failure_seconds`, the same name
        raises OSError without another lookup.
        """
        override = self._overrides.get(name)
        if override is not None:
            return [override]
        expiry, addresses = self._addresses.pop(name, (0.0, []))
        if self._clock() < expiry:
            self._addresses[name] = (expiry, addresses)
            return addresses
        until, reason = self._failures.pop(name, (0.0, ""))
        if self._clock() < until:
            self._failures[name] = (until, reason)
            raise socket.gaierror(socket.EAI_NONAME, reason)
        try:
            async with self._thread_slots:
                addresses = await _run_in_thread(self._lookup, name)
        except OSError as error:
            if len(self._failures) >= _MAX_FAILURES:
                del self._failures[next(iter(self._failures))]
            self._failures[name] = (self._clock() + self._failure_seconds, error.strerror or str(error))
            raise
        if self._cache_seconds > 0:
            if len(self._addresses) >= _MAX_CACHED_NAMES:
                del self._addresses[next(iter(self._addresses))]
            self._addresses[name] = (self._clock() + self._cache_seconds, addresses)
        return addresses


def resolve_with_system(name: str) -> list[str]:
    """Return the addresses of a host name from the operating system (blocking). Raise OSError if the lookup fails."""
    try:
        entries = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    except UnicodeError as error:
        # The IDNA encoder raises UnicodeError for labels that are too long.
        raise socket.gaierror(socket.EAI_NONAME, "not a valid host name") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


async def _run_in_thread(lookup: Callable[[str], list[str]], name: str) -> list[str]:
    """Run a blocking lookup on a daemon thread. Return its result, or raise the OSError that it raised."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[list[str]] = loop.create_future()

    def set_outcome(outcome: list[str] | OSError) -> None:
        if future.done():
            return
        if isinstance(outcome, OSError):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)

    def run_lookup() -> None:
        outcome: list[str] | OSError
        try:
            outcome = lookup(name)
        except OSError as error:
            outcome = error
        # The crawl may have ended meanwhile, and its event loop may be closed.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(set_outcome, outcome)

    Thread(target=run_lookup, daemon=True, name=f"lookup {name[:40]}").start()
    return await future
