"""Words as bytes are the words that a list of strings would hold, and what they stand for is found again."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.text import wording
from topicrawl.text.tokens import spelled, words
from topicrawl.text.wording import Lookup, Stretch, Wording, wordings

# One for each number of lanes that is read, and what is longer.
_LONG = ["o" * size for size in (8, 9, 32, 33, 99)]
_WORDS = st.lists(st.sampled_from(["owl", "night", "nightjars", "é", "東京", *_LONG]))


@given(st.text())
def test_a_wording_is_the_row_of_its_words(text: str) -> None:
    said, row = Wording(spelled(text)), tuple(words(text))
    assert said == row
    assert row == said
    assert (len(said), hash(said), repr(said)) == (len(row), hash(row), repr(row))
    assert said.at(range(len(row))) == list(row)
    assert pickle.loads(pickle.dumps(said)) == row


@given(st.lists(st.text(max_size=12), max_size=6))
def test_texts_that_are_cut_together_give_the_words_that_each_gives_alone(texts: list[str]) -> None:
    said, ends = wordings(texts)
    assert [list(said[start:end]) for start, end in pairwise([0, *ends.tolist()])] == list(map(words, texts))


@given(_WORDS)
def test_equal_words_have_equal_numbers_and_others_do_not(row: list[str]) -> None:
    mixed = Wording.of(row).mixed.tolist()
    assert len(set(zip(row, mixed, strict=True))) == len(set(row)) == len(set(mixed))


@given(_WORDS, st.data())
def test_a_stretch_is_a_part_of_the_words(row: list[str], data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(row) - 1))) if row else []
    start = data.draw(st.integers(0, len(places)))
    stretch = Stretch(Wording.of(row), np.array(places, np.intp), start, len(places))
    assert stretch == tuple(row[place] for place in places[start:])
    assert len(stretch) == len(places) - start


@pytest.mark.parametrize("places", [2, 12])
@given(st.lists(st.lists(st.integers(0, 200)), max_size=8))
def test_what_a_word_stands_for_is_learned_once(places: int, rows: list[list[int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wording, "_LEAST_PLACES", places)
        lookup = Lookup()
    learned: list[str] = []
    for row in rows:
        said = Wording.of([f"w{number}" for number in row])

        def learn(where: list[int], said: Wording = said) -> list[int]:
            learned.extend(said.at(where))
            return [int(word[1:]) for word in said.at(where)]

        assert lookup(said.mixed, learn).tolist() == row
    assert learned == list(dict.fromkeys(f"w{number}" for row in rows for number in row))
    assert len(lookup) == len(learned)
