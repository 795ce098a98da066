"""Tests of splitting text at links, word windows and link sentences."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.parse.link_sentence import find_sentences
from topicrawl.parse.text_blocks import (
    LINK_END,
    LINK_START,
    MAX_WORD_LENGTH,
    WINDOW_WORDS,
    build_words_and_windows,
    get_anchors,
    get_link_offsets,
    join_split_words,
    split_at_links,
)
from topicrawl.text.bag_of_words import VocabularyCache
from topicrawl.text.lexicon import load_lexicon
from topicrawl.text.tokenizer import tokenise

PIECES = st.lists(st.text("ab .\n", max_size=6).map(lambda text: " ".join(text.split(" "))), min_size=1, max_size=15)


@given(PIECES)
def test_splitting_keeps_all_words_in_order(texts: list[str]) -> None:
    texts = texts if len(texts) % 2 else texts[:-1]
    marked = texts[0] + "".join(f"{LINK_START}{a}{LINK_END}{b}" for a, b in zip(texts[1::2], texts[2::2], strict=True))
    pieces = split_at_links(marked)
    assert len(pieces) == len(texts)
    assert (
        "".join(pieces).split()
        == marked.replace(LINK_END + LINK_START, " ").replace(LINK_START, "").replace(LINK_END, "").split()
    )
    assert [anchor.split() for anchor in get_anchors(pieces)] == [text.split() for text in texts[1::2]]


@given(PIECES)
def test_joining_split_words_keeps_the_text(texts: list[str]) -> None:
    pieces = texts if len(texts) % 2 else texts[:-1]
    original = pieces.copy()
    assert "".join(join_split_words(pieces)) == "".join(pieces)
    assert pieces == original


@given(PIECES)
def test_windows_are_the_nearest_words(texts: list[str]) -> None:
    pieces = texts if len(texts) % 2 else texts[:-1]
    found, windows = build_words_and_windows(pieces, "en", VocabularyCache())
    around = list(zip(*windows, strict=True))
    whole = join_split_words(pieces)
    assert found == tuple(tokenise("".join(pieces)))
    assert len(around) == len(pieces) // 2
    for number, (before, after) in enumerate(around):
        assert before == _content_words(whole[: 2 * number + 1])[-WINDOW_WORDS:]
        assert after == _content_words(whole[2 * number + 2 :])[:WINDOW_WORDS]


def _content_words(pieces: list[str]) -> tuple[str, ...]:
    """Return the words that are not stop words, computed word by word."""
    return tuple(word for piece in pieces for word in tokenise(piece) if load_lexicon("en").get_term(word))


def test_windows_truncate_very_long_words() -> None:
    pieces = ["Red " + "owl" * 60, "x", " and " + "bat" * 40]
    _, ([before], [after]) = build_words_and_windows(pieces, "en", VocabularyCache())
    assert (before, after) == (("red", ("owl" * 60)[:MAX_WORD_LENGTH]), (("bat" * 40)[:MAX_WORD_LENGTH],))


@given(PIECES)
def test_every_link_is_in_its_sentence(texts: list[str]) -> None:
    pieces = texts if len(texts) % 2 else texts[:-1]
    text = "".join(pieces)
    for place, sentence in zip(get_link_offsets(pieces), find_sentences(text, get_link_offsets(pieces)), strict=True):
        assert sentence in text
        if place < len(text) and text[place].isalpha():
            assert text[place] in sentence


def test_sentence_ends_are_detected() -> None:
    text = "Dr. A. Owl of the U.S. Navy slept! Was it 3.5 hours? See e.g. this. Yes"
    places = [text.index(word) for word in ("Owl", "Navy", "hours", "this", "Yes")]
    assert find_sentences(text, places) == [
        "Dr. A. Owl of the U.S. Navy slept!",
        "Dr. A. Owl of the U.S. Navy slept!",
        "Was it 3.5 hours?",
        "See e.g. this.",
        "Yes",
    ]


def test_other_scripts_have_other_sentence_ends() -> None:
    text = "今日は雨です。梟が眠る。終わり"
    assert find_sentences(text, [text.index("梟")], language="ja") == ["梟が眠る。"]


def test_long_sentences_are_truncated_around_the_link() -> None:
    text = "word " * 1000
    (sentence,) = find_sentences(text, [2500])
    assert 900 < len(sentence) <= 1000
