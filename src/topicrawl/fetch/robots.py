"""What a site's robots.txt allows (RFC 9309), asked for once a day and origin.

    answer for robots.txt                  what follows
    2xx                                    its rules hold
    4xx but 429                            everything is allowed
    more than 5 redirects, or into nowhere everything is allowed
    429, 5xx, no answer, not HTTP          nothing is allowed for now; `wait` says when to ask again
    name, certificate or address refused   nothing can be asked there; the failure says which

A copy that is older than a day still holds while its site cannot be reached.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias
from weakref import WeakValueDictionary

from protego import Protego

from topicrawl.fetch.pace import LONGEST_DELAY
from topicrawl.fetch.rules import reduced
from topicrawl.fetch.status import REDIRECTS
from topicrawl.records import Failure, Response
from topicrawl.urls import join, origin

#: What is read of a robots.txt; the standard asks for 500 KiB at least.
MAX_BYTES = 512 * 1024

_DAY = 86_400.0
_MAX_REDIRECTS = 5
_FIRST_WAIT = 5.0
_LAST_WAIT = 3_600.0
_LARGE = 16 * 1024

#: Failures that would meet the page itself as well, so they are named as they are.
_OWN = frozenset({Failure.ADDRESS, Failure.DNS, Failure.TLS})

Get: TypeAlias = Callable[[str], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """May this URL be asked for, and how?"""

    allowed: bool
    delay: float = 0.0  # the site's Crawl-delay, at most a minute
    failure: Failure | None = None  # why not
    detail: str = ""
    wait: float | None = None  # seconds until asking again makes sense
    sitemaps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    until: float
    text: str = ""  # the rules that concern us; empty: everything is allowed
    delay: float = 0.0
    sitemaps: tuple[str, ...] = ()
    failure: Failure | None = None
    detail: str = ""
    misses: int = 0  # fetches in a row without an answer


class Robots:
    """The rules of the sites of a crawl. `get` must read any media type and cut what is over `MAX_BYTES`."""

    def __init__(
        self,
        get: Get,
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
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._characters = 0
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        # Parsed rules take thirty times their text, and many sites have the same ones.
        self._parsed = lru_cache(512)(Protego.parse)
        self._parsed_large = lru_cache(8)(Protego.parse)

    def __len__(self) -> int:
        """The origins whose rules are known."""
        return len(self._entries)

    async def ask(self, url: str) -> Verdict:
        """The verdict on a canonical URL; asks the site when its rules are not known."""
        site = origin(url)
        entry = self._fresh(site)
        if entry is None:
            lock = self._locks.get(site)
            if lock is None:
                lock = self._locks[site] = asyncio.Lock()
            async with lock:
                # Whoever held the lock before may have brought the rules.
                entry = self._fresh(site) or await self._renewed(site)
        return self._judged(url, entry)

    def known(self, site: str) -> Verdict | None:
        """What is known of an origin's delay and sitemaps without asking."""
        entry = self._entries.get(site)
        return Verdict(True, delay=entry.delay, sitemaps=entry.sitemaps) if entry else None

    def _judged(self, url: str, entry: _Entry) -> Verdict:
        if entry.failure is not None:
            wait = max(0.0, entry.until - self._clock())
            return Verdict(False, failure=entry.failure, detail=entry.detail, wait=wait)
        if entry.text and not self._rules(entry.text).can_fetch(url, self._agent):
            detail = "forbidden by robots.txt"
            return Verdict(False, entry.delay, Failure.ROBOTS, detail, sitemaps=entry.sitemaps)
        return Verdict(True, entry.delay, sitemaps=entry.sitemaps)

    def _rules(self, text: str) -> Protego:
        return (self._parsed if len(text) < _LARGE else self._parsed_large)(text)

    def _fresh(self, site: str) -> _Entry | None:
        entry = self._entries.get(site)
        if entry is None or entry.until <= self._clock():
            return None
        self._entries.move_to_end(site)
        return entry

    async def _renewed(self, site: str) -> _Entry:
        entry = self._read(await self._fetched(site), self._entries.get(site))
        old = self._entries.pop(site, None)
        self._entries[site] = entry
        self._characters += len(entry.text) - (len(old.text) if old else 0)
        while len(self._entries) > self._max_origins or self._characters > self._max_characters:
            self._characters -= len(self._entries.popitem(last=False)[1].text)
        return entry

    async def _fetched(self, site: str) -> Response:
        """The answer at the end of at most five redirects; an answer that redirects has no end."""
        url = f"{site}/robots.txt"
        seen = {url}
        response = await self._get(url)
        for _ in range(_MAX_REDIRECTS):
            location = response.headers.get("location", "")
            target = join(url, location) if response.status in REDIRECTS else None
            if target is None or target in seen or response.failure is not None:
                break
            url = target
            seen.add(url)
            response = await self._get(url)
            if response.failure in _OWN:
                # The site itself was reached; only its rules cannot be.
                return Response(url, url, failure=Failure.CONNECTION, detail=response.detail)
        return response

    def _read(self, response: Response, old: _Entry | None) -> _Entry:
        now = self._clock()
        if 200 <= response.status < 300 and response.failure in (None, Failure.EMPTY):
            text = reduced(response.body.decode("utf-8-sig", "replace"), self._agent)
            rules = self._rules(text)
            delay = min(rules.crawl_delay(self._agent) or 0.0, LONGEST_DELAY)
            return _Entry(now + _DAY, text, delay, tuple(dict.fromkeys(rules.sitemaps)))
        if 300 <= response.status < 500 and response.status != 429:
            return _Entry(now + _DAY)
        misses = old.misses + 1 if old else 1
        wait = response.wait
        if wait is None:
            wait = min(_FIRST_WAIT * 2.0 ** min(misses - 1, 10), _LAST_WAIT)
        until = now + max(1.0, wait)
        if old is not None and old.failure is None:
            return _Entry(until, old.text, old.delay, old.sitemaps, misses=misses)
        failure = response.failure if response.failure in _OWN else Failure.ROBOTS_UNREACHABLE
        return _Entry(until, failure=failure, detail=f"robots.txt: {response.detail}", misses=misses)
