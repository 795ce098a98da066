"""Stems of the words of pages."""

from __future__ import annotations

import pytest

from topicrawl.search import analysis
from topicrawl.search.analysis import WordStemmer, stem_word
from topicrawl.text.lexicon import MAX_WORD_LENGTH


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ["nesting", "owls", "relational", "東京"]),
        ("de", ["häuser", "wälder"]),
        ("ca", ["gavines", "nius"]),  # a language that only PyStemmer supports
        ("xx", ["nesting"]),
    ],
)
def test_pages_and_queries_have_the_same_stems(
    language: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysis, "_MAX_STEMS", 2)
    stemmer = WordStemmer()
    for _ in range(2):
        assert stemmer.stem_words(words, language) == [stem_word(word, language) for word in words]
    assert all(len(table) <= 2 for table in stemmer._tables.values())


def test_words_that_the_engine_does_not_index_have_no_stem() -> None:
    longest, too_long = "x" * (MAX_WORD_LENGTH - 1), "é" * (MAX_WORD_LENGTH // 2)
    assert stem_word(longest, "en") == longest
    assert stem_word(too_long, "en") == ""
    assert WordStemmer().stem_words([too_long], "en") == [too_long]
    assert analysis.get_stem_splitter().analyze(f"{longest} {too_long}") == [longest]
