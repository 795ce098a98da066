"""Tests of backlink lookup: answers reach the frontier, and an unexpected error is reported."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from topicrawl.engine import backlink_lookup
from topicrawl.engine.backlink_lookup import BacklinkLookup
from topicrawl.engine.link_filter import LinkFilter
from topicrawl.frontier.base import FrontierRules
from topicrawl.frontier.memory import MemoryFrontier
from topicrawl.models import Link, Page, Priority, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.seeds.provider import EngineAnswer, EngineHit, SearchProvider
from topicrawl.seeds.search_engine_cache import SearchEngineCache
from topicrawl.strategies import create_strategy
from topicrawl.strategies.base import StrategyContext
from topicrawl.topic import Topic

TOPIC = Topic.of("dengue fever")
URL = "http://a.example/"


class Defect(Exception):
    """Error that a provider should not raise."""


class Defective:
    name = "defective"

    async def search(self, query: str, count: int) -> Sequence[EngineAnswer]:
        raise Defect(query)


class Working:
    """Provider that returns two new pages for every query."""

    name = "working"

    def __init__(self) -> None:
        self.queries: list[str] = []

    async def search(self, query: str, count: int) -> Sequence[EngineAnswer]:
        self.queries.append(query)
        number = 2 * len(self.queries)
        return [EngineAnswer("working", tuple(EngineHit(f"http://{n}.example/", n) for n in (number - 1, number)))]


def create_lookup(directory: Path, provider: SearchProvider, max_backlinks: int = 1) -> BacklinkLookup:
    strategy = create_strategy("best_first")
    strategy.bind(StrategyContext(TOPIC, Vsm(TOPIC), Random(0)))
    frontier = MemoryFrontier(FrontierRules(), lambda: 0.0)
    cache = SearchEngineCache(directory)
    return BacklinkLookup([provider], cache, frontier, strategy, LinkFilter(), max_backlinks=max_backlinks)


def visit(url: str = URL, relevance: float = 1.0) -> Visit:
    return Visit(1, Link(url), Priority(1.0), url, Page(url, "Dengue"), relevance)


async def run_lookup(directory: Path, *, fails: bool) -> None:
    async with create_lookup(directory, Defective()) as lookup:
        lookup.observe_visit(visit(), [])
        with suppress(Defect):
            while await lookup.wait_for_answer():
                pass
            raise AssertionError("the crawl waits for answers without an end, or ends without the error")
        if fails:
            raise KeyError("the crawl's own")


def test_provider_error_is_raised_when_the_crawl_ends(tmp_path: Path) -> None:
    with pytest.raises(Defect):
        asyncio.run(run_lookup(tmp_path, fails=False))


def test_crawl_error_has_precedence_and_provider_error_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "topicrawl"), pytest.raises(KeyError):
        asyncio.run(run_lookup(tmp_path, fails=True))
    assert "Defect" in caplog.text


def test_backlinks_of_relevant_pages_are_added_to_the_frontier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlink_lookup, "_QUERY_INTERVAL", 0.0)
    provider = Working()

    async def main() -> dict[str, float]:
        async with create_lookup(tmp_path, provider, max_backlinks=2) as lookup:
            seed_score = lookup.strategy.score_seeds([Link(URL)])[0].score
            # Each query is sent while the task is idle. The third page exceeds the limit.
            for path, relevance in (("1", 0.5), ("irrelevant", 0.0), ("2", 0.5), ("3", 0.5)):
                lookup.observe_visit(visit(URL + path, relevance), [])
                while await lookup.wait_for_answer():
                    pass
            entries = await lookup.frontier.get_best_entries(9)
            return {entry.link.url: entry.priority.score / seed_score for entry in entries}

    scores = asyncio.run(main())
    assert scores == {f"http://{n}.example/": 0.5 for n in (1, 2, 3, 4)}
    assert len(provider.queries) == 2
