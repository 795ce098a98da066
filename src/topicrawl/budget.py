"""How much a crawl may do, and why it stopped."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Stop(StrEnum):
    """Why a crawl ended."""

    PAGES = "pages reached"
    FETCHES = "fetches reached"
    EMPTY = "frontier empty"
    UNREACHABLE = "only unreachable hosts left"
    FOUND = "nothing promising left"
    TIME = "time is up"
    SPACE = "no disk space"
    INTERRUPTED = "interrupted"
    FINISHED = "finished by its operator"


@dataclass(frozen=True, slots=True)
class Budget:
    """When to stop; 0 is no limit."""

    pages: int = 0  # pages kept, those of earlier runs included
    fetches: int = 0  # visits, failures included
    seconds: float = 0.0  # of this run
    concurrency: int = 32  # fetches in flight
    attempts: int = 3  # of a link, before a passing failure is final
    backoff: float = 5.0  # seconds before the second attempt, twice as long before each further one
    patience: float = 600.0  # seconds to wait for a host when nothing else is left
    deadline: float = 900.0  # seconds for one fetch with all its redirects and waiting
    focus: float = 0.5  # links below this share of the best ones lately get only a few hands
    slow: float = 5.0  # seconds after which a fetch is no longer counted as a page to come
    grace: float = 10.0  # seconds that fetches in flight have left when the time is up or someone interrupts
