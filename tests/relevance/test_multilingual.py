"""Tests of the multilingual vector space model."""

from __future__ import annotations

from pathlib import Path

import pytest

from topicrawl import parse
from topicrawl.errors import TopicError
from topicrawl.models import Link, Page, Response
from topicrawl.relevance.multilingual import MultilingualVsm, NullVsm, build_vsm
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.lexicon import STEMMING_ALGORITHMS
from topicrawl.topic import Topic, load_topic

FILE = """
name = "dengue fever"
languages = ["en", "de", "es", "ru"]

[words]
dengue = 1.0
fever = 1.0
mosquito = 0.5

[words.de]
denguefieber = 1.0
fieber = 1.0
"stechmücke" = 0.5

[words.es]
dengue = 1.0
fiebre = 1.0
mosquito = 0.5

[words.ru]
"денге" = 1.0
"лихорадка" = 1.0
"комар" = 0.5
"""
TEXTS = {
    "en": "Dengue fever is an illness that is carried by mosquitoes. It begins with a high fever, and most people who "
    "have the dengue virus are well again after a week. There is no medicine for this fever.",
    "de": "Das Denguefieber ist eine Krankheit, die von Stechmücken übertragen wird. Sie beginnt mit hohem Fieber, und "
    "die meisten Menschen sind nach einer Woche wieder gesund. Ein Mittel gegen dieses Fieber gibt es nicht.",
    "es": "El dengue es una enfermedad que transmiten los mosquitos. Comienza con una fiebre muy alta, y la mayoría de "
    "las personas se curan después de una semana. No hay ningún medicamento contra estas fiebres.",
    "ru": "Лихорадка денге — это болезнь, которую переносят комары. Она начинается с высокой температуры, и "
    "большинство людей выздоравливает через неделю. Лекарства от этой лихорадки нет, но от комаров можно защититься.",
}
OFF_TOPIC = {
    "en": "The steam engine pulled its train of old coaches over the bridge, and the people of the village stood on "
    "the platform and waved. It was the last time that the railway was open to them.",
    "de": "Die Lokomotive zog ihre alten Wagen über die Brücke, und die Menschen aus dem Dorf standen auf dem "
    "Bahnsteig und winkten. Es war das letzte Mal, dass die Eisenbahn für sie offen war.",
    "es": "La locomotora llevaba sus viejos vagones sobre el puente, y la gente del pueblo estaba en el andén y "
    "saludaba. Era la última vez que el ferrocarril estaba abierto para ellos.",
    "ru": "Паровоз тянул старые вагоны через мост, а люди из деревни стояли на платформе и махали руками. Это был "
    "последний раз, когда железная дорога была для них открыта.",
}


@pytest.fixture
def topic(tmp_path: Path) -> Topic:
    path = tmp_path / "topic.toml"
    path.write_text(FILE, "utf-8")
    return load_topic(path)


def page(text: str) -> Page:
    body = f"<html><body><p>{text}</p></body></html>".encode()
    response = Response("http://a/", "http://a/", 200, {"content-type": "text/html; charset=utf-8"}, body)
    found = parse.parse_response(response, Link("http://a/"))
    assert isinstance(found, Page)
    return found


@pytest.mark.parametrize("language", sorted(TEXTS))
def test_page_in_a_topic_language_is_compared_with_the_words_of_that_language(topic: Topic, language: str) -> None:
    tongues = MultilingualVsm(topic)
    on, off = page(TEXTS[language]), page(OFF_TOPIC[language])
    assert (on.language, off.language) == (language, language)
    assert tongues.score(on) > topic.similarity_threshold * 2
    assert tongues.score(off) == 0.0


def test_english_pages_score_as_in_a_monolingual_topic(topic: Topic) -> None:
    assert MultilingualVsm(topic).score(page(TEXTS["en"])) == Vsm(topic).score(page(TEXTS["en"]))


