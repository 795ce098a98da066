"""URL sharing with crawls on other servers over the HTTP API, as in OASIS (Kluev 2000, section 3).

The crawl compares each fetched page with the topics of the other crawls, and sends the URLs of pages that are relevant
to them. `cluster/url_sharing.py` does the same within one Redis server. The receiving server is `topicrawl serve`: it
adds the URLs as seeds, and its crawl fetches and judges the pages itself. If a server does not answer, the URLs wait.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import hypot
from types import TracebackType
from typing import Self

from msgspec import Struct, ValidationError, convert

from topicrawl.cluster.url_sharing import PeerCrawl, parse_topic
from topicrawl.engine.crawl import Crawl
from topicrawl.engine.periodic_task import PeriodicTask
from topicrawl.engine.scheduling import OutlinkDecision
from topicrawl.engine.sinks import VisitObserver
from topicrawl.errors import SettingError, TopicrawlError
from topicrawl.fetch.http_settings import HttpSettings
from topicrawl.models import Visit
from topicrawl.urls import canonicalize_url

log = logging.getLogger("topicrawl")

_ROUND_SECONDS = 5.0
_ROUNDS_PER_TOPIC = 120  # rounds after which the topic of a crawl is asked for again
_MAX_URLS = 200  # URLs of a request
_MAX_OUTBOX = 10_000  # URLs that wait for a server; the oldest are dropped first
_MAX_REPLY_BYTES = 1 << 20


class SharedUrlsReply(Struct, frozen=True):
    """Reply of the other server."""

    topic: str  # TOML text
    added: int  # URLs that are new to the other crawl


@dataclass
class RemoteCrawl:
    """A crawl on another server, with the URLs that wait for it."""

    address: str  # URL of the collection in the API of the server
    peer: PeerCrawl | None = None  # None: its topic is not known yet
    outbox: dict[str, None] = field(default_factory=dict)

    @classmethod
    def of(cls, address: str) -> RemoteCrawl:
        """Create the crawl of an address. Raise `SettingError` if it is no URL of a collection."""
        url = canonicalize_url(address)
        if url is None or "/api/collections/" not in url or "?" in url:
            raise SettingError(
                f"share_with must be the URL of a collection such as https://crawl.example.org/api/collections/dengue, "
                f"not {address!r}"
            )
        return cls(url.rstrip("/"))


class RemoteUrlSharing(VisitObserver):
    """Sends URLs to crawls on other servers. `async with` runs periodic rounds until the exit."""

    def __init__(
        self, crawl: Crawl, addresses: Sequence[str], http_settings: HttpSettings, *, name: str, token: str = ""
    ) -> None:
        self.crawl, self.name = crawl, name
        self.crawls = [RemoteCrawl.of(address) for address in addresses]
        self.sent_count = 0  # URLs that were new to another crawl
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
        self._settings = replace(http_settings, headers=headers)
        self._round_number = 0
        self._task = PeriodicTask(self.run_round, _ROUND_SECONDS, name="URL sharing", logged_errors=(TopicrawlError,))

    async def __aenter__(self) -> Self:
        await self.run_round()
        await self._task.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._task.__aexit__(kind, error, trace)
        if error is None:
            await self.run_round()  # URLs of the last pages

    def observe_visit(self, visit: Visit, outlinks: Sequence[OutlinkDecision]) -> None:
        """Queue the URL of a page for all other crawls to whose topic the page is relevant."""
        page = visit.page
        if page is None or visit.failure is not None or not any(crawl.peer for crawl in self.crawls):
            return
        weights = dict(self.crawl.context.strategy.context.vsm.get_weights(page))
        length = hypot(*weights.values())
        for crawl in self.crawls if length else ():
            if crawl.peer is not None and crawl.peer.score_page(weights, length) >= crawl.peer.threshold:
                crawl.outbox[visit.url] = None
                if len(crawl.outbox) > _MAX_OUTBOX:
                    del crawl.outbox[next(iter(crawl.outbox))]

    async def run_round(self) -> None:
        """Send the waiting URLs, and ask for the topics of the other crawls if they are due."""
        asks_topic = self._round_number % _ROUNDS_PER_TOPIC == 0
        self._round_number += 1
        for crawl in self.crawls:
            if asks_topic or crawl.peer is None or crawl.outbox:
                try:
                    await self._exchange(crawl)
                except TopicrawlError as error:
                    log.warning("no URLs are sent to %s: %s", crawl.address, error)

    async def _exchange(self, crawl: RemoteCrawl) -> None:
        """Send the waiting URLs of one crawl. They are removed when the server has confirmed them."""
        from topicrawl.fetch.http import HttpClient

        urls = list(crawl.outbox)[:_MAX_URLS]
        body = json.dumps({"urls": urls, "by": self.name}).encode()
        async with HttpClient(self._settings) as http:
            response = await http.post(f"{crawl.address}/shared-urls", body, max_bytes=_MAX_REPLY_BYTES)
        if response.failure is not None or response.status >= 300:
            reason = f"{response.failure}: {response.detail}" if response.failure else f"status {response.status}"
            raise TopicrawlError(reason)
        try:
            reply = convert(json.loads(response.body), SharedUrlsReply)
        except (ValueError, RecursionError, ValidationError) as error:
            raise TopicrawlError("not the reply of a Topicrawl server") from error
        crawl.peer = PeerCrawl.of(crawl.address, parse_topic(reply.topic))
        self.sent_count += reply.added
        for url in urls:
            crawl.outbox.pop(url, None)
