"""Polite fetcher: check robots.txt and keep the crawl delay before every request, including redirects.

For each hop, the fetcher checks the robots.txt of the origin, waits for a slot of the host, and sends one request. It
does not retry: failed links go back to the frontier, which schedules the next attempt.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from topicrawl.fetch.address_budget import AddressPageBudget
from topicrawl.fetch.cookies import RedirectCookies
from topicrawl.fetch.host_clients import HostClients
from topicrawl.fetch.host_groups import GroupDelays, HostGroups, OwnHosts
from topicrawl.fetch.http import HttpClient
from topicrawl.fetch.rate_limit import HostLeases, HostRateLimiter, LeaseExpired
from topicrawl.fetch.redirects import follow_redirects
from topicrawl.fetch.robots import MAX_ROBOTS_BYTES, RobotsCache, RobotsDecision
from topicrawl.models import Failure, Link, Response
from topicrawl.urls import get_host


class PoliteFetcher:
    """A `FetchFunction` over HTTP that keeps robots.txt and crawl delays.

    `robots=False` ignores robots.txt, for the user's own site; the delay between requests still applies.
    `on_crawl_delay` is called with a host and the crawl delay of its robots.txt if that is longer than the default. The
    call happens before the page request, so that the delay is stored even if the crawl is interrupted. Redirects to
    links for which `is_in_scope` is false are not followed. `group_delays` adds delays for the hosts of an IP address
    or of a registered domain, unless the client uses a proxy. `host_delays` replaces the delay of some hosts, and
    `host_clients` sends the requests to some hosts with settings of their own. If several workers crawl the same hosts,
    redirects to other hosts are never followed at once: see `share_host_slots`.
    """

    def __init__(
        self,
        http: HttpClient,
        *,
        delay: float = 1.0,
        robots: bool = True,
        on_crawl_delay: Callable[[str, float], Awaitable[None]] | None = None,
        is_in_scope: Callable[[Link], bool] | None = None,
        group_delays: GroupDelays | None = None,
        address_pages: int | None = 0,
        host_delays: Mapping[str, float] | None = None,
        host_clients: HostClients | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.http = http
        self.on_crawl_delay, self.is_in_scope = on_crawl_delay, is_in_scope
        self.host_groups: HostGroups | None = None
        self.address_budget: AddressPageBudget | None = None
        if not http.settings.proxy:  # behind a proxy, the addresses of hosts are unknown
            own = OwnHosts(frozenset(http.settings.host_overrides), http.settings.allowed_networks)
            if group_delays is not None:
                self.host_groups = HostGroups(http.find_address, group_delays, own_hosts=own)
            if address_pages != 0:
                self.address_budget = AddressPageBudget(http.find_address, address_pages, own_hosts=own)
        self._rate_limiter = HostRateLimiter(delay, host_delays=host_delays, clock=clock, sleep=sleep)
        self._host_clients = host_clients
        # Only the product token: with version and contact, no group of a robots.txt would match.
        agent = http.settings.agent.partition("/")[0]
        self._robots = RobotsCache(self._fetch_robots_txt, agent=agent, clock=clock) if robots else None

    async def __call__(self, link: Link) -> Response:
        """Fetch a link, follow its redirects, and return the final response or its failure.

        Cookies are kept for the redirects of this link only. If other hosts of the same IP address or registered domain
        come first for a long time, return the failure ADDRESS_BUSY with the seconds to wait, without a request. If
        the IP address has reached its page budget, return the failure ADDRESS_FULL, without a request.
        """
        if self.address_budget is not None and await self.address_budget.is_spent(get_host(link.url)):
            return Response(link.url, link.url, at=self.http.clock(), failure=Failure.ADDRESS_FULL)
        response = await self._fetch_in_turn(link)
        if self.address_budget is not None and response.failure is None:
            await self.address_budget.count_page(get_host(response.final_url))
        return response

    async def _fetch_in_turn(self, link: Link) -> Response:
        """Fetch a link if its group of hosts has its turn soon."""
        if self.host_groups is not None and (wait := await self.host_groups.postpone_turn(get_host(link.url))) > 0:
            detail = f"other hosts with the same address or domain come first for {wait:.1f} s"
            return Response(
                link.url, link.url, at=self.http.clock(), failure=Failure.ADDRESS_BUSY, detail=detail, wait=wait
            )
        get_cookies = self._host_clients.get_cookies if self._host_clients is not None else None
        cookies = RedirectCookies(self.http.clock, get_session_cookies=get_cookies)
        fetch = partial(self._fetch_hop, cookies=cookies)
        try:
            return await follow_redirects(link.url, fetch, partial(self._can_follow_now, link), cookies=cookies)
        except LeaseExpired as error:
            detail = f"the lease on {error} expired before the request was sent"
            return Response(link.url, link.url, at=self.http.clock(), failure=Failure.HOST_LEASE_EXPIRED, detail=detail)

    async def fetch_resource(self, url: str, page_url: str, headers: Mapping[str, str]) -> Response:
        """Fetch a resource of a page for a browser, such as a script; redirects are not followed.

        robots.txt, the crawl delay and the address guard apply as for pages. Credentials and cookies that the user has
        set for a host are sent only for its own pages.
        """
        name = get_host(url)
        is_same_host = name == get_host(page_url)
        try:
            decision = await self._check_robots(url)
            if decision is not None and not decision.is_allowed:
                return self._build_robots_failure(url, decision)
            leases = self._rate_limiter.host_leases
            if leases is not None and not leases.may_start(name) and not await leases.claim(name):
                return Response(url, url, failure=Failure.TIMEOUT, detail=f"no lease on {name} within the time limit")
            get_cookies = self._host_clients.get_cookies if self._host_clients is not None and is_same_host else None
            cookies = RedirectCookies(self.http.clock, get_session_cookies=get_cookies)
            async with self._rate_limiter.acquire_slot(name, decision.delay if decision else None) as slot:
                await self._wait_for_group(name)
                return await self._send_request(
                    url, any_type=True, observer=slot, cookies=cookies, headers=headers, sends_secrets=is_same_host
                )
        except LeaseExpired as error:
            detail = f"the lease on {error} expired before the request was sent"
            return Response(url, url, failure=Failure.HOST_LEASE_EXPIRED, detail=detail)

    def seconds_until_free(self, host: str) -> float:
        """Return the seconds until the delay since the last request to a host has passed, 0 if it has."""
        return self._rate_limiter.seconds_until_free(host)

    def share_host_slots(self, host_leases: HostLeases) -> None:
        """Send requests to a host only while this worker holds its lease: other workers crawl the same hosts.

        From then on, redirects to other hosts are returned instead of followed. Call this method before the first
        fetch.
        """
        self._rate_limiter.host_leases = host_leases

    def _can_follow_now(self, link: Link, url: str, target: str) -> bool:
        """Return whether a redirect of a link from `url` to `target` may be followed at once.

        The target must be in scope. The crawl delay of another host must have passed. Redirects to other hosts are
        never followed if several workers share the hosts.
        """
        if self.is_in_scope is not None and not self.is_in_scope(Link(target, source=link.source)):
            return False
        name = get_host(target)
        if name == get_host(url):
            return True
        return self._rate_limiter.host_leases is None and self._rate_limiter.is_free(name)

    def get_delay(self, name: str) -> float:
        """Return the crawl delay of a host in seconds: its setting, or a longer Crawl-delay of its robots.txt."""
        delay = self._rate_limiter.get_delay(name)
        if self._robots is None:
            return delay
        decisions = (self._robots.get_cached(f"{scheme}://{name}") for scheme in ("https", "http"))
        return max([delay, *(decision.delay for decision in decisions if decision)])

    def get_sitemaps(self, site: str) -> tuple[str, ...]:
        """Return the sitemap URLs in the robots.txt of an origin; empty if the file has not been read."""
        decision = self._robots.get_cached(site) if self._robots else None
        return decision.sitemaps if decision else ()

    async def _fetch_hop(self, url: str, cookies: RedirectCookies) -> Response:
        """Fetch one hop: check robots.txt, wait for a slot of the host, send the request with the cookies of the chain.

        If robots.txt forbids the URL, return a response with the failure and the seconds to wait, without a request.
        """
        decision = await self._check_robots(url)
        if decision is not None and not decision.is_allowed:
            return self._build_robots_failure(url, decision)
        async with self._rate_limiter.acquire_slot(get_host(url), decision.delay if decision else None) as slot:
            await self._wait_for_group(get_host(url))
            return await self._send_request(url, observer=slot, cookies=cookies)

    async def _check_robots(self, url: str) -> RobotsDecision | None:
        """Return the decision of robots.txt on a URL, and report a longer crawl delay. None: robots.txt is ignored."""
        if self._robots is None:
            return None
        decision = await self._robots.check_url(url)
        is_longer = decision.is_allowed and decision.delay > self._rate_limiter.get_delay(get_host(url))
        if is_longer and self.on_crawl_delay is not None:
            await self.on_crawl_delay(get_host(url), decision.delay)
        return decision

    def _build_robots_failure(self, url: str, decision: RobotsDecision) -> Response:
        """Return the response for a URL that robots.txt forbids."""
        # The request for robots.txt counts for the crawl delay too.
        wait = max(decision.wait or 0.0, self._rate_limiter.seconds_until_free(get_host(url))) or None
        return Response(url, url, at=self.http.clock(), failure=decision.failure, detail=decision.detail, wait=wait)

    async def _fetch_robots_txt(self, url: str) -> Response:
        """Fetch a robots.txt, or a hop of its redirects. Return the failure TIMEOUT if the host grants no lease."""
        name, leases = get_host(url), self._rate_limiter.host_leases
        # A redirected robots.txt may be on a host that this worker has not leased.
        if leases is not None and not leases.may_start(name) and not await leases.claim(name):
            return Response(url, url, failure=Failure.TIMEOUT, detail=f"no lease on {name} within the time limit")
        async with self._rate_limiter.acquire_slot(name) as slot:
            await self._wait_for_group(name)
            return await self._send_request(
                url, max_bytes=MAX_ROBOTS_BYTES, any_type=True, truncate=True, observer=slot
            )

    async def _send_request(self, url: str, *, sends_secrets: bool = True, **options: Any) -> Response:
        """Send a request with the client of the host, or with the client of the crawl."""
        if self._host_clients is not None and get_host(url) in self._host_clients:
            return await self._host_clients.get(url, sends_secrets=sends_secrets, **options)
        return await self.http.get(url, **options)

    async def _wait_for_group(self, host: str) -> None:
        if self.host_groups is not None:
            await self.host_groups.wait_for_turn(host)
