"""Client for web APIs (search engines and the like): the HTTP client of the crawler, with API key headers.

The client does not read robots.txt, because the user configured the server and a few API requests are no crawl.
It does not follow redirects, so an API key reaches only the configured address. The response does not contain the
request headers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from topicrawl.fetch.http import HttpClient
from topicrawl.fetch.http_settings import HttpSettings
from topicrawl.models import Response

MAX_RESPONSE_BYTES = 4 * 1024 * 1024  # of a response body


class ApiClient:
    """API client: `await api(url, headers)`. Every request opens its own connection."""

    def __init__(self, settings: HttpSettings) -> None:
        self._settings = settings

    async def __call__(self, url: str, headers: Mapping[str, str]) -> Response:
        """Send a GET request with additional headers. The response has a `failure` if the request failed."""
        async with HttpClient(replace(self._settings, headers=headers)) as http:
            return await http.get(url, max_bytes=MAX_RESPONSE_BYTES, any_type=True)
