"""Client of a chat completions API: `POST {base}/chat/completions`, as OpenAI, Ollama, vLLM and llama.cpp offer it.

The client uses the HTTP client of the crawler, but not its fetch path: it does not read robots.txt, and the address
guard allows every address, because the user has named the endpoint and it may run on the same machine. It does not
follow redirects, so the API key reaches only the configured address. The key is sent in the header `Authorization` and
is part of no message.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address
from types import TracebackType
from typing import Self

from topicrawl.fetch.guard import parse_networks
from topicrawl.fetch.http import HttpClient
from topicrawl.fetch.http_settings import HttpSettings
from topicrawl.models import Failure, Response
from topicrawl.urls import get_host

MAX_REPLY_BYTES = 1 << 20  # maximum size of a reply
_ALL_NETWORKS = ("0.0.0.0/0", "::/0")
_REFUSING_STATUSES = frozenset({401, 402, 403, 404, 405, 407, 410})
_TRANSIENT_FAILURES = frozenset(
    {
        Failure.DNS,
        Failure.CONNECTION,
        Failure.TIMEOUT,
        Failure.BAD_RESPONSE,
        Failure.RATE_LIMITED,
        Failure.SERVER_ERROR,
    }
)

#: Message of a conversation: `{"role": "user", "content": "…"}`.
ChatMessage = Mapping[str, str]


class ChatFailure(StrEnum):
    """Kind of a failed request."""

    REFUSED = "refused"  # the endpoint refuses all requests: wrong key, address or model
    UNAVAILABLE = "unavailable"  # the endpoint is overloaded or unreachable; a later request may succeed
    UNUSABLE = "unusable"  # the endpoint rejects this request, or its reply is not a chat completion


@dataclass(frozen=True, slots=True)
class ChatReply:
    """Reply of the model, or the failure of the request."""

    text: str
    response: Response
    tokens_in: int = 0
    tokens_out: int = 0
    failure: ChatFailure | None = None
    detail: str = ""  # one-line explanation of the failure


class ChatClient:
    """Chat completions client: `async with ChatClient(…) as chat: reply = await chat.complete(messages)`."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        key: str = "",
        max_tokens: int,
        settings: HttpSettings,
    ) -> None:
        self.model = model
        self._url, self._max_tokens = f"{base_url.rstrip('/')}/chat/completions", max_tokens
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        headers |= {"Authorization": f"Bearer {key}"} if key else {}
        self._http = HttpClient(
            HttpSettings(
                contact=settings.contact,
                total_timeout=settings.total_timeout,
                proxy=None if is_local_host(base_url) else settings.proxy,  # a proxy cannot reach them
                max_connections=2,
                allowed_networks=parse_networks(_ALL_NETWORKS),
                host_overrides=settings.host_overrides,
                headers=headers,
            )
        )

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.__aexit__(kind, error, trace)

    async def complete(self, messages: Sequence[ChatMessage]) -> ChatReply:
        """Send one request with temperature 0, and return the reply of the model. A failure is part of the reply."""
        request = {
            "model": self.model,
            "messages": list(messages),
            "temperature": 0,
            "max_tokens": self._max_tokens,
            "stream": False,
        }
        response = await self._http.post(self._url, json.dumps(request).encode(), max_bytes=MAX_REPLY_BYTES)
        failure = classify_response(response)
        if failure is not None:
            detail = response.detail or f"status {response.status}"
            return ChatReply("", response, failure=failure, detail=detail)
        return _parse_completion(response)


def classify_response(response: Response) -> ChatFailure | None:
    """Return the kind of failure of a response; None for a success.

    >>> [classify_response(Response("u", "u", status)) for status in (200, 302)]
    [None, <ChatFailure.REFUSED: 'refused'>]
    """
    if response.status in _REFUSING_STATUSES or 300 <= response.status < 400 or response.failure == Failure.TLS:
        return ChatFailure.REFUSED
    if response.failure in _TRANSIENT_FAILURES:
        return ChatFailure.UNAVAILABLE
    return ChatFailure.UNUSABLE if response.failure is not None else None


def is_local_host(url: str) -> bool:
    """Return whether the host of a canonical URL is this machine or a private address.

    >>> [is_local_host(f"http://{host}/v1") for host in ("localhost:11434", "10.0.0.5", "[::1]:80", "api.example.org")]
    [True, True, True, False]
    """
    host = get_host(url)
    name = host.partition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return not ip_address(name).is_global
    except ValueError:
        return False


def _parse_completion(response: Response) -> ChatReply:
    """Return the text and the token counts of a chat completion."""
    try:
        table = json.loads(response.body)
        text = table["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError, RecursionError):
        detail = "the reply is not a chat completion"
        return ChatReply("", response, failure=ChatFailure.UNUSABLE, detail=detail)
    usage = table.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return ChatReply(
        text if isinstance(text, str) else "",
        response,
        _parse_count(counts.get("prompt_tokens")),
        _parse_count(counts.get("completion_tokens")),
    )


def _parse_count(value: object) -> int:
    """Return a token count; 0 if the endpoint reports none."""
    return value if isinstance(value, int) and 0 <= value < 1 << 40 else 0
