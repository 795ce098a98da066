"""One crawl of a comparison, from plain values to plain values, so that any process can make it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any

from topicrawl.crawl import Crawl, seed_links
from topicrawl.errors import TopicrawlError
from topicrawl.lab.foresight import foretold
from topicrawl.lab.oracle import greedy, upper_bound
from topicrawl.lab.simulate import Task, prepared
from topicrawl.lab.web import ParsedWeb
from topicrawl.records import Around
from topicrawl.topic import Topic

ORACLE = "oracle"


@dataclass(frozen=True)
class Run:
    """What is to be crawled and counted. The strategy `oracle` is no crawler: it knows the web."""

    web: str
    words: str
    seeds: Sequence[str]
    strategy: str
    fetches: int
    targets: Sequence[str]  # that count: reached by links, no seeds, no examples
    relevant: Sequence[str] = ()
    irrelevant: Sequence[str] = ()
    sessions: bool = False  # whether the strategy is given the web's browsing sessions
    cache: str | None = None
    cached: bool = True

    def opened(self) -> ParsedWeb:
        return ParsedWeb(Path(self.web), cache=Path(self.cache) if self.cache else None, cached=self.cached)


@dataclass(frozen=True)
class Reading:
    """A web that is to be parsed before crawls are timed on it."""

    web: str
    context: int  # as `topicrawl.records.Around`
    styles: bool
    cache: str | None = None
    cached: bool = True


def ran(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a request: a `Run` or a `Reading` as plain values. What the user can mend is named in `failure`."""
    try:
        if "strategy" not in asked:
            return _read(Reading(**asked))
        run = Run(**asked)
        return _known_all(run) if run.strategy == ORACLE else _crawled(run)
    except TopicrawlError as error:
        return {"failure": str(error)}


def _crawled(run: Run) -> dict[str, Any]:
    web = run.opened()
    topic = Topic.of(run.words).with_examples(run.relevant, run.irrelevant)
    task = Task(topic, run.seeds, run.strategy, run.fetches, web.sessions if run.sessions else ())
    begun = process_time()
    crawl = prepared(web, task)
    trained = process_time()
    fetched, judged = asyncio.run(_fetched(crawl, task))
    done = process_time()
    found = steps_of(fetched, run.targets)
    web.close()
    return {
        "fetches": len(fetched),
        "found": found,
        "foresight": {"judged": foretold(judged, len(fetched)), "labels": foretold(found, len(fetched))},
        "training": round(trained - begun, 4),
        "cpu": round(done - trained, 4),
    }


async def _fetched(crawl: Crawl, task: Task) -> tuple[list[str], list[int]]:
    """Where every fetch ended, and which ones brought a page that the crawl itself judges relevant."""
    await crawl.seed(seed_links(task.seeds))
    urls, judged = [], []
    async for visit in crawl.visits():
        urls.append(visit.url)
        if visit.failure is None and (visit.relevance or 0.0) >= task.topic.threshold:
            judged.append(len(urls))
    return urls, judged


def _known_all(run: Run) -> dict[str, Any]:
    web = run.opened()
    begun = process_time()
    graph = web.graph()
    seeds = list(dict.fromkeys(web.answer(url).final_url for url in run.seeds))
    order = greedy(graph, seeds, run.targets)[: run.fetches]
    bound = upper_bound(graph, seeds, run.targets, run.fetches)
    web.close()
    return {
        "fetches": len(order),
        "found": steps_of(order, run.targets),
        "bound": [step for step, (before, now) in enumerate(pairwise((0, *bound)), 1) for _ in range(now - before)],
        "training": 0.0,
        "cpu": round(process_time() - begun, 4),
    }  # fmt: skip


def _read(asked: Reading) -> dict[str, Any]:
    web = ParsedWeb(Path(asked.web), cache=Path(asked.cache) if asked.cache else None, cached=asked.cached)
    seconds = web.read_all(context=Around(asked.context), styles=asked.styles)
    web.close()
    return {"seconds": seconds}


def steps_of(fetched: Iterable[str], targets: Iterable[str]) -> list[int]:
    """The fetches that found a target, each target once.

    >>> steps_of(["seed", "owl", "fox", "owl", "wren"], ["owl", "wren"])
    [2, 5]
    """
    left = set(targets)
    found = []
    for step, url in enumerate(fetched, 1):
        if url in left:
            left.remove(url)
            found.append(step)
    return found
