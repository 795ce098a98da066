"""Host names → addresses, by the system's resolver on threads of our own.

The event loop's own few threads are soon all stuck in lookups of dead names; here there are enough of them,
and a name that does not resolve is not asked for again at once.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

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
    ) -> None:
        self._known = known
        self._failure_seconds = failure_seconds
        self._clock = clock
        self._failed: dict[str, tuple[float, str]] = {}
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="names")

    async def addresses(self, name: str) -> list[str]:
        """All addresses of a name, in the system's order; OSError when it has none."""
        known = self._known.get(name)
        if known is not None:
            return [known]
        until, reason = self._failed.get(name, (0.0, ""))
        if self._clock() < until:
            raise socket.gaierror(socket.EAI_NONAME, reason)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, _lookup, name)
        except OSError as error:
            if len(self._failed) >= _MOST_FAILURES:
                # The oldest is the first to expire: every failure is kept for the same time.
                del self._failed[next(iter(self._failed))]
            self._failed.pop(name, None)
            self._failed[name] = (self._clock() + self._failure_seconds, error.strerror or str(error))
            raise

    def close(self) -> None:
        """Forget lookups that have not begun; one that hangs in the system ends by itself."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _lookup(name: str) -> list[str]:
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    except UnicodeError as error:
        # The encoder's complaint about a label that is too long is not an OSError.
        raise socket.gaierror(socket.EAI_NONAME, "not a valid host name") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
