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
        self._secrets = {name: session.compile_secrets() for name, session in sessions.items()}
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
        return redact_response(response, self._secrets[name]) if is_secret else response


def redact_response(response: Response, secrets: re.Pattern[bytes] | None = None) -> Response:
    """Return a response without the request headers and without cookies, which may be those of a session.

    The host may repeat a credential, for example in the target of a redirect: matches of `secrets` become asterisks.

    >>> redact_response(Response("u", "u", 200, {"set-cookie": "a=1", "date": "x"}, request={"Cookie": "a=1"})).headers
    {'date': 'x'}
    """
    headers = {name: value for name, value in response.headers.items() if name != "set-cookie"}
    wire = response.wire
    if wire is not None:
        wire = structs.replace(wire, head=_COOKIE_LINE.sub(b"", wire.head))
    response = structs.replace(response, headers=headers, request={}, wire=wire)
    return response if secrets is None else _mask_secrets(response, secrets)


def _mask_secrets(response: Response, secrets: re.Pattern[bytes]) -> Response:
    """Replace the secrets in a response by as many asterisks, so that lengths and chunk sizes stay valid."""

    def mask(data: bytes) -> bytes:
        return secrets.sub(lambda match: b"*" * len(match[0]), data)

    def mask_text(text: str) -> str:
        return mask(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    body, wire = mask(response.body), response.wire
    if wire is not None:
        is_encoded = "content-encoding" in response.headers or "transfer-encoding" in response.headers
        if body != response.body and is_encoded:
            wire = None  # the archive gets the decoded body
        elif not response.body and is_encoded:
            wire = structs.replace(wire, head=mask(wire.head), body=b"", is_cut=bool(wire.body) or wire.is_cut)
        else:
            is_plain = wire.body is response.body
            wire = structs.replace(wire, head=mask(wire.head), body=body if is_plain else mask(wire.body))
    headers = {name: mask_text(value) for name, value in response.headers.items()}
    return structs.replace(response, headers=headers, body=body, detail=mask_text(response.detail), wire=wire)
