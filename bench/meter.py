"""What all crawlers of the benchmark are measured with: the CPU seconds of their own process.

The measure runs from the first request to the last page, so that imports, start and shutdown do not count.
Threads of the process count, the web server does not: it is another process.
"""

from __future__ import annotations

import json
import resource
import time


class Meter:
    """Counts pages, and the time from `start` to the last of them."""

    def __init__(self) -> None:
        self.pages = 0
        self.characters = 0  # of text: shows that text was taken out of the pages, and how much
        self._begin: tuple[float, float] | None = None
        self._end = (0.0, 0.0)

    def start(self) -> None:
        """The first request goes out; later calls change nothing."""
        if self._begin is None:
            self._begin = _now()

    def page(self, title: str, text: str) -> None:
        """A page is done."""
        self.pages += 1
        self.characters += len(title) + len(text)
        self._end = _now()

    def report(self, name: str, version: str) -> None:
        """One line of JSON, for the driver."""
        if self._begin is None:
            raise SystemExit(f"{name} made no request")
        cpu, wall = (end - begin for begin, end in zip(self._begin, self._end, strict=True))
        values = {
            "name": name,
            "version": version,
            "pages": self.pages,
            "cpu": cpu,
            "wall": wall,
            "characters": self.characters,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        print(json.dumps(values), flush=True)


def _now() -> tuple[float, float]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime, time.monotonic()
