"""Tests of collocations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.text.collocations import (
    count_collocations,
    extract_clause_terms,
    find_usual_spellings,
    get_phrase_key,
    tokenise_clauses,
)
from topicrawl.text.lexicon import load_lexicon

ENGLISH = load_lexicon("en")


def count_pairs(text: str, size: int) -> dict[str, int]:
    return {
        " ".join(key): count for key, count in count_collocations(extract_clause_terms(text, ENGLISH), size).items()
    }


@pytest.mark.parametrize(
    ("text", "pairs", "triples"),
    [
        ("binary search tree", {"binari search": 1, "search tree": 1}, {"binari search tree": 1}),
        ("binary search, tree", {"binari search": 1}, {}),
        ("binary search. Tree", {"binari search": 1}, {}),
        ("binary search\ntree", {"binari search": 1}, {}),
        ("binary search (tree)", {"binari search": 1}, {}),
        ("binary – search", {}, {}),
        ("string-matching algorithm", {"string match": 1, "match algorithm": 1}, {"string match algorithm": 1}),
        ("structure of data", {}, {}),
        (
            "abstract state machines and the abstract state machine",
            {"abstract state": 2, "state machin": 2},
            {"abstract state machin": 2},
        ),
        ("Hodgkin's disease", {"hodgkin diseas": 1}, {}),
        ("Hodgkin’s disease", {"hodgkin diseas": 1}, {}),
        ("plan b works", {}, {}),
        ("", {}, {}),
    ],
)
def test_stop_words_and_punctuation_separate(text: str, pairs: dict[str, int], triples: dict[str, int]) -> None:
    """Kluev, section 4, step 2, with the stems of Table 3."""
    assert count_pairs(text, 2) == pairs
    assert count_pairs(text, 3) == triples


def test_words_of_the_topic_do_not_separate() -> None:
    terms = extract_clause_terms("Tickets for The Who concert", ENGLISH, frozenset({"the", "who"}))
    assert list(count_collocations(terms)) == [("the", "who"), ("who", "concert")]


@pytest.mark.parametrize("phrase", ["Travelling salesman problem", "travelling-salesman problems"])
def test_phrase_key_matches_the_collocation(phrase: str) -> None:
    assert get_phrase_key(phrase, ENGLISH) in count_collocations(
        extract_clause_terms("A travelling salesman problem is hard.", ENGLISH), 3
    )


def test_usual_spelling_is_the_most_frequent_one() -> None:
    texts = ["a search engine", "search engines, search engines"]
    assert find_usual_spellings(texts, ENGLISH, 2, [("search", "engin"), ("data", "type")]) == {
        ("search", "engin"): "search engines"
    }


@given(st.text("ab ,.\n-’'s(東é", max_size=60), st.integers(2, 3))
def test_collocation_is_within_one_clause(text: str, size: int) -> None:
    clauses = "".join("\n" if word == "\ue000" else f"{word} " for word in tokenise_clauses(text)).splitlines()
    apart: dict[tuple[str, ...], int] = {}
    for clause in clauses:
        for key, count in count_collocations(extract_clause_terms(clause, ENGLISH), size).items():
            apart[key] = apart.get(key, 0) + count
    assert dict(count_collocations(extract_clause_terms(text, ENGLISH), size)) == apart
