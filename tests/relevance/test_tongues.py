"""Pages in several languages are judged in their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from topicrawl import parse
from topicrawl.errors import TopicError
from topicrawl.records import Link, Page, Response
from topicrawl.relevance.tongues import Deaf, Tongues, judge_of
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.lexicon import ALGORITHMS
from topicrawl.topic import Topic, load

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
    return load(path)


def page(text: str) -> Page:
    body = f"<html><body><p>{text}</p></body></html>".encode()
    response = Response("http://a/", "http://a/", 200, {"content-type": "text/html; charset=utf-8"}, body)
    found = parse.read(response, Link("http://a/"))
    assert isinstance(found, Page)
    return found


@pytest.mark.parametrize("language", sorted(TEXTS))
def test_a_page_in_a_language_of_the_topic_is_compared_with_its_words_there(topic: Topic, language: str) -> None:
    tongues = Tongues(topic)
    on, off = page(TEXTS[language]), page(OFF_TOPIC[language])
    assert (on.language, off.language) == (language, language)
    assert tongues.score(on) > topic.threshold * 2
    assert tongues.score(off) == 0.0


def test_english_pages_score_as_if_there_were_no_other_language(topic: Topic) -> None:
    assert Tongues(topic).score(page(TEXTS["en"])) == Vsm(topic).score(page(TEXTS["en"]))


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
def test_links_are_compared_in_all_languages_of_the_topic(topic: Topic, anchor: str, is_like: bool) -> None:
    tongues = Tongues(topic)
    assert (tongues.phrase(anchor) > 0) == is_like
    assert tongues.phrases([anchor, "Home"]) == [tongues.phrase(anchor), 0.0]


def test_a_page_in_a_language_that_is_not_the_topics_is_seen_with_that_languages_eyes() -> None:
    topic = Topic.of("dengue fever")
    german = page(TEXTS["de"].replace("Denguefieber", "Dengue-Fieber"))
    # Its stop words, which English does not know, would count as the rarest of words.
    assert Tongues(topic).score(german) > 2 * Vsm(topic).score(german) > 0
    assert Tongues(topic, foreign=False).score(german) == Vsm(topic).score(german)


def test_a_word_that_says_nothing_there_is_no_word_of_the_topic_there() -> None:
    german = page(OFF_TOPIC["de"])
    assert "war" in german.words
    assert Vsm(Topic.of("war")).score(german) > 0
    assert Tongues(Topic.of("war")).score(german) == 0.0
    assert Tongues(Topic.of("war locomotive")).score(german) == 0.0
    assert Deaf(Topic.of("war")).weights(german)


def test_a_page_of_unknown_language_gets_the_best_of_the_topics_languages(topic: Topic) -> None:
    short = Page("http://a/", words=("das", "denguefieber"))
    assert Tongues(topic).score(short) == Tongues(topic.said_in("de")).score(short) > 0


def test_a_language_without_stemmer_is_judged_in_the_first() -> None:
    topic = Topic.of("dengue fever")
    thai = Page("http://a/", words=("dengue", "ไข้"), language="th")
    assert Tongues(topic).score(thai) == Vsm(topic).score(thai) > 0


@pytest.mark.parametrize("language", sorted(ALGORITHMS))
def test_every_language_can_be_a_topics(language: str) -> None:
    topic = Topic("x", {"dengue": 1.0}, languages=("en", language), translations={language: {"dengue": 1.0}})
    found = Page("http://a/", words=("dengue", "virus"), language=language)
    assert 0 < Tongues(topic).score(found) < 1


def test_an_experiment_with_one_language_is_judged_as_before(topic: Topic) -> None:
    assert type(judge_of(Topic.of("owls"))) is Vsm
    assert judge_of(topic).score(page(TEXTS["ru"])) > topic.threshold


def test_a_topic_with_several_languages_survives_its_file(topic: Topic, tmp_path: Path) -> None:
    path = tmp_path / "again.toml"
    path.write_text(topic.toml(), "utf-8")
    again = load(path)
    assert (again.words, again.translations, again.languages) == (topic.words, topic.translations, topic.languages)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('languages = ["en"]\n[words]\na = 1\n[words.de]\nb = 1', "there are words in 'de', but the languages are en"),
        ('languages = ["en", "de"]\n[words]\na = 1\n[words.de]', "words.de is empty"),
        ('languages = ["en", "de"]\n[words]\na = 1\n[words.de]\nb = -1', "the weight of 'b' is -1.0"),
        ('languages = ["en", "de"]\n[words]\na = 1\n[words.de]\nb = "x"', "the weight of 'b' must be a number"),
        ('languages = ["en", "de"]\n[words.de]\nb = 1', "has no words"),
    ],
    ids=["a language too many", "no words", "a weight below 0", "no number", "only translations"],
)
def test_mistakes_in_the_words_of_a_language_are_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "topic.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(TopicError, match=words):
        load(path)
