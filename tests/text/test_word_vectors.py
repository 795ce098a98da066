"""Tests of the word vectors."""

from __future__ import annotations

from importlib import resources

import numpy as np
import pytest

from topicrawl.text.bag_of_words import TermVocabulary
from topicrawl.text.lexicon import load_lexicon
from topicrawl.text.word_vectors import WordVectors, load_word_vectors


@pytest.fixture(scope="module")
def vectors() -> WordVectors:
    loaded = load_word_vectors("en")
    assert loaded is not None
    return loaded


@pytest.mark.parametrize(
    ("word", "near", "far"),
    [
        ("bird", "sparrow", "sql"),
        ("databas", "sql", "bird"),
        ("railwai", "locomot", "fever"),
        ("geologi", "volcano", "music"),
        ("music", "violin", "chemic"),
    ],
)
def test_related_words_have_similar_vectors(vectors: WordVectors, word: str, near: str, far: str) -> None:
    it, related, unrelated = vectors.get_vectors(vectors.find_rows([word, near, far]))
    assert it @ related > 0.35 > 0.2 > it @ unrelated


def test_vectors_have_length_one(vectors: WordVectors) -> None:
    lengths = np.linalg.norm(vectors.get_vectors(np.arange(0, 30_000, 100, dtype=np.int32)), axis=1)
    assert np.abs(lengths - 1).max() < 0.02


def test_term_ids_have_the_rows_of_their_terms(vectors: WordVectors) -> None:
    vocabulary = TermVocabulary(load_lexicon("en"))
    for words in (["owls", "the", "qqqq"], ["trains", "owl"]):
        ids = vocabulary.get_term_ids(words)
        rows = vectors.get_term_rows(vocabulary, ids)
        assert rows.tolist() == vectors.find_rows(vocabulary.get_terms(ids.tolist())).tolist()


def test_the_table_takes_at_most_ten_megabytes() -> None:
    folder = resources.files("topicrawl.text").joinpath("data")
    assert sum(len(folder.joinpath(f"vectors.en.{end}").read_bytes()) for end in ("npy", "txt.z")) <= 10_000_000


def test_other_languages_have_no_table() -> None:
    assert load_word_vectors("de") is None
