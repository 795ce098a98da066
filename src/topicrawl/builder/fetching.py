"""The polite fetcher of a crawl or a recrawl."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from topicrawl.builder.base_components import BaseComponents, build_scope
from topicrawl.builder.recrawling import RecrawlComponents
from topicrawl.engine.http_setup import open_fetcher
from topicrawl.fetch.host_groups import GroupDelays
from topicrawl.fetch.polite import PoliteFetcher


@asynccontextmanager
async def open_crawl_fetcher(base: BaseComponents, recrawl: RecrawlComponents | None) -> AsyncIterator[PoliteFetcher]:
    """Open the fetcher. It reports the crawl delays of hosts to the frontier. A recrawl sends conditional requests."""
    settings, session = base.settings, base.storage.session
    frontier = base.storage.frontier if recrawl is None else recrawl.queue
    async with open_fetcher(
        settings,
        clock=recrawl.sink.clock if recrawl is not None else None,
        conditional_headers=recrawl.sink.pages.get_validators if recrawl is not None else None,
        on_crawl_delay=frontier.set_host_delay,
        is_in_scope=build_scope(settings),
        group_delays=GroupDelays(settings.delay / 4, domain=settings.domain_delay, address=settings.address_delay),
        address_pages=settings.address_pages if recrawl is None else 0,
    ) as polite:
        if session is not None:
            polite.share_host_slots(session.frontier.host_leases)
        yield polite
