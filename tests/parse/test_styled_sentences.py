"""Tests of styled sentences: visibility, font size and colours."""

from __future__ import annotations

import pytest
import turbohtml
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.models import Sentence, Style
from topicrawl.parse.css_colours import COLOUR_NAMES, parse_colour
from topicrawl.parse.styled_sentences import extract_styled_sentences
from topicrawl.parse.visibility import is_hidden_by_style


def extract_sentences(html: str) -> tuple[Sentence, ...]:
    return extract_styled_sentences(turbohtml.parse(html))


def style(html: str) -> Style:
    (only,) = [sentence.style for sentence in extract_sentences(html) if sentence.text == "x"]
    return only


@pytest.mark.parametrize(
    "html",
    [
        "<p hidden>x",
        "<p style='display:none'>x",
        "<p style='display: NONE !important; display: block'>x",
        "<div style='display:none'><p style='display:block;visibility:visible'>x</div>",
        "<p style='visibility:hidden'><b>x</b>",
        "<p style='opacity:0'>x",
        "<p style='opacity:1%'>x",
        "<p style='text-indent:-9999px'>x",
        "<p style='position:absolute; left:-500em'>x",
        "<p style='position:fixed; top:-20in'>x",
        "<p style='font-size:0'>x",
        "<p style='color:transparent'>x",
        "<p style='color:rgba(0,0,0,0)'>x",
        "<p style='position:absolute; bottom:-999px'>x",
        "<p style='position:absolute; left:9999px'>x",
        "<p style='text-indent:9999px'>x",
        "<p style='text-indent:100%; white-space:nowrap; overflow:hidden'>x",
        "<p style='margin-left:-9999px'>x",
        "<p style='height:0; overflow:hidden'>x",
        "<p style='max-height:1px; overflow:clip'>x",
        "<p style='width:0; overflow:hidden'>x",
        "<p style='position:absolute; clip:rect(1px, 1px, 1px, 1px)'>x",
        "<p style='position:absolute; clip:rect(0 0 0 0)'>x",
        "<p style='clip-path:inset(50%)'>x",
        "<p style='clip-path: circle(0)'>x",
        "<p style='transform:scale(0)'>x",
        "<p style='transform: translateX(-9999px)'>x",
        "<p style='filter:alpha(opacity=0)'>x",
        "<p style='filter:opacity(0%)'>x",
        "<p style='content-visibility:hidden'>x",
        "<p style='font-size:0'><b style='font-size:2em'>x</b>",
        "<p style='font-size:.5px'>x",
        "<p><noscript>x</noscript>",
        "<dialog>x</dialog>",
        "<datalist>x</datalist>",
        "<video>x</video>",
        # In the colour of the background, or in one that cannot be distinguished from it.
        "<body bgcolor=white><font color=white>x</font>",
        "<body bgcolor=#ffffff><font color=#fefefe>x</font>",
        "<body bgcolor=black text=#0a0a0a>x",
        "<body link=white><a href=y>x</a>",
        "<p style='color:white'>x",
        "<p style='color:#fff; background:#f8f8f8'>x",
        "<table bgcolor=navy><tr><td><font color='#000080'>x</font></table>",
        "<div style='background:url(a.png) #eee'><p style='color:#eee'>x</div>",
        "<style>.a {color:white}</style><p class=a>x",
        "<style>.foot p {display:none}</style><div class=foot><i><p>x</i></div>",
        "<style>div.foot p.a {display:none}</style><div class='b foot'><p class=a>x</div>",
        "<style>.a {display:none}</style><p class='b a'>x",
        "<style>#a {display:none}</style><p id=a>x",
        "<style>P.a {display:none}</style><p class=a>x",
        "<style>p.a.b {display:none}</style><p class='b a'>x",
        "<style>i, p {display:none}</style><p>x",
        "<style>* {display:none}</style><p>x",
        "<style><!-- /* { */ p {display:none} --></style><p>x",
        "<style>@import 'x'; p {display:none}</style><p>x",
        "<style>@media screen { p {display:none} }</style><p>x",
        "<style>p {display:none !important}</style><p style='display:block'>x",
    ],
)
def test_invisible_text_is_hidden(html: str) -> None:
    assert style(html).hidden


