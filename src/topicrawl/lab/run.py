"""Execute one run of a comparison. Requests and results are plain values, so that any process can execute them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any

from topicrawl.engine.crawl import Crawl, build_seed_links
from topicrawl.errors import TopicrawlError
from topicrawl.lab.evaluate import MaxCosineSimilarity
from topicrawl.lab.oracle import greedy_order, upper_bound
from topicrawl.lab.parsed_web import ParsedWeb
from topicrawl.lab.recall_forecast import forecast_run
from topicrawl.lab.simulate import Task, prepare_crawl
from topicrawl.models import LinkContextLevel, Visit
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
    judge: str = ""  # relevance model, as on the command line; "" for the default model
    judged: Sequence[str] = ()  # pages judged relevant: the result has the similarity of each fetched page to them
    judgements: bool = False  # whether the result has the review group of each fetched page

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
    task = Task(
        topic,
        run.seeds,
        run.strategy,
        run.fetches,
        sessions,
        judge=run.judge,
        embedding=run.embedding,
        judgements=run.judgements,
    )
    log = _FetchLog(topic.threshold, _build_similarity(web, run, topic), run.judgements)
    started = process_time()
    crawl = prepare_crawl(web, task)
    trained = process_time()
    asyncio.run(_collect_fetches(crawl, task, log))
    cpu = process_time() - trained - log.measuring_seconds
    target_steps = find_target_steps(log.urls, run.targets)
    web.close()
    fetches = len(log.urls)
    return {
        "fetches": fetches,
        "found": target_steps,
        "foresight": {"judged": forecast_run(log.judged, fetches), "labels": forecast_run(target_steps, fetches)},
        "training": round(trained - started, 4),
        "cpu": round(cpu, 4),
        **log.to_result(run.judged),
    }


def _build_similarity(web: ParsedWeb, run: RunSpec, topic: Topic) -> MaxCosineSimilarity | None:
    """Return the similarity to the judged pages of a run, or None if it has none."""
    pages = [page for url in run.judged if (page := web.get_page(url, context=False)) is not None]
    return MaxCosineSimilarity(pages, topic.lexicon) if pages else None


@dataclass
class _FetchLog:
    """What a run records about its fetches, in fetch order."""

    threshold: float
    similarity: MaxCosineSimilarity | None
    stores_groups: bool
    urls: list[str] = field(default_factory=list)
    judged: list[int] = field(default_factory=list)  # numbers of the fetches whose page the crawl judges relevant
    similarities: list[float | None] = field(default_factory=list)  # None: the fetch has failed
    groups: list[tuple[str, str]] = field(default_factory=list)  # URL and review group of each page
    measuring_seconds: float = 0.0  # CPU time for the similarities, which is not part of the crawl

    def add(self, visit: Visit) -> None:
        """Record a fetch."""
        self.urls.append(visit.url)
        if visit.failure is None and (visit.relevance or 0.0) >= self.threshold:
            self.judged.append(len(self.urls))
        if self.similarity is not None:
            started = process_time()
            self.similarities.append(round(self.similarity(visit.page), 3) if visit.page is not None else None)
            self.measuring_seconds += process_time() - started
        if self.stores_groups and visit.page is not None:
            self.groups.append((visit.url, visit.judgement.group if visit.judgement is not None else ""))

    def to_result(self, judged: Iterable[str]) -> dict[str, Any]:
        """Return the fields of the result that only some runs have."""
        result: dict[str, Any] = {"groups": self.groups} if self.stores_groups else {}
        if self.similarity is not None:
            result |= {"similarities": self.similarities, "judged_steps": find_target_steps(self.urls, judged)}
        return result


async def _collect_fetches(crawl: Crawl, task: Task, log: _FetchLog) -> None:
    """Run a crawl and record its fetches."""
    await crawl.add_seeds(build_seed_links(task.seeds))
    async for visit in crawl.visits():
        log.add(visit)


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
