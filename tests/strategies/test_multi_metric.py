"""Tests of Kluev's crawler: links inherit the mean score of their parents."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.training_data import ON, SampleTrainingData

from topicrawl.errors import StrategyError, TopicError
from topicrawl.models import Link, Page, Priority, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import create_strategy
from topicrawl.strategies.base import StrategyContext
from topicrawl.strategies.in_link_index import InLinkIndex
from topicrawl.strategies.multi_metric import MultiMetricStrategy
from topicrawl.strategies.training.training_data import TrainingData, UrlsOnlyTrainingData
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Thresholds, Topic, TopicFilter

TOPIC = Topic.of("dengue fever")


def bind_crawler(
    topic: Topic = TOPIC, material: TrainingData | None = None, **parameters: object
) -> MultiMetricStrategy:
    crawler = MultiMetricStrategy(**parameters)  # type: ignore[arg-type]
    crawler.bind(StrategyContext(topic, Vsm(topic), Random(7)))
    crawler.fit(material or UrlsOnlyTrainingData())
    return crawler


def visit(text: str, url: str = "http://a.example/x", links: tuple[str, ...] = ("http://a.example/next",)) -> Visit:
    found = tuple(Link(link, url, position=n) for n, link in enumerate(links))
    return Visit(1, Link(url), Priority(1.0), url, Page(url, text=text, words=tuple(tokenise(text)), links=found), 0.5)


def score(crawler: MultiMetricStrategy, seen: Visit) -> float:
    (place,) = crawler.score_links([Link("http://a.example/next")], seen)
    assert place is not None
    return place.score


def test_parents_of_9_and_3_tenths_give_6_tenths() -> None:
    """Kluev, section 1: the arithmetic mean of the parents' scores."""
    both = MultiMetricStrategy().merge(Priority(0.9, 1), Priority(0.3, 1))
    assert both.score == pytest.approx(0.6)
    assert MultiMetricStrategy().merge(both, Priority(0.0, 1)).score == pytest.approx(0.4)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_the_mean_does_not_depend_on_the_order(scores: list[float]) -> None:
    place = Priority(scores[0], 1)
    for each in scores[1:]:
        place = MultiMetricStrategy().merge(place, Priority(each, 1))
    assert place.score == pytest.approx(sum(scores) / len(scores), abs=1e-9)
    assert place.payload == len(scores)


def test_seeds_and_suspected_traps_do_not_enter_the_mean() -> None:
    crawler = MultiMetricStrategy()
    assert crawler.merge(Priority(1.0), Priority(0.2, 1)) == Priority(1.0)
    assert crawler.merge(Priority(0.4, 1), Priority(-1.6, 1)).score == -1.6
    assert crawler.merge(Priority(-1.6, 1), Priority(0.4, 1)).score == 0.4


def test_links_of_relevant_pages_score_higher() -> None:
    crawler = bind_crawler()
    good = score(crawler, visit("Dengue fever is a fever. Dengue fever."))
    assert good > score(crawler, visit("A fever came over the whole town of railway people.")) > 0
    assert score(crawler, visit("The steam locomotive was built in Derby.")) == 0


def test_priorities_contain_the_metrics_as_parts() -> None:
    (place,) = bind_crawler().score_links([Link("http://a.example/next")], visit("Dengue fever"))
    assert place is not None
    assert {"terms", "pairs", "triples", "vsm"} <= dict(place.parts).keys()


def test_examples_determine_the_filter() -> None:
    crawler = bind_crawler(material=SampleTrainingData())
    assert "mosquito" in crawler.metrics.permanent.terms
    assert "locomot" not in crawler.metrics.permanent.terms
    assert score(crawler, visit("A mosquito net against the virus and its serotypes.")) > 0
    assert score(bind_crawler(), visit("A mosquito net against the virus and its serotypes.")) == 0


def test_the_filter_of_the_topic_takes_precedence() -> None:
    topic = Topic("x", {"dengue": 1.0}, filter=TopicFilter({"locomotive": 1.0}), thresholds=Thresholds(terms=0.9))
    crawler = bind_crawler(topic, SampleTrainingData())
    assert dict(crawler.metrics.permanent.terms) == {"locomot": 1.0}
    assert crawler.metrics.thresholds.terms == 0.9


def test_the_filter_is_tuned_every_n_recommended_pages() -> None:
    crawler = bind_crawler(material=SampleTrainingData(), every=3)
    for number in range(3):
        crawler.learn(visit(" ".join(ON), f"http://b.example/{number}"))
    assert crawler.metrics.update_count == 1