@pytest.mark.parametrize(
    "html",
    [
        "<p>x",
        "<p style='visibility:hidden'><b style='visibility:visible'>x</b>",
        "<p style='position:absolute; left:-10px'>x",
        "<p style='left:-9999px'>x",
        "<p style='opacity:.5'>x",
        "<p style='margin-left:-300px'>x",
        "<p style='height:0'>x",
        "<p style='height:2em; overflow:hidden'>x",
        "<p style='clip:rect(0 0 0 0)'>x",
        "<p style='position:absolute; clip:rect(0, 200px, 200px, 0)'>x",
        "<p style='clip-path:inset(5%)'>x",
        "<p style='transform:scale(0.9)'>x",
        "<p style='filter:alpha(opacity=90)'>x",
        # Hiding by size or colour does not affect children with their own values.
        "<p style='font-size:0'><b style='font-size:12px'>x</b>",
        "<p style='color:transparent'><b style='color:black'>x</b>",
        "<p style='color:white'><b style='background:black'>x</b>",
        "<dialog open>x</dialog>",
        # The colour of an image is unknown.
        "<body background=stars.gif text=white>x",
        "<div style='background:url(stars.png)'><p style='color:white'>x</div>",
        "<div style='background-image:linear-gradient(#000, #333)'><p style='color:white'>x</div>",
        "<p style='color:#eee'>x",
        "<p style='color:yellow'>x",
        "<body style='display:none'>x",
        "<style>p {display:none}</style><p style='display:block'>x",
        "<style>@media print { p {display:none} }</style><p>x",
        "<style>@media (max-width: 40em) { p {display:none} }</style><p>x",
        "<style>@media screen and (max-width: 600px) { p {display:none} }</style><p>x",
        "<style>@media (prefers-color-scheme: dark) { p {color:white} }</style><p>x",
        "<style>.foot p {display:none}</style><div class=food><p>x</div>",
        "<style>div.foot p {display:none}</style><p class=foot><div><p>x</div>",
        "<style>.a .b p {display:none} .a > p {display:none}</style><div class=a><p>x</div>",
        "<style>div p {display:none} p:hover {display:none} p > i {display:none}</style><p>x",
        "<style>p.b {display:none} .c p {display:none}</style><p class=a>x",
        "<style>p {display:none} p.a {display:block}</style><p class=a>x",
        "<style>p.a {display:block} p {display:none}</style><p class=a>x",
    ],
)
def test_visible_text_is_not_hidden(html: str) -> None:
    assert not style(html).hidden


@pytest.mark.parametrize(
    ("html", "size"),
    [
        ("x", 16),
        ("<h1>x</h1>", 32),
        ("<h2>x</h2>", 24),
        ("<font size=1>x</font>", 10),
        ("<font size=+2>x</font>", 24),
        ("<font size=-1>x</font>", 13),
        ("<small>x</small>", 13.33),
        ("<p style='font-size:9px'>x", 9),
        ("<p style='font-size:9pt'>x", 12),
        ("<p style='font-size:xx-small'>x", 9),
        ("<div style='font-size:50%'><p style='font-size:2em'>x</div>", 16),
        ("<div style='font-size:50%'><p style='font-size:1rem'>x</div>", 16),
        ("<div style='font-size:20px'><i>x</i></div>", 20),
        ("<p style='font: bold 10px/1.5 serif'>x", 10),
        ("<h1 style='font-size:10px'>x</h1>", 10),
        ("<p style='font-size:huge'>x", 16),
    ],
)
def test_the_font_size_is_in_pixels(html: str, size: float) -> None:
    assert style(html).font_size == pytest.approx(size, abs=0.01)


