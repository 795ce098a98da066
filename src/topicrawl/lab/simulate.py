"""The live loop over a recorded web: one fetch at a time, no delays, no sockets, nothing peeked at.

Links that lead out of the recording are not offered (a closed world); in an open world each costs one fetch and fails.
The trap rules are off, because a recording is finite. So are noindex and nofollow: nobody is asked anew, and what the
authors thought of search engines has no say in an experiment. Pages that repeat others count (see `distinct.py`).
Same inputs, same visits, whatever the hash seed or time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from topicrawl import parse, strategies
from topicrawl.budget import Budget
from topicrawl.crawl import Crawl, seed_links
from topicrawl.errors import SeedError
from topicrawl.fetch.replay import Recording
from topicrawl.frontier.contract import Rules
from topicrawl.frontier.memory import Memory
from topicrawl.lab.material import Recorded
from topicrawl.lab.web import ParsedWeb
from topicrawl.parts import Found, Parts
from topicrawl.placing import Fences
from topicrawl.records import Around, Link, Parse, Response, Visit
from topicrawl.relevance import guest
from topicrawl.relevance.tongues import judge_of
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.strategy import Setting
from topicrawl.topic import Topic


@dataclass(frozen=True)
class Task:
    """One crawl to simulate."""

    topic: Topic
    seeds: Sequence[str]
    strategy: str  # as on the command line
    fetches: int
    sessions: Sequence[Sequence[str]] = ()
    open_world: bool = False
    random_seed: int = 0
    judge: str = ""  # a judge of one's own, as on the command line; "": the topic's words
    distinct: bool = False  # whether pages that repeat others are left out, as a live crawl does


class Forget:
    """Keeps nothing: a simulated visit is looked at and dropped."""

    def step_of(self, link: Link) -> int | None:
        return None

    def keep(self, found: Sequence[Found]) -> None:
        pass

    def settled(self) -> None:
        pass

    def retry(self, link: Link, response: Response, attempt: int) -> None:
        pass


async def simulate(web: Recording | ParsedWeb, task: Task) -> AsyncIterator[Visit]:
    """The visits of one task, in order; over a parsed web the same ones, sooner."""
    crawl = prepared(web, task)
    try:
        await crawl.seed(seed_links(task.seeds))
        async for visit in crawl.visits():
            yield visit
    finally:
        if isinstance(web, ParsedWeb):
            web.flush()


def prepared(web: Recording | ParsedWeb, task: Task) -> Crawl:
    """The crawl of a task, trained and put together, before its first fetch."""
    for url in task.seeds:
        if not web.known(url):
            raise SeedError(f"the seed {url} is not in the recorded web")
    strategy = strategies.make(task.strategy)
    wants = Wants(task, styles=strategy.styles, context=strategy.context)
    vsm, material, read = wants.of_parsed(web) if isinstance(web, ParsedWeb) else wants.of_plain(web)
    if task.judge:
        vsm.judge = guest.make(task.judge, task.topic)
    strategy.begin(Setting(task.topic, vsm, Random(task.random_seed)))
    strategy.prepare(material)
    remembered = None
    if task.distinct:
        # It needs numpy, which most crawls over recordings do without.
        from topicrawl.lab.distinct import Remembered

        remembered = Remembered()
    parts = Parts(
        frontier=Memory(Rules(delay=0.0, parallel=0), lambda: 0.0),
        fetch=web,
        parse=read,
        relevance=vsm,
        strategy=strategy,
        keep=remembered or Forget(),
        twin_of=remembered.duplicates.twin if remembered is not None else None,
        clock=lambda: 0.0,
        explained=False,
        fences=Fences(scope=None if task.open_world else web.known, directives=False),
    )
    return Crawl(parts, Budget(fetches=task.fetches, concurrency=1, attempts=1))


@dataclass(frozen=True)
class Wants:
    """What a task and its strategy want of a web: a judge, material to learn from, a parser."""

    task: Task
    styles: bool
    context: Around | bool

    def of_plain(self, web: Recording) -> tuple[Vsm, Recorded, Parse]:
        material = Recorded(web, self.task.topic, self.task.sessions, styles=self.styles)
        return judge_of(self.task.topic), material, partial(parse.read, styles=self.styles, context=self.context)

    def of_parsed(self, web: ParsedWeb) -> tuple[Vsm, Recorded, Parse]:
        material = web.material(self.task.topic, self.task.sessions, styles=self.styles)
        read = partial(web.parse, styles=self.styles, context=self.context)
        return judge_of(self.task.topic), material, read
