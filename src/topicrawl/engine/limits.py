"""Limits of a crawl and the reasons for which it stops."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class StopReason(StrEnum):
    """Reason why a crawl ended. The value appears in status, logs and JSON."""

    PAGES = "pages reached"
    RELEVANT = "relevant pages reached"
    FETCHES = "fetches reached"
    EMPTY = "frontier empty"
    MIN_SCORE = "only links below the minimum score left"
    UNREACHABLE = "only unreachable hosts left"
    FOUND = "nothing promising left"
    TIME = "time is up"
    SPACE = "no disk space"
    INTERRUPTED = "interrupted"
    FINISHED = "finished by its operator"


@dataclass(frozen=True, slots=True)
class CrawlLimits:
    """Limits and timeouts of a crawl. 0 means no limit."""

    pages: int = 0  # stored pages, including earlier runs
    relevant: int = 0  # stored pages that are relevant, including earlier runs
    fetches: int = 0  # visits, including failures
    seconds: float = 0.0  # duration of this run
    concurrency: int = 32  # concurrent fetches
    attempts: int = 3  # attempts per link before a transient failure becomes final
    backoff: float = 5.0  # seconds before the second attempt; doubled before each further one
    patience: float = 600.0  # seconds to wait for a host when no other links are left
    fetch_timeout: float = 900.0  # seconds for one fetch with all redirects and waiting times
    min_score: float = 0.0  # links that score less are not fetched
    checks_leases: bool = True  # whether leased links are checked again for traps, spam and the budget of a domain
    focus: float = 0.4  # links below this fraction of the best waiting score are poor; 0: none is
    poor_share: float = 0.15  # share of the fetches that poor links get
    slow_fetch_seconds: float = 5.0  # seconds after which a fetch no longer counts towards the page limit
    grace_seconds: float = 10.0  # seconds that running fetches have left after an interrupt or the time limit