def test_pages_that_link_to_a_relevant_page_score_higher() -> None:
    """Kluev, section 1: in-links of relevant documents count."""
    crawler = bind_crawler()
    hub = visit("Links of all kinds", "http://hub.example/", ("http://a.example/1", "http://a.example/2"))
    crawler.learn(hub)
    crawler.learn(visit("Dengue fever, dengue fever", "http://a.example/1", ()))
    new: dict[str, float] = {}
    for number in range(20):
        new |= crawler.rescore()
        crawler.learn(visit("nothing", f"http://c.example/{number}", ()))
    assert new["http://a.example/2"] > 0
    off = bind_crawler(in_links=0)
    off.learn(hub)
    assert not off.in_link_index.pages


def test_only_the_first_in_links_are_raised() -> None:
    known = InLinkIndex(max_in_links=10)
    for number in range(15):
        known.add_page(f"http://hub.example/{number}", 0.0, ["http://a.example/", f"http://b.example/{number}"])
    known.record_score("http://a.example/", 1.0, relevant=True)
    raised = known.pop_new_scores()
    assert [raised.get(f"http://b.example/{number}", 0.0) for number in (0, 9, 10)] == [0.5, 0.5, 0.0]
    assert raised["http://a.example/"] == pytest.approx(10 * 0.5 / 15)
    assert known.pop_new_scores() == {}


def test_irrelevant_targets_reduce_the_gain() -> None:
    known = InLinkIndex()
    known.add_page("http://hub.example/", 0.4, [f"http://a.example/{n}" for n in range(4)])
    known.record_score("http://a.example/0", 0.0, relevant=False)
    assert known.pop_new_scores() == {}
    known.record_score("http://a.example/1", 0.7, relevant=True)
    assert known.pop_new_scores() == {}
    known.record_score("http://a.example/3", 1.0, relevant=True)
    assert known.pop_new_scores()["http://a.example/2"] == pytest.approx(0.525)


def test_the_in_link_index_is_bounded() -> None:
    known = InLinkIndex()
    for number in range(500):
        known.add_page(f"http://hub.example/{number}", 0.1, [f"http://a.example/{n}" for n in range(1000)])
        known.record_score("http://a.example/0", 0.9, relevant=True)
    assert len(known.pages) == 100
    assert max(len(page.links) for page in known.pages.values()) == 60
    assert set(known.boosted_pages) <= set(known.pages)


def test_pages_similar_to_wrong_pages_score_lower(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(Topic.of("locomotives").to_toml(), "utf-8")
    text = visit("Dengue fever. " + "The locomotives. " * 20)
    assert score(bind_crawler(wrong=str(path)), text) < score(bind_crawler(), text) / 2


def test_recommended_irrelevant_examples_build_the_wrong_profile() -> None:
    # A third of the railway examples contains a sentence on dengue, which is enough.
    assert "locomot" in bind_crawler(material=SampleTrainingData(), wrong="examples").metrics.rejected_profile
    strict = Topic("x", TOPIC.words, thresholds=Thresholds(1.0, 1.0, 1.0, 1.0, 1.0))
    assert bind_crawler(strict, SampleTrainingData(), wrong="examples").metrics.rejected_profile == {}


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [("every=0", "1 or more"), ("in_links=-1", "0 or more"), ("variable=2", "shares"), ("damping=-1", "shares")],
)
def test_parameters_are_checked(spec: str, sentence: str) -> None:
    with pytest.raises(StrategyError, match=sentence):
        create_strategy(f"multi_metric:{spec}")


def test_a_missing_profile_is_reported() -> None:
    with pytest.raises(TopicError, match=r"nowhere\.toml: cannot be read"):
        bind_crawler(wrong="nowhere.toml")
    with pytest.raises(StrategyError, match="irrelevant example pages"):
        bind_crawler(wrong="examples")


def test_state_survives_a_restart() -> None:
    one = bind_crawler(material=SampleTrainingData(), every=2)
    for number in range(5):
        one.learn(visit("Dengue fever is spread by the mosquito.", f"http://b.example/{number}"))
    two = MultiMetricStrategy(every=2)
    two.bind(StrategyContext(TOPIC, Vsm(TOPIC), Random(1)))
    two.restore_state(json.loads(json.dumps(one.get_state())))
    assert json.dumps(two.get_state()) == json.dumps(one.get_state())
    assert score(two, visit("A mosquito net")) == score(one, visit("A mosquito net"))
