"""A crawl that was interrupted goes on as if nothing had happened: strategies with a memory, on a made-up web."""

from __future__ import annotations

import asyncio
import json
from random import Random

import pytest

from topicrawl.fetch.replay import Recording
from topicrawl.lab.material import Recorded
from topicrawl.lab.sample import SampleWeb
from topicrawl.lab.simulate import Task, simulate
from topicrawl.records import Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import make
from topicrawl.strategies.strategy import Setting, Strategy
from topicrawl.topic import Topic

WEB = SampleWeb(pages=400, hosts=20)
VISITS = 60
SPECS = (
    "pagerank", "pagerank:urls=300", "backlink", "backlink:urls=300", "intelligent", "intelligent:pages=30",
    "context_graph:layers=2,width=20", "fish_search", "shark_search",
)  # fmt: skip


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    path = tmp_path_factory.mktemp("recorded") / "web"
    WEB.write(path)
    return Recording(path)


@pytest.fixture(scope="module")
def topic(recording: Recording) -> Topic:
    labels = WEB.labels()
    good = [url for url in sorted(labels) if recording.known(url) and "dengue" in " ".join(labels[url])][:8]
    assert len(good) == 8
    return Topic.of("dengue fever mosquito").with_examples(good, ())


def begun(spec: str, topic: Topic) -> Strategy:
    strategy = make(spec)
    strategy.begin(Setting(topic, Vsm(topic), Random(0)))
    return strategy


def crawled(recording: Recording, spec: str, topic: Topic) -> list[Visit]:
    async def run() -> list[Visit]:
        task = Task(topic, [WEB.url(0), WEB.url(40)], spec, VISITS)
        return [visit async for visit in simulate(recording, task)]

    return asyncio.run(run())


@pytest.mark.parametrize("spec", SPECS)
def test_every_place_and_every_new_score_is_the_same_after_a_restart(
    recording: Recording, topic: Topic, spec: str
) -> None:
    visits = crawled(recording, spec, topic)
    through, restarted = begun(spec, topic), begun(spec, topic)
    for strategy in (through, restarted):
        strategy.prepare(Recorded(recording, topic))
    revised = 0
    for number, visit in enumerate(visits):
        told = []
        for strategy in (through, restarted):
            strategy.learn(visit)
            links = visit.page.links if visit.page is not None else ()
            told.append((strategy.place(links, visit), dict(strategy.revise())))
        assert told[0] == told[1]
        revised += len(told[0][1])
        if number % 17 == 0:
            restarted = begun(spec, topic)
            restarted.restore(json.loads(json.dumps(through.state())))
    assert len(visits) == VISITS
    assert bool(revised) == spec.startswith(("pagerank", "intelligent")), "only these move links that wait"
