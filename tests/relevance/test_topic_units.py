"""Interpretation of topics as units, and its effect on the score of pages."""

from __future__ import annotations

import pytest

from topicrawl.models import Page
from topicrawl.relevance.topic_judge import TopicJudge
from topicrawl.relevance.topic_units import TopicUnits
from topicrawl.relevance.vsm import Vsm, find_kept_words
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Topic

FILLER = "owl " * 30


def build_german_topic(phrase: str) -> Topic:
    return Topic(phrase, dict.fromkeys(tokenise(phrase), 1.0), languages=("de",))


def score(topic: str, text: str, title: str = "") -> float:
    return TopicJudge(Vsm(Topic.of(topic))).score(
        Page("http://a/", title=title, words=tuple(tokenise(text)), language="en")
    )


@pytest.mark.parametrize(
    ("phrase", "description"),
    [
        ("dengue fever", '"dengu fever"'),
        ("full text search in databases", '"full text search" (FTS) in the context "databas"'),
        ("geographic information systems", '"geograph inform system" (GIS)'),
        ("southern european art", '"southern european art"'),  # "sea" is a common word
        ("systems engineering", '"system engin"'),  # two letters have too many meanings
        ("history of the steam engine", '"histori" with "steam engin"'),
        ("search in search engines", '"search" with "search engin"'),
        ("programming in C", '"program" with "c"'),
        ("The Who", '"the who"'),
        ("health and medicine", '"health" or "medicin"'),
        ("steam engines or water mills", '"steam engin" or "water mill"'),
        ("owls, snowy owls; hawks", '"owl" or "snowi owl" or "hawk"'),
        ("dogs & cats", '"dog" or "cat"'),
        ("dengue fever mosquito virus vaccine", '"dengu" or "fever" or "mosquito" or "viru" or "vaccin"'),
    ],
)
def test_stop_words_and_separators_split_a_topic_into_units(phrase: str, description: str) -> None:
    assert TopicUnits.of(Topic.of(phrase)).describe() == description


@pytest.mark.parametrize(
    ("phrase", "description"),
    [
        ("Vögel und Bäume", '"vogel" or "baum"'),
        ("Vögel oder Bäume", '"vogel" or "baum"'),
        ("Geschichte der Eisenbahn", '"geschicht" with "eisenbahn"'),
    ],
)
def test_conjunctions_and_stop_words_are_those_of_the_topic_language(phrase: str, description: str) -> None:
    assert TopicUnits.of(build_german_topic(phrase)).describe() == description


def test_a_word_list_has_one_unit_for_each_entry() -> None:
    units = TopicUnits.of(Topic("birds", {"hawk": 1.0, "hawks": 1.0, "snowy owl": 1.0, "the": 1.0}))
    assert units.describe() == '"hawk" or "snowi owl"'
    assert units.are_alternatives


def test_a_unit_has_the_share_of_its_terms_weights() -> None:
    topic = Topic.of("text search in databases")
    equal = TopicUnits.of(topic)
    assert [unit.weight for unit in equal.units] == [pytest.approx(2 / 2.4), pytest.approx(0.4 / 2.4)]
    weighted = TopicUnits.of(topic, {"text": 3.0, "search": 1.0, "databas": 4.0})
    assert [(dict(unit.terms), unit.weight) for unit in weighted.units] == [
        ({"text": 0.625, "search": 0.375}, pytest.approx(4 / 5.6)),
        ({"databas": 1.0}, pytest.approx(1.6 / 5.6)),
    ]


@pytest.mark.parametrize(
    ("phrase", "context"),
    [
        ("full text search in databases", {"databas"}),
        ("triggers in databases", {"databas"}),
        ("authentication in web servers", {"web", "server"}),
        ("databases", set()),
        ("history of the owl", set()),  # "of" and "for" often introduce the subject
        ("tools for image processing", set()),
        ("research in physics", set()),  # the word before the preposition is too general to be the subject
        ("owls and hawks in Europe", set()),
        ("in databases", set()),
    ],
)
def test_some_prepositions_introduce_the_context_of_the_subject(phrase: str, context: set[str]) -> None:
    units = TopicUnits.of(Topic.of(phrase))
    assert {term for unit in units.units if unit.is_context for term in unit.terms} == context
    assert units.has_context == bool(context)


def test_the_terms_of_the_context_have_smaller_weights() -> None:
    topic = Topic.of("full text search in databases")
    query = {"full": 1.0, "text": 2.0, "search": 2.0, "databas": 5.0}
    assert TopicUnits.of(topic, query).weight_query(query) == {**query, "databas": 2.0}
    plain = Topic.of("owl nests")
    assert TopicUnits.of(plain).weight_query({"owl": 2.0, "nest": 1.0}) == {"owl": 2.0, "nest": 1.0}


def test_a_unit_without_weight_is_left_out() -> None:
    topic = Topic.of("text search in databases")
    assert TopicUnits.of(topic, {"databas": 1.0}).describe() == '"databas"'
    assert TopicUnits.of(topic, {}) == TopicUnits((), are_alternatives=True)


@pytest.mark.parametrize(
    ("phrase", "kept", "terms"),
    [
        ("search in databases", set(), {"search", "databas"}),
        ("the history of the owl", set(), {"histori", "owl"}),
        ("programming in C", {"c"}, {"program", "c"}),
        ("C, R", {"c", "r"}, {"c", "r"}),
        ("The Who", {"the", "who"}, {"the", "who"}),
    ],
)
def test_stop_words_count_only_in_a_topic_without_other_words(phrase: str, kept: set[str], terms: set[str]) -> None:
    topic = Topic.of(phrase)
    assert find_kept_words(topic) == kept
    assert set(Vsm(topic).query) == terms


def test_stop_words_of_a_topic_do_not_change_the_score() -> None:
    text = "the database is searched by the words in the text"
    assert score("search in databases", text) == score("search of the databases", text) > 0.5


def test_words_of_a_unit_must_be_near_each_other() -> None:
    near, far = f"text search {FILLER}", f"text {FILLER} search"
    assert score("text search", near) > 2 * score("text search", far)


def test_a_page_needs_all_units_of_a_phrase_but_only_one_alternative() -> None:
    owls = f"owl {FILLER}"
    assert score("owls or locomotives", owls) > 0.5 > score("locomotives", owls)
    assert score("owls or locomotives", owls) > score("owls of locomotives", owls)


@pytest.mark.parametrize(
    ("topic", "text", "title", "other"),
    [
        ("C", "The C language and its compilers. C is fast.", "The C language", "The language and its compilers."),
        ("The Who", "The Who are a band. The Who played at night.", "The Who", "A band that played at night."),
    ],
)
def test_a_topic_of_a_letter_or_of_stop_words_finds_its_pages(topic: str, text: str, title: str, other: str) -> None:
    assert score(topic, text, title) > 0.5 > score(topic, other)


def test_a_letter_near_the_other_words_of_the_topic_raises_the_score() -> None:
    letter, without = f"programming in C {FILLER}", f"programming in Java {FILLER}"
    assert score("programming in C", letter) > 2 * score("programming in C", without)


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("full text search in databases", True),
        ("geographic information systems", False),
        ("health and medicine", False),
    ],
)
def test_conjunctions(phrase: str, expected: bool) -> None:
    assert TopicUnits.of(Topic.of(phrase)).is_conjunction is expected
