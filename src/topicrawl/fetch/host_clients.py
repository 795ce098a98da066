"""HTTP clients of hosts with settings of their own. Their headers, cookies and credentials are never archived."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from msgspec import structs

from topicrawl.fetch.host_settings import HostSession
from topicrawl.fetch.http import HttpClient
from topicrawl.models import Response
from topicrawl.urls import get_host

#: Set-Cookie line of a response as it was sent, with its continuation lines.
_COOKIE_LINE = re.compile(rb"(?<=\n)set-cookie[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n)*", re.IGNORECASE)


class HostClients:
    """One or two HTTP clients for each host with its own settings: with and without its headers and cookies.

    `create_client` creates a client from HTTP settings. The clients are open within an `async with` block.
    """

    def __init__(self, sessions: Mapping[str, HostSession], create_client: Callable[..., HttpClient]) -> None:
        self._sessions = sessions
        self._create_client = create_client
        self._clients: dict[tuple[str, bool], HttpClient] = {}  # host and whether the requests have its headers
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for name, session in self._sessions.items():
            settings = session.http_settings
            plain = await self._stack.enter_async_context(self._create_client(settings))
            self._clients[name, False] = self._clients[name, True] = plain
            if session.secret_headers:
                settings = replace(settings, headers={**settings.headers, **session.secret_headers})
                self._clients[name, True] = await self._stack.enter_async_context(self._create_client(settings))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def __contains__(self, host: object) -> bool:
        return host in self._sessions

    def get_cookies(self, url: str) -> Mapping[str, str]:
        """Return the cookies that the user has set for requests to a URL, by name."""
        session = self._sessions.get(get_host(url))
        return session.cookies if session is not None and session.is_used_for(url) else {}

    async def get(self, url: str, *, sends_secrets: bool = True, **options: Any) -> Response:
        """Send a GET request to one of the hosts. The options are those of `HttpClient.get`.

        Without `sends_secrets`, the request has none of the headers that the user has set for the host.
        """
        name = get_host(url)
        is_secret = sends_secrets and self._sessions[name].is_used_for(url)
        response = await self._clients[name, is_secret].get(url, **options)
        return redact_response(response) if is_secret else response


def redact_response(response: Response) -> Response:
    """Return a response without the request headers and without cookies, which may be those of a session.

    >>> redact_response(Response("u", "u", 200, {"set-cookie": "a=1", "date": "x"}, request={"Cookie": "a=1"})).headers
    {'date': 'x'}
    """
    headers = {name: value for name, value in response.headers.items() if name != "set-cookie"}
    wire = response.wire
    if wire is not None:
        wire = structs.replace(wire, head=_COOKIE_LINE.sub(b"", wire.head))
    return structs.replace(response, headers=headers, request={}, wire=wire)
