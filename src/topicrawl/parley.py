"""Steering of a crawl that many workers share: what is said to one of them reaches all, and all links that wait.

    :said      stream   verdicts and orders, for as long as the crawl lives; a worker that comes later hears them all
    :guided    hash     the last of them that the waiting links have felt, and how many links it moved

What is said takes effect a second after it was written, by the server's clock, so that all workers change their minds
at the same moment: a link that was found before holds the old opinion in its score, one that was found later the new
one. One worker then moves those found before; should it die, another does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from math import inf
from types import TracebackType
from typing import Any, NamedTuple

from topicrawl.collection import orders, verdicts
from topicrawl.collection.orders import Order
from topicrawl.collection.shelf import reread
from topicrawl.collection.verdicts import Verdict
from topicrawl.ending import ended
from topicrawl.exchange import packed, place, unpacked
from topicrawl.frontier.redis import RedisLook
from topicrawl.frontier.redis_crawl import PAUSED, RUNNING, SharedCrawl
from topicrawl.frontier.redis_waiting import all_waiting, last
from topicrawl.guidance import Guidance
from topicrawl.records import Carry, Link, Page
from topicrawl.steering import Steering

log = logging.getLogger("topicrawl")

_SOON = 1.0  # seconds from what is said to its effect: every worker has heard it by then
_TURN = 30  # seconds after which a worker that does not go on moving links is taken for gone
_LEAST = 1e-9
_PAGE = 1000  # words of a page that judges learn from; they keep fewer

Said = dict[str, Any]


class _Change(NamedTuple):
    """What took effect at one moment."""

    number: str  # of the last thing that was said
    until: int  # links that were found later hold it already
    said: Sequence[Said]


@dataclass
class Opinions:
    """A guidance, and the verdicts that are in it."""

    guidance: Guidance
    counted: dict[int, Said] = field(default_factory=dict)  # page → the verdict that counts

    def copy(self) -> Opinions:
        return Opinions(self.guidance.copy(), copy(self.counted))

    def take(self, said: Said) -> Said | None:
        """Heed what was said; returns the verdict on the same page that no longer counts."""
        target, amount = said.get("target", ""), said.get("amount", 0.0)
        if said["kind"] == Order.BOOST:
            self.guidance.boosts[target] = amount
        elif said["kind"] == Order.WORD:
            self.guidance.words[target] = amount
            if not amount:
                del self.guidance.words[target]
        elif said["kind"] == "verdict":
            before = self.counted.pop(said["page"], None)
            if before is not None:
                self._judge(before, -1)
            if said["relevant"] is not None:
                self.counted[said["page"]] = said
                self._judge(said, 1)
            return before
        return None

    def _judge(self, said: Said, count: int) -> None:
        url, source, anchor = said["link"]
        link = Link(url, source, anchor)
        self.guidance.judge(link, relevant=said["relevant"], title=said["title"], count=count)


@dataclass(kw_only=True)
class Parley(Steering):
    """Follows readers in company: what they say to this worker it tells all, and it heeds what any was told."""

    shared: SharedCrawl
    worker: str
    _heard: str = "0-0"
    _told: str = ""  # the last of what was said here that the links have not felt yet
    _ahead: float = 0.0  # of the server's clock
    _soon: list[tuple[str, Said]] = field(default_factory=list)  # heard, and not in effect yet
    _moving: asyncio.Task[None] | None = None
    _changes: list[_Change] = field(default_factory=list)  # in effect, and not felt by the links yet

    def __post_init__(self) -> None:
        self._now = Opinions(self.guidance)
        self._felt = Opinions(self.guidance.copy())  # what the waiting links hold

    @property
    def _look(self) -> RedisLook:
        return RedisLook(self.shared.server, self.shared.base)

    async def _run(self) -> None:
        while True:
            due = min((_effect(number) - self._ahead for number, _ in self._soon), default=inf)
            await asyncio.sleep(max(0.01, min(self.every, due - self.clock())))
            # Between learning from a page and completing it nothing may be changed.
            if self.crawl.settled:
                if self._news():
                    await self.follow()
                await self._hear()
                await self._take_effect()
            # Moving millions of links takes its time; what is said meanwhile is heard all the same.
            if self._moving is None or self._moving.done():
                if self._moving is not None:
                    self._moving.result()
                self._moving = asyncio.create_task(self._move())

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            # First whoever would begin to move links once more.
            await super().__aexit__(kind, error, trace)
        finally:
            if self._moving is not None:
                await ended([self._moving])

    async def _caught_up(self) -> None:
        """Heed all that was ever said, then tell what was said here since this worker stopped."""
        told = self.collection.store.fact("told")
        known = told if isinstance(told, dict) else {}
        self._number, self._order = (int(str(known.get(name, 0))) for name in ("verdict", "order"))
        self._told = str(known.get("said", ""))
        await self._hear()
        # To stop was for those who were at work then.
        self._soon = [(number, said) for number, said in self._soon if said["kind"] != Order.STOP]
        felt = place(await self._felt_number())
        past = [(number, said) for number, said in self._soon if place(number) <= felt]
        for _, said in past:
            self._felt.take(said)
            self._heed(said)
        self._soon = self._soon[len(past) :]
        await self._take_effect()
        await self.follow(started=self.clock())

    # Telling

    async def follow(self, *, started: float = -inf) -> None:
        """Tell all workers what was said here since the last look."""
        store, out, before = self.collection.store, [], (self._number, self._order)
        for verdict in verdicts.since(store, self._number):
            if (said := self._in_words(verdict)) is not None:
                out.append(said)
            self._number = verdict.number
        for order in orders.given(store, after=self._order):
            self._order = order.number
            if order.kind in (Order.PAUSE, Order.RESUME, Order.STOP) and order.at < started:
                continue
            if order.kind in (Order.PAUSE, Order.RESUME):
                await self.shared.set_state(PAUSED if order.kind == Order.PAUSE else RUNNING)
                store.set_facts({"paused": order.kind == Order.PAUSE})
            elif order.kind in (Order.SEED, Order.BLOCK):
                await self._obey(order)  # the frontier is one for all
            else:
                out.append({"kind": order.kind, "target": order.target, "amount": order.amount})
        for said in out:
            number = await self.shared.server.ask("XADD", f"{self.shared.base}:said", "*", "said", packed(said))
            self._told = number.decode()
        if (self._number, self._order) != before:
            numbers: dict[str, Carry] = {"verdict": self._number, "order": self._order}
            store.set_facts({"told": {**numbers, "said": self._told}})
            if not self._told:
                # It went straight to the frontier.
                store.set_facts({"heeded": {**numbers, "links": 0, "at": self.clock(), "seconds": 0.0}})
            self.crawl.wake()

    def _in_words(self, verdict: Verdict) -> Said | None:
        """A verdict with all that others need to learn from it: they do not have the page."""
        row = self.collection.store.visit_of(verdict.url)
        if row is None:
            return None
        page = reread(self.collection.archive, row, self.crawl.parts.parse) if verdict.relevant is not None else None
        return {
            "kind": "verdict", "page": verdict.page, "relevant": verdict.relevant, "title": self._title(row),
            "link": [row.url, row.link.source, row.link.anchor],
            "words": None if page is None else list(page.words[:_PAGE]), "language": page.language if page else "",
        }  # fmt: skip

    # Heeding

    async def _hear(self) -> None:
        """Read what was said, to any worker."""
        more = True
        while more:
            asked: list[tuple[str | bytes | float, ...]] = [
                ("TIME",), ("XREAD", "COUNT", 200, "STREAMS", f"{self.shared.base}:said", self._heard),
            ]  # fmt: skip
            (seconds, micros), answer = await self.shared.server.ask_all(asked)
            self._ahead = int(seconds) + int(micros) / 1e6 - self.clock()
            entries = answer[0][1] if answer else []
            more = len(entries) == 200
            for number, fields in entries:
                self._heard = number.decode()
                said: Any = unpacked(fields[1])
                self._soon.append((self._heard, said))

    async def _take_effect(self) -> None:
        """Change one's mind where it is time."""
        now = self.clock() + self._ahead
        due = [(number, said) for number, said in self._soon if _effect(number) <= now]
        if not due:
            return
        until = await last(self._look)
        self._soon = self._soon[len(due) :]
        for _, said in due:
            self._heed(said)
        self._changes.append(_Change(due[-1][0], until, [said for _, said in due]))
        self.crawl.wake()

    def _heed(self, said: Said) -> None:
        if said["kind"] == Order.WORD:
            self._say({said["target"]: said["amount"]})
            return
        before = self._now.take(said)
        if said["kind"] == Order.STOP:
            self.crawl.interrupt()
        elif said["kind"] == "verdict":
            url = said["link"][0]
            forget = getattr(self.judge, "forget", None)  # a judge of the user's own may have none
            if before is not None and forget is not None:
                forget(url)
            if said["relevant"] is not None and said["words"] is not None:
                page = Page(url, said["title"], words=tuple(said["words"]), language=said["language"])
                self.judge.learn(page, said["relevant"])

    # Links that wait

    async def _felt_number(self) -> str:
        found = await self.shared.server.ask("HGET", f"{self.shared.base}:guided", "number")
        return "0-0" if found is None else str(found.decode())

    async def _move(self) -> None:
        """Let the waiting links feel what is in effect, unless another worker does that."""
        turn, server = f"{self.shared.base}:guided:turn", self.shared.server
        while self._changes and await server.ask("SET", turn, self.worker, "NX", "EX", _TURN) is not None:
            begun, moved = self.clock(), 0
            await self._others_moved()
            if self._changes:
                change = self._changes[0]
                after = self._felt.copy()
                for said in change.said:
                    after.take(said)
                moved = await self._all_moved(after.guidance, change.until, turn)
                facts = {"number": change.number, "links": str(moved), "seconds": repr(self.clock() - begun)}
                await server.ask(
                    "HSET", f"{self.shared.base}:guided", *(text for pair in facts.items() for text in pair)
                )
                log.info("followed %d verdicts and orders: %d links moved", len(change.said), moved)
                await self._others_moved()
            await server.ask("DEL", turn)
        await self._heeded()

    async def _others_moved(self) -> None:
        """Know what the links feel by now."""
        felt = place(await self._felt_number())
        while self._changes and place(self._changes[0].number) <= felt:
            for said in self._changes.pop(0).said:
                self._felt.take(said)

    async def _all_moved(self, after: Guidance, until: int, turn: str) -> int:
        moved = 0
        before = self._felt.guidance
        async for entries in all_waiting(self._look, until):
            scores = {
                entry.link.url: score
                for entry in entries
                if abs((score := after.moved(entry.link, entry.place.score, before)) - entry.place.score) > _LEAST
            }
            moved += await self.crawl.parts.frontier.rescore(scores) if scores else 0
            await self.shared.server.ask("EXPIRE", turn, _TURN)
        return moved

    async def _heeded(self) -> None:
        """Write down for readers that the links feel what they said here."""
        if not self._told:
            return
        names = ("number", "links", "seconds")
        number, links, seconds = await self.shared.server.ask("HMGET", f"{self.shared.base}:guided", *names)
        if number is None or place(number.decode()) < place(self._told):
            return
        self._told = ""
        self.collection.store.set_facts(
            {
                "heeded": {
                    "verdict": self._number, "order": self._order, "links": int(links), "at": self.clock(),
                    "seconds": round(float(seconds), 3),
                },
                "told": {"verdict": self._number, "order": self._order, "said": ""},
            }
        )  # fmt: skip


def _effect(number: str) -> float:
    """When something takes effect, by the server's clock.

    >>> _effect("1700000000500-0")
    1700000001.5
    """
    return place(number)[0] / 1000 + _SOON
