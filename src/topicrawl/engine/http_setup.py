"""HTTP clients and fetchers for the settings of a crawl."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from topicrawl import __version__
from topicrawl.documents.file_types import DOCUMENT_SUFFIXES, DOCUMENT_TYPES
from topicrawl.fetch.guard import parse_networks
from topicrawl.fetch.host_clients import HostClients
from topicrawl.fetch.host_settings import build_host_session
from topicrawl.fetch.http import HttpClient
from topicrawl.fetch.http_settings import HttpSettings
from topicrawl.fetch.polite import PoliteFetcher
from topicrawl.fetch.rendering.browser import find_browser
from topicrawl.fetch.rendering.page_renderer import PageRenderer, RenderLimits
from topicrawl.models import FetchFunction
from topicrawl.settings import Settings


def build_http_settings(settings: Settings) -> HttpSettings:
    """Return the settings of the HTTP client for the settings of a crawl.

    The client accepts the media types that the parsers read, those of documents, and other types by their first bytes.
    """
    return HttpSettings(
        contact=settings.contact,
        agent=settings.user_agent or f"topicrawl/{__version__}",
        total_timeout=settings.timeout,
        max_bytes=settings.max_bytes,
        proxy=settings.proxy,
        document_types=DOCUMENT_TYPES if settings.documents else frozenset(),
        document_suffixes=DOCUMENT_SUFFIXES if settings.documents else (),
        detects_types=True,
        reads_feeds=settings.sitemaps,
        max_connections=settings.concurrency * 2,
        allowed_networks=parse_networks(settings.allow_net),
        host_overrides=settings.parse_fixed_addresses(),
    )


@asynccontextmanager
async def open_fetcher(
    settings: Settings,
    *,
    clock: Callable[[], float] | None = None,
    conditional_headers: Callable[[str], Mapping[str, str]] | None = None,
    **options: Any,
) -> AsyncIterator[PoliteFetcher]:
    """Open a polite fetcher for the settings of a crawl, with the clients of hosts with settings of their own.

    `clock` and `conditional_headers` are those of `HttpClient`, `options` those of `PoliteFetcher`.
    """
    http_settings = build_http_settings(settings)
    client_options: dict[str, Any] = {} if clock is None else {"clock": clock}

    def create_client(client_settings: HttpSettings) -> HttpClient:
        return HttpClient(client_settings, conditional_headers=conditional_headers, **client_options)

    sessions = {name: build_host_session(name, host, http_settings) for name, host in settings.hosts.items()}
    async with create_client(http_settings) as http, HostClients(sessions, create_client) as host_clients:
        yield PoliteFetcher(
            http,
            delay=settings.delay,
            robots=settings.robots,
            host_delays=get_host_delays(settings),
            host_clients=host_clients if sessions else None,
            **options,
        )


def check_browser(settings: Settings) -> None:
    """Raise `SettingError` if the settings ask for rendering and there is no browser."""
    if settings.render != "off":
        find_browser(settings.browser)


@asynccontextmanager
async def open_rendering_fetch(settings: Settings, polite: PoliteFetcher) -> AsyncIterator[FetchFunction]:
    """Open the fetch function of a crawl: the polite fetcher, with a browser if the settings ask for rendering."""
    if settings.render == "off":
        yield polite
        return
    limits = RenderLimits(
        always=settings.render == "always",
        pages=settings.render_pages,
        seconds=settings.render_seconds,
        max_memory=settings.render_memory << 20,
        max_bytes=settings.max_bytes,
    )
    renderer = PageRenderer(limits, polite.fetch_resource, polite.seconds_until_free, browser=settings.browser)
    async with renderer:
        yield renderer.wrap_fetch(polite)


def get_host_delays(settings: Settings) -> dict[str, float]:
    """Return the delays of the hosts with delays of their own."""
    return {name: host.delay for name, host in settings.hosts.items() if host.delay is not None}


def build_warcinfo_fields(settings: Settings) -> dict[str, str]:
    """Return the warcinfo fields that describe the crawler to readers of the archive."""
    fields = {
        "robots": "obey" if settings.robots else "ignore",
        "http-header-user-agent": build_http_settings(settings).user_agent,
        "operator": settings.contact,
    }
    return {name: text for name, text in fields.items() if text}
