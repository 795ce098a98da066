"""Apprentices of a shared crawl exchange model deltas and converge to the same model."""

from __future__ import annotations

import json
from random import Random

import numpy as np
import pytest

from topicrawl.models import Link, Page, Priority, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.apprentice.link_model import LinkModel
from topicrawl.strategies.apprentice.sync import LinkModelSync
from topicrawl.strategies.apprentice.topic_terms import hash_text
from topicrawl.topic import Topic

WORDS = ("dengue", "fever", "mosquito", "train", "steam", "night", "owl", "river")


def make_apprentices(count: int) -> list[tuple[LinkModel, LinkModelSync]]:
    brains = [LinkModel(Vsm(Topic.of("dengue fever")), learning_rate=1.0, max_urls=1000) for _ in range(count)]
    return [(brain, LinkModelSync(brain)) for brain in brains]


def visit(number: int, random: Random, *, fails: bool = False) -> Visit:
    """Return a visit of page `number` of a small web. It links to other pages."""
    url = f"http://h{number % 3}.org/{'ab'[number % 2]}/{number}"
    links = tuple(
        Link(f"http://h{n % 3}.org/{'ab'[n % 2]}/{n}", url, random.choice(WORDS), position=at, depth=1)
        for at, n in enumerate(random.sample(range(60), 6))
    )
    page = Page(url, random.choice(WORDS), words=tuple(random.choices(WORDS, k=20)), links=links)
    return Visit(number, Link(url), Priority(0.5, 0), url, None if fails else page, None if fails else 0.5)


def exchange_deltas(workers: list[tuple[LinkModel, LinkModelSync]]) -> None:
    """Send the delta of each worker to all others, as JSON text."""
    deltas = [json.dumps(lessons.export_delta()) for _, lessons in workers]
    for speaker, lesson in enumerate(deltas):
        for hearer, (_, lessons) in enumerate(workers):
            if hearer != speaker and lesson != "null":
                lessons.apply_delta(json.loads(lesson))


def summarize_model(brain: LinkModel) -> dict[str, object]:
    """Return the model in a comparable form."""
    groups = brain.group_rates.get_numbers(sorted(brain.group_rates.names))
    return {
        "weights": (brain.regression.weights - brain.regression.prior_weights).round(4).tolist(),
        "squares": brain.regression.gradient_squares.round(4).tolist(),
        "rates": dict(
            zip(sorted(brain.group_rates.names), brain.group_rates.compute_rates(groups).round(4).tolist(), strict=True)
        ),
        "bar": brain.reward.threshold,
        "base": round(brain.group_rates.base_rate, 6),
    }


@pytest.mark.parametrize("seed", range(3))
def test_workers_and_a_late_joiner_converge_to_the_same_model(seed: int) -> None:
    random, workers = Random(seed), make_apprentices(3)
    for number in range(60):
        brain, _ = random.choice(workers)
        brain.learn(visit(number, random, fails=random.random() < 0.2))
        if random.random() < 0.3:
            brain.rescore_links()
        if random.random() < 0.2:
            exchange_deltas(workers)
    exchange_deltas(workers)
    exchange_deltas(workers)  # changes learned from the last visits of the others
    assert all(lessons.export_delta() is None for _, lessons in workers)
    first, *others = [summarize_model(brain) for brain, _ in workers]
    ((late, lessons),) = make_apprentices(1)
    lessons.load_snapshot(json.loads(json.dumps(workers[0][1].export_snapshot())))
    for other in [*others, summarize_model(late)]:
        for name in ("weights", "squares"):
            assert np.allclose(first[name], other[name], atol=2e-3)
        assert (other["bar"], other["base"]) == (first["bar"], first["base"])
    assert first["rates"] == summarize_model(late)["rates"]
    known = {name: rate for name, rate in first["rates"].items() if rate}  # type: ignore[attr-defined]
    assert known
    assert all(rate == pytest.approx(others[0]["rates"][name], abs=2e-3) for name, rate in known.items())  # type: ignore[index]


def test_a_late_joiner_loads_term_rewards_and_keeps_its_tracked_terms() -> None:
    (reader, tells), (late, hears) = make_apprentices(2)
    random = Random(3)
    for number in range(20):
        reader.learn(visit(number, random))
    word = np.array([hash_text("something")], np.uint32)
    late.term_rewards.track_terms(word)
    hears.load_snapshot(json.loads(json.dumps(tells.export_snapshot())))
    count = len(reader.term_rewards.tracked_terms)
    assert late.term_rewards.tracked_terms.tolist() == [*reader.term_rewards.tracked_terms.tolist(), *word.tolist()]
    assert np.array_equal(
        late.term_rewards.compute_weights(0.1)[1][:count], reader.term_rewards.compute_weights(0.1)[1]
    )
    assert late.term_rewards.compute_weights(0.1)[1][:count].any()


def test_the_worker_that_found_a_link_learns_from_the_fetch_of_another_worker() -> None:
    (finder, tells), (fetcher, hears) = make_apprentices(2)
    random = Random(1)
    page = visit(1, random)
    finder.learn(page)
    assert page.page is not None
    link = page.page.links[0]
    before = finder.regression.weights.copy()
    features = {feature for row, _, _ in finder.pool.get_rows(link.url) for feature in row.tolist()}
    relevant = Page(link.url, "Dengue fever", words=("dengue", "fever") * 9)
    fetcher.learn(Visit(2, link, Priority(0.5, 0), link.url, relevant, 1.0))
    assert not finder.regression.weights[finder.regression.weights != before].any()
    lesson = hears.export_delta()
    assert lesson is not None
    tells.apply_delta(lesson)
    assert (finder.regression.weights != before).sum() == len(features) > 1
    assert not finder.pool.get_rows(link.url), "the link is removed from the pool"
    answer = tells.export_delta()
    assert answer is not None
    hears.apply_delta(answer)
    assert np.allclose(fetcher.regression.weights, finder.regression.weights, atol=1e-6)


def test_loading_a_snapshot_keeps_waiting_links_and_their_groups() -> None:
    (one, first), (other, second) = make_apprentices(2)
    random = Random(2)
    for number in range(10):
        one.learn(visit(number, random))
    other.learn(visit(20, random))
    url = next(iter(other.pool.numbers))
    ((features, known, groups),) = other.pool.get_rows(url)[:1]
    names = [other.group_rates.names[number] for number in groups]
    first.export_delta()
    second.load_snapshot(first.export_snapshot())
    ((again, still, moved),) = other.pool.get_rows(url)[:1]
    assert np.array_equal(features, again)
    assert np.array_equal(known, still)
    assert [other.group_rates.names[number] for number in moved] == names
    assert second.export_delta() is None
