"""Tests of the summary strategy: source of the network, scores, restart."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from topicrawl.errors import StrategyError
from topicrawl.ml.network import NeuralNetwork
from topicrawl.models import Link, Page, Priority, Response, Visit
from topicrawl.parse import parse_response
from topicrawl.relevance.summary_network import MODEL_KIND, serialize_network
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import create_strategy
from topicrawl.strategies.base import Strategy, StrategyContext
from topicrawl.strategies.training.training_data import UrlsOnlyTrainingData
from topicrawl.topic import Topic

ALL = NeuralNetwork([0.0] * 6, [1.0] * 6, [[[0.0] * 6 + [5.0]]])  # selects every sentence
URL = "http://made/"
HONEST = (
    "<title>Dengue</title>"
    + "<p>Dengue fever comes with the rains to all towns of the coast, and with it comes the mosquito.</p>" * 4
)
HIDDEN = (
    "<p>Trains leave at nine in the morning.</p>" * 4
    + "<p style='color:white'>Dengue fever is here, mosquito too.</p>" * 9
)


def bind_strategy(spec: str, *, languages: tuple[str, ...] = ("en",)) -> Strategy:
    topic = Topic("dengue", {"dengue": 1.0, "fever": 1.0, "mosquito": 1.0}, languages=languages)
    strategy = create_strategy(spec)
    strategy.bind(StrategyContext(topic, Vsm(topic), Random(0)))
    strategy.fit(UrlsOnlyTrainingData())
    return strategy


def visit(html: str, anchor: str = "") -> Visit:
    answer = Response(URL, URL, 200, {"content-type": "text/html"}, html.encode())
    page = parse_response(answer, Link(URL), styles=True)
    assert isinstance(page, Page)
    return Visit(1, Link(URL, anchor=anchor), Priority(1.0), URL, page)


def score(strategy: Strategy, html: str, anchor: str = "") -> float:
    first, second = strategy.score_links([Link("http://a/", anchor="dengue"), Link("http://b/")], visit(html, anchor))
    assert first is not None
    assert first == second, "all links of a page are equal"
    return first.score


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "network.json"
    path.write_text(json.dumps({"kind": MODEL_KIND, "model": serialize_network(ALL, "de")}), "utf-8")
    return path


def test_the_strategy_requests_styles() -> None:
    assert create_strategy("summary").needs_styles


def test_hidden_text_does_not_count(network: Path) -> None:
    for spec in ("summary", f"summary:network={network}"):
        assert score(bind_strategy(spec), HONEST) > 0
        assert score(bind_strategy(spec), HIDDEN) == 0


def test_the_anchor_of_the_link_to_the_page_influences_the_score() -> None:
    html = "".join(
        f"<p>Dengue is the {n}th word of this page, and the rest of it is about something else.</p>" for n in "456"
    )
    html += "".join(f"<p>Parking costs {n} coins in this part of the town on all days but Sunday.</p>" for n in "456")
    assert score(bind_strategy("summary"), html, "dengue") > score(bind_strategy("summary"), html, "parking")


def test_the_rules_are_parameters(network: Path) -> None:
    html = "<p>Dengue fever here.</p>" * 3
    assert score(bind_strategy(f"summary:network={network}"), html) == 0
    assert score(bind_strategy(f"summary:network={network},words=3"), html) == pytest.approx(6 / 7)


def test_another_language_needs_its_own_network(network: Path) -> None:
    with pytest.raises(StrategyError, match=r"no network for the language 'nl'.*topicrawl train summary.*network=en"):
        bind_strategy("summary", languages=("nl",))
    assert 0 <= score(bind_strategy("summary", languages=("de",)), HONEST) <= 1
    for spec in (f"summary:network={network}", "summary:network=en"):
        assert 0 <= score(bind_strategy(spec, languages=("nl",)), HONEST) <= 1


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ("summary:network=xx", "no network for the language 'xx'"),
        ("summary:network=no-such-file.json", r"no-such-file.json cannot be read"),
        ("summary:words=-1", "0 or more"),
        ("summary:repeats=0", "1 or more"),
        ("summary:smallest=tiny", "must be float"),
    ],
)
def test_errors_are_one_line(spec: str, what: str) -> None:
    with pytest.raises(StrategyError, match=what) as caught:
        bind_strategy(spec)
    assert "\n" not in str(caught.value)


def test_an_invalid_network_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("{}", "utf-8")
    with pytest.raises(StrategyError, match=r"x\.json: not a network"):
        bind_strategy(f"summary:network={path}")


def test_a_restart_does_not_need_the_file(network: Path) -> None:
    through = bind_strategy(f"summary:network={network}")
    restarted = create_strategy(f"summary:network={network}")
    topic = through.context.topic
    restarted.bind(StrategyContext(topic, Vsm(topic), Random(0)))
    state = json.loads(json.dumps(through.get_state()))
    network.unlink()
    restarted.restore_state(state)
    assert [score(restarted, html) for html in (HONEST, HIDDEN)] == [score(through, html) for html in (HONEST, HIDDEN)]
    assert restarted.get_state() == through.get_state()
