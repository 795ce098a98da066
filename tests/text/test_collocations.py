"""Collocations: words side by side in one clause."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.text.collocations import clause_words, collocations, phrase_key, shown, terms_in_clauses
from topicrawl.text.lexicon import lexicon

ENGLISH = lexicon("en")


def found(text: str, size: int) -> dict[str, int]:
    return {" ".join(key): count for key, count in collocations(terms_in_clauses(text, ENGLISH), size).items()}


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
        ("abstract state machines and the abstract state machine", {"abstract state": 2, "state machin": 2},
         {"abstract state machin": 2}),
        ("Hodgkin's disease", {"hodgkin diseas": 1}, {}),
        ("Hodgkin’s disease", {"hodgkin diseas": 1}, {}),
        ("plan b works", {}, {}),
        ("", {}, {}),
    ],
)  # fmt: skip
def test_collocations_cross_neither_stop_words_nor_punctuation(
    text: str, pairs: dict[str, int], triples: dict[str, int]
) -> None:
    """Kluev, section 4, step 2; the stems are those of its Table 3."""
    assert found(text, 2) == pairs
    assert found(text, 3) == triples


def test_the_topics_own_words_do_not_separate() -> None:
    terms = terms_in_clauses("Tickets for The Who concert", ENGLISH, frozenset({"the", "who"}))
    assert list(collocations(terms)) == [("the", "who"), ("who", "concert")]


@pytest.mark.parametrize("phrase", ["Travelling salesman problem", "travelling-salesman problems"])
def test_a_phrase_written_by_hand_finds_its_collocation(phrase: str) -> None:
    assert phrase_key(phrase, ENGLISH) in collocations(
        terms_in_clauses("A travelling salesman problem is hard.", ENGLISH), 3
    )


def test_a_collocation_is_shown_as_it_is_written_most() -> None:
    texts = ["a search engine", "search engines, search engines"]
    assert shown(texts, ENGLISH, 2, [("search", "engin"), ("data", "type")]) == {("search", "engin"): "search engines"}


@given(st.text("ab ,.\n-’'s(東é", max_size=60), st.integers(2, 3))
def test_a_collocation_lies_in_one_clause(text: str, size: int) -> None:
    clauses = "".join("\n" if word == "\ue000" else f"{word} " for word in clause_words(text)).splitlines()
    apart: dict[tuple[str, ...], int] = {}
    for clause in clauses:
        for key, count in collocations(terms_in_clauses(clause, ENGLISH), size).items():
            apart[key] = apart.get(key, 0) + count
    assert dict(collocations(terms_in_clauses(text, ENGLISH), size)) == apart
