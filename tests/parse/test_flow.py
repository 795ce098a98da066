"""A text that is cut at its links can be put together again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.parse.flow import END, START, WINDOW, anchors, cut, mended, offsets, words_and_windows
from topicrawl.parse.sentence import sentences_at

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


@given(PIECES, st.sets(st.sampled_from(["a", "b", "ab"])))
def test_windows_are_the_nearest_words(texts: list[str], stop: set[str]) -> None:
    pieces = texts if len(texts) % 2 else texts[:-1]
    found, around = words_and_windows(pieces, stop)
    assert len(around) == len(pieces) // 2
    kept = [word for word in found if word not in stop]
    for before, after in around:
        assert len(before) <= WINDOW >= len(after)
        assert " ".join(before) in " ".join(kept)
        assert " ".join(after) in " ".join(kept)


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
