"""Strategies with state continue unchanged after a restart, on a synthetic web."""

from __future__ import annotations

import asyncio
import json
from random import Random

import pytest

from topicrawl.engine.recorded_training_data import RecordedTrainingData
from topicrawl.fetch.replay import Recording
from topicrawl.lab.simulate import Task, simulate
from topicrawl.models import Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.sample_web.web import SampleWeb
from topicrawl.strategies import create_strategy
from topicrawl.strategies.base import Strategy, StrategyContext
from topicrawl.topic import Topic

WEB = SampleWeb(pages=400, hosts=20)
VISITS = 60
SPECS = (
    "pagerank",
    "pagerank:urls=300",
    "backlink",
    "backlink:urls=300",
    "intelligent",
    "intelligent:pages=30",
    "context_graph:layers=2,width=20",
    "fish_search",
    "shark_search",
)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    path = tmp_path_factory.mktemp("recorded") / "web"
    WEB.write(path)
    return Recording(path)


@pytest.fixture(scope="module")
def topic(recording: Recording) -> Topic:
    labels = WEB.get_labels()
    good = [url for url in sorted(labels) if recording.contains(url) and "dengue" in " ".join(labels[url])][:8]
    assert len(good) == 8
    return Topic.of("dengue fever mosquito").with_examples(good, ())


def bind_strategy(spec: str, topic: Topic) -> Strategy:
    strategy = create_strategy(spec)
    strategy.bind(StrategyContext(topic, Vsm(topic), Random(0)))
    return strategy


def crawl_web(recording: Recording, spec: str, topic: Topic) -> list[Visit]:
    async def run() -> list[Visit]:
        task = Task(topic, [WEB.page_url(0), WEB.page_url(40)], spec, VISITS)
        return [visit async for visit in simulate(recording, task)]

    return asyncio.run(run())


@pytest.mark.parametrize("spec", SPECS)
def test_priorities_and_new_scores_are_the_same_after_a_restart(recording: Recording, topic: Topic, spec: str) -> None:
    visits = crawl_web(recording, spec, topic)
    through, restarted = bind_strategy(spec, topic), bind_strategy(spec, topic)
    for strategy in (through, restarted):
        strategy.fit(RecordedTrainingData(recording, topic))
    revised = 0
    for number, visit in enumerate(visits):
        results = []
        for strategy in (through, restarted):
            strategy.learn(visit)
            links = visit.page.links if visit.page is not None else ()
            results.append((strategy.score_links(links, visit), dict(strategy.rescore())))
        assert results[0] == results[1]
        revised += len(results[0][1])
        if number % 17 == 0:
            restarted = bind_strategy(spec, topic)
            restarted.restore_state(json.loads(json.dumps(through.get_state())))
    assert len(visits) == VISITS
    assert bool(revised) == spec.startswith(("pagerank", "intelligent")), "only these strategies rescore waiting links"
