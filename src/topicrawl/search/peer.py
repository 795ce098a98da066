"""Another Topicrawl server as one of those who answer: asked through the crawl's HTTP client and its address guard."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from topicrawl.errors import TopicrawlError, UsageError
from topicrawl.fetch.settings import HttpSettings
from topicrawl.records import Failure
from topicrawl.search import wire
from topicrawl.search.answers import Feedback, Query, tabled
from topicrawl.search.index import Found
from topicrawl.search.scoring import World
from topicrawl.search.servers import Summary
from topicrawl.urls import canonical

MAX_BYTES = 4 << 20  # of a reply
T = TypeVar("T")


class Peer:
    """A server by its address; the token, if it wants one, goes to this address alone."""

    def __init__(self, address: str, settings: HttpSettings | None = None, *, token: str = "") -> None:
        whole = canonical(address)
        if whole is None or "?" in whole:
            raise UsageError(f"{address!r} is no address of a server, such as https://search.example.org/")
        self.address = whole.rstrip("/")
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
        self._settings = replace(settings or HttpSettings(), headers=headers)

    async def summaries(self, query: Query) -> list[Summary]:
        told = await self._ask("summaries", {"query": tabled(query)})
        return self._read(lambda: [wire.summary_of(one) for one in told["summaries"]])

    async def search(self, query: Query, names: Sequence[str], world: World) -> dict[str, Found]:
        told = await self._ask("search", {"query": tabled(query), "names": list(names), "world": tabled(world)})
        return self._read(lambda: {name: wire.found_of(told["found"][name]) for name in names if name in told["found"]})

    async def vector(self, url: str) -> dict[str, float]:
        told = await self._ask("vector", {"url": url})
        return self._read(lambda: wire.vector_of(told["vector"]))

    async def sketches(self) -> dict[str, tuple[int, Sequence[int]]]:
        told = await self._ask("sketches", {})
        return self._read(lambda: {str(name): wire.sketch_of(one) for name, one in told["sketches"].items()})

    async def learn(self, feedback: Feedback) -> None:
        await self._ask("feedback", tabled(feedback))

    async def _ask(self, operation: str, table: object) -> dict[str, Any]:
        # An HTTP client is half of what the package takes to start, and most of its processes ask nobody.
        from topicrawl.fetch.http import Http

        async with Http(self._settings) as http:
            body = json.dumps(table).encode()
            response = await http.post(f"{self.address}/api/peer/{operation}", body, limit=MAX_BYTES)
        if response.failure is not None:
            reason = f"{response.failure}: {response.detail}"
            if response.failure is Failure.ADDRESS:
                reason += "; open the network with --allow-net if it is yours"
            raise TopicrawlError(f"{self.address}: {reason}")
        if response.status >= 300:
            raise TopicrawlError(f"{self.address}: leads elsewhere; name the address that it leads to")
        return self._read(lambda: dict(json.loads(response.body)))

    def _read(self, reading: Callable[[], T]) -> T:
        """What a reply says; one that cannot be understood is the server's trouble."""
        try:
            return reading()
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, UsageError) as error:
            raise TopicrawlError(f"{self.address}: not the reply of a Topicrawl server") from error
