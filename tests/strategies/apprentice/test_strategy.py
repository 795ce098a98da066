"""The apprentice rescores waiting links periodically and continues after a restart."""

from __future__ import annotations

import json
from random import Random
from typing import cast

import pytest

from topicrawl.models import JsonValue, Link, Page, Priority, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.apprentice import strategy
from topicrawl.strategies.apprentice.strategy import Apprentice
from topicrawl.strategies.base import StrategyContext
from topicrawl.topic import Topic

TOPIC = Topic.of("dengue fever")


def bind_apprentice() -> Apprentice:
    crawler = Apprentice(every=3)
    crawler.bind(StrategyContext(TOPIC, Vsm(TOPIC), Random(0)))
    return crawler


def list_rescoring_visits(crawler: Apprentice, visits: range) -> list[int]:
    """Return the visits after which waiting links were rescored. Each page has ten new links and is a link of the last
    page.
    """
    found = []
    for number in visits:
        links = tuple(Link(f"http://a/{number}/{n}", anchor=f"fever {n}", position=n) for n in range(10))
        page = Page(f"http://a/{number - 1}/3", words=("fever",) * (number % 4), links=links)
        crawler.learn(Visit(number, Link(page.url), Priority(1.0), page.url, page, 0.5))
        if crawler.rescore():
            found.append(number)
    return found


def test_waiting_links_are_rescored_every_few_visits() -> None:
    assert list_rescoring_visits(bind_apprentice(), range(1, 10)) == [3, 6, 9]


def test_many_waiting_links_are_rescored_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategy, "_ROWS_PER_VISIT", 20)
    # After n visits about 9·n links wait, so rescoring is due after 9·n / 20 visits.
    whole, first, second = bind_apprentice(), bind_apprentice(), bind_apprentice()
    turns = list_rescoring_visits(whole, range(1, 40))
    assert turns == [3, 6, 10, 17, 30]
    before = list_rescoring_visits(first, range(1, 18))
    second.restore_state(first.get_state())
    assert before + list_rescoring_visits(second, range(18, 40)) == turns


def test_state_without_the_last_rescoring_can_be_restored() -> None:
    first, second = bind_apprentice(), bind_apprentice()
    list_rescoring_visits(first, range(1, 5))
    state = cast("dict[str, JsonValue]", json.loads(json.dumps(first.get_state())))
    del state["looked"]
    second.restore_state(state)
    # The last rescoring counts as made now, so the next one is due three visits later.
    assert list_rescoring_visits(second, range(5, 10)) == [7]


def test_state_with_the_query_of_an_earlier_version_can_be_restored() -> None:
    first, second = bind_apprentice(), bind_apprentice()
    list_rescoring_visits(first, range(1, 5))
    state = json.loads(json.dumps(first.get_state()))
    state["brain"]["query"] = {"dengu": 0.8, "fever": 0.6}
    second.restore_state(state)
    assert second.get_state() == first.get_state()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("visits",), "many"),
        (("brain", "pool"), ["http://a/"]),
        (("brain", "rates", "reward"), [1.0]),
        (("brain", "reward"), {"12": "x"}),
        (("brain", "slots"), 7),
    ],
    ids=lambda value: ".".join(value) if isinstance(value, tuple) else "",
)
def test_error_names_the_invalid_value_of_a_state(path: tuple[str, ...], value: JsonValue) -> None:
    crawler = bind_apprentice()
    list_rescoring_visits(crawler, range(1, 3))
    state = json.loads(json.dumps(crawler.get_state()))
    table = state
    for name in path[:-1]:
        table = table[name]
    table[path[-1]] = value
    with pytest.raises(ValueError, match=r"^Expected `.*`, got"):
        bind_apprentice().restore_state(state)
