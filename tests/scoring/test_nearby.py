"""The words in and beside links are the same whichever way they are found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from topicrawl.parse import read
from topicrawl.records import Around, Link, Page, Response
from topicrawl.scoring.nearby import NEAR, nearby
from topicrawl.text.bag import Vocabulary, vocabulary_for
from topicrawl.text.lexicon import lexicon

SENTENCES = {
    "en": "The owl hunts at night and sleeps in the <a href=/barn>old wooden barn</a> near our house, where the "
    "mice of the <a href=/field>field</a> are many and the <a href=/of>of the</a> farmer is glad of every one it takes",
    "de": "Die Eule jagt in der Nacht und schläft in der <a href=/scheune>alten hölzernen Scheune</a> bei unserem "
    "Haus, wo die Mäuse des <a href=/feld>Feldes</a> zahlreich sind und der <a href=/der>der die</a> Bauer froh ist",
}


def page(language: str) -> Page:
    body = f"<html lang={language}><title>t</title><p>{SENTENCES[language]}. {SENTENCES[language]}."
    response = Response("http://a/", "http://a/", 200, {"content-type": "text/html; charset=utf-8"}, body.encode())
    found = read(response, Link("http://a/"), context=Around.WORDS)
    assert isinstance(found, Page)
    return found


def terms(links: tuple[Link, ...], vocabulary: Vocabulary) -> tuple[list[list[str]], list[list[str]]]:
    """The terms of each link's own text and of what stands before and after it."""
    found = nearby(links, vocabulary)
    names = [vocabulary.names[number] for number in found.terms.tolist()]
    own, beside = (
        [names[start : start + size] for start, size in zip(spans.starts.tolist(), spans.sizes.tolist(), strict=True)]
        for spans in (found.own, found.beside)
    )
    return own, beside


@pytest.mark.parametrize("language", SENTENCES)
@pytest.mark.parametrize("topic", ["en", "de"])
def test_windows_in_the_pages_row_of_words_and_windows_of_strings_are_the_same(language: str, topic: str) -> None:
    links = page(language).links
    vocabulary = vocabulary_for((), lexicon(topic))
    plain = tuple(replace(link, before=tuple(link.before), after=tuple(link.after)) for link in links)
    own, beside = terms(links, vocabulary)
    assert (own, beside) == terms(plain, vocabulary)
    assert max(map(len, beside)) == NEAR
    assert own == [lexicon(topic).terms(link.anchor.lower().split()) for link in links]


def test_links_without_a_place_in_the_text_have_nothing_beside_them() -> None:
    links = (*page("en").links, Link("http://a/frame"))
    own, beside = terms(links, Vocabulary(lexicon("en")))
    assert (own[-1], beside[-2:]) == ([], [[], []])
    assert beside[:-2] == terms(links[:-1], Vocabulary(lexicon("en")))[1]
