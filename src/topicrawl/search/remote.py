"""Search on another Topicrawl server, with the HTTP client of the crawler and its address guard."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from msgspec import to_builtins

from topicrawl.errors import TopicrawlError, UsageError
from topicrawl.fetch.http_settings import HttpSettings
from topicrawl.models import Failure
from topicrawl.search import protocol
from topicrawl.search.bm25 import CorpusStats
from topicrawl.search.index import CollectionHits
from topicrawl.search.models import Feedback, Query
from topicrawl.search.servers import CollectionSummary
from topicrawl.urls import canonicalize_url

MAX_REPLY_BYTES = 4 << 20  # maximum size of a reply
T = TypeVar("T")


class RemoteServer:
    """Client of a remote Topicrawl server; sends the optional token only to the given address.

    Its methods raise `TopicrawlError` if the server does not answer or its reply is invalid.
    """

    def __init__(self, address: str, settings: HttpSettings | None = None, *, token: str = "") -> None:
        whole = canonicalize_url(address)
        if whole is None or "?" in whole:
            raise UsageError(f"{address!r} is not the address of a server; use one such as https://search.example.org/")
        self.address = whole.rstrip("/")
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
        self._settings = replace(settings or HttpSettings(), headers=headers)

    async def get_summaries(self, query: Query) -> list[CollectionSummary]:
        """Return a summary of each collection of the server for the query."""
        reply = await self._post_request("summaries", {"query": query}, protocol.SummariesReply)
        return self._check_reply(lambda: list(map(protocol.build_summary, reply.summaries)))

    async def search(self, query: Query, names: Sequence[str], stats: CorpusStats) -> dict[str, CollectionHits]:
        """Search the named collections of the server. Return the hits by name, without collections that failed."""
        request = protocol.SearchRequest(query, list(names), stats)
        reply = await self._post_request("search", request, protocol.SearchReply)
        return self._check_reply(
            lambda: {name: protocol.build_hits(reply.found[name]) for name in names if name in reply.found}
        )

    async def get_vector(self, url: str) -> dict[str, float]:
        """Return the term vector of a page; empty if no collection of the server contains it."""
        reply = await self._post_request("vector", {"url": url}, protocol.VectorReply)
        return dict(reply.vector)

    async def get_sketches(self) -> dict[str, tuple[int, Sequence[int]]]:
        """Return the page count and the sketch of each collection."""
        reply = await self._post_request("sketches", {}, protocol.SketchesReply)
        return dict(reply.sketches)

    async def add_feedback(self, feedback: Feedback) -> None:
        """Send feedback to the server."""
        await self._post_request("feedback", feedback, dict)

    async def remove_feedback(self, feedback_id: str) -> None:
        """Undo feedback on the server."""
        await self._post_request("undo", {"id": feedback_id}, dict)

    async def _post_request(self, operation: str, message: object, reply_type: type[T]) -> T:
        """Post a JSON request and return the decoded and validated reply. Raise `TopicrawlError` if there is none."""
        # Importing the HTTP client takes half of the package's start time, and most processes do not need it.
        from topicrawl.fetch.http import HttpClient

        async with HttpClient(self._settings) as http:
            body = json.dumps(to_builtins(message)).encode()
            response = await http.post(f"{self.address}/api/peer/{operation}", body, max_bytes=MAX_REPLY_BYTES)
        if response.failure is not None:
            reason = f"{response.failure}: {response.detail}"
            if response.failure is Failure.ADDRESS:
                reason += "; if the network is yours, allow it with --allow-net"
            raise TopicrawlError(f"{self.address}: {reason}")
        if response.status >= 300:
            raise TopicrawlError(f"{self.address}: the server redirects; use the address that it redirects to")
        return self._check_reply(lambda: protocol.decode_message(json.loads(response.body), reply_type))

    def _check_reply(self, decode: Callable[[], T]) -> T:
        """Call `decode`, and raise `TopicrawlError` if the reply is invalid."""
        try:
            return decode()
        except (ValueError, RecursionError, UsageError) as error:
            raise TopicrawlError(f"{self.address}: not the reply of a Topicrawl server") from error
