"""What one worker learns, all learn: lessons go round in a stream of Redis, within a second or two.

    :lessons   stream   what a worker has learned since its last lesson
    :beliefs   hash     the sum of all lessons up to one of them, for those who come later

Lessons are sums, so their order does not matter and nobody waits for anybody. Who comes later, or was away for longer
than lessons are kept, takes up the beliefs and hears the lessons behind them; nothing is heard twice.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import zstandard

from topicrawl.crawl import Crawl
from topicrawl.frontier.redis_crawl import SharedCrawl
from topicrawl.records import Carry
from topicrawl.strategies.strategy import Colleague

log = logging.getLogger("topicrawl")

_TOGETHER = 64  # lessons that are read at once
_WRITTEN = 60  # seconds between two times that some worker writes down what all believe
_LARGEST = 1 << 28  # bytes of a lesson when it is unpacked
#: What does not read back: cut off, or written by another version.
_UNREADABLE = (zstandard.ZstdError, ValueError, KeyError, TypeError, IndexError)
# In one step: whoever reads the beliefs must know whether this lesson is among them. What lies before the beliefs that
# were written last is forgotten, so that nobody who is a little late misses anything.
_WRITE = """
local but = ARGV[4]
if ARGV[3] ~= '' then but = but .. ' ' .. redis.call('XADD', KEYS[1], '*', 'lesson', ARGV[3]) end
local before = redis.call('HGET', KEYS[2], 'after') or '0-0'
redis.call('HSET', KEYS[2], 'state', ARGV[1], 'after', ARGV[2], 'but', but, 'forgotten', before)
redis.call('XTRIM', KEYS[1], 'MINID', before)
return but
"""


@dataclass
class Exchange:
    """One worker's part in it."""

    shared: SharedCrawl
    crawl: Crawl
    colleague: Colleague
    heard: str = "0-0"  # the last lesson that is known here
    lessons: int = 0  # that were heard from others
    _known: set[str] = field(default_factory=set)  # later lessons that are known too: one's own

    @property
    def _stream(self) -> str:
        return f"{self.shared.base}:lessons"

    @property
    def _beliefs(self) -> str:
        return f"{self.shared.base}:beliefs"

    async def join(self) -> None:
        """Believe what the others believe; the first one begins."""
        state = packed(self.colleague.beliefs())
        await self.shared.server.ask("HSETNX", self._beliefs, "state", state)
        await self._take_up()
        await self._hear()

    async def round(self) -> Mapping[str, float]:
        """Tell what was learned here, and learn what was learned elsewhere; returns new scores of waiting links."""
        # Half of a page's consequences are no lesson.
        lesson = self.colleague.lesson() if self.crawl.settled else None
        if lesson is not None:
            number = await self.shared.server.ask("XADD", self._stream, "*", "lesson", packed(lesson))
            self._known.add(number.decode())
        heard = await self._hear()
        await self._write_down()
        return self.colleague.revised() if heard else {}

    async def _hear(self) -> int:
        """Learn from all lessons that are new; returns how many there were."""
        count, more = 0, True
        while more:
            asked: list[tuple[str | bytes | float, ...]] = [
                ("HGET", self._beliefs, "forgotten"),
                ("XREAD", "COUNT", _TOGETHER, "STREAMS", self._stream, self.heard),
            ]
            forgotten, answer = await self.shared.server.ask_all(asked)
            if forgotten is not None and place(forgotten.decode()) > place(self.heard):
                log.warning("away for longer than lessons are kept: what was learned meanwhile is taken up as a whole")
                await self._take_up()
                continue
            entries = answer[0][1] if answer else []
            more = len(entries) == _TOGETHER
            for number, fields in entries:
                self.heard = number.decode()
                if self.heard in self._known:
                    self._known.discard(self.heard)
                else:
                    count += self._learn(fields[1])
        self.lessons += count
        self.crawl.lessons = self.lessons
        return count

    def _learn(self, data: bytes) -> bool:
        try:
            self.colleague.hear(unpacked(data))
        except _UNREADABLE as error:
            log.warning("a lesson of another worker cannot be read: %s", error)
            return False
        return True

    async def _take_up(self) -> None:
        """Believe what was written down; what others do not know yet goes out first, and comes back."""
        lesson = self.colleague.lesson()
        if lesson is not None:
            await self.shared.server.ask("XADD", self._stream, "*", "lesson", packed(lesson))
        names = ("state", "after", "but")
        state, after, but = await self.shared.server.ask("HMGET", self._beliefs, *names)
        if state is None:
            return  # the crawl's state is gone, and whoever asks the frontier hears it
        self.colleague.take(unpacked(state))
        self.heard = "0-0" if after is None else after.decode()
        self._known = set((but or b"").decode().split())

    async def _write_down(self) -> None:
        """When it is time, let those who come later have the sum of it all."""
        server = self.shared.server
        if not self.crawl.settled or await server.ask("SET", f"{self._beliefs}:turn", 1, "NX", "EX", _WRITTEN) is None:
            return
        # No other task runs between these lines: the lesson is what the beliefs hold beyond the lessons so far.
        lesson, state = self.colleague.lesson(), packed(self.colleague.beliefs())
        told = packed(lesson) if lesson is not None else b""
        values = (state, self.heard, told, " ".join(self._known))
        but = await server.ask("EVAL", _WRITE, 2, self._stream, self._beliefs, *values)
        self._known = set(but.decode().split())


def place(number: str) -> tuple[int, int]:
    """Where in a stream something stands.

    >>> place("1700000000000-12") < place("1700000000001-2")
    True
    """
    milliseconds, _, row = number.partition("-")
    return int(milliseconds), int(row)


def packed(values: Carry) -> bytes:
    """Plain values as few bytes; the same for every version of Python.

    >>> unpacked(packed({"a": [1, 2.5, None]}))
    {'a': [1, 2.5, None]}
    """
    return zstandard.compress(json.dumps(values).encode(), 1)


def unpacked(data: bytes) -> Carry:
    """What `packed` made bytes of."""
    found: Any = json.loads(zstandard.decompress(data, max_output_size=_LARGEST))
    return cast(Carry, found)
