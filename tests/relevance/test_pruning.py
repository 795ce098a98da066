"""What is left out of a page, each rule through real HTML."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.parse import read
from topicrawl.records import Link, Page, Response, Sentence, Style
from topicrawl.relevance.pruning import Rules, kept
from topicrawl.text.lexicon import lexicon

SAID = "Owls hunt mice in the forest."
URL = "http://made/"


def left(html: str, rules: Rules | None = None) -> list[str]:
    page = read(Response(URL, URL, 200, {"content-type": "text/html"}, html.encode()), Link(URL), styles=True)
    assert isinstance(page, Page)
    assert page.sentences, "the parser sees it, whether a reader does or not"
    return [each.sentence.text for each in kept(page.sentences, lexicon("en"), rules or Rules())]


@pytest.mark.parametrize(
    "html",
    [
        # Mohammadi 3.1: in the colour of the background
        f"<body bgcolor=#ffffff><font color=white>{SAID}</font>",
        f"<body style='background:#123'><p style='color:#112233'>{SAID}</p>",
        f"<body bgcolor=black><table><tr><td><font color=#050505>{SAID}</font></td></tr></table>",
        f"<style>.k {{color: #fff}}</style><div class=k>{SAID}</div>",
        # and hidden by other means
        f"<p style='display:none'>{SAID}",
        f"<style>#k {{visibility: hidden}}</style><p id=k>{SAID}",
        f"<p style='position:absolute;left:-4000px'>{SAID}",
        f"<p style='text-indent:-9999px'>{SAID}",
        f"<div style='height:0;overflow:hidden'><p>{SAID}</div>",
        f"<p style='opacity:0'>{SAID}",
        f"<p style='font-size:0'>{SAID}",
        f"<p>Text.<noscript>{SAID}</noscript>",
        # 3.2: fewer than five words
        "<p>Owls hunt many mice.",
        # 3.3: xx-small or smaller
        f"<p style='font-size:xx-small'>{SAID}",
        f"<p style='font:6pt serif'>{SAID}",
        f"<div style='font-size:50%'><p>{SAID}</div>",
        # 3.4: a word more than three times, whatever its form
        "<p>Owl owls owls and owl, says the forest.",
        "<p>Owls see owls, owls hear owls.",
    ],
)
def test_a_sentence_for_nobody_is_left_out(html: str) -> None:
    assert left(html) == []


@pytest.mark.parametrize(
    ("html", "sentence"),
    [
        (f"<p>{SAID}", SAID),
        (f"<body bgcolor=black text=white>{SAID}", SAID),
        (f"<body bgcolor=white><table bgcolor=navy><tr><td><font color=white>{SAID}</font></table>", SAID),
        ("<p>Owls hunt very many mice.", "Owls hunt very many mice."),
        (f"<font size=1>{SAID}</font>", SAID),
        (f"<p style='font-size:x-small'>{SAID}", SAID),
        ("<p>Owls see owls, and owls hear mice.", "Owls see owls, and owls hear mice."),
        ("<p>The cat and the dog and the owl and the mouse.", "The cat and the dog and the owl and the mouse."),
    ],
)
def test_a_sentence_for_readers_stays(html: str, sentence: str) -> None:
    assert left(html) == [sentence]


def test_only_the_hidden_part_of_a_paragraph_goes() -> None:
    html = (
        f"<p>Mice are counted every year here. <span style='color:white'>{SAID}</span> Nobody knows how many there are."
    )
    assert left(html) == ["Mice are counted every year here.", "Nobody knows how many there are."]


def test_the_limits_are_parameters() -> None:
    html = "<p>Owls hunt mice.</p><p style='font-size:xx-small'>Owls hunt at night.</p><p>Owls owls owls owls."
    assert len(left(html, Rules(words=3, smallest=5, repeats=4))) == 3
    assert len(left(html, Rules(words=4, smallest=9, repeats=4))) == 1


def test_the_topics_own_words_are_words() -> None:
    told = [Sentence("Who who who who is it?", 0)]
    assert kept(told, lexicon("en"))
    assert not kept(told, lexicon("en"), own=frozenset({"who"}))


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


@given(st.lists(SENTENCES, max_size=12), st.builds(Rules, st.integers(0, 9), st.floats(0, 20), st.integers(1, 5)))
def test_what_stays_was_there_and_in_that_order(told: list[Sentence], rules: Rules) -> None:
    stays = [each.sentence for each in kept(told, lexicon("en"), rules)]
    rest = iter(told)
    assert all(any(sentence is other for other in rest) for sentence in stays)
    assert [each.sentence for each in kept(stays, lexicon("en"), rules)] == stays, "once is enough"
    assert not any(sentence.style.hidden or sentence.style.font_size <= rules.smallest for sentence in stays)