@pytest.mark.parametrize(
    ("anchor", "is_like"),
    [
        ("Dengue fever", True),
        ("Alles über das Fieber", True),
        ("Лихорадка", True),
        ("Fiebres", True),
        ("Railways", False),
    ],
)
def test_short_texts_are_compared_in_all_topic_languages(topic: Topic, anchor: str, is_like: bool) -> None:
    tongues = MultilingualVsm(topic)
    assert (tongues.score_text(anchor) > 0) == is_like
    assert tongues.score_texts([anchor, "Home"]) == [tongues.score_text(anchor), 0.0]


def test_page_in_another_language_is_compared_with_the_lexicon_of_that_language() -> None:
    topic = Topic.of("dengue fever")
    german = page(TEXTS["de"].replace("Denguefieber", "Dengue-Fieber"))
    # Its stop words are unknown in English, so they would have the highest idf.
    assert MultilingualVsm(topic).score(german) > 2 * Vsm(topic).score(german) > 0
    assert MultilingualVsm(topic, foreign=False).score(german) == Vsm(topic).score(german)


def test_stop_word_of_another_language_does_not_count_there() -> None:
    german = page(OFF_TOPIC["de"])
    assert "war" in german.words
    assert Vsm(Topic.of("war")).score(german) > 0
    assert MultilingualVsm(Topic.of("war")).score(german) == 0.0
    assert MultilingualVsm(Topic.of("war locomotive")).score(german) == 0.0
    assert NullVsm(Topic.of("war")).get_weights(german)


def test_page_of_unknown_language_gets_the_highest_score(topic: Topic) -> None:
    short = Page("http://a/", words=("das", "denguefieber"))
    assert MultilingualVsm(topic).score(short) == MultilingualVsm(topic.for_language("de")).score(short) > 0


def test_language_without_stemmer_uses_the_first_topic_language() -> None:
    topic = Topic.of("dengue fever")
    thai = Page("http://a/", words=("dengue", "ไข้"), language="th")
    assert MultilingualVsm(topic).score(thai) == Vsm(topic).score(thai) > 0


@pytest.mark.parametrize("language", sorted(STEMMING_ALGORITHMS))
def test_every_language_can_be_a_topic_language(language: str) -> None:
    topic = Topic("x", {"dengue": 1.0}, languages=("en", language), translations={language: {"dengue": 1.0}})
    found = Page("http://a/", words=("dengue", "virus"), language=language)
    assert 0 < MultilingualVsm(topic).score(found) < 1


def test_experiment_with_one_language_uses_a_monolingual_judge(topic: Topic) -> None:
    assert type(build_vsm(Topic.of("owls"))) is Vsm
    assert build_vsm(topic).score(page(TEXTS["ru"])) > topic.similarity_threshold


def test_multilingual_topic_round_trip(topic: Topic, tmp_path: Path) -> None:
    path = tmp_path / "again.toml"
    path.write_text(topic.to_toml(), "utf-8")
    again = load_topic(path)
    assert (again.words, again.translations, again.languages) == (topic.words, topic.translations, topic.languages)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('languages = ["en"]\n[words]\na = 1\n[words.de]\nb = 1', "words.de: 'de' is not one of the languages"),
        ('languages = ["en", "de"]\n[words]\na = 1\n[words.de]', "words.de is empty"),
        ('languages = ["en", "de"]\n[words]\na = 1\n[words.de]\nb = -1', "the weight of 'b' is -1.0"),
        ('languages = ["en", "de"]\n[words]\na = 1\n[words.de]\nb = "x"', "the weight of 'b' must be a number"),
        ('languages = ["en", "de"]\n[words.de]\nb = 1', "has no words"),
    ],
    ids=["a language too many", "no words", "a weight below 0", "no number", "only translations"],
)
def test_invalid_translations_are_reported(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "topic.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(TopicError, match=words):
        load_topic(path)
