"""What people say moves links up and down, and can be taken out again exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.guidance import Guidance, with_opinion, without_opinion
from topicrawl.records import Link
from topicrawl.text.lexicon import lexicon

OPINIONS = st.floats(-1, 1)
SCORES = st.floats(0, 1)


def link(url: str, anchor: str = "", source: str = "") -> Link:
    return Link(url, source, anchor)


def guide() -> Guidance:
    return Guidance(lexicon("en"), frozenset({"owls"}))


@pytest.mark.parametrize(
    ("other", "moves"),
    [
        (link("http://a.example/birds/2"), True),  # the same directory
        (link("http://a.example/else"), True),  # the same host
        (link("http://b.example/x", source="http://hub.example/"), True),  # the same page led there
        (link("http://b.example/x", source="http://a.example/birds/1.html"), True),  # it stands on that page
        (link("http://b.example/x", anchor="tawny feathers"), True),  # the same word
        (link("http://b.example/x", anchor="the owls"), False),  # only what the topic says, and a stop word
        (link("http://b.example/x.html"), False),
    ],
    ids=["directory", "host", "siblings", "child", "word", "topic", "suffix"],
)
def test_a_verdict_bears_on_links_that_are_like_the_page(other: Link, moves: bool) -> None:
    for relevant in (True, False):
        made = guide()
        made.judge(link("http://a.example/birds/1.html", "the tawny owl", "http://hub.example/"), relevant=relevant)
        opinion = made.opinion(other)
        assert (opinion > 0 if relevant else opinion < 0) if moves else opinion == 0


def test_a_verdict_that_is_taken_back_leaves_nothing_behind() -> None:
    made = guide()
    page = link("http://a.example/birds/1", "tawny", "http://hub.example/")
    made.judge(page, relevant=True, title="Tawny owls")
    assert made
    made.judge(page, relevant=True, title="Tawny owls", count=-1)
    assert not made


@given(SCORES, OPINIONS)
def test_an_opinion_can_be_taken_out_of_a_score_again(score: float, opinion: float) -> None:
    assert without_opinion(with_opinion(score, opinion), opinion) == pytest.approx(score, abs=1e-9)


@given(SCORES, OPINIONS, OPINIONS)
def test_a_better_opinion_never_gives_a_lower_score(score: float, one: float, other: float) -> None:
    worse, better = sorted((one, other))
    assert with_opinion(score, worse) <= with_opinion(score, better) + 1e-12


def test_scores_that_a_strategy_revises_keep_what_people_said() -> None:
    made = guide()
    made.boosts["a.example"] = 1.0
    assert made.applied(link("http://a.example/"), 0.2) == pytest.approx(0.5)
    assert made.again({"http://a.example/": 0.4, "http://b.example/": 0.4}) == pytest.approx(
        {"http://a.example/": 0.7, "http://b.example/": 0.4}
    )
