"""Tests of passage windows and the best window."""

from __future__ import annotations

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.relevance.passages import (
    STEP_MARK,
    best_window_similarity,
    compute_windows,
    insert_step_marks,
    remove_step_marks,
)
from topicrawl.text.lexicon import load_lexicon
from topicrawl.text.sparse_vectors import cosine, tf_idf
from topicrawl.text.tokenizer import tokenise

ENGLISH = load_lexicon("en")
spaced = st.lists(
    st.sampled_from(["owl", "owls", "night", "the", "a-b", "zebra,", "night.\n", "état"]), max_size=120
).map(" ".join)
texts = st.text("ow n.é東\n", max_size=700) | spaced


@pytest.mark.parametrize(
    ("length", "count"), [(0, 0), (1, 1), (199, 1), (200, 1), (201, 2), (250, 2), (251, 3), (1000, 17), (1001, 18)]
)
def test_windows_of_200_characters_move_in_steps_of_50(length: int, count: int) -> None:
    """Kluev, section 4: 1000 characters give 17 windows, 200 give 1, 250 give 2."""
    found = compute_windows(length)
    assert len(found) == count
    assert not found or (found[0][0] == 0 and found[-1][1] == length)
    assert all(end - start <= 200 for start, end in found)


@given(spaced)
def test_marks_do_not_split_words(text: str) -> None:
    assert [word for word in tokenise(insert_step_marks(text)) if word != STEP_MARK] == tokenise(text)


@given(texts)
def test_number_of_steps(text: str) -> None:
    assert insert_step_marks(text).count(STEP_MARK) == max(0, -(-len(text) // 50) - 1)


def exhaustive_search(terms: list[str], starts: list[int], query: dict[str, float]) -> float:
    """Score every window as a separate document."""
    width = min(4, len(starts))
    ends = [*starts[width:], len(terms)]
    weighed = {term: weight for term, weight in query.items() if weight}
    return max(cosine(tf_idf(filter(None, terms[a:b]), ENGLISH), weighed) for a, b in zip(starts, ends, strict=False))


@given(texts, st.sampled_from([{"owl": 1.0}, {"owl": 0.5, "night": 2.0}, {"zebra": 1.0, "w": 1.0}, {}]))
def test_best_window_equals_exhaustive_search(text: str, query: dict[str, float]) -> None:
    terms, starts = remove_step_marks(ENGLISH.align_terms(tokenise(insert_step_marks(text))))
    assert best_window_similarity(terms, starts, query, ENGLISH) == pytest.approx(
        exhaustive_search(terms, starts, query), abs=1e-9
    )


def test_relevant_paragraph_is_found_in_a_long_page() -> None:
    idf = {word: ENGLISH.idf(word) for word in ("owl", "night")}
    text = "steam engine " * 400 + " owl night " * 20 + "steam engine " * 400
    terms, starts = remove_step_marks(ENGLISH.align_terms(tokenise(insert_step_marks(text))))
    assert best_window_similarity(terms, starts, idf, ENGLISH) == pytest.approx(1.0, abs=0.01)
    assert cosine(tf_idf(filter(None, terms), ENGLISH), idf) < 0.1


def test_window_without_words_scores_0() -> None:
    assert best_window_similarity([], [0], {"owl": 1.0}, ENGLISH) == 0
    assert best_window_similarity(["owl"], [0], {"owl": 1.0, "night": 1.0}, load_lexicon("xx")) == pytest.approx(
        1 / sqrt(2)
    )
