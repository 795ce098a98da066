"""User feedback raises and lowers link scores, and can be removed exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.engine.user_feedback import UserFeedback, apply_preference, remove_preference
from topicrawl.models import Link
from topicrawl.text.lexicon import load_lexicon

OPINIONS = st.floats(-1, 1)
SCORES = st.floats(0, 1)


def link(url: str, anchor: str = "", source: str = "") -> Link:
    return Link(url, source, anchor)


def guide() -> UserFeedback:
    return UserFeedback(load_lexicon("en"), frozenset({"owls"}))


@pytest.mark.parametrize(
    ("other", "moves"),
    [
        (link("http://a.example/birds/2"), True),  # the same directory
        (link("http://a.example/else"), True),  # the same host
        (link("http://b.example/x", source="http://hub.example/"), True),  # linked from the same page
        (link("http://b.example/x", source="http://a.example/birds/1.html"), True),  # linked from the annotated page
        (link("http://b.example/x", anchor="tawny feathers"), True),  # the same word
        (link("http://b.example/x", anchor="the owls"), False),  # only a topic word and a stop word
        (link("http://b.example/x.html"), False),
    ],
    ids=["directory", "host", "siblings", "child", "word", "topic", "suffix"],
)
def test_a_verdict_bears_on_links_that_are_like_the_page(other: Link, moves: bool) -> None:
    for relevant in (True, False):
        made = guide()
        made.add_annotation(
            link("http://a.example/birds/1.html", "the tawny owl", "http://hub.example/"), relevant=relevant
        )
        opinion = made.preference(other)
        assert (opinion > 0 if relevant else opinion < 0) if moves else opinion == 0


def test_a_verdict_that_is_taken_back_leaves_nothing_behind() -> None:
    made = guide()
    page = link("http://a.example/birds/1", "tawny", "http://hub.example/")
    made.add_annotation(page, relevant=True, title="Tawny owls")
    assert made
    made.add_annotation(page, relevant=True, title="Tawny owls", count=-1)
    assert not made


@given(SCORES, OPINIONS)
def test_an_opinion_can_be_taken_out_of_a_score_again(score: float, opinion: float) -> None:
    assert remove_preference(apply_preference(score, opinion), opinion) == pytest.approx(score, abs=1e-9)


@given(SCORES, OPINIONS, OPINIONS)
def test_a_better_opinion_never_gives_a_lower_score(score: float, one: float, other: float) -> None:
    worse, better = sorted((one, other))
    assert apply_preference(score, worse) <= apply_preference(score, better) + 1e-12


def test_scores_that_a_strategy_revises_keep_what_people_said() -> None:
    made = guide()
    made.boosts["a.example"] = 1.0
    assert made.adjust_score(link("http://a.example/"), 0.2) == pytest.approx(0.5)
    assert made.adjust_rescored({"http://a.example/": 0.4, "http://b.example/": 0.4}) == pytest.approx(
        {"http://a.example/": 0.7, "http://b.example/": 0.4}
    )
