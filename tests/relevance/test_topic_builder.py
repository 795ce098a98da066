"""Tests of building topics from words and pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from topicrawl.errors import TopicError
from topicrawl.models import Page
from topicrawl.relevance.topic_builder import KeywordTableOptions, build_topic, find_threshold
from topicrawl.relevance.topic_judge import TopicJudge
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import load_topic


def page(text: str, url: str = "http://a.example/", language: str = "en") -> Page:
    return Page(url, text=text, words=tuple(tokenise(text)), language=language)


ON = [
    page(f"Dengue fever and mosquitoes, day {'abcdefghijklm'[n] * 3}. Dengue fever.", f"http://a.example/{n}")
    for n in range(12)
]
OFF = [page("The steam locomotive. Fever of travel.", f"http://b.example/{n}") for n in range(4)]


def test_topic_from_words() -> None:
    topic = build_topic("Dengue fever")
    assert dict(topic.words) == {"dengue": 1.0, "fever": 1.0}
    assert not topic.filter
    assert "Dengue fever" in topic.origin


def test_topic_from_pages_is_named_by_its_words() -> None:
    topic = build_topic("", ON)
    assert topic.name == "dengue fever mosquitoes"
    assert list(topic.words)[:3] == ["dengue", "fever", "mosquitoes"]
    assert topic.relevant == tuple(each.url for each in ON)


def test_named_words_have_weight_1() -> None:
    topic = build_topic("The Mosquito net", ON, options=KeywordTableOptions(k=3, weighting="tf"))
    assert dict(topic.words) == {"the": 1.0, "mosquito": 1.0, "net": 1.0, "dengue": 1.0, "fever": 1.0}


def test_at_most_k_words_come_from_pages() -> None:
    assert len(build_topic("", ON, options=KeywordTableOptions(k=2)).words) == 2


def test_tf_idf_prefers_rare_words() -> None:
    text = page("people people owl people owl")
    assert list(build_topic("", [text], options=KeywordTableOptions(weighting="tf")).words) == ["people", "owl"]
    assert list(build_topic("", [text], options=KeywordTableOptions(weighting="tf_idf")).words) == ["owl", "people"]


def test_language_is_that_of_the_pages_by_default() -> None:
    german = [page("Das Fieber und die Mücken", language="de")]
    assert build_topic("", german).languages == ("de",)
    assert "das" not in build_topic("", german).words
    assert build_topic("", german, options=KeywordTableOptions(language="en")).languages == ("en",)


def test_threshold_separates_the_examples() -> None:
    topic = build_topic("", ON, OFF * 3)
    judge = TopicJudge(Vsm(topic))
    assert all(judge.score(each) >= topic.threshold for each in ON)
    assert all(judge.score(each) < topic.threshold for each in OFF)
    assert 0.3 <= topic.threshold <= 0.8
    assert "separates 12 example pages from 12" in topic.notes["threshold"]


def test_few_examples_do_not_change_the_threshold() -> None:
    assert build_topic("", ON, OFF).threshold == 0.5


def test_words_that_irrelevant_pages_share_are_not_topic_words() -> None:
    relevant = [page(f"using the table of orbits: orbits and planets {n}", f"http://a.example/{n}") for n in range(5)]
    irrelevant = [page(f"using a table of fares {n}", f"http://b.example/{n}") for n in range(5)]
    assert set(build_topic("", relevant, irrelevant).words) == {"orbits", "planets"}


@pytest.mark.parametrize(
    ("good", "bad", "at"),
    [([0.4, 0.6], [0.2], 0.3), ([0.4], [0.4], 0.2), ([0.2], [0.6], 0.1), ([0.0], [0.0], 0.0), ([0.5], [], 0.25)],
)
def test_find_threshold(good: list[float], bad: list[float], at: float) -> None:
    assert find_threshold(good, bad) == pytest.approx(at)


def test_every_part_of_the_file_has_a_note(tmp_path: Path) -> None:
    path = tmp_path / "topic.toml"
    topic = build_topic("dengue", ON, OFF)
    path.write_text(topic.to_toml(), "utf-8")
    lines = path.read_text("utf-8").splitlines()
    for number, line in enumerate(lines):
        assert not line.startswith("[") or lines[number - 1].startswith("# "), line
    assert "# from 12 example pages, distinctive, top 14; named words have weight 1" in lines
    assert load_topic(path) == topic
    assert load_topic(path).notes == topic.notes


def test_pages_without_text_are_rejected() -> None:
    with pytest.raises(TopicError, match="no text in 2 example pages"):
        build_topic("dengue", [page(""), page("?")])


def test_irrelevant_pages_alone_are_rejected() -> None:
    with pytest.raises(TopicError, match="need relevant ones"):
        build_topic("dengue", [], OFF)
