"""Kluev's crawler: links inherit the mean of their parents."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.errors import StrategyError, TopicError
from topicrawl.records import Link, Page, Place, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import make
from topicrawl.strategies.in_links import InLinks
from topicrawl.strategies.material import Material, Nothing
from topicrawl.strategies.multi_metric import MultiMetric
from topicrawl.strategies.strategy import Setting
from topicrawl.text.tokens import words
from topicrawl.topic import Filter, Thresholds, Topic

from .material import ON, Made

TOPIC = Topic.of("dengue fever")


def begun(topic: Topic = TOPIC, material: Material | None = None, **parameters: object) -> MultiMetric:
    crawler = MultiMetric(**parameters)  # type: ignore[arg-type]
    crawler.begin(Setting(topic, Vsm(topic), Random(7)))
    crawler.prepare(material or Nothing())
    return crawler


def visit(text: str, url: str = "http://a.example/x", links: tuple[str, ...] = ("http://a.example/next",)) -> Visit:
    found = tuple(Link(link, url, position=n) for n, link in enumerate(links))
    return Visit(1, Link(url), Place(1.0), url, Page(url, text=text, words=tuple(words(text)), links=found), 0.5)


def score(crawler: MultiMetric, seen: Visit) -> float:
    (place,) = crawler.place([Link("http://a.example/next")], seen)
    assert place is not None
    return place.score


def test_parents_of_9_and_3_tenths_give_6_tenths() -> None:
    """Kluev, section 1: the arithmetic mean of the parents' scores."""
    both = MultiMetric().combine(Place(0.9, 1), Place(0.3, 1))
    assert both.score == pytest.approx(0.6)
    assert MultiMetric().combine(both, Place(0.0, 1)).score == pytest.approx(0.4)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_a_link_is_worth_the_mean_whatever_the_order(scores: list[float]) -> None:
    place = Place(scores[0], 1)
    for each in scores[1:]:
        place = MultiMetric().combine(place, Place(each, 1))
    assert place.score == pytest.approx(sum(scores) / len(scores), abs=1e-9)
    assert place.carry == len(scores)


def test_seeds_and_suspected_traps_are_no_parents() -> None:
    crawler = MultiMetric()
    assert crawler.combine(Place(1.0), Place(0.2, 1)) == Place(1.0)
    assert crawler.combine(Place(0.4, 1), Place(-1.6, 1)).score == -1.6
    assert crawler.combine(Place(-1.6, 1), Place(0.4, 1)).score == 0.4


def test_links_of_pages_on_the_topic_go_first() -> None:
    crawler = begun()
    good = score(crawler, visit("Dengue fever is a fever. Dengue fever."))
    assert good > score(crawler, visit("A fever came over the whole town of railway people.")) > 0
    assert score(crawler, visit("The steam locomotive was built in Derby.")) == 0


def test_why_names_the_metrics() -> None:
    (place,) = begun().place([Link("http://a.example/next")], visit("Dengue fever"))
    assert place is not None
    assert {"terms", "pairs", "triples", "vsm"} <= dict(place.parts).keys()


def test_examples_make_the_filter() -> None:
    crawler = begun(material=Made())
    assert "mosquito" in crawler.metrics.permanent.terms
    assert "locomot" not in crawler.metrics.permanent.terms
    assert score(crawler, visit("A mosquito net against the virus and its serotypes.")) > 0
    assert score(begun(), visit("A mosquito net against the virus and its serotypes.")) == 0


def test_the_filter_of_the_topic_stands() -> None:
    topic = Topic("x", {"dengue": 1.0}, filter=Filter({"locomotive": 1.0}), thresholds=Thresholds(terms=0.9))
    crawler = begun(topic, Made())
    assert dict(crawler.metrics.permanent.terms) == {"locomot": 1.0}
    assert crawler.metrics.thresholds.terms == 0.9


def test_the_filter_is_tuned_after_so_many_recommended_pages() -> None:
    crawler = begun(material=Made(), every=3)
    for number in range(3):
        crawler.learn(visit(" ".join(ON), f"http://b.example/{number}"))
    assert crawler.metrics.turns == 1


