"""Tests of the semantic crawlers with WordNet and with a thesaurus file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from topicrawl.errors import StrategyError
from topicrawl.models import Link, Page, Priority, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import create_strategy
from topicrawl.strategies.base import StrategyContext
from topicrawl.strategies.semantic import SemanticStrategy
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Topic

ALL = ["ehrig", "ssrm", "synset_expansion", "corley_mihalcea"]
THESAURUS = "zika\tis_a\tarbovirus disease\nbreakbone\tsame_as\tdengue\ndengue\tis_a\tarbovirus disease\n"


def bind_strategy(spec: str, topic: Topic) -> SemanticStrategy:
    strategy = create_strategy(spec)
    assert isinstance(strategy, SemanticStrategy)
    strategy.bind(StrategyContext(topic, Vsm(topic), Random(0)))
    return strategy


def score_anchors(strategy: SemanticStrategy, anchors: Sequence[str], text: str = "") -> list[Priority]:
    page = Page("http://a/", text=text, words=tuple(tokenise(text)))
    visit = Visit(1, Link("http://a/"), Priority(1.0), "http://a/", page, 0.0)
    links = [Link(f"http://b/{n}", "http://a/", anchor) for n, anchor in enumerate(anchors)]
    return [place for place in strategy.score_links(links, visit) if place is not None]


def scores(spec: str, topic: str, anchors: Sequence[str], text: str = "") -> list[float]:
    return [place.score for place in score_anchors(bind_strategy(spec, Topic.of(topic)), anchors, text)]


@pytest.mark.parametrize("name", ALL)
def test_a_synonym_scores_higher_than_an_unrelated_word(name: str) -> None:
    own, synonym, stranger, nothing = scores(name, "car", ["cars", "automobile", "weather forecast", ""])
    assert own >= synonym > stranger >= nothing == 0


@pytest.mark.parametrize("name", ["ehrig", "ssrm", "corley_mihalcea"])
def test_pages_count_only_with_a_page_weight(name: str) -> None:
    anchors = ["weather", "owls"]
    assert scores(name, "car", anchors, "car car car") == scores(name, "car", anchors, "owls")
    on, off = (scores(f"{name}:page=0.5,anchor=0.5", "car", anchors, text)[0] for text in ("car car", "the"))
    assert on > off


def test_synset_expansion_is_the_mean_of_page_and_anchor_batsakis_equation_10() -> None:
    strategy = bind_strategy("synset_expansion", Topic.of("car"))
    (place,) = score_anchors(strategy, ["automobile"], "An automobile and a motorcar in the rain")
    parts = dict(place.parts)
    assert 0 < parts["page"] < 1
    assert place.score == pytest.approx((parts["page"] + parts["anchor"]) / 2)


def test_synset_expansion_finds_pages_with_only_synonyms() -> None:
    text = "Every automobile of that year was a motorcar."
    topic = Topic.of("car")
    assert Vsm(topic).score_text(text) == 0
    assert score_anchors(bind_strategy("synset_expansion", topic), ["x"], text)[0].score > 0


def test_fewer_senses_mean_fewer_synonyms() -> None:
    text = "a gondola"  # the third sense of "car"
    assert scores("synset_expansion", "car", ["x"], text)[0] > 0
    assert scores("synset_expansion:senses=2", "car", ["x"], text) == [0.0]


def test_the_cheaper_relations_of_ehrig() -> None:
    anchors = ["canine", "wolf"]
    assert scores("ehrig:relation=neighbours", "dog", anchors) == [0.5, 0.0]
    assert scores("ehrig:relation=is_a", "dog", anchors) == [0.5, 0.5]
    assert scores("ehrig:relation=path", "dog", anchors) == [pytest.approx(1 / 3), pytest.approx(0.2)]


def test_the_original_form_of_ssrm_is_a_mean() -> None:
    # As printed, a second topic word raises the value. Divided by all weights, it is a mean.
    short, long = scores("ssrm", "qqqq zzzz", ["qqqq", "qqqq zzzz"])
    assert short == long == pytest.approx(0.5)
    short, long = scores("ssrm:form=printed", "qqqq zzzz", ["qqqq", "qqqq zzzz"])
    assert long > short


def test_many_unrelated_words_do_not_outweigh_a_word_of_the_topic() -> None:
    topic = "bird birds species wings feathers nest eggs plumage breeding"
    birds, countries = scores("ssrm", topic, ["Birds", "List of countries by area"])
    assert birds > countries
    birds, countries = scores("ssrm:form=printed", topic, ["Birds", "List of countries by area"])
    assert birds < countries


@pytest.mark.parametrize("name", ALL)
def test_a_thesaurus_file_replaces_wordnet(name: str, tmp_path: Path) -> None:
    file = tmp_path / "fevers.tsv"
    file.write_text(THESAURUS, "utf-8")
    synonym, stranger = scores(f"{name}:ontology={file}", "dengue", ["breakbone", "car"])
    assert synonym > stranger == 0


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"\xff\xfe", "cannot be read: not UTF-8 text"),
        (b"", "the file has no terms"),
        (b"a\tis_a\tb\nb\tis_a\ta", "the relations form a cycle: a → b → a"),
        (b"steam\tis_a\twater", "contains none of the topic's words: describe the topic with its terms"),
    ],
)
def test_an_unusable_thesaurus_is_reported_in_one_line(
    name: str, content: bytes | None, says: str, tmp_path: Path
) -> None:
    file = tmp_path / "fevers.tsv"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(StrategyError) as caught:
        bind_strategy(f"{name}:ontology={file}", Topic.of("dengue"))
    assert str(caught.value).startswith(f"{name}: {file}")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ALL)
def test_wordnet_supports_only_english(name: str) -> None:
    with pytest.raises(StrategyError, match="WordNet supports only English, but the topic is in 'de'"):
        bind_strategy(name, Topic("Vögel", {"vogel": 1.0}, languages=("de",)))


def test_a_thesaurus_is_stemmed_in_the_topics_language(tmp_path: Path) -> None:
    file = tmp_path / "vogel.tsv"
    file.write_text("Eule\tis_a\tVogel\n", "utf-8")
    topic = Topic("Vögel", {"vögel": 1.0}, languages=("de",))
    (place,) = score_anchors(bind_strategy(f"ehrig:ontology={file}", topic), ["Eulen"])
    assert place.score == pytest.approx(0.5 / 1.5)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("ehrig:relation=far", "ehrig: relation is path, neighbours or is_a, not 'far'"),
        ("ehrig:factor=1", "ehrig: factor is 1.0, it must be between 0 and 1"),
        ("ehrig:page=0,anchor=0", "ehrig: page and anchor are weights of 0 or more, not both 0"),
        ("ssrm:least=2", "ssrm: least is 2.0, it must be from 0 to 1"),
        ("ssrm:form=new", "ssrm: form is original or printed, not 'new'"),
        ("ssrm:b=0", "ssrm: a must be 0 or more and b above 0"),
        ("corley_mihalcea:measure=x", "corley_mihalcea: measure is li or path, not 'x'"),
        ("synset_expansion:senses=-1", "synset_expansion: senses is -1, it must be 0 or more"),
    ],
)
def test_parameters_out_of_range_are_rejected(spec: str, says: str) -> None:
    with pytest.raises(StrategyError) as caught:
        create_strategy(spec)
    assert str(caught.value) == says
