"""Crawls on one server pass addresses to each other, as the crawlers of OASIS do (Kluev 2000, 3): what one has fetched
and another one looks for.

    :passed    list     addresses that other crawls found to fit, until a worker has put them into the frontier

A page is held against the topics of the other crawls with the words that were weighed for its own topic, at the price
of one cosine each. Whoever is passed an address fetches it itself, if its own rules allow, and judges it itself.
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

from topicrawl.crawl import Crawl
from topicrawl.errors import TopicrawlError
from topicrawl.frontier.contract import Offer
from topicrawl.frontier.redis_crawl import SharedCrawl, names
from topicrawl.records import Link, Place, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.topic import Topic, load

log = logging.getLogger("topicrawl")

NEIGHBOURS = 16  # other crawls whose topics are known, the first by name
_LOOKS = 20  # rounds between two looks at who else is there
_LONGEST = 10_000  # addresses that wait for a crawl to take them
_TOGETHER = 200  # addresses that are taken at once


@dataclass(frozen=True)
class Neighbour:
    """Another crawl on the same server, as this one sees it."""

    name: str
    query: dict[str, float]
    threshold: float

    @classmethod
    def of(cls, name: str, topic: Topic) -> Neighbour:
        query = Vsm(topic).query
        length = hypot(*query.values())
        return cls(name, {term: weight / length for term, weight in query.items()}, topic.threshold)

    def fit(self, weights: dict[str, float], length: float) -> float:
        """How much a page is about its topic, from the page's weighed terms and their length."""
        return fsum([weight * weights.get(term, 0.0) for term, weight in self.query.items()]) / length


@dataclass
class Passing:
    """One worker's part in it."""

    shared: SharedCrawl
    crawl: Crawl
    passed: int = 0  # addresses, to others
    taken: int = 0  # addresses, from others
    neighbours: list[Neighbour] = field(default_factory=list)
    _known: dict[str, Neighbour | None] = field(default_factory=dict)  # epoch → its crawl; None: it wants nothing
    _out: list[tuple[str, str]] = field(default_factory=list)  # crawl, what it is passed
    _round: int = 0

    def seen(self, visit: Visit) -> None:
        """Look whether a page is what another crawl looks for."""
        page = visit.page
        if not self.neighbours or page is None or visit.failure is not None:
            return
        weights = dict(self.crawl.parts.strategy.setting.vsm.weights(page))
        length = hypot(*weights.values())
        for neighbour in self.neighbours if length else ():
            fit = neighbour.fit(weights, length)
            if fit >= neighbour.threshold:
                said = {"url": visit.url, "title": page.title[:200], "fit": round(fit, 4), "by": self.shared.name}
                self._out.append((neighbour.name, json.dumps(said)))

    async def round(self) -> None:
        """Pass on what was found, and take what others have found."""
        if self._round % _LOOKS == 0:
            await self.look_round()
        self._round += 1
        out, self._out = self._out, []
        commands: list[tuple[str | bytes | float, ...]] = []
        for name in {name for name, _ in out}:
            key = f"{SharedCrawl(self.shared.server, name).base}:passed"
            commands += [("RPUSH", key, *(said for to, said in out if to == name)), ("LTRIM", key, -_LONGEST, -1)]
        if commands:
            await self.shared.server.ask_all(commands)
            self.passed += len(out)
        await self._take()

    async def look_round(self) -> None:
        """Know the topics of the crawls that are under way on the server and cooperate."""
        found = []
        for name in (await names(self.shared.server))[: NEIGHBOURS + 1]:
            if name != self.shared.name and (one := await self._neighbour(name)) is not None:
                found.append(one)
        self.neighbours = found[:NEIGHBOURS]

    async def _neighbour(self, name: str) -> Neighbour | None:
        other = SharedCrawl(self.shared.server, name)
        epoch, paused = await self.shared.server.ask("HMGET", f"{other.base}:c", "epoch", "paused")
        if epoch is None or int(paused or 0) == 2:
            return None
        key = epoch.decode()
        if key not in self._known:
            try:
                facts = await other.facts()
                wants = json.loads(facts["settings"]).get("cooperate", True)
                self._known[key] = Neighbour.of(name, told_topic(facts["topic"])) if wants else None
            except TopicrawlError as error:
                log.warning("nothing is passed to the crawl %s: %s", name, error)
                self._known[key] = None
        return self._known[key]

    async def _take(self) -> None:
        """Put what others have passed into the frontier, where this crawl's rules allow it."""
        key, server = f"{self.shared.base}:passed", self.shared.server
        texts = await server.ask("LRANGE", key, 0, _TOGETHER - 1)
        if not texts:
            return
        offers = self._offers([json.loads(text) for text in texts])
        self.taken += await self.crawl.parts.frontier.add(offers) if offers else 0
        # Only now, and by name: a worker that is killed loses none, and two that take the same do no harm.
        await server.ask_all([("LREM", key, 1, text) for text in texts])
        self.crawl.wake()

    def _offers(self, told: Sequence[dict[str, Any]]) -> list[Offer]:
        offers = []
        for said in told:
            link = Link(said["url"], anchor=said["title"])
            if self.crawl.parts.fences.refusal(link) is None:
                (first,) = self.crawl.parts.strategy.seeds([link])
                offers.append(Offer(link, Place(first.score, first.carry, ((f"passed by {said['by']}", said["fit"]),))))
        return offers


def told_topic(text: str) -> Topic:
    """The topic of a crawl as workers are told it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "topic.toml"
        path.write_text(text, "utf-8")
        return load(path)