def test_the_pages_that_link_to_a_relevant_page_gain() -> None:
    """Kluev, section 1: in-links of relevant documents are taken into account."""
    crawler = begun()
    hub = visit("Links of all kinds", "http://hub.example/", ("http://a.example/1", "http://a.example/2"))
    crawler.learn(hub)
    crawler.learn(visit("Dengue fever, dengue fever", "http://a.example/1", ()))
    new: dict[str, float] = {}
    for number in range(20):
        new |= crawler.revise()
        crawler.learn(visit("nothing", f"http://c.example/{number}", ()))
    assert new["http://a.example/2"] > 0
    off = begun(in_links=0)
    off.learn(hub)
    assert not off.known.pages


def test_only_the_first_in_links_gain() -> None:
    known = InLinks(most=10)
    for number in range(15):
        known.add(f"http://hub.example/{number}", 0.0, ["http://a.example/", f"http://b.example/{number}"])
    known.visited("http://a.example/", 1.0, relevant=True)
    raised = known.revised()
    assert [raised.get(f"http://b.example/{number}", 0.0) for number in (0, 9, 10)] == [0.5, 0.5, 0.0]
    assert raised["http://a.example/"] == pytest.approx(10 * 0.5 / 15)
    assert known.revised() == {}


def test_a_page_that_led_astray_before_gains_less() -> None:
    known = InLinks()
    known.add("http://hub.example/", 0.4, [f"http://a.example/{n}" for n in range(4)])
    known.visited("http://a.example/0", 0.0, relevant=False)
    assert known.revised() == {}
    known.visited("http://a.example/1", 0.7, relevant=True)
    assert known.revised() == {}
    known.visited("http://a.example/3", 1.0, relevant=True)
    assert known.revised()["http://a.example/2"] == pytest.approx(0.525)


def test_what_is_known_of_in_links_is_bounded() -> None:
    known = InLinks()
    for number in range(500):
        known.add(f"http://hub.example/{number}", 0.1, [f"http://a.example/{n}" for n in range(1000)])
        known.visited("http://a.example/0", 0.9, relevant=True)
    assert len(known.pages) == 100
    assert max(len(page.links) for page in known.pages.values()) == 60
    assert set(known.changed) <= set(known.pages)


def test_pages_like_the_wrong_ones_are_pushed_down(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(Topic.of("locomotives").toml(), "utf-8")
    text = visit("Dengue fever. " + "The locomotives. " * 20)
    assert score(begun(wrong=str(path)), text) < score(begun(), text) / 2


def test_irrelevant_examples_that_are_recommended_make_the_profile() -> None:
    # A third of the examples on railways say a sentence on dengue, and that is enough.
    assert "locomot" in begun(material=Made(), wrong="examples").metrics.wrong
    strict = Topic("x", TOPIC.words, thresholds=Thresholds(1.0, 1.0, 1.0, 1.0, 1.0))
    assert begun(strict, Made(), wrong="examples").metrics.wrong == {}


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [("every=0", "1 or more"), ("in_links=-1", "0 or more"), ("variable=2", "shares"), ("damping=-1", "shares")],
)
def test_parameters_are_checked(spec: str, sentence: str) -> None:
    with pytest.raises(StrategyError, match=sentence):
        make(f"multi_metric:{spec}")


def test_a_profile_that_is_not_there_is_named() -> None:
    with pytest.raises(TopicError, match=r"nowhere\.toml: cannot be read"):
        begun(wrong="nowhere.toml")
    with pytest.raises(StrategyError, match="irrelevant example pages"):
        begun(wrong="examples")


def test_what_was_trained_and_learned_survives() -> None:
    one = begun(material=Made(), every=2)
    for number in range(5):
        one.learn(visit("Dengue fever is spread by the mosquito.", f"http://b.example/{number}"))
    two = MultiMetric(every=2)
    two.begin(Setting(TOPIC, Vsm(TOPIC), Random(1)))
    two.restore(json.loads(json.dumps(one.state())))
    assert json.dumps(two.state()) == json.dumps(one.state())
    assert score(two, visit("A mosquito net")) == score(one, visit("A mosquito net"))
