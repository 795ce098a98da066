"""Tests of the lexicons: every bundled language works, and words become the terms of the papers."""

from __future__ import annotations

import subprocess
import sys
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.text import lexicon as module
from topicrawl.text.lexicon import MAX_WORD_LENGTH, STEMMING_ALGORITHMS, LanguageLexicon, load_lexicon
from topicrawl.text.tokenizer import MARKERS, tokenise

FILES = sorted(file.name for file in resources.files("topicrawl.text").joinpath("data").iterdir())
STOPPED = [name.split(".")[1] for name in FILES if name.startswith("stop.")]
WEIGHED = [name.split(".")[1] for name in FILES if name.startswith("idf.")]


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("relational", "relat"),
        ("vietnamization", "vietnam"),
        ("generalizations", "gener"),
        ("controlling", "control"),
        # The successor of Porter's algorithm gives "dy" → "die" and "generous" → "generous".
        ("dying", "dy"),
        ("generous", "gener"),
    ],
)
def test_english_uses_the_original_porter_stemmer(word: str, stem: str) -> None:
    assert load_lexicon("en").stem(word) == stem


def test_every_language_with_a_stemmer_has_stop_words() -> None:
    assert set(STOPPED) == set(STEMMING_ALGORITHMS)


@pytest.mark.parametrize("language", STOPPED)
def test_stop_words_are_tokens(language: str) -> None:
    stop = load_lexicon(language).stop_words
    assert len(stop) > 80
    assert all(tokenise(word) == [word] for word in stop)
    assert load_lexicon(language).extract_terms(sorted(stop)) == []


@pytest.mark.parametrize("language", WEIGHED)
def test_idf_separates_common_from_rare_stems(language: str) -> None:
    lex = load_lexicon(language)
    common = [lex.idf(lex.stem(word)) for word in lex.stop_words]
    assert min(common) == 0
    assert lex.idf("qqqqq") > 7
    assert sorted(common)[len(common) // 2] < 2


@pytest.mark.parametrize("language", WEIGHED)
def test_idf_tables_are_small_and_contain_stems(language: str) -> None:
    weights, rarest = load_lexicon(language).idf_table
    assert 25_000 < len(weights) <= 30_000
    assert max(weights.values()) == rarest
    assert len(resources.files("topicrawl.text").joinpath("data", f"idf.{language}.txt.z").read_bytes()) <= 130_000


def test_every_stemming_algorithm_exists() -> None:
    assert all(LanguageLexicon(language).stem("x") == "x" for language in STEMMING_ALGORITHMS)


@pytest.mark.parametrize("language", ["", "xx", "zz-ZZ", "../../etc"])
def test_unknown_language_has_no_stems_stop_words_or_idf(language: str) -> None:
    lex = load_lexicon(language)
    assert lex.extract_terms(["the", "running", "x"]) == ["the", "running"]
    assert lex.idf("running") == lex.idf("the") == 1


def test_regional_codes_share_a_lexicon() -> None:
    assert load_lexicon("en-US") is load_lexicon("en_GB") is load_lexicon("EN") is load_lexicon("en")
    assert load_lexicon("nb") is load_lexicon("nn") is load_lexicon("no")


def test_single_ideographs_are_terms_but_letters_and_markers_are_not() -> None:
    assert load_lexicon("en").extract_terms(["x", "7", MARKERS[0], "\u00e9", "\u6c34", "42"]) == ["\u6c34", "42"]


def test_keep_words_are_never_dropped() -> None:
    keep = frozenset({"it", "c", MARKERS[0], "owls"})
    assert load_lexicon("en").extract_terms(["it", "is", "c", MARKERS[0], "owls"], keep) == [
        "it",
        "c",
        MARKERS[0],
        "owl",
    ]
    assert load_lexicon("en").extract_terms(["it", "owls"]) == ["owl"], "keep_words do not change the cache"


@given(st.lists(st.sampled_from(["the", "owls", "owl", "x", "hunting", "of"])))
def test_terms_are_stems_in_order(some: list[str]) -> None:
    lex = load_lexicon("en")
    assert lex.extract_terms(some) == [lex.stem(word) for word in some if word not in lex.stop_words and len(word) > 1]
    assert lex.extract_terms(some, frozenset({"zzz"})) == lex.extract_terms(some)


def test_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CACHE_SIZE", 10)
    lex = LanguageLexicon("en")
    many = [f"word{number}" for number in range(100)]
    assert lex.extract_terms(many) == many
    assert len(lex._term_cache) <= 10


def test_import_loads_no_tables() -> None:
    code = (
        "import topicrawl.text.sparse_vectors, topicrawl.text.lexicon as l; lex = l.load_lexicon('en');"
        "assert not {'stop_words', 'idf_table'} & set(vars(lex))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_over_long_tokens_are_not_cached() -> None:
    english = load_lexicon("en")
    data = "x" * (MAX_WORD_LENGTH + 1)
    known = len(english._term_cache)
    assert english.align_terms([data, "owls"]) == ["", "owl"]
    assert english.compute_weights([data]) == {}
    assert data not in english._term_cache
    assert len(english._term_cache) <= known + 1
