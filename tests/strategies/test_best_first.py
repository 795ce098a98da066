"""Tests of best-first by page, anchor and both, and of strategy specifications."""

from __future__ import annotations

from random import Random

import pytest

from topicrawl.errors import StrategyError
from topicrawl.models import Link, Page, Priority, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import create_strategy
from topicrawl.strategies.base import StrategyContext
from topicrawl.strategies.best_first import NBestFirst
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Topic

TEXT = "Dengue is a fever. The locomotive is not."
PAGE = Page("http://a/", text=TEXT, words=tuple(tokenise(TEXT)))
LINKS = [Link("http://b/", anchor="dengue fever"), Link("http://c/", alt="Dengue"), Link("http://d/", anchor="home")]


def scores(spec: str) -> list[float]:
    topic = Topic.of("dengue fever")
    vsm = Vsm(topic)
    strategy = create_strategy(spec)
    strategy.bind(StrategyContext(topic, vsm, Random(0)))
    places = strategy.score_links(LINKS, Visit(1, Link("http://a/"), Priority(1.0), "http://a/", PAGE))
    return [place.score for place in places if place is not None]


def test_by_page_all_links_of_a_page_are_equal() -> None:
    first, second, third = scores("best_first_page")
    assert first == second == third > 0


def test_by_anchor_the_words_of_the_link_decide() -> None:
    exact, half, none = scores("best_first_anchor")
    assert exact == pytest.approx(1.0)
    assert 0 < half < 1
    assert none == 0


def test_both_is_the_mean_of_the_two() -> None:
    page, anchor, both = scores("best_first_page"), scores("best_first_anchor"), scores("best_first")
    assert both == pytest.approx([(a + b) / 2 for a, b in zip(page, anchor, strict=True)])


def test_weights_are_parameters() -> None:
    page, anchor = scores("best_first_page"), scores("best_first_anchor")
    mixed = scores("best_first:page=1,anchor=3")
    assert mixed == pytest.approx([(a + 3 * b) / 4 for a, b in zip(page, anchor, strict=True)])


def test_n_best_leases_n_links_at_a_time() -> None:
    assert create_strategy("n_best_first:n=3").batch_size == 3
    assert NBestFirst().batch_size == NBestFirst().n


@pytest.mark.parametrize(
    ("spec", "words_of_the_error"),
    [
        ("best_frist", "did you mean 'best_first'"),
        ("best-first", "did you mean 'best_first'"),
        ("zzz", "topicrawl strategies"),
        ("best_first:anchr=1", "did you mean 'anchor'"),
        ("best_first:anchor", "anchor=value"),
        ("best_first:anchor=much", "must be float"),
        ("best_first:anchor=nan", "finite"),
        ("best_first:anchor=-1", "0 or more"),
        ("n_best_first:n=0", "1 or more"),
        ("n_best_first:n=1.5", "must be int"),
        ("no.such.module:Thing", "cannot load"),
        ("topicrawl.topic:Topic", "not a Strategy"),
    ],
)
def test_an_invalid_specification_is_reported_in_one_line(spec: str, words_of_the_error: str) -> None:
    with pytest.raises(StrategyError, match=words_of_the_error) as caught:
        create_strategy(spec)
    assert "\n" not in str(caught.value)


def test_a_plugin_strategy_is_loaded_by_module_and_class() -> None:
    assert create_strategy("topicrawl.strategies.best_first:NBestFirst:n=4").batch_size == 4
