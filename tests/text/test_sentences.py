"""Tests of the sentence splitter: difficult cases, and that no text is lost."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.text.sentences import split_sentences


@pytest.mark.parametrize(
    "expected",
    [
        [],
        ["No stop at all"],
        ["One.", "Two.", "Three."],
        ["Really?!", "Yes...", "Well then."],
        ["Mr. and Mrs. Smith met Prof. Dr. Jones.", "They talked."],
        ["J. R. R. Tolkien wrote it.", "It is long."],
        ["The U.S. Army marched.", "It stopped."],
        ["It costs 3.50 dollars or 1.000,5 euros.", "Cheap."],
        ["Version 2.0 is out.", "Get it at example.org today."],
        ["Use tools, e.g. Hammers, i.e. Heavy ones.", "Then rest."],
        ["He said \u201cstop.\u201d", "She did not."],
        ["\u201cWhy?\u201d she asked.", "\u201cBecause.\u201d"],
        ["(A whole sentence.)", "Another one."],
        ["Smith et al. Found it on p. 7 of vol. 2.", "True."],
        ["In 1999.", "In 2000."],
        ["So do I.", "You too."],
        ["Das ist z.B. Unsinn.", "Wirklich."],
        ["\u00bfQu\u00e9 pasa?", "\u00a1Nada!", "Adi\u00f3s."],
        ["\u042d\u0442\u043e \u0432\u0441\u0451.", "\u041f\u043e\u043a\u0430!"],
        ["\u092f\u0939 \u0939\u0948\u0964", "\u0935\u0939 \u0925\u093e\u0964"],
        ["\u0645\u0627 \u0647\u0630\u0627\u061f", "\u0643\u062a\u0627\u0628."],
    ],
)
def test_paragraph_is_split_into_sentences(expected: list[str]) -> None:
    assert split_sentences(" ".join(expected)) == expected
    assert split_sentences("  " + " \n ".join(expected)) == expected


def test_scripts_without_spaces() -> None:
    assert split_sentences("\u4eca\u65e5\u306f\u3002\u5143\u6c17\uff1f\u306f\u3044\uff01") == [
        "\u4eca\u65e5\u306f\u3002",
        "\u5143\u6c17\uff1f",
        "\u306f\u3044\uff01",
    ]


@given(st.text() | st.text(alphabet='aB .!?\u3002"()1\n'))
def test_only_white_space_is_lost(block: str) -> None:
    found = split_sentences(block)
    assert "".join("".join(found).split()) == "".join(block.split())
    assert all(sentence == sentence.strip() and sentence for sentence in found)


@pytest.mark.parametrize(
    "block", ["." * 100_000, "a. " * 50_000, "A. " * 50_000, "Mr. " * 50_000, ") " * 50_000, '. " ' * 50_000]
)
def test_malicious_paragraphs_take_linear_time(block: str) -> None:
    began = time.process_time()
    split_sentences(block)
    assert time.process_time() - began < 10
