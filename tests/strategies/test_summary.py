"""Links by the summary of their page: where the network comes from, what counts, what a restart keeps."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from topicrawl.errors import StrategyError
from topicrawl.learn.network import Network
from topicrawl.parse import read
from topicrawl.records import Link, Page, Place, Response, Visit
from topicrawl.relevance.summary_network import KIND, model_of
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import make
from topicrawl.strategies.material import Nothing
from topicrawl.strategies.strategy import Setting, Strategy
from topicrawl.topic import Topic

ALL = Network([0.0] * 6, [1.0] * 6, [[[0.0] * 6 + [5.0]]])  # chooses every sentence
URL = "http://made/"
HONEST = (
    "<title>Dengue</title>"
    + "<p>Dengue fever comes with the rains to all towns of the coast, and with it comes the mosquito.</p>" * 4
)
HIDDEN = (
    "<p>Trains leave at nine in the morning.</p>" * 4
    + "<p style='color:white'>Dengue fever is here, mosquito too.</p>" * 9
)


def begun(spec: str, *, languages: tuple[str, ...] = ("en",)) -> Strategy:
    topic = Topic("dengue", {"dengue": 1.0, "fever": 1.0, "mosquito": 1.0}, languages=languages)
    strategy = make(spec)
    strategy.begin(Setting(topic, Vsm(topic), Random(0)))
    strategy.prepare(Nothing())
    return strategy


def visit(html: str, anchor: str = "") -> Visit:
    answer = Response(URL, URL, 200, {"content-type": "text/html"}, html.encode())
    page = read(answer, Link(URL), styles=True)
    assert isinstance(page, Page)
    return Visit(1, Link(URL, anchor=anchor), Place(1.0), URL, page)


def score(strategy: Strategy, html: str, anchor: str = "") -> float:
    first, second = strategy.place([Link("http://a/", anchor="dengue"), Link("http://b/")], visit(html, anchor))
    assert first is not None
    assert first == second, "all links of a page are equal"
    return first.score


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "network.json"
    path.write_text(json.dumps({"kind": KIND, "model": model_of(ALL, "de")}), "utf-8")
    return path


def test_it_asks_the_parser_for_styles() -> None:
    assert make("summary").styles


def test_what_nobody_sees_is_worth_nothing(network: Path) -> None:
    for spec in ("summary", f"summary:network={network}"):
        assert score(begun(spec), HONEST) > 0
        assert score(begun(spec), HIDDEN) == 0


def test_the_anchor_that_led_to_the_page_has_a_say() -> None:
    html = "".join(
        f"<p>Dengue is the {n}th word of this page, and the rest of it is about something else.</p>" for n in "456"
    )
    html += "".join(f"<p>Parking costs {n} coins in this part of the town on all days but Sunday.</p>" for n in "456")
    assert score(begun("summary"), html, "dengue") > score(begun("summary"), html, "parking")


def test_the_rules_are_parameters(network: Path) -> None:
    html = "<p>Dengue fever here.</p>" * 3
    assert score(begun(f"summary:network={network}"), html) == 0
    assert score(begun(f"summary:network={network},words=3"), html) == pytest.approx(6 / 7)


def test_another_language_needs_its_own_network(network: Path) -> None:
    with pytest.raises(StrategyError, match=r"no network for the language 'de'.*topicrawl train summary.*network=en"):
        begun("summary", languages=("de",))
    for spec in (f"summary:network={network}", "summary:network=en"):
        assert 0 <= score(begun(spec, languages=("de",)), HONEST) <= 1


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
def test_a_mistake_is_one_line(spec: str, what: str) -> None:
    with pytest.raises(StrategyError, match=what) as caught:
        begun(spec)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_network_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("{}", "utf-8")
    with pytest.raises(StrategyError, match=r"x\.json: no network of"):
        begun(f"summary:network={path}")


def test_a_restart_does_not_need_the_file(network: Path) -> None:
    through = begun(f"summary:network={network}")
    restarted = make(f"summary:network={network}")
    topic = through.setting.topic
    restarted.begin(Setting(topic, Vsm(topic), Random(0)))
    state = json.loads(json.dumps(through.state()))
    network.unlink()
    restarted.restore(state)
    assert [score(restarted, html) for html in (HONEST, HIDDEN)] == [score(through, html) for html in (HONEST, HIDDEN)]
    assert restarted.state() == through.state()
