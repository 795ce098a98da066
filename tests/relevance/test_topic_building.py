"""Topics from words and pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from topicrawl.errors import TopicError
from topicrawl.records import Page
from topicrawl.relevance.topic_building import Recipe, build, divide
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.tokens import words
from topicrawl.topic import load


def page(text: str, url: str = "http://a.example/", language: str = "en") -> Page:
    return Page(url, text=text, words=tuple(words(text)), language=language)


ON = [
    page(f"Dengue fever and mosquitoes, day {'abcdefghijklm'[n] * 3}. Dengue fever.", f"http://a.example/{n}")
    for n in range(12)
]
OFF = [page("The steam locomotive. Fever of travel.", f"http://b.example/{n}") for n in range(4)]


def test_words_alone_are_the_topic() -> None:
    topic = build("Dengue fever")
    assert dict(topic.words) == {"dengue": 1.0, "fever": 1.0}
    assert not topic.filter
    assert "Dengue fever" in topic.origin


def test_pages_alone_name_the_topic() -> None:
    topic = build("", ON)
    assert topic.name == "dengue fever mosquitoes"
    assert list(topic.words)[:3] == ["dengue", "fever", "mosquitoes"]
    assert topic.relevant == tuple(each.url for each in ON)


def test_named_words_stay_and_weigh_1() -> None:
    topic = build("The Mosquito net", ON, recipe=Recipe(k=3))
    assert dict(topic.words) == {"the": 1.0, "mosquito": 1.0, "net": 1.0, "dengue": 1.0, "fever": 1.0}


def test_there_are_at_most_k_words_from_pages() -> None:
    assert len(build("", ON, recipe=Recipe(k=2)).words) == 2


def test_tf_idf_weighs_rare_words_more() -> None:
    text = page("people people owl people owl")
    assert list(build("", [text]).words) == ["people", "owl"]
    assert list(build("", [text], recipe=Recipe(weighting="tf_idf")).words) == ["owl", "people"]


def test_the_language_is_that_of_the_pages_unless_it_is_named() -> None:
    german = [page("Das Fieber und die Mücken", language="de")]
    assert build("", german).languages == ("de",)
    assert "das" not in build("", german).words
    assert build("", german, recipe=Recipe(language="en")).languages == ("en",)


def test_the_threshold_divides_the_examples() -> None:
    topic = build("", ON, OFF)
    vsm = Vsm(topic)
    assert all(vsm.score(each) >= topic.threshold for each in ON)
    assert all(vsm.score(each) < topic.threshold for each in OFF)
    assert "16" not in topic.notes["threshold"]
    assert "12 example pages best from 4" in topic.notes["threshold"]


@pytest.mark.parametrize(
    ("good", "bad", "at"),
    [([0.4, 0.6], [0.2], 0.3), ([0.4], [0.4], 0.2), ([0.2], [0.6], 0.1), ([0.0], [0.0], 0.0), ([0.5], [], 0.25)],
)
def test_the_best_divide(good: list[float], bad: list[float], at: float) -> None:
    assert divide(good, bad) == pytest.approx(at)


def test_every_part_of_the_file_says_where_it_came_from(tmp_path: Path) -> None:
    path = tmp_path / "topic.toml"
    topic = build("dengue", ON, OFF)
    path.write_text(topic.toml(), "utf-8")
    lines = path.read_text("utf-8").splitlines()
    for number, line in enumerate(lines):
        assert not line.startswith("[") or lines[number - 1].startswith("# "), line
    assert "# from 12 example pages, tf, top 14; words that were named weigh 1" in lines
    assert load(path) == topic
    assert load(path).notes == topic.notes


def test_pages_without_text_are_refused() -> None:
    with pytest.raises(TopicError, match="no text in 2 example pages"):
        build("dengue", [page(""), page("?")])


def test_pages_off_the_topic_alone_are_refused() -> None:
    with pytest.raises(TopicError, match="tell nothing"):
        build("dengue", [], OFF)
