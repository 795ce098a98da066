"""Which search engines can be reached, and by which client."""

from __future__ import annotations

import os

from topicrawl.fetch.api import Api
from topicrawl.fetch.settings import HttpSettings
from topicrawl.seeds.choice import Access


def access(settings: HttpSettings, searxng: str = "") -> Access:
    """Engines by the crawl's own client; the key and the usual server are the environment's."""
    return Access(
        Api(settings),
        searxng=searxng or os.environ.get("SEARXNG_URL", ""),
        brave_key=os.environ.get("BRAVE_API_KEY", ""),
        seconds=settings.total_timeout,
        proxy=settings.proxy or "",
    )
