"""Tests of topics and their files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.errors import TopicError
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Thresholds, Topic, TopicFilter, load_examples, load_topic

weights = st.floats(0.01, 100)
shares = st.none() | st.floats(0, 1)


def phrases(size: int) -> st.SearchStrategy[dict[str, float]]:
    word = st.text('abcdeéж"\\', min_size=1, max_size=5).map(lambda text: f"x{text}".strip('"\\'))
    return st.dictionaries(
        st.lists(word, min_size=size, max_size=size).map(" ".join).filter(lambda text: len(tokenise(text)) == size),
        weights,
        max_size=3,
    )


@st.composite
def topics(draw: st.DrawFn) -> Topic:
    return Topic(
        draw(st.text(max_size=40)),
        draw(st.dictionaries(st.text(min_size=1, max_size=20), weights, min_size=1)),
        tuple(f"http://a.example/{n}" for n in range(draw(st.integers(0, 4)))),
        ("http://b.example/",),
        ("en", "de"),
        draw(st.floats(0, 1)),
        origin=draw(st.text(max_size=30)),
        filter=TopicFilter(draw(phrases(1)), draw(phrases(2)), draw(phrases(3))),
        thresholds=Thresholds(*(draw(shares) for _ in range(5))),
        notes={"words": "from 12 example pages, tf, top 14"},
    )


@given(topics())
def test_topic_round_trip(tmp_path_factory: pytest.TempPathFactory, topic: Topic) -> None:
    path = tmp_path_factory.getbasetemp() / "topic.toml"
    path.write_text(topic.to_toml(), "utf-8")
    again = load_topic(path)
    assert again == topic
    assert again.notes == topic.notes
    assert again.to_toml().partition("\n")[2] == topic.to_toml().partition("\n")[2]


NOTES = {
    "words": "from 12 pages",
    "threshold": "from 5 examples",
    "filter.pairs": "the heaviest",
    "thresholds": "tuned",
    "examples": "by hand",
}


def test_notes_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "topic.toml"
    topic = Topic(
        "x",
        {"x": 1.0},
        origin="built\nfrom\x00words",
        filter=TopicFilter(pairs={"dengue fever": 0.5}),
        thresholds=Thresholds(vsm=0.18),
        notes=NOTES,
    )
    path.write_text(topic.to_toml(), "utf-8")
    assert path.read_text("utf-8").startswith("# built from words\n")
    assert "\n# the heaviest\n[filter.pairs]\n" in path.read_text("utf-8")
    assert load_topic(path).notes == NOTES


def test_filter_as_a_list_of_elements(tmp_path: Path) -> None:
    path = tmp_path / "topic.toml"
    path.write_text("[words]\na = 1\n[filter]\nterms = ['fever']\n[filter.pairs]\n'dengue fever' = 0.5\n", "utf-8")
    assert load_topic(path).filter == TopicFilter({"fever": 1.0}, {"dengue fever": 0.5})


def test_with_examples() -> None:
    topic = Topic("x", {"x": 1.0}, filter=TopicFilter({"fever": 1.0}), thresholds=Thresholds(vsm=0.2), notes=NOTES)
    more = topic.with_examples(["http://a.example/"], ["http://b.example/"])
    assert (more.relevant, more.irrelevant) == (("http://a.example/",), ("http://b.example/",))
    assert (more.filter, more.thresholds, more.notes) == (topic.filter, topic.thresholds, topic.notes)


@pytest.mark.parametrize("phrase", ["", "  ", "?!", "—"])
def test_topic_without_words_is_rejected(phrase: str) -> None:
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
        ("languages = 'en'\n[words]\na = 1", "list of strings"),
        ("threshold = 'x'\n[words]\na = 1", "threshold must be a number"),
        ("threshold = 2\n[words]\na = 1", "from 0 to 1"),
        ("name = 3\n[words]\na = 1", "name must be text"),
        ("[words]\na = 1\n[examples]\nrelevant = ['x']", "not a web address"),
        ("[words]\na = 1\n[examples]\nrelevnt = []", "did you mean 'relevant'"),
        ("\x00", "not valid TOML"),
        ("[words]\na = 1\n[filtre]\n", "did you mean 'filter'"),
        ("[words]\na = 1\n[filter]\npair = []", "did you mean 'pairs'"),
        ("[words]\na = 1\n[filter]\npairs = 3", "a list of strings, or a table"),
        ("[words]\na = 1\n[filter]\npairs = [3]", "list of strings"),
        ("[words]\na = 1\n[filter]\npairs = ['fever']", "'fever' must have 2 words"),
        ("[words]\na = 1\n[filter]\nterms = ['!']", "must have 1 word"),
        ("[words]\na = 1\n[filter.terms]\nfever = 0", "above 0"),
        ("[words]\na = 1\n[filter.terms]\nfever = 'x'", "the weight of 'fever' must be a number"),
        ("[words]\na = 1\n[thresholds]\nvsn = 0.1", "did you mean 'vsm'"),
        ("[words]\na = 1\n[thresholds]\nvsm = 1.1", "thresholds.vsm is 1.1: it must be from 0 to 1"),
        ("[words]\na = 1\n[thresholds]\nvsm = true", "thresholds.vsm must be a number"),
        (f"[words]\na = 1{'0' * 400}", "is too large"),
        pytest.param(f"[words]\na = 1{'0' * 5000}", "not valid TOML", id="5000 digits"),
    ],
)
def test_errors_in_the_file_are_one_line(tmp_path: Path, text: str, words_of_the_error: str) -> None:
    path = tmp_path / "topic.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(TopicError, match=words_of_the_error) as caught:
        load_topic(path)
    assert str(path) in str(caught.value)


def test_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(TopicError, match=r"nowhere\.toml"):
        load_topic(tmp_path / "nowhere.toml")


def test_load_examples(tmp_path: Path) -> None:
    path = tmp_path / "examples.tsv"
    path.write_text("# ours\nhttp://a.example/x#y\trelevant\n\nhttp://b.example\tirrelevant\n", "utf-8")
    assert load_examples(path) == (("http://a.example/x",), ("http://b.example/",))


@pytest.mark.parametrize("text", ["http://a.example/\tyes\n", "nothing\trelevant\n", "http://a.example/ relevant\n"])
def test_invalid_example_is_reported_with_its_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "examples.tsv"
    path.write_text("http://a.example/\trelevant\n" + text, "utf-8")
    with pytest.raises(TopicError, match=r"examples.tsv:2"):
        load_examples(path)


def test_empty_example_file_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "examples.tsv"
    path.write_text("# none\n", "utf-8")
    with pytest.raises(TopicError, match="no examples"):
        load_examples(path)
