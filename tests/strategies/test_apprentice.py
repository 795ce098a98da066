"""The apprentice looks at its waiting links now and then, and goes on where it was."""

from __future__ import annotations

from random import Random

import pytest

from topicrawl.records import Link, Page, Place, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import apprentice
from topicrawl.strategies.apprentice import Apprentice
from topicrawl.strategies.strategy import Setting
from topicrawl.topic import Topic

TOPIC = Topic.of("dengue fever")


def begun() -> Apprentice:
    crawler = Apprentice(every=3)
    crawler.begin(Setting(TOPIC, Vsm(TOPIC), Random(0)))
    return crawler


def looked(crawler: Apprentice, visits: range) -> list[int]:
    """After which visits the waiting links were scored anew; each page has ten new links, and is one of the last's."""
    found = []
    for number in visits:
        links = tuple(Link(f"http://a/{number}/{n}", anchor=f"fever {n}", position=n) for n in range(10))
        page = Page(f"http://a/{number - 1}/3", words=("fever",) * (number % 4), links=links)
        crawler.learn(Visit(number, Link(page.url), Place(1.0), page.url, page, 0.5))
        if crawler.revise():
            found.append(number)
    return found


def test_waiting_links_are_scored_anew_every_few_visits() -> None:
    assert looked(begun(), range(1, 10)) == [3, 6, 9]


def test_where_many_links_wait_they_are_scored_anew_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apprentice, "_ROWS", 20)
    # After n visits some 9·n links wait: a look at them is due when 9·n / 20 visits have passed.
    whole, first, second = begun(), begun(), begun()
    turns = looked(whole, range(1, 40))
    assert turns == [3, 6, 10, 17, 30]
    before = looked(first, range(1, 18))
    second.restore(first.state())
    assert before + looked(second, range(18, 40)) == turns
