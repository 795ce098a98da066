"""A text that is cut at its links can be put together again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.parse.flow import END, LONGEST_WORD, START, WINDOW, anchors, cut, mended, offsets, words_and_windows
from topicrawl.parse.sentence import sentences_at
from topicrawl.text.lexicon import lexicon
from topicrawl.text.tokens import words as tokenise

PIECES = st.lists(st.text("ab .\n", max_size=6).map(lambda text: " ".join(text.split(" "))), min_size=1, max_size=15)


@given(PIECES)
def test_cutting_keeps_all_words_in_order(texts: list[str]) -> None:
    texts = texts if len(texts) % 2 else texts[:-1]
    marked = texts[0] + "".join(f"{START}{a}{END}{b}" for a, b in zip(texts[1::2], texts[2::2], strict=True))
    pieces = cut(marked)
    assert len(pieces) == len(texts)
    assert "".join(pieces).split() == marked.replace(END + START, " ").replace(START, "").replace(END, "").split()
    assert [anchor.split() for anchor in anchors(pieces)] == [text.split() for text in texts[1::2]]


@given(PIECES)
def test_mending_moves_letters_but_changes_no_text(texts: list[str]) -> None:
    pieces = texts if len(texts) % 2 else texts[:-1]
    kept = pieces.copy()
    assert "".join(mended(pieces)) == "".join(pieces)
    assert pieces == kept


@given(PIECES)
def test_windows_are_the_nearest_words(texts: list[str]) -> None:
    pieces = texts if len(texts) % 2 else texts[:-1]
    found, windows = words_and_windows(pieces, "en")
    around = list(zip(*windows, strict=True))
    whole = mended(pieces)
    assert found == tuple(tokenise("".join(pieces)))
    assert len(around) == len(pieces) // 2
    for number, (before, after) in enumerate(around):
        assert before == _spoken(whole[: 2 * number + 1])[-WINDOW:]
        assert after == _spoken(whole[2 * number + 2 :])[:WINDOW]


def _spoken(pieces: list[str]) -> tuple[str, ...]:
    """The words of a text that are no stop words, by the longer way."""
    return tuple(word for piece in pieces for word in tokenise(piece) if lexicon("en").term(word))


def test_windows_hold_the_beginning_of_a_word_that_no_language_has() -> None:
    _, ([before], [after]) = words_and_windows(["Red " + "owl" * 60, "x", " and " + "bat" * 40], "en")
    assert (before, after) == (("red", ("owl" * 60)[:LONGEST_WORD]), (("bat" * 40)[:LONGEST_WORD],))


@given(PIECES)
def test_every_link_is_in_its_sentence(texts: list[str]) -> None:
    pieces = texts if len(texts) % 2 else texts[:-1]
    text = "".join(pieces)
    for place, sentence in zip(offsets(pieces), sentences_at(text, offsets(pieces)), strict=True):
        assert sentence in text
        if place < len(text) and text[place].isalpha():
            assert text[place] in sentence


def test_sentences_end_where_a_reader_would_end_them() -> None:
    text = "Dr. A. Owl of the U.S. Navy slept! Was it 3.5 hours? See e.g. this. Yes"
    places = [text.index(word) for word in ("Owl", "Navy", "hours", "this", "Yes")]
    assert sentences_at(text, places) == [
        "Dr. A. Owl of the U.S. Navy slept!",
        "Dr. A. Owl of the U.S. Navy slept!",
        "Was it 3.5 hours?",
        "See e.g. this.",
        "Yes",
    ]


def test_other_scripts_have_other_stops() -> None:
    text = "今日は雨です。梟が眠る。終わり"
    assert sentences_at(text, [text.index("梟")], language="ja") == ["梟が眠る。"]


def test_long_sentences_are_cut_around_the_link() -> None:
    text = "word " * 1000
    (sentence,) = sentences_at(text, [2500])
    assert 900 < len(sentence) <= 1000
