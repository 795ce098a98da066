"""Execute one run of a comparison. Requests and results are plain values, so that any process can execute them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any

from topicrawl.engine.crawl import Crawl, build_seed_links
from topicrawl.errors import TopicrawlError
from topicrawl.lab.oracle import greedy_order, upper_bound
from topicrawl.lab.parsed_web import ParsedWeb
from topicrawl.lab.recall_forecast import forecast_run
from topicrawl.lab.simulate import Task, prepare_crawl
from topicrawl.models import LinkContextLevel
from topicrawl.text.embedding import BUILT_IN
from topicrawl.topic import Topic

ORACLE = "oracle"


@dataclass(frozen=True)
class RunSpec:
    """Specification of one run. The strategy `oracle` is the greedy oracle, which knows the whole web."""

    web: str
    words: str
    seeds: Sequence[str]
    strategy: str
    fetches: int
    targets: Sequence[str]  # reachable relevant pages without seeds and examples
    relevant: Sequence[str] = ()
    irrelevant: Sequence[str] = ()
    sessions: bool = False  # whether the strategy receives the browsing sessions of the web
    cache: str | None = None
    cached: bool = True
    languages: Sequence[str] = ()  # languages of the words; empty: English
    embedding: str = BUILT_IN

    def open_web(self) -> ParsedWeb:
        """Open the web of the run."""
        return ParsedWeb(Path(self.web), cache=Path(self.cache) if self.cache else None, cached=self.cached)


@dataclass(frozen=True)
class ParseSpec:
    """Specification of a web to parse before the timed runs."""

    web: str
    context: int  # value of `topicrawl.models.LinkContextLevel`
    styles: bool
    cache: str | None = None
    cached: bool = True


def execute_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """Execute a request, which is a `RunSpec` or a `ParseSpec` as plain values, and return the result.

    If the run fails with an error that the user can correct, the result contains its message in `failure`.
    """
    try:
        if "strategy" not in request:
            return _parse_web(ParseSpec(**request))
        run = RunSpec(**request)
        return _run_oracle(run) if run.strategy == ORACLE else _run_crawl(run)
    except TopicrawlError as error:
        return {"failure": str(error)}


def _run_crawl(run: RunSpec) -> dict[str, Any]:
    web = run.open_web()
    topic = Topic.of(run.words).with_examples(run.relevant, run.irrelevant)
    if run.languages:
        topic = replace(topic, languages=tuple(run.languages))
    sessions = web.sessions if run.sessions else ()
    task = Task(topic, run.seeds, run.strategy, run.fetches, sessions, embedding=run.embedding)
    started = process_time()
    crawl = prepare_crawl(web, task)
    trained = process_time()
    fetched, judged = asyncio.run(_collect_fetches(crawl, task))
    done = process_time()
    target_steps = find_target_steps(fetched, run.targets)
    web.close()
    return {
        "fetches": len(fetched),
        "found": target_steps,
        "foresight": {"judged": forecast_run(judged, len(fetched)), "labels": forecast_run(target_steps, len(fetched))},
        "training": round(trained - started, 4),
        "cpu": round(done - trained, 4),
    }


async def _collect_fetches(crawl: Crawl, task: Task) -> tuple[list[str], list[int]]:
    """Return the final URL of every fetch, and the numbers of the fetches whose page the crawl judged relevant."""
    await crawl.add_seeds(build_seed_links(task.seeds))
    urls, judged = [], []
    async for visit in crawl.visits():
        urls.append(visit.url)
        if visit.failure is None and (visit.relevance or 0.0) >= task.topic.threshold:
            judged.append(len(urls))
    return urls, judged


def _run_oracle(run: RunSpec) -> dict[str, Any]:
    web = run.open_web()
    started = process_time()
    graph = web.build_graph()
    seeds = list(dict.fromkeys(web.get_response(url).final_url for url in run.seeds))
    order = greedy_order(graph, seeds, run.targets)[: run.fetches]
    bound = upper_bound(graph, seeds, run.targets, run.fetches)
    web.close()
    return {
        "fetches": len(order),
        "found": find_target_steps(order, run.targets),
        "bound": [step for step, (before, now) in enumerate(pairwise((0, *bound)), 1) for _ in range(now - before)],
        "training": 0.0,
        "cpu": round(process_time() - started, 4),
    }


def _parse_web(spec: ParseSpec) -> dict[str, Any]:
    web = ParsedWeb(Path(spec.web), cache=Path(spec.cache) if spec.cache else None, cached=spec.cached)
    seconds = web.parse_all(context=LinkContextLevel(spec.context), styles=spec.styles)
    web.close()
    return {"seconds": seconds}


def find_target_steps(fetched: Iterable[str], targets: Iterable[str]) -> list[int]:
    """Return the numbers of the fetches that found a target for the first time.

    >>> find_target_steps(["seed", "owl", "fox", "owl", "wren"], ["owl", "wren"])
    [2, 5]
    """
    remaining = set(targets)
    steps = []
    for step, url in enumerate(fetched, 1):
        if url in remaining:
            remaining.remove(url)
            steps.append(step)
    return steps
