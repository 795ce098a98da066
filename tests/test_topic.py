"""Topics, and the files they are read from."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.errors import TopicError
from topicrawl.topic import Topic, examples, load


@given(st.text(max_size=40), st.dictionaries(st.text(min_size=1, max_size=20), st.floats(0.01, 100), min_size=1))
def test_a_topic_survives_its_file(
    tmp_path_factory: pytest.TempPathFactory, name: str, words: dict[str, float]
) -> None:
    path = tmp_path_factory.getbasetemp() / "topic.toml"
    topic = Topic(name, words, ("http://a.example/",), ("http://b.example/",), ("en", "de"), 0.25)
    path.write_text(topic.toml(), "utf-8")
    assert load(path) == topic


@pytest.mark.parametrize("phrase", ["", "  ", "?!", "—"])
def test_a_topic_without_words_is_refused(phrase: str) -> None:
    with pytest.raises(TopicError, match="no words"):
        Topic.of(phrase)


@pytest.mark.parametrize(
    ("text", "words_of_the_error"),
    [
        ("name = ", "not valid TOML"),
        ("nmae = 'x'\n[words]\na = 1", "did you mean 'name'"),
        ("[words]", "no words"),
        ("[words]\na = 'x'", "must be a number"),
        ("[words]\na = -1", "above 0"),
        ("[words]\na = nan", "above 0"),
        ("words = 3", "must be a table"),
        ("languages = 'en'\n[words]\na = 1", "list of texts"),
        ("threshold = 'x'\n[words]\na = 1", "threshold must be a number"),
        ("threshold = 2\n[words]\na = 1", "from 0 to 1"),
        ("name = 3\n[words]\na = 1", "name must be text"),
        ("[words]\na = 1\n[examples]\nrelevant = ['x']", "not a web address"),
        ("[words]\na = 1\n[examples]\nrelevnt = []", "did you mean 'relevant'"),
        ("\x00", "not valid TOML"),
    ],
)
def test_a_mistake_in_the_file_is_one_line_that_names_it(tmp_path: Path, text: str, words_of_the_error: str) -> None:
    path = tmp_path / "topic.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(TopicError, match=words_of_the_error) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TopicError, match=r"nowhere\.toml"):
        load(tmp_path / "nowhere.toml")


def test_examples_are_read_with_their_labels(tmp_path: Path) -> None:
    path = tmp_path / "examples.tsv"
    path.write_text("# ours\nhttp://a.example/x#y\trelevant\n\nhttp://b.example\tirrelevant\n", "utf-8")
    assert examples(path) == (("http://a.example/x",), ("http://b.example/",))


@pytest.mark.parametrize("text", ["http://a.example/\tyes\n", "nothing\trelevant\n", "http://a.example/ relevant\n"])
def test_a_bad_example_is_named_with_its_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "examples.tsv"
    path.write_text("http://a.example/\trelevant\n" + text, "utf-8")
    with pytest.raises(TopicError, match=r"examples.tsv:2"):
        examples(path)


def test_an_empty_file_of_examples_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "examples.tsv"
    path.write_text("# none\n", "utf-8")
    with pytest.raises(TopicError, match="no examples"):
        examples(path)
