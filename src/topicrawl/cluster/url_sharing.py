"""URL sharing between crawls on one Redis server, as in OASIS (Kluev 2000, section 3).

    :passed    list     URLs that other crawls found relevant, until a worker adds them to the frontier

Each fetched page is compared with the topics of the other crawls. The comparison reuses the term weights of the page
for its own topic, so it costs one cosine per crawl. The receiving crawl fetches the URL itself, if its own rules allow
it, and judges the page itself.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import fsum, hypot
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from topicrawl.engine.crawl import Crawl
from topicrawl.errors import TopicrawlError
from topicrawl.frontier.base import Offer
from topicrawl.frontier.redis.shared_crawl import SharedCrawl, list_crawls
from topicrawl.models import Link, Priority, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.topic import Topic, load_topic

log = logging.getLogger("topicrawl")

MAX_PEERS = 16  # maximum number of other crawls, the first ones by name
_ROUNDS_PER_DISCOVERY = 20  # rounds between two searches for other crawls
_MAX_QUEUE_LENGTH = 10_000  # maximum number of URLs that wait for a crawl
_URLS_PER_READ = 200  # URLs per read


@dataclass(frozen=True)
class PeerCrawl:
    """Another crawl on the same server: its name, its normalised topic vector and its similarity threshold."""

    name: str
    query: dict[str, float]
    threshold: float

    @classmethod
    def of(cls, name: str, topic: Topic) -> PeerCrawl:
        """Build the peer of a crawl from its topic."""
        query = Vsm(topic).query
        length = hypot(*query.values())
        return cls(name, {term: weight / length for term, weight in query.items()}, topic.similarity_threshold)

    def score_page(self, weights: dict[str, float], length: float) -> float:
        """Return the cosine of a page and the topic, from the term weights of the page and their norm."""
        return fsum([weight * weights.get(term, 0.0) for term, weight in self.query.items()]) / length


@dataclass
class UrlSharing:
    """URL sharing of one worker."""

    shared: SharedCrawl
    crawl: Crawl
    sent_count: int = 0  # URLs sent to other crawls
    received_count: int = 0  # new URLs received from other crawls
    peers: list[PeerCrawl] = field(default_factory=list)
    _peers_by_epoch: dict[str, PeerCrawl | None] = field(
        default_factory=dict
    )  # epoch → crawl; None: it does not cooperate
    _outbox: list[tuple[str, str]] = field(default_factory=list)  # name of the receiving crawl, message
    _round_number: int = 0

    def observe_visit(self, visit: Visit) -> None:
        """Queue the URL of a page for all other crawls to whose topic the page is relevant."""
        page = visit.page
        if not self.peers or page is None or visit.failure is not None:
            return
        weights = dict(self.crawl.context.strategy.context.vsm.get_weights(page))
        length = hypot(*weights.values())
        for peer in self.peers if length else ():
            score = peer.score_page(weights, length)
            if score >= peer.threshold:
                message = {"url": visit.url, "title": page.title[:200], "fit": round(score, 4), "by": self.shared.name}
                self._outbox.append((peer.name, json.dumps(message)))

    async def run_round(self) -> None:
        """Send the queued URLs to the other crawls, and add the URLs of other crawls to the frontier.

        Every `_ROUNDS_PER_DISCOVERY` rounds, look for other crawls first.
        """
        if self._round_number % _ROUNDS_PER_DISCOVERY == 0:
            await self.discover_peers()
        self._round_number += 1
        out, self._outbox = self._outbox, []
        commands: list[tuple[str | bytes | float, ...]] = []
        for name in {name for name, _ in out}:
            key = f"{SharedCrawl(self.shared.connection, name).key_prefix}:passed"
            commands += [
                ("RPUSH", key, *(message for receiver, message in out if receiver == name)),
                ("LTRIM", key, -_MAX_QUEUE_LENGTH, -1),
            ]
        if commands:
            await self.shared.connection.execute_all(commands)
            self.sent_count += len(out)
        await self._receive_urls()

    async def discover_peers(self) -> None:
        """Set `peers` to the unfinished crawls on the server that cooperate, at most `MAX_PEERS`."""
        peers = []
        for name in (await list_crawls(self.shared.connection))[: MAX_PEERS + 1]:
            if name != self.shared.name and (peer := await self._load_peer(name)) is not None:
                peers.append(peer)
        self.peers = peers[:MAX_PEERS]

    async def _load_peer(self, name: str) -> PeerCrawl | None:
        """Return a crawl as a peer, or None if it has finished, does not cooperate or cannot be read."""
        other = SharedCrawl(self.shared.connection, name)
        epoch, paused = await self.shared.connection.execute("HMGET", f"{other.key_prefix}:c", "epoch", "paused")
        if epoch is None or int(paused or 0) == 2:
            return None
        key = epoch.decode()
        if key not in self._peers_by_epoch:
            try:
                facts = await other.get_facts()
                cooperates = json.loads(facts["settings"]).get("cooperate", True)
                self._peers_by_epoch[key] = PeerCrawl.of(name, parse_topic(facts["topic"])) if cooperates else None
            except TopicrawlError as error:
                log.warning("no URLs are sent to the crawl %s: %s", name, error)
                self._peers_by_epoch[key] = None
        return self._peers_by_epoch[key]

    async def _receive_urls(self) -> None:
        """Add the URLs from other crawls to the frontier, if the rules of this crawl allow them.

        The URLs are removed from the server afterwards, so that a killed worker loses none.
        """
        key, server = f"{self.shared.key_prefix}:passed", self.shared.connection
        texts = await server.execute("LRANGE", key, 0, _URLS_PER_READ - 1)
        if not texts:
            return
        offers = self._build_offers([json.loads(text) for text in texts])
        self.received_count += await self.crawl.context.frontier.add(offers) if offers else 0
        # Remove them only now, and by value: a killed worker loses none, and two workers may add the same URL safely.
        await server.execute_all([("LREM", key, 1, text) for text in texts])
        self.crawl.wake()

    def _build_offers(self, messages: Sequence[dict[str, Any]]) -> list[Offer]:
        """Build the offers of received URLs, scored like seeds."""
        offers = []
        for message in messages:
            link = Link(message["url"], anchor=message["title"])
            if self.crawl.context.link_filter.get_refusal(link) is None:
                (seed,) = self.crawl.context.strategy.score_seeds([link])
                parts = ((f"passed by {message['by']}", message["fit"]),)
                offers.append(Offer(link, Priority(seed.score, seed.payload, parts)))
        return offers


def parse_topic(text: str) -> Topic:
    """Parse the TOML text of a topic. Raise `TopicError` if it is not valid."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "topic.toml"
        path.write_text(text, "utf-8")
        return load_topic(path)
