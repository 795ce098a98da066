"""The live loop over a recorded web: one fetch at a time, no delays, no sockets, nothing peeked at.

Links that lead out of the recording are not offered (a closed world); in an open world each costs one fetch and fails.
The trap rules are off, because a recording is finite. So are noindex and nofollow: nobody is asked anew, and what the
authors thought of search engines has no say in an experiment. Same inputs, same visits, whatever the hash seed or time.
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
from topicrawl.parts import Found, Parts
from topicrawl.placing import Fences
from topicrawl.records import Link, Response, Visit
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


async def simulate(recording: Recording, task: Task) -> AsyncIterator[Visit]:
    """The visits of one task, in order."""
    for url in task.seeds:
        if not recording.known(url):
            raise SeedError(f"the seed {url} is not in the recorded web")
    vsm = Vsm(task.topic)
    strategy = strategies.make(task.strategy)
    strategy.begin(Setting(task.topic, vsm, Random(task.random_seed)))
    strategy.prepare(Recorded(recording, task.topic, task.sessions, styles=strategy.styles))
    parts = Parts(
        frontier=Memory(Rules(delay=0.0, parallel=0), lambda: 0.0),
        fetch=recording,
        parse=partial(parse.read, styles=strategy.styles, context=strategy.context),
        relevance=vsm,
        strategy=strategy,
        keep=Forget(),
        clock=lambda: 0.0,
        fences=Fences(scope=None if task.open_world else recording.known, directives=False),
    )
    crawl = Crawl(parts, Budget(fetches=task.fetches, concurrency=1, attempts=1))
    await crawl.seed(seed_links(task.seeds))
    async for visit in crawl.visits():
        yield visit
