"""Tests of the tokeniser: examples, and comparison with a slow reference implementation."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.text.tokenizer import MARKERS, tokenise, tokenise_texts_to_bytes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\n", []),
        ("The quick, brown FOX!", ["the", "quick", "brown", "fox"]),
        ("don't stop", ["don", "t", "stop"]),
        ("don\u2019t \u201cstop\u201d \u2013 now\u2026", ["don", "t", "stop", "now"]),
        ("l\u2019homme", ["l", "homme"]),
        ("well-known snake_case", ["well", "known", "snake", "case"]),
        ("3.14 and 1,000 in 2007", ["3", "14", "and", "1", "000", "in", "2007"]),
        ("CAF\u00c9 caf\u00e9 cafe\u0301", ["caf\u00e9"] * 3),
        ("STRASSE Stra\u00dfe", ["strasse", "stra\u00dfe"]),
        ("\u0130stanbul I\u0307zmir", ["istanbul", "izmir"]),
        (
            "\u0412\u043e\u0439\u043d\u0430 \u0438 \u041c\u0418\u0420",
            ["\u0432\u043e\u0439\u043d\u0430", "\u0438", "\u043c\u0438\u0440"],
        ),
        (
            "\u039f\u0394\u039f\u03a3 \u03bf\u03b4\u03cc\u03c2",
            ["\u03bf\u03b4\u03bf\u03c3", "\u03bf\u03b4\u03cc\u03c3"],
        ),
        (
            "\u0939\u093f\u0928\u094d\u0926\u0940 \u092d\u093e\u0937\u093e",
            ["\u0939\u093f\u0928\u094d\u0926\u0940", "\u092d\u093e\u0937\u093e"],
        ),
        (
            "\u0627\u0644\u0639\u0631\u0628\u064a\u0629\u060c \u0644\u063a\u0629",
            ["\u0627\u0644\u0639\u0631\u0628\u064a\u0629", "\u0644\u063a\u0629"],
        ),
        ("\u6771\u4eac\u90fd", ["\u6771\u4eac", "\u4eac\u90fd"]),
        ("in \u6771\u4eac2020\u5e74 x", ["in", "\u6771\u4eac", "2020", "\u5e74", "x"]),
        ("\u3072\u3089\u304c\u306a\u3002\u6c34", ["\u3072\u3089", "\u3089\u304c", "\u304c\u306a", "\u6c34"]),
        ("\ud55c\uad6d\uc5b4", ["\ud55c\uad6d", "\uad6d\uc5b4"]),
        ("e\ufb03cient m\u00b2 \uff21\uff22\uff11", ["efficient", "m2", "ab1"]),
        ("\u00bd cup, Linux\u2122", ["1", "2", "cup", "linux"]),
        ("soft\u00adhyphen zero\u200bwidth", ["softhyphen", "zero", "width"]),
        ("no\u00a0break\u2003space", ["no", "break", "space"]),
        ("smile \U0001f600 please \U0001d400", ["smile", "please", "a"]),
        ("a \ue000b\ue001 c", ["a", "\ue000", "b", "\ue001", "c"]),
        ("x\ue00f\ue010\uf8ffy", ["x", "\ue00f", "y"]),
        ("broken \ud800 pair", ["broken", "pair"]),
    ],
)
def test_tokenise_examples(text: str, expected: list[str]) -> None:
    assert tokenise(text) == expected


def tokenise_slowly(text: str) -> list[str]:
    """Tokenise character by character (only for scripts with spaces)."""
    normalised = ""
    for character in unicodedata.normalize("NFC", text):
        if character in MARKERS:
            normalised += f" {character} "
        else:
            normalised += character if unicodedata.category(character)[0] in "LMN" else " "
    return normalised.replace("\u0130", "i").replace("\u03a3", "\u03c3").lower().split()


LETTERS = "aZ09 .,'-_\n\u00e9\u00c9\u00df\u2019\u2014\u0416\u0436\u0301\u03a3\u03c3\u0130\u0141" + MARKERS[:3]


@given(st.text(alphabet=LETTERS))
def test_equals_reference_implementation(text: str) -> None:
    assert tokenise(text) == tokenise_slowly(text)


@given(st.text())
def test_tokenising_is_idempotent(text: str) -> None:
    found = tokenise(text)
    assert all(word == word.strip() and word for word in found)
    assert tokenise(" ".join(found)) == found


@given(st.text(alphabet=LETTERS), st.sampled_from(MARKERS), st.text(alphabet=LETTERS))
def test_marker_is_a_separate_word(before: str, marker: str, after: str) -> None:
    assert tokenise(before + marker + after) == [*tokenise(before), marker, *tokenise(after)]


@given(st.text(), st.text())
def test_lines_are_tokenised_independently(first: str, second: str) -> None:
    assert tokenise(f"{first}\n{second}") == tokenise(first) + tokenise(second)


@given(st.lists(st.text(max_size=12).map(lambda text: text.replace("\0", "")), max_size=6))
def test_batch_equals_single_texts(texts: list[str]) -> None:
    assert [part.decode().split() for part in tokenise_texts_to_bytes(texts).split(b"\0")] == [
        *map(tokenise, texts),
        [],
    ]
