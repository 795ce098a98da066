"""Lexica: every language that ships is usable, and words become the terms of the papers."""

from __future__ import annotations

import subprocess
import sys
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.text import lexicon as module
from topicrawl.text.lexicon import ALGORITHMS, LONGEST_WORD, Lexicon, lexicon
from topicrawl.text.tokens import MARKERS, words

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
def test_english_is_stemmed_as_porter_did_in_1980(word: str, stem: str) -> None:
    assert lexicon("en").stem(word) == stem


def test_every_language_that_has_a_stemmer_has_stop_words() -> None:
    assert set(STOPPED) == set(ALGORITHMS)


@pytest.mark.parametrize("language", STOPPED)
def test_stop_words_are_words_as_a_text_is_cut(language: str) -> None:
    stop = lexicon(language).stop
    assert len(stop) > 80
    assert all(words(word) == [word] for word in stop)
    assert lexicon(language).terms(sorted(stop)) == []


@pytest.mark.parametrize("language", WEIGHED)
def test_rarity_separates_common_stems_from_rare_ones(language: str) -> None:
    lex = lexicon(language)
    common = [lex.idf(lex.stem(word)) for word in lex.stop]
    assert min(common) == 0
    assert lex.idf("qqqqq") > 7
    assert sorted(common)[len(common) // 2] < 2


@pytest.mark.parametrize("language", WEIGHED)
def test_tables_stay_small_and_hold_stems(language: str) -> None:
    weights, rarest = lexicon(language).rarity
    assert 25_000 < len(weights) <= 30_000
    assert max(weights.values()) == rarest
    assert len(resources.files("topicrawl.text").joinpath("data", f"idf.{language}.txt.z").read_bytes()) <= 130_000


def test_every_algorithm_named_here_exists() -> None:
    assert all(Lexicon(language).stem("x") == "x" for language in ALGORITHMS)


@pytest.mark.parametrize("language", ["", "xx", "zz-ZZ", "../../etc"])
def test_an_unknown_language_neither_stems_nor_stops_nor_weighs(language: str) -> None:
    lex = lexicon(language)
    assert lex.terms(["the", "running", "x"]) == ["the", "running"]
    assert lex.idf("running") == lex.idf("the") == 1


def test_regions_and_written_forms_share_a_lexicon() -> None:
    assert lexicon("en-US") is lexicon("en_GB") is lexicon("EN") is lexicon("en")
    assert lexicon("nb") is lexicon("nn") is lexicon("no")


def test_single_letters_and_markers_are_no_terms_but_single_ideographs_are() -> None:
    assert lexicon("en").terms(["x", "7", MARKERS[0], "\u00e9", "\u6c34", "42"]) == ["\u6c34", "42"]


def test_kept_words_stay_though_they_are_stop_words_single_letters_or_markers() -> None:
    keep = frozenset({"it", "c", MARKERS[0], "owls"})
    assert lexicon("en").terms(["it", "is", "c", MARKERS[0], "owls"], keep) == ["it", "c", MARKERS[0], "owl"]
    assert lexicon("en").terms(["it", "owls"]) == ["owl"], "what was kept once is not kept for others"


@given(st.lists(st.sampled_from(["the", "owls", "owl", "x", "hunting", "of"])))
def test_terms_are_the_stems_of_the_words_that_count_in_order(some: list[str]) -> None:
    lex = lexicon("en")
    assert lex.terms(some) == [lex.stem(word) for word in some if word not in lex.stop and len(word) > 1]
    assert lex.terms(some, frozenset({"zzz"})) == lex.terms(some)


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CACHED", 10)
    lex = Lexicon("en")
    many = [f"word{number}" for number in range(100)]
    assert lex.terms(many) == many
    assert len(lex._terms) <= 10


def test_importing_reads_no_tables() -> None:
    code = (
        "import topicrawl.text.vectors, topicrawl.text.lexicon as l; lex = l.lexicon('en');"
        "assert not {'stop', 'rarity'} & set(vars(lex))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_is_longer_than_any_word_is_no_term_and_takes_no_memory() -> None:
    english = lexicon("en")
    data = "x" * (LONGEST_WORD + 1)
    known = len(english._terms)
    assert english.aligned([data, "owls"]) == ["", "owl"]
    assert english.weights([data]) == {}
    assert data not in english._terms
    assert len(english._terms) <= known + 1
