"""CPU time measurement for all crawlers of the benchmark.

The measurement runs from the first request to the last page, so that imports, start and shutdown do not count. It
includes all threads of the crawler's process. The web server is a separate process and does not count.
"""

from __future__ import annotations

import json
import resource
import time


class Meter:
    """Counter of pages and of the time from `start` to the last page."""

    def __init__(self) -> None:
        self.pages = 0
        self.characters = 0  # of extracted text, to verify that the crawler extracts it
        self._begin: tuple[float, float] | None = None
        self._end = (0.0, 0.0)

    def start(self) -> None:
        """Start the measurement at the first request. Later calls have no effect."""
        if self._begin is None:
            self._begin = _now()

    def page(self, title: str, text: str) -> None:
        """Count a processed page."""
        self.pages += 1
        self.characters += len(title) + len(text)
        self._end = _now()

    def report(self, name: str, version: str) -> None:
        """Print the result as one line of JSON for `speed.py`."""
        if self._begin is None:
            raise SystemExit(f"{name} sent no request")
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
