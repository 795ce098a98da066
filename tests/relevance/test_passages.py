"""Passages: windows over a text, and the best of them."""

from __future__ import annotations

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.relevance.passages import MARK, best_window, blocks, marked, windows
from topicrawl.text.lexicon import lexicon
from topicrawl.text.tokens import words
from topicrawl.text.vectors import cosine, tf_idf

ENGLISH = lexicon("en")
spaced = st.lists(
    st.sampled_from(["owl", "owls", "night", "the", "a-b", "zebra,", "night.\n", "état"]), max_size=120
).map(" ".join)
texts = st.text("ow n.é東\n", max_size=700) | spaced


@pytest.mark.parametrize(
    ("length", "count"), [(0, 0), (1, 1), (199, 1), (200, 1), (201, 2), (250, 2), (251, 3), (1000, 17), (1001, 18)]
)
def test_a_window_of_200_goes_on_by_50_until_the_end(length: int, count: int) -> None:
    """Kluev, section 4: 1000 characters give 17 windows, 200 give 1, 250 give 2; the tail is ours."""
    found = windows(length)
    assert len(found) == count
    assert not found or (found[0][0] == 0 and found[-1][1] == length)
    assert all(end - start <= 200 for start, end in found)


@given(spaced)
def test_marks_divide_no_word(text: str) -> None:
    assert [word for word in words(marked(text)) if word != MARK] == words(text)


@given(texts)
def test_there_is_a_step_for_every_50_characters(text: str) -> None:
    assert marked(text).count(MARK) == max(0, -(-len(text) // 50) - 1)


def slow(terms: list[str], starts: list[int], query: dict[str, float]) -> float:
    """Every window as a document of its own."""
    width = min(4, len(starts))
    ends = [*starts[width:], len(terms)]
    weighed = {term: weight for term, weight in query.items() if weight}
    return max(cosine(tf_idf(filter(None, terms[a:b]), ENGLISH), weighed) for a, b in zip(starts, ends, strict=False))


@given(texts, st.sampled_from([{"owl": 1.0}, {"owl": 0.5, "night": 2.0}, {"zebra": 1.0, "w": 1.0}, {}]))
def test_the_best_window_is_the_best_of_all_windows(text: str, query: dict[str, float]) -> None:
    terms, starts = blocks(ENGLISH.aligned(words(marked(text))))
    assert best_window(terms, starts, query, ENGLISH) == pytest.approx(slow(terms, starts, query), abs=1e-9)


def test_one_good_paragraph_is_found_in_a_long_page() -> None:
    idf = {word: ENGLISH.idf(word) for word in ("owl", "night")}
    text = "steam engine " * 400 + " owl night " * 20 + "steam engine " * 400
    terms, starts = blocks(ENGLISH.aligned(words(marked(text))))
    assert best_window(terms, starts, idf, ENGLISH) == pytest.approx(1.0, abs=0.01)
    assert cosine(tf_idf(filter(None, terms), ENGLISH), idf) < 0.1


def test_a_window_of_no_words_is_worth_nothing() -> None:
    assert best_window([], [0], {"owl": 1.0}, ENGLISH) == 0
    assert best_window(["owl"], [0], {"owl": 1.0, "night": 1.0}, lexicon("xx")) == pytest.approx(1 / sqrt(2))
