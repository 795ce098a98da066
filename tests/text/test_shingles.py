"""Tests of the resemblance by shingles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.text.shingles import resemblance

WORDS = st.lists(st.sampled_from("abcd"), max_size=20)


@pytest.mark.parametrize(("length", "expected"), [(50, 0.8039), (100, 0.9010), (200, 0.9502)])
def test_resemblance_with_one_changed_word(length: int, expected: float) -> None:
    text = [f"word{number}" for number in range(length)]
    changed = [*text[: length // 2], "other", *text[length // 2 + 1 :]]
    assert resemblance(text, changed) == pytest.approx(expected, abs=5e-5)
    # A text of a hundred words with one changed word still has r ≥ .9.
    assert (resemblance(text, changed) >= 0.9) == (length >= 100)


@given(WORDS, WORDS)
def test_resemblance_is_symmetric_and_1_for_equal_texts(one: list[str], two: list[str]) -> None:
    assert resemblance(one, two) == resemblance(two, one)
    assert 0 <= resemblance(one, two) <= 1
    assert resemblance(one, one) == 1
