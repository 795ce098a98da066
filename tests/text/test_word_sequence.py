"""Tests of word sequences and the id lookup."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.text import word_sequence
from topicrawl.text.tokenizer import tokenise, tokenise_to_bytes
from topicrawl.text.word_sequence import WordIdLookup, WordSequence, WordWindow, tokenise_together

# Words of one and of two 8-byte reads, and longer ones.
_LONG = ["o" * size for size in (8, 9, 32, 33, 99)]
_WORDS = st.lists(st.sampled_from(["owl", "night", "nightjars", "é", "東京", *_LONG]))


@given(st.text())
def test_sequence_equals_a_tuple_of_its_words(text: str) -> None:
    sequence, row = WordSequence(tokenise_to_bytes(text)), tuple(tokenise(text))
    assert sequence == row
    assert row == sequence
    assert (len(sequence), hash(sequence), repr(sequence)) == (len(row), hash(row), repr(row))
    assert sequence.get_words(range(len(row))) == list(row)
    assert pickle.loads(pickle.dumps(sequence)) == row


@given(st.lists(st.text(max_size=12), max_size=6))
def test_batch_equals_single_texts(texts: list[str]) -> None:
    sequence, ends = tokenise_together(texts)
    assert [list(sequence[start:end]) for start, end in pairwise([0, *ends.tolist()])] == list(map(tokenise, texts))


@given(_WORDS)
def test_hashes_are_equal_only_for_equal_words(row: list[str]) -> None:
    mixed = WordSequence.of(row).hashes.tolist()
    assert len(set(zip(row, mixed, strict=True))) == len(set(row)) == len(set(mixed))


@given(_WORDS, st.data())
def test_window_is_a_part_of_the_sequence(row: list[str], data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(row) - 1))) if row else []
    start = data.draw(st.integers(0, len(places)))
    stretch = WordWindow(WordSequence.of(row), np.array(places, np.intp), start, len(places))
    assert stretch == tuple(row[place] for place in places[start:])
    assert len(stretch) == len(places) - start


@pytest.mark.parametrize("places", [2, 12])
@given(st.lists(st.lists(st.integers(0, 200)), max_size=8))
def test_each_word_is_learned_once(places: int, rows: list[list[int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_sequence, "_MIN_TABLE_BITS", places)
        lookup = WordIdLookup()
    learned: list[str] = []
    for row in rows:
        sequence = WordSequence.of([f"w{number}" for number in row])

        def learn(where: list[int], sequence: WordSequence = sequence) -> list[int]:
            learned.extend(sequence.get_words(where))
            return [int(word[1:]) for word in sequence.get_words(where)]

        assert lookup(sequence.hashes, learn).tolist() == row
    assert learned == list(dict.fromkeys(f"w{number}" for row in rows for number in row))
    assert len(lookup) == len(learned)
