"""Apprentices of one crawl tell each other what they learn, and come to believe the same."""

from __future__ import annotations

import json
from random import Random

import numpy as np
import pytest

from topicrawl.records import Link, Page, Place, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.scoring.brain import Brain
from topicrawl.scoring.lessons import Lessons
from topicrawl.scoring.terms import hashed
from topicrawl.topic import Topic

WORDS = ("dengue", "fever", "mosquito", "train", "steam", "night", "owl", "river")


def apprentices(count: int) -> list[tuple[Brain, Lessons]]:
    brains = [Brain(Vsm(Topic.of("dengue fever")), rate=1.0, pool=1000) for _ in range(count)]
    return [(brain, Lessons(brain)) for brain in brains]


def visit(number: int, random: Random, *, fails: bool = False) -> Visit:
    """Page `number` of a small web; it links to some others."""
    url = f"http://h{number % 3}.org/{'ab'[number % 2]}/{number}"
    links = tuple(
        Link(f"http://h{n % 3}.org/{'ab'[n % 2]}/{n}", url, random.choice(WORDS), position=at, depth=1)
        for at, n in enumerate(random.sample(range(60), 6))
    )
    page = Page(url, random.choice(WORDS), words=tuple(random.choices(WORDS, k=20)), links=links)
    return Visit(number, Link(url), Place(0.5, 0), url, None if fails else page, None if fails else 0.5)


def exchanged(workers: list[tuple[Brain, Lessons]]) -> None:
    """What each has to say reaches all others, through the text that goes over the wire."""
    told = [json.dumps(lessons.lesson()) for _, lessons in workers]
    for speaker, lesson in enumerate(told):
        for hearer, (_, lessons) in enumerate(workers):
            if hearer != speaker and lesson != "null":
                lessons.hear(json.loads(lesson))


def believed(brain: Brain) -> dict[str, object]:
    """Beliefs in a form that can be compared."""
    groups = brain.rates.numbers(sorted(brain.rates.names))
    return {
        "weights": (brain.model.weights - brain.model.given).round(4).tolist(),
        "squares": brain.model.squares.round(4).tolist(),
        "rates": dict(zip(sorted(brain.rates.names), brain.rates.of(groups).round(4).tolist(), strict=True)),
        "bar": brain.reward.bar,
        "base": round(brain.rates.base, 6),
    }


@pytest.mark.parametrize("seed", range(3))
def test_workers_that_hear_each_other_believe_the_same_and_so_does_one_who_comes_later(seed: int) -> None:
    random, workers = Random(seed), apprentices(3)
    for number in range(60):
        brain, _ = random.choice(workers)
        brain.learn(visit(number, random, fails=random.random() < 0.2))
        if random.random() < 0.3:
            brain.revised()
        if random.random() < 0.2:
            exchanged(workers)
    exchanged(workers)
    exchanged(workers)  # what was learned from the last visits of others
    assert all(lessons.lesson() is None for _, lessons in workers)
    first, *others = [believed(brain) for brain, _ in workers]
    ((late, lessons),) = apprentices(1)
    lessons.take(json.loads(json.dumps(workers[0][1].beliefs())))
    for other in [*others, believed(late)]:
        for name in ("weights", "squares"):
            assert np.allclose(first[name], other[name], atol=2e-3)
        assert (other["bar"], other["base"]) == (first["bar"], first["base"])
    assert first["rates"] == believed(late)["rates"]
    known = {name: rate for name, rate in first["rates"].items() if rate}  # type: ignore[attr-defined]
    assert known
    assert all(rate == pytest.approx(others[0]["rates"][name], abs=2e-3) for name, rate in known.items())  # type: ignore[index]


def test_one_who_comes_later_begins_with_what_words_are_worth_to_another_and_keeps_asking_for_its_own() -> None:
    (reader, tells), (late, hears) = apprentices(2)
    random = Random(3)
    for number in range(20):
        reader.learn(visit(number, random))
    word = np.array([hashed("something")], np.uint32)
    late.worth.ask(word)
    hears.take(json.loads(json.dumps(tells.beliefs())))
    count = len(reader.worth.asked)
    assert late.worth.asked.tolist() == [*reader.worth.asked.tolist(), *word.tolist()]
    assert np.array_equal(late.worth.weights(0.1)[1][:count], reader.worth.weights(0.1)[1])
    assert late.worth.weights(0.1)[1][:count].any()


def test_whoever_found_a_link_learns_from_what_another_found_behind_it() -> None:
    (finder, tells), (fetcher, hears) = apprentices(2)
    random = Random(1)
    page = visit(1, random)
    finder.learn(page)
    assert page.page is not None
    link = page.page.links[0]
    before = finder.model.weights.copy()
    features = {feature for row, _, _ in finder.pool.rows(link.url) for feature in row.tolist()}
    relevant = Page(link.url, "Dengue fever", words=("dengue", "fever") * 9)
    fetcher.learn(Visit(2, link, Place(0.5, 0), link.url, relevant, 1.0))
    assert not finder.model.weights[finder.model.weights != before].any()
    lesson = hears.lesson()
    assert lesson is not None
    tells.hear(lesson)
    assert (finder.model.weights != before).sum() == len(features) > 1
    assert not finder.pool.rows(link.url), "it waits no longer"
    answer = tells.lesson()
    assert answer is not None
    hears.hear(answer)
    assert np.allclose(fetcher.model.weights, finder.model.weights, atol=1e-6)


def test_taking_up_beliefs_keeps_the_links_that_wait_and_the_groups_they_belong_to() -> None:
    (one, first), (other, second) = apprentices(2)
    random = Random(2)
    for number in range(10):
        one.learn(visit(number, random))
    other.learn(visit(20, random))
    url = next(iter(other.pool.numbers))
    ((features, known, groups),) = other.pool.rows(url)[:1]
    names = [other.rates.names[number] for number in groups]
    first.lesson()
    second.take(first.beliefs())
    ((again, still, moved),) = other.pool.rows(url)[:1]
    assert np.array_equal(features, again)
    assert np.array_equal(known, still)
    assert [other.rates.names[number] for number in moved] == names
    assert second.lesson() is None
