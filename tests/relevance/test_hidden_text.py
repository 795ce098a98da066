"""Tests of the removal of hidden and empty sentences, with real HTML."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.models import Link, Page, Response, Sentence, Style
from topicrawl.parse import parse_response
from topicrawl.relevance.hidden_text import SentenceRules, filter_sentences
from topicrawl.text.lexicon import load_lexicon

SENTENCE = "Owls hunt mice in the forest."
URL = "http://made/"


def remaining_texts(html: str, rules: SentenceRules | None = None) -> list[str]:
    page = parse_response(Response(URL, URL, 200, {"content-type": "text/html"}, html.encode()), Link(URL), styles=True)
    assert isinstance(page, Page)
    assert page.sentences, "the parser returns hidden sentences too"
    return [
        each.sentence.text for each in filter_sentences(page.sentences, load_lexicon("en"), rules or SentenceRules())
    ]


@pytest.mark.parametrize(
    "html",
    [
        # Mohammadi 3.1: text in the colour of the background
        f"<body bgcolor=#ffffff><font color=white>{SENTENCE}</font>",
        f"<body style='background:#123'><p style='color:#112233'>{SENTENCE}</p>",
        f"<body bgcolor=black><table><tr><td><font color=#050505>{SENTENCE}</font></td></tr></table>",
        f"<style>.k {{color: #fff}}</style><div class=k>{SENTENCE}</div>",
        # hidden in other ways
        f"<p style='display:none'>{SENTENCE}",
        f"<style>#k {{visibility: hidden}}</style><p id=k>{SENTENCE}",
        f"<p style='position:absolute;left:-4000px'>{SENTENCE}",
        f"<p style='text-indent:-9999px'>{SENTENCE}",
        f"<div style='height:0;overflow:hidden'><p>{SENTENCE}</div>",
        f"<p style='opacity:0'>{SENTENCE}",
        f"<p style='font-size:0'>{SENTENCE}",
        f"<p>Text.<noscript>{SENTENCE}</noscript>",
        # 3.2: fewer than five words
        "<p>Owls hunt many mice.",
        # 3.3: xx-small or smaller
        f"<p style='font-size:xx-small'>{SENTENCE}",
        f"<p style='font:6pt serif'>{SENTENCE}",
        f"<div style='font-size:50%'><p>{SENTENCE}</div>",
        # 3.4: a word more than three times, in any form
        "<p>Owl owls owls and owl, says the forest.",
        "<p>Owls see owls, owls hear owls.",
    ],
)
def test_hidden_sentence_is_removed(html: str) -> None:
    assert remaining_texts(html) == []


@pytest.mark.parametrize(
    ("html", "sentence"),
    [
        (f"<p>{SENTENCE}", SENTENCE),
        (f"<body bgcolor=black text=white>{SENTENCE}", SENTENCE),
        (f"<body bgcolor=white><table bgcolor=navy><tr><td><font color=white>{SENTENCE}</font></table>", SENTENCE),
        ("<p>Owls hunt very many mice.", "Owls hunt very many mice."),
        (f"<font size=1>{SENTENCE}</font>", SENTENCE),
        (f"<p style='font-size:x-small'>{SENTENCE}", SENTENCE),
        ("<p>Owls see owls, and owls hear mice.", "Owls see owls, and owls hear mice."),
        ("<p>The cat and the dog and the owl and the mouse.", "The cat and the dog and the owl and the mouse."),
    ],
)
def test_visible_sentence_is_not_removed(html: str, sentence: str) -> None:
    assert remaining_texts(html) == [sentence]


def test_only_hidden_sentences_of_a_paragraph_are_removed() -> None:
    html = (
        f"<p>Mice are counted every year here. <span style='color:white'>{SENTENCE}</span> The total is unknown here."
    )
    assert remaining_texts(html) == ["Mice are counted every year here.", "The total is unknown here."]


def test_rules_are_configurable() -> None:
    html = "<p>Owls hunt mice.</p><p style='font-size:xx-small'>Owls hunt at night.</p><p>Owls owls owls owls."
    assert len(remaining_texts(html, SentenceRules(min_words=3, small_font_size=5, max_repeats=4))) == 3
    assert len(remaining_texts(html, SentenceRules(min_words=4, small_font_size=9, max_repeats=4))) == 1


def test_words_of_the_topic_are_not_stop_words() -> None:
    sentences = [Sentence("Who who who who is it?", 0)]
    assert filter_sentences(sentences, load_lexicon("en"))
    assert not filter_sentences(sentences, load_lexicon("en"), keep_words=frozenset({"who"}))


STYLES = st.builds(
    Style,
    hidden=st.booleans(),
    font_size=st.sampled_from([0.0, 8.0, 9.0, 10.0, 16.0]),
    colour=st.sampled_from(["#000000", "#ffffff"]),
)
SENTENCES = st.builds(
    Sentence,
    st.lists(st.sampled_from(["owl", "the", "mouse", "night", "ß", "東京"]), max_size=12).map(" ".join),
    st.integers(0, 3),
    STYLES,
)


@given(
    st.lists(SENTENCES, max_size=12), st.builds(SentenceRules, st.integers(0, 9), st.floats(0, 20), st.integers(1, 5))
)
def test_remaining_sentences_keep_their_order(sentences: list[Sentence], rules: SentenceRules) -> None:
    remaining = [each.sentence for each in filter_sentences(sentences, load_lexicon("en"), rules)]
    rest = iter(sentences)
    assert all(any(sentence is other for other in rest) for sentence in remaining)
    assert [each.sentence for each in filter_sentences(remaining, load_lexicon("en"), rules)] == remaining, (
        "filtering twice changes nothing"
    )
    assert not any(sentence.style.hidden or sentence.style.font_size <= rules.small_font_size for sentence in remaining)
