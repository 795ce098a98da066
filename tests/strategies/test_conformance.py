"""Conformance tests that every strategy must pass."""

from __future__ import annotations

import inspect
import json
import math
from random import Random

import pytest
from tests.helpers.markers import RUN_LONG_TESTS
from tests.helpers.training_data import SampleTrainingData

from topicrawl.models import Failure, Link, Page, Priority, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import create_strategy, get_parameters, list_strategies
from topicrawl.strategies.base import Strategy, StrategyContext
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Topic

TOPIC = Topic.of("dengue fever mosquito")
# The limits of this strategy are tuned in `make test-long` only, because tuning takes .3 s of CPU time per test.
QUICK_PARAMETERS = {"hati": "hati:tune=no"}
TEXTS = {
    "on the topic": "Dengue fever is spread by the mosquito Aedes aegypti. Fever, pain and rash follow.",
    "off the topic": "The steam locomotive was built in Derby and ran on the main line for forty years.",
    "empty": "",
}


def bind_strategy(name: str, seed: int = 7) -> Strategy:
    strategy = create_strategy(QUICK_PARAMETERS.get(name, name) if not RUN_LONG_TESTS else name)
    strategy.bind(StrategyContext(TOPIC, Vsm(TOPIC), Random(seed)))
    strategy.fit(SampleTrainingData())
    return strategy


def make_visits() -> list[Visit]:
    found = []
    for step, (name, text) in enumerate(TEXTS.items(), 1):
        url = f"http://host/{name.replace(' ', '-')}"
        links = tuple(
            Link(f"{url}/{n}", url, anchor, before=("about", "fever"), after=("more",), position=n, depth=1)
            for n, anchor in enumerate(["dengue fever", "", "imprint", "a mosquito net", "ß 東京"])
        )
        page = Page(url, title=name, text=text, words=tuple(tokenise(text)), links=links)
        for relevance in (0.0, 1.0):
            found.append(Visit(step, Link(url), Priority(1.0), url, page, relevance))
    return found


@pytest.fixture(params=list_strategies())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def run_visits(strategy: Strategy, over: list[Visit]) -> list[list[Priority | None]]:
    places = []
    for visit in over:
        assert visit.page is not None
        strategy.learn(visit)
        places.append(strategy.score_links(visit.page.links, visit))
        strategy.rescore()
    return places


def test_scores_are_finite_and_from_0_to_1(name: str) -> None:
    for places in run_visits(bind_strategy(name), make_visits()):
        assert len(places) == 5
        for place in places:
            assert place is None or (math.isfinite(place.score) and 0 <= place.score <= 1)


def test_the_same_seed_gives_the_same_priorities(name: str) -> None:
    assert run_visits(bind_strategy(name), make_visits()) == run_visits(bind_strategy(name), make_visits())


def test_state_survives_a_restart_as_json(name: str) -> None:
    through, restarted = bind_strategy(name), create_strategy(name)
    restarted.bind(StrategyContext(TOPIC, Vsm(TOPIC), Random(7)))
    first, second = make_visits()[:3], make_visits()[3:]
    run_visits(through, first)
    restarted.restore_state(json.loads(json.dumps(through.get_state())))
    assert run_visits(restarted, second) == run_visits(through, second)


def test_scoring_links_changes_no_state(name: str) -> None:
    strategy = bind_strategy(name)
    for visit in make_visits():
        strategy.learn(visit)
        before = json.dumps(strategy.get_state())
        strategy.score_links(visit.page.links if visit.page else (), visit)
        assert json.dumps(strategy.get_state()) == before
        strategy.rescore()


def test_failed_visits_are_accepted(name: str) -> None:
    strategy = bind_strategy(name)
    failed = Visit(1, Link("http://host/gone"), Priority(1.0), "http://host/gone", failure=Failure.NOT_FOUND)
    strategy.learn(failed)
    assert strategy.score_links((), failed) == []


def test_payloads_are_plain_json(name: str) -> None:
    for places in run_visits(bind_strategy(name), make_visits()):
        for place in places:
            assert place is None or json.loads(json.dumps(place.payload)) == place.payload


def test_merging_a_priority_with_itself_keeps_its_score(name: str) -> None:
    strategy = bind_strategy(name)
    place = next(p for places in run_visits(strategy, make_visits()) for p in places if p is not None)
    assert strategy.merge(place, place).score == pytest.approx(place.score)


def test_seeds_get_finite_scores(name: str) -> None:
    assert all(
        math.isfinite(place.score) for place in bind_strategy(name).score_seeds([Link("http://a/"), Link("http://b/")])
    )


def test_every_strategy_documents_its_formula(name: str) -> None:
    kind = list_strategies()[name]
    text = inspect.getdoc(kind) or ""
    assert len(text.partition("\n")[0].split()) >= 4, "a sentence"
    assert "=" in text, "a formula"
    assert kind.family, kind.paper
    assert inspect.getdoc(inspect.getmodule(kind))


def test_parameters_have_defaults_of_their_type(name: str) -> None:
    for kind, default in get_parameters(list_strategies()[name]).values():
        assert isinstance(default, kind)
