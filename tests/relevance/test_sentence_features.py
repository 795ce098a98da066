"""Six numbers for every sentence."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.records import Sentence, Style
from topicrawl.relevance.pruning import Rules, kept
from topicrawl.relevance.sentence_features import FEATURES, Features, features
from topicrawl.text.lexicon import lexicon

ENGLISH = lexicon("en")


def rows(told: list[Sentence], *, anchor: str = "", title: str = "") -> list[Features]:
    return features(kept(told, ENGLISH, Rules(words=1)), ENGLISH, anchor=anchor, title=title)


def column(told: list[Sentence], name: str, *, anchor: str = "", title: str = "") -> list[float]:
    return [row[FEATURES.index(name)] for row in rows(told, anchor=anchor, title=title)]


PAGE = [
    Sentence("Owls hunt at night.", 0),
    Sentence("They are silent.", 0),
    Sentence("Nobody hears them.", 0),
    Sentence("Parking is free.", 1),
]


def test_places_count_inside_a_paragraph() -> None:
    assert column(PAGE, "place") == [1 / 3, 2 / 3, 1, 1]
    assert column(PAGE, "first") == [1, 0, 0, 1]


def test_places_count_after_pruning() -> None:
    hidden = Sentence("Owls owls owls, dear robot.", 0, Style(hidden=True))
    assert column([hidden, *PAGE], "first") == column(PAGE, "first")


def test_the_whole_paragraph_is_near_the_anchor_when_one_sentence_has_a_word_of_it() -> None:
    assert column(PAGE, "near_anchor", anchor="the Owl") == [1, 1, 1, 0]


def test_anchor_words_are_a_share_of_the_anchor() -> None:
    assert column(PAGE, "anchor_words", anchor="night owls of Europe") == [2 / 3, 0, 0, 0]


def test_an_anchor_that_says_nothing_of_the_page_gives_way_to_the_title() -> None:
    by_title = column(PAGE, "anchor_words", title="Parking")
    assert by_title == [0, 0, 0, 1]
    assert column(PAGE, "anchor_words", anchor="read more", title="Parking") == by_title
    assert column(PAGE, "anchor_words", anchor="owl", title="Parking") == [1, 0, 0, 0]


def test_where_neither_says_anything_the_frequent_words_of_the_page_stand_for_a_title() -> None:
    told = [
        Sentence("Owls see other owls, and owls see mice.", 0),
        Sentence("Now is when mice run.", 0),
        Sentence("Trains, trains, trains", 1),
        Sentence("Mice, too", 2),
    ]
    assert column(told, "anchor_words", anchor="next", title="Page 7") == [1, 1 / 3, 0, 1 / 3]
    assert column(told, "near_anchor", anchor="next", title="Page 7") == [1, 1, 0, 1]
    assert column(told[2:], "near_anchor", anchor="next", title="Page 7") == [0, 0], "a list has no say"


def test_length_counts_all_words_up_to_forty() -> None:
    told = [Sentence(" ".join(f"w{n}" for n in range(size)), 0) for size in (10, 40, 90)]
    assert column(told, "length") == [0.25, 1, 1]


def test_size_is_measured_against_what_most_words_have() -> None:
    told = [
        Sentence("A title", 0, Style(font_size=26)),
        Sentence("This is what most of the page looks like.", 1, Style(font_size=13)),
        Sentence("Small print here", 2, Style(font_size=10.4)),
        Sentence("Huge", 3, Style(font_size=90)),
    ]
    assert column(told, "size") == [1, 0.5, 0.4, 1]


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
def test_features_are_from_0_to_1(told: list[Sentence], anchor: str) -> None:
    assert all(0 <= value <= 1 for row in rows(told, anchor=anchor, title="mouse") for value in row)
