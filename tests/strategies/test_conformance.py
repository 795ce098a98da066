"""One suite for every strategy in the folder."""

from __future__ import annotations

import inspect
import json
import math
from random import Random

import pytest

from topicrawl.records import Failure, Link, Page, Place, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import available, make, parameters
from topicrawl.strategies.strategy import Setting, Strategy
from topicrawl.text.tokens import words
from topicrawl.topic import Topic

from .material import Made

TOPIC = Topic.of("dengue fever mosquito")
TEXTS = {
    "on the topic": "Dengue fever is spread by the mosquito Aedes aegypti. Fever, pain and rash follow.",
    "off the topic": "The steam locomotive was built in Derby and ran on the main line for forty years.",
    "empty": "",
}


def begun(name: str, seed: int = 7) -> Strategy:
    strategy = make(name)
    strategy.begin(Setting(TOPIC, Vsm(TOPIC), Random(seed)))
    strategy.prepare(Made())
    return strategy


def visits() -> list[Visit]:
    found = []
    for step, (name, text) in enumerate(TEXTS.items(), 1):
        url = f"http://host/{name.replace(' ', '-')}"
        links = tuple(
            Link(f"{url}/{n}", url, anchor, before=("about", "fever"), after=("more",), position=n, depth=1)
            for n, anchor in enumerate(["dengue fever", "", "imprint", "a mosquito net", "ß 東京"])
        )
        page = Page(url, title=name, text=text, words=tuple(words(text)), links=links)
        for relevance in (0.0, 1.0):
            found.append(Visit(step, Link(url), Place(1.0), url, page, relevance))
    return found


@pytest.fixture(params=available())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def run(strategy: Strategy, over: list[Visit]) -> list[list[Place | None]]:
    places = []
    for visit in over:
        assert visit.page is not None
        strategy.learn(visit)
        places.append(strategy.place(visit.page.links, visit))
        strategy.revise()
    return places


def test_scores_are_finite_and_from_0_to_1(name: str) -> None:
    for places in run(begun(name), visits()):
        assert len(places) == 5
        for place in places:
            assert place is None or (math.isfinite(place.score) and 0 <= place.score <= 1)


def test_the_same_seed_gives_the_same_places(name: str) -> None:
    assert run(begun(name), visits()) == run(begun(name), visits())


def test_state_survives_a_restart_as_json(name: str) -> None:
    through, restarted = begun(name), make(name)
    restarted.begin(Setting(TOPIC, Vsm(TOPIC), Random(7)))
    first, second = visits()[:3], visits()[3:]
    run(through, first)
    restarted.restore(json.loads(json.dumps(through.state())))
    assert run(restarted, second) == run(through, second)


def test_placing_changes_no_state(name: str) -> None:
    strategy = begun(name)
    for visit in visits():
        strategy.learn(visit)
        before = json.dumps(strategy.state())
        strategy.place(visit.page.links if visit.page else (), visit)
        assert json.dumps(strategy.state()) == before
        strategy.revise()


def test_failed_visits_pass(name: str) -> None:
    strategy = begun(name)
    failed = Visit(1, Link("http://host/gone"), Place(1.0), "http://host/gone", failure=Failure.NOT_FOUND)
    strategy.learn(failed)
    assert strategy.place((), failed) == []


def test_carry_is_plain_json(name: str) -> None:
    for places in run(begun(name), visits()):
        for place in places:
            assert place is None or json.loads(json.dumps(place.carry)) == place.carry


def test_combining_with_itself_changes_nothing(name: str) -> None:
    strategy = begun(name)
    place = next(p for places in run(strategy, visits()) for p in places if p is not None)
    assert strategy.combine(place, place).score == pytest.approx(place.score)


def test_seeds_are_placed(name: str) -> None:
    assert all(math.isfinite(place.score) for place in begun(name).seeds([Link("http://a/"), Link("http://b/")]))


def test_it_says_what_it_is(name: str) -> None:
    kind = available()[name]
    text = inspect.getdoc(kind) or ""
    assert len(text.partition("\n")[0].split()) >= 4, "a sentence"
    assert "=" in text, "a formula"
    assert kind.family, kind.paper
    assert inspect.getdoc(inspect.getmodule(kind))


def test_parameters_have_defaults_of_their_type(name: str) -> None:
    for kind, default in parameters(available()[name]).values():
        assert isinstance(default, kind)
