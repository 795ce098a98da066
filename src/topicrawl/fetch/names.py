"""Host names → addresses, by the system's resolver on threads of our own.

The event loop's own few threads are soon all stuck in lookups of dead names, and a program waits for them
when it ends. Here there are more, nobody waits for them, and a dead name is not looked up again at once.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Thread

_THREADS = 32
_MOST_FAILURES = 10_000


class Names:
    """Looks names up; `known` answers first, as a hosts file does."""

    def __init__(
        self,
        known: Mapping[str, str],
        *,
        failure_seconds: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        lookup: Callable[[str], list[str]] | None = None,
    ) -> None:
        self._known = known
        self._failure_seconds = failure_seconds
        self._clock = clock
        self._lookup = lookup or system_lookup
        self._failed: dict[str, tuple[float, str]] = {}
        self._free = asyncio.Semaphore(_THREADS)

    async def addresses(self, name: str) -> list[str]:
        """All addresses of a name, in the system's order; OSError when it has none."""
        known = self._known.get(name)
        if known is not None:
            return [known]
        until, reason = self._failed.pop(name, (0.0, ""))
        if self._clock() < until:
            self._failed[name] = (until, reason)
            raise socket.gaierror(socket.EAI_NONAME, reason)
        try:
            async with self._free:
                return await _in_thread(self._lookup, name)
        except OSError as error:
            if len(self._failed) >= _MOST_FAILURES:
                del self._failed[next(iter(self._failed))]
            self._failed[name] = (self._clock() + self._failure_seconds, error.strerror or str(error))
            raise


def system_lookup(name: str) -> list[str]:
    """The addresses the operating system gives; blocks."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    except UnicodeError as error:
        # The encoder's complaint about a label that is too long is not an OSError.
        raise socket.gaierror(socket.EAI_NONAME, "not a valid host name") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def _in_thread(lookup: Callable[[str], list[str]], name: str) -> list[str]:
    """The answer of a blocking lookup, on a thread that does not keep the program alive."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def settle(found: list[str] | OSError) -> None:
        if answer.done():
            return
        if isinstance(found, OSError):
            answer.set_exception(found)
        else:
            answer.set_result(found)

    def work() -> None:
        found: list[str] | OSError
        try:
            found = lookup(name)
        except OSError as error:
            found = error
        # The crawl may be over by now, and its loop closed.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, found)

    Thread(target=work, daemon=True, name=f"lookup {name[:40]}").start()
    return await answer
