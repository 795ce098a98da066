"""robots.txt (RFC 9309): fetch it once per origin and day, and check URLs against its rules.

    response for robots.txt                decision
    2xx                                    the rules of the file apply
    4xx except 429                         everything is allowed
    more than 5 or unusable redirects      everything is allowed
    429, 5xx, no or incomplete response    nothing is allowed for now; `wait` says when to retry
    DNS, TLS, address or port failure      the origin is unreachable; the decision has the same failure

A cached copy stays valid after a day while the origin cannot be reached.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import TypeAlias
from weakref import WeakValueDictionary

from msgspec import Struct
from protego import Protego

from topicrawl.fetch.http_status import REDIRECT_STATUSES
from topicrawl.fetch.rate_limit import MAX_CRAWL_DELAY
from topicrawl.fetch.robots_rules import decode_robots_txt, filter_rules
from topicrawl.models import Damage, Failure, Response
from topicrawl.urls import get_origin, resolve_url

#: Largest part of a robots.txt that is read; RFC 9309 requires at least 500 KiB.
MAX_ROBOTS_BYTES = 512 * 1024

_CACHE_SECONDS = 86_400.0
_MAX_REDIRECTS = 5
_MIN_RETRY_WAIT = 5.0
_MAX_RETRY_WAIT = 3_600.0
_LARGE_TEXT_LENGTH = 16 * 1024

#: Failures that would affect the page itself too, so the decision reports them unchanged.
_HOST_FAILURES = frozenset({Failure.ADDRESS, Failure.PORT, Failure.DNS, Failure.TLS})

#: A robots.txt with this damage may lack rules.
_INCOMPLETE = frozenset({Damage.TRUNCATED, Damage.ENCODING})

RobotsFetch: TypeAlias = Callable[[str], Awaitable[Response]]


class RobotsDecision(Struct, frozen=True):
    """Whether a URL may be fetched, and with which crawl delay."""

    is_allowed: bool
    delay: float = 0.0  # Crawl-delay of the site in seconds, at most 60
    failure: Failure | None = None  # reason for a refusal
    detail: str = ""
    wait: float | None = None  # seconds until a retry makes sense
    sitemaps: tuple[str, ...] = ()


class _RobotsEntry(Struct, frozen=True):
    """Cached robots.txt of one origin."""

    expires_at: float
    text: str = ""  # the rules for this crawler; empty: everything is allowed
    delay: float = 0.0
    sitemaps: tuple[str, ...] = ()
    failure: Failure | None = None
    detail: str = ""
    failed_fetches: int = 0  # consecutive fetches without a usable response


class RobotsCache:
    """Cache of robots.txt rules by origin.

    `get` fetches a URL. It must accept any media type and truncate bodies after `MAX_ROBOTS_BYTES`.
    """

    def __init__(
        self,
        get: RobotsFetch,
        *,
        agent: str,
        clock: Callable[[], float] = time.monotonic,
        max_origins: int = 20_000,
        max_characters: int = 32 * 1024 * 1024,
    ) -> None:
        self._get = get
        self._max_origins = max_origins
        self._max_characters = max_characters
        self._agent = agent.lower()
        self._clock = clock
        self._entries: OrderedDict[str, _RobotsEntry] = OrderedDict()
        self._characters = 0
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        # Parsed rules take thirty times the memory of their text, and many sites have the same rules.
        self._parse_small = lru_cache(512)(Protego.parse)
        self._parse_large = lru_cache(8)(Protego.parse)

    def __len__(self) -> int:
        """Return the number of cached origins."""
        return len(self._entries)

    async def check_url(self, url: str) -> RobotsDecision:
        """Return the decision for a canonical URL. Fetch the robots.txt of its origin if the cache has no current copy.

        Concurrent calls for one origin share a single fetch.
        """
        site = get_origin(url)
        entry = self._get_fresh_entry(site)
        if entry is None:
            lock = self._locks.get(site)
            if lock is None:
                lock = self._locks[site] = asyncio.Lock()
            async with lock:
                # Another task may have fetched the rules while this one waited for the lock.
                entry = self._get_fresh_entry(site) or await self._refresh_entry(site)
        return self._decide_url(url, entry)

    def get_cached(self, site: str) -> RobotsDecision | None:
        """Return the cached crawl delay and sitemaps of an origin, or None if it is not in the cache."""
        entry = self._entries.get(site)
        return RobotsDecision(True, delay=entry.delay, sitemaps=entry.sitemaps) if entry else None

    def _decide_url(self, url: str, entry: _RobotsEntry) -> RobotsDecision:
        """Check a URL against the cached entry of its origin."""
        if entry.failure is not None:
            wait = max(0.0, entry.expires_at - self._clock())
            return RobotsDecision(False, failure=entry.failure, detail=entry.detail, wait=wait)
        if entry.text and not self._parse_rules(entry.text).can_fetch(url, self._agent):
            detail = "forbidden by robots.txt"
            return RobotsDecision(False, entry.delay, Failure.ROBOTS, detail, sitemaps=entry.sitemaps)
        return RobotsDecision(True, entry.delay, sitemaps=entry.sitemaps)

    def _parse_rules(self, text: str) -> Protego:
        """Parse rules through a cache: a small one for large texts."""
        return (self._parse_small if len(text) < _LARGE_TEXT_LENGTH else self._parse_large)(text)

    def _get_fresh_entry(self, site: str) -> _RobotsEntry | None:
        """Return the entry of an origin, or None if there is none or it has expired."""
        entry = self._entries.get(site)
        if entry is None or entry.expires_at <= self._clock():
            return None
        self._entries.move_to_end(site)
        return entry

    async def _refresh_entry(self, site: str) -> _RobotsEntry:
        """Fetch robots.txt of an origin, store the entry, and evict the oldest entries above the limits."""
        entry = self._build_entry(await self._fetch_robots_txt(site), self._entries.get(site))
        old = self._entries.pop(site, None)
        self._entries[site] = entry
        self._characters += len(entry.text) - (len(old.text) if old else 0)
        while len(self._entries) > self._max_origins or self._characters > self._max_characters:
            self._characters -= len(self._entries.popitem(last=False)[1].text)
        return entry

    async def _fetch_robots_txt(self, site: str) -> Response:
        """Fetch robots.txt and follow at most five redirects; a redirect response means that the limit was reached."""
        url = f"{site}/robots.txt"
        visited = {url}
        response = await self._get(url)
        for _ in range(_MAX_REDIRECTS):
            location = response.headers.get("location", "")
            target = resolve_url(url, location) if response.status in REDIRECT_STATUSES else None
            if target is None or target in visited or response.failure is not None:
                break
            url = target
            visited.add(url)
            response = await self._get(url)
            if response.failure in _HOST_FAILURES:
                # The origin itself was reached; only the redirect target cannot be.
                return Response(url, url, failure=Failure.CONNECTION, detail=response.detail)
        return response

    def _build_entry(self, response: Response, previous: _RobotsEntry | None) -> _RobotsEntry:
        """Build the cache entry for the response to a robots.txt request, by the table at the top of this module.

        If robots.txt cannot be fetched, the rules of the `previous` entry stay in effect until the next attempt. The
        Crawl-delay is limited to `MAX_CRAWL_DELAY`.
        """
        now = self._clock()
        is_incomplete = not _INCOMPLETE.isdisjoint(response.damage)
        if 200 <= response.status < 300 and response.failure in (None, Failure.EMPTY) and not is_incomplete:
            text = filter_rules(decode_robots_txt(response.body), self._agent)
            rules = self._parse_rules(text)
            delay = min(rules.crawl_delay(self._agent) or 0.0, MAX_CRAWL_DELAY)
            return _RobotsEntry(now + _CACHE_SECONDS, text, delay, tuple(dict.fromkeys(rules.sitemaps)))
        if 300 <= response.status < 500 and response.status != 429:
            return _RobotsEntry(now + _CACHE_SECONDS)
        misses = previous.failed_fetches + 1 if previous else 1
        wait = response.wait
        if wait is None:
            wait = min(_MIN_RETRY_WAIT * 2.0 ** min(misses - 1, 10), _MAX_RETRY_WAIT)
        until = now + max(1.0, wait)
        if previous is not None and previous.failure is None:
            return _RobotsEntry(until, previous.text, previous.delay, previous.sitemaps, failed_fetches=misses)
        failure = response.failure if response.failure in _HOST_FAILURES else Failure.ROBOTS_UNREACHABLE
        detail = f"robots.txt: {response.detail or 'the response is incomplete'}"
        return _RobotsEntry(until, failure=failure, detail=detail, failed_fetches=misses)
