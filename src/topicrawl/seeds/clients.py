"""Configure the access to search engines from the crawl settings and the environment."""

from __future__ import annotations

import os

from topicrawl.fetch.api_client import ApiClient
from topicrawl.fetch.http_settings import HttpSettings
from topicrawl.seeds.engine_selection import EngineAccess


def build_engine_access(settings: HttpSettings, searxng: str = "") -> EngineAccess:
    """Return the access to the engines through the crawl's HTTP client.

    The key of Brave and the default SearXNG server come from the environment.
    """
    return EngineAccess(
        ApiClient(settings),
        searxng=searxng or os.environ.get("SEARXNG_URL", ""),
        brave_key=os.environ.get("BRAVE_API_KEY", ""),
        timeout=settings.total_timeout,
        proxy=settings.proxy or "",
    )
