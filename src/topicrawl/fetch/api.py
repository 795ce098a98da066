"""Asks a program's interface on somebody's server: the same client and guard as for pages, with headers for a key.

There is no robots.txt to ask: the user named the server, and a few questions are no crawl. A key goes to the address
it is meant for and not to where that may lead: redirects are not followed, and the response does not repeat it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from topicrawl.fetch.http import Http
from topicrawl.fetch.settings import HttpSettings
from topicrawl.records import Response

MAX_BYTES = 4 * 1024 * 1024  # of an answer


class Api:
    """`await api(url, headers)`; every question has a connection of its own."""

    def __init__(self, settings: HttpSettings) -> None:
        self._settings = settings

    async def __call__(self, url: str, headers: Mapping[str, str]) -> Response:
        async with Http(replace(self._settings, headers=headers)) as http:
            return await http.get(url, limit=MAX_BYTES, any_type=True)
