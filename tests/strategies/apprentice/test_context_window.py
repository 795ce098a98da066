"""Link windows are the same with both extraction methods."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from topicrawl.models import Link, LinkContextLevel, Page, Response
from topicrawl.parse import parse_response
from topicrawl.parse.parser_cache import ParserCache
from topicrawl.strategies.apprentice.context_window import WINDOW_WORDS, extract_windows
from topicrawl.text.bag_of_words import TermVocabulary
from topicrawl.text.lexicon import load_lexicon

SENTENCES = {
    "en": "The owl hunts at night and sleeps in the <a href=/barn>old wooden barn</a> near our house, where the "
    "mice of the <a href=/field>field</a> are many and the <a href=/of>of the</a> farmer is glad of every one it takes",
    "de": "Die Eule jagt in der Nacht und schläft in der <a href=/scheune>alten hölzernen Scheune</a> bei unserem "
    "Haus, wo die Mäuse des <a href=/feld>Feldes</a> zahlreich sind und der <a href=/der>der die</a> Bauer froh ist",
}


def page(language: str, cache: ParserCache | None = None) -> Page:
    body = f"<html lang={language}><title>t</title><p>{SENTENCES[language]}. {SENTENCES[language]}."
    response = Response("http://a/", "http://a/", 200, {"content-type": "text/html; charset=utf-8"}, body.encode())
    found = parse_response(response, Link("http://a/"), context=LinkContextLevel.WITHOUT_SENTENCE, cache=cache)
    assert isinstance(found, Page)
    return found


def terms(links: tuple[Link, ...], vocabulary: TermVocabulary) -> tuple[list[list[str]], list[list[str]]]:
    """Return the terms of each link's own text, and of the text before and after it."""
    found = extract_windows(links, vocabulary)
    names = vocabulary.get_terms(found.terms.tolist())
    own, beside = (
        [names[start : start + size] for start, size in zip(spans.starts.tolist(), spans.sizes.tolist(), strict=True)]
        for spans in (found.own, found.beside)
    )
    return own, beside


@pytest.mark.parametrize("language", SENTENCES)
@pytest.mark.parametrize("topic", ["en", "de"])
def test_windows_of_word_sequences_and_of_strings_are_equal(language: str, topic: str) -> None:
    # If both languages are the same, the parser has stored the term ids of this vocabulary in the words.
    cache = ParserCache()
    links = page(language, cache).links
    vocabulary = cache.vocabularies.get_vocabulary(load_lexicon(topic))
    plain = tuple(replace(link, before=tuple(link.before), after=tuple(link.after)) for link in links)
    own, beside = terms(links, vocabulary)
    assert (own, beside) == terms(plain, vocabulary)
    assert max(map(len, beside)) == WINDOW_WORDS
    assert own == [load_lexicon(topic).extract_terms(link.anchor.lower().split()) for link in links]


def test_links_outside_the_text_have_no_context() -> None:
    links = (*page("en").links, Link("http://a/frame"))
    own, beside = terms(links, TermVocabulary(load_lexicon("en")))
    assert (own[-1], beside[-2:]) == ([], [[], []])
    assert beside[:-2] == terms(links[:-1], TermVocabulary(load_lexicon("en")))[1]
