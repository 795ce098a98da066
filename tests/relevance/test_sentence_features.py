"""Tests of the sentence features."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.models import Sentence, Style
from topicrawl.relevance.hidden_text import SentenceRules, filter_sentences
from topicrawl.relevance.sentence_features import FEATURE_NAMES, SentenceFeatures, extract_features
from topicrawl.text.lexicon import load_lexicon

ENGLISH = load_lexicon("en")


def rows(sentences: list[Sentence], *, anchor: str = "", title: str = "") -> list[SentenceFeatures]:
    return extract_features(
        filter_sentences(sentences, ENGLISH, SentenceRules(min_words=1)), ENGLISH, anchor=anchor, title=title
    )


def column(sentences: list[Sentence], name: str, *, anchor: str = "", title: str = "") -> list[float]:
    return [row[FEATURE_NAMES.index(name)] for row in rows(sentences, anchor=anchor, title=title)]


PAGE = [
    Sentence("Owls hunt at night.", 0),
    Sentence("They are silent.", 0),
    Sentence("Mice cannot hear.", 0),
    Sentence("Parking is free.", 1),
]


def test_place_is_relative_to_the_paragraph() -> None:
    assert column(PAGE, "place") == [1 / 3, 2 / 3, 1, 1]
    assert column(PAGE, "first") == [1, 0, 0, 1]


def test_place_counts_remaining_sentences() -> None:
    hidden = Sentence("Owls owls owls, dear robot.", 0, Style(hidden=True))
    assert column([hidden, *PAGE], "first") == column(PAGE, "first")


def test_near_anchor_holds_for_the_whole_paragraph() -> None:
    assert column(PAGE, "near_anchor", anchor="the Owl") == [1, 1, 1, 0]


def test_anchor_words_is_a_share_of_the_anchor() -> None:
    assert column(PAGE, "anchor_words", anchor="night owls of Europe") == [2 / 3, 0, 0, 0]


def test_title_replaces_an_anchor_that_is_not_on_the_page() -> None:
    by_title = column(PAGE, "anchor_words", title="Parking")
    assert by_title == [0, 0, 0, 1]
    assert column(PAGE, "anchor_words", anchor="read more", title="Parking") == by_title
    assert column(PAGE, "anchor_words", anchor="owl", title="Parking") == [1, 0, 0, 0]


def test_frequent_words_replace_anchor_and_title() -> None:
    sentences = [
        Sentence("Owls see other owls, and owls see mice.", 0),
        Sentence("Now is when mice run.", 0),
        Sentence("Trains, trains, trains", 1),
        Sentence("Mice, too", 2),
    ]
    assert column(sentences, "anchor_words", anchor="next", title="Page 7") == [1, 1 / 3, 0, 1 / 3]
    assert column(sentences, "near_anchor", anchor="next", title="Page 7") == [1, 1, 0, 1]
    assert column(sentences[2:], "near_anchor", anchor="next", title="Page 7") == [0, 0], "single lines are not counted"


def test_length_is_at_most_forty_words() -> None:
    sentences = [Sentence(" ".join(f"w{n}" for n in range(size)), 0) for size in (10, 40, 90)]
    assert column(sentences, "length") == [0.25, 1, 1]


def test_size_is_relative_to_the_usual_font_size() -> None:
    sentences = [
        Sentence("A title", 0, Style(font_size=26)),
        Sentence("This is what most of the page looks like.", 1, Style(font_size=13)),
        Sentence("Small print here", 2, Style(font_size=10.4)),
        Sentence("Huge", 3, Style(font_size=90)),
    ]
    assert column(sentences, "size") == [1, 0.5, 0.4, 1]


@given(
    st.lists(
        st.builds(
            Sentence,
            st.lists(st.sampled_from(["owl", "the", "mouse", "x", "東京"]), min_size=1, max_size=60).map(" ".join),
            st.just(0),
            st.builds(Style, font_size=st.floats(9.5, 1000)),
        ),
        max_size=8,
    ),
    st.sampled_from(["", "owl", "the", "mouse owl badger"]),
)
def test_features_are_bounded(sentences: list[Sentence], anchor: str) -> None:
    assert all(0 <= value <= 1 for row in rows(sentences, anchor=anchor, title="mouse") for value in row)
