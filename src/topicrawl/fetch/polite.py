"""A fetcher with manners: robots.txt and the host's delay before every request, redirects included.

For each hop: ask robots.txt of the hop's origin, wait for the host's turn, request once. Nothing is tried
again here; what failed goes back to the frontier, which knows when its host is due.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from topicrawl.fetch.http import Http
from topicrawl.fetch.pace import Pace, TurnOver, Turns
from topicrawl.fetch.redirects import followed
from topicrawl.fetch.robots import MAX_BYTES, Robots
from topicrawl.records import Failure, Link, Response
from topicrawl.urls import host


class Polite:
    """A `Fetch` over HTTP. `robots=False` is for one's own site; the pace is kept all the same.

    `told` is called with a host and the longer delay that its robots.txt asks for, before a page is asked for: whoever
    remembers delays across restarts must know it before anything can go wrong. Redirects to hosts outside `scope` are
    not followed. Where others ask the same hosts, a redirect to another host is never followed at once: see `share`.
    """

    def __init__(
        self,
        http: Http,
        *,
        delay: float = 1.0,
        robots: bool = True,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.http = http
        self.told: Callable[[str, float], Awaitable[None]] | None = None
        self.scope: Callable[[str], bool] | None = None
        self._pace = Pace(delay, clock=clock, sleep=sleep)
        # The product token alone: with version and contact, no group of a robots.txt would match.
        agent = http.settings.agent.partition("/")[0]
        self._robots = Robots(self._robots_txt, agent=agent, clock=clock) if robots else None

    async def __call__(self, link: Link) -> Response:
        """The response at the end of the link's redirects, or why there is none."""
        try:
            return await followed(link.url, self._asked, self._free)
        except TurnOver as error:
            detail = f"the turn at {error} was over before the request left"
            return Response(link.url, link.url, at=self.http.clock(), failure=Failure.TURN, detail=detail)

    def share(self, turns: Turns) -> None:
        """Ask a host only while it is our turn there: others ask the same hosts."""
        self._pace.turns = turns

    def _free(self, name: str) -> bool:
        """Whether a redirect to another host may be followed at once."""
        if self._pace.turns is not None:
            return False
        return self._pace.free(name) and (self.scope is None or self.scope(f"http://{name}/"))

    def delay_of(self, name: str) -> float:
        """Seconds between two requests to a host: the usual delay, or the Crawl-delay of its robots.txt."""
        if self._robots is None:
            return self._pace.delay
        found = (self._robots.known(f"{scheme}://{name}") for scheme in ("https", "http"))
        return max([self._pace.delay, *(verdict.delay for verdict in found if verdict)])

    def sitemaps_of(self, site: str) -> tuple[str, ...]:
        """The sitemaps an origin's robots.txt names; none when it has not been read."""
        verdict = self._robots.known(site) if self._robots else None
        return verdict.sitemaps if verdict else ()

    async def _asked(self, url: str) -> Response:
        """One hop."""
        delay = None
        if self._robots is not None:
            verdict = await self._robots.ask(url)
            if not verdict.allowed:
                return Response(
                    url,
                    url,
                    at=self.http.clock(),
                    failure=verdict.failure,
                    detail=verdict.detail,
                    # Its robots.txt may have been asked for a moment ago.
                    wait=max(verdict.wait or 0.0, self._pace.left(host(url))) or None,
                )
            delay = verdict.delay
            if self.told is not None and delay > self._pace.delay:
                await self.told(host(url), delay)
        async with self._pace.turn(host(url), delay) as turn:
            return await self.http.get(url, turn=turn)

    async def _robots_txt(self, url: str) -> Response:
        name, turns = host(url), self._pace.turns
        # One that was redirected leads to a host that this one does not have.
        if turns is not None and not turns.may_start(name) and not await turns.claim(name):
            return Response(url, url, failure=Failure.TIMEOUT, detail=f"no turn at {name} in time")
        async with self._pace.turn(name) as turn:
            return await self.http.get(url, limit=MAX_BYTES, any_type=True, cut=True, turn=turn)