@pytest.mark.parametrize(
    ("html", "ink", "paper"),
    [
        ("x", "#000000", "#ffffff"),
        ("<body bgcolor=black text=white>x", "#ffffff", "#000000"),
        ("<body bgcolor=FF0000>x", "#000000", "#ff0000"),
        ("<font color=red>x</font>", "#ff0000", "#ffffff"),
        ("<table bgcolor=#123456><tr><td>x</table>", "#000000", "#123456"),
        ("<p style='color:#abc;background:#def'>x", "#aabbcc", "#ddeeff"),
        ("<p style='background: url(a.png) rgb(1, 2, 3) no-repeat'>x", "#000000", "#010203"),
        ("<p style='background-color:transparent'>x", "#000000", "#ffffff"),
        ("<div style='background:blue'><p style='color:blue'>x</div>", "#0000ff", "#0000ff"),
        ("<a href=y>x</a>", "#0000ee", "#ffffff"),
        ("<body link=lime><a href=y>x</a>", "#00ff00", "#ffffff"),
    ],
)
def test_colours_are_the_visible_colours(html: str, ink: str, paper: str) -> None:
    assert (style(html).colour, style(html).background) == (ink, paper)


def test_sentences_have_block_numbers_and_are_split_where_visibility_changes() -> None:
    found = extract_sentences(
        "One. Two <b>bold</b>.<p>Three <i style='display:none'>four. Five</i> six.<br>Seven<p></p>Eight"
    )
    assert [(sentence.text, sentence.paragraph, sentence.style.hidden) for sentence in found] == [
        ("One.", 0, False),
        ("Two bold.", 0, False),
        ("Three", 1, False),
        ("four.", 1, True),
        ("Five", 1, True),
        ("six.", 1, False),
        ("Seven", 2, False),
        ("Eight", 3, False),
    ]


def test_a_sentence_has_the_style_of_most_of_its_characters() -> None:
    (first, second) = extract_sentences("<font color=red>A</font>lpha beta. <font color=red>Gamma</font> d.")
    assert (first.style.colour, second.style.colour) == ("#000000", "#ff0000")


def test_scripts_and_forged_markers_are_removed() -> None:
    assert [sentence.text for sentence in extract_sentences("<script>a</script>b\ue000c<template>d</template>")] == [
        "bc"
    ]


@given(st.integers(0, 0xFFFFFF))
def test_all_notations_of_a_colour_are_equal(value: int) -> None:
    digits = f"{value:06x}"
    red, green, blue = value >> 16, value >> 8 & 255, value & 255
    spellings = [f"#{digits}", digits.upper(), f"rgb({red},{green},{blue})", f"rgba({red} {green} {blue} / 1)"]
    assert {parse_colour(spelling) for spelling in spellings} == {f"#{digits}"}


@given(st.text(max_size=30) | st.sampled_from(["rgb(1e999,0,0)", "hsl(1)", "#12345", "rgb(,,)", "-", "rgb(9" * 9]))
def test_any_text_is_a_colour_or_none(text: str) -> None:
    found = parse_colour(text)
    assert found is None or found == "transparent" or (len(found) == 7 and int(found[1:], 16) >= 0)


def test_all_colour_names_are_supported() -> None:
    assert len(COLOUR_NAMES) == 148


@pytest.mark.parametrize("value", ["opacity(", "opacity(0", "opacity", "scale(", "scale(0"])
def test_values_of_blanks_take_linear_time(value: str) -> None:
    # With backtracking, these take minutes.
    for name in ("filter", "transform"):
        assert not is_hidden_by_style({name: value + " " * 100_000 + "x"}, 16.0)
    assert is_hidden_by_style({"filter": "opacity( 0.0 % )"}, 16.0)
    assert is_hidden_by_style({"transform": "scale( .0 )"}, 16.0)
