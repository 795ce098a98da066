"""Words get the numbers of their stems, whatever their length, language and company."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from topicrawl.search.index_file import tongue
from topicrawl.search.numbering import Numbering
from topicrawl.text.tokens import spelled, words

# Around each number of bytes that is read at once, and beyond all of them.
LONG = st.sampled_from([7, 8, 9, 15, 16, 17, 24, 25, 31, 32, 33, 40, 70]).flatmap(
    lambda size: st.text("abé", min_size=size, max_size=size)
)
TEXTS = st.lists(st.lists(st.one_of(st.sampled_from(["owl", "owls", "Häuser"]), LONG, st.text(max_size=9)), max_size=9))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(TEXTS, st.sampled_from(["en", "de", "xx"])), max_size=4))
def test_words_are_numbered_by_their_stems_as_if_one_by_one(batches: list[tuple[list[list[str]], str]]) -> None:
    numbering, met = Numbering(), list[str]()
    for texts, language in batches:
        said = [" ".join(text) for text in texts]
        numbers, sizes = numbering.numbers([spelled(text) for text in said], language)
        met += numbering.new
        numbering.new = []
        assert sizes.tolist() == [len(words(text)) for text in said]
        assert [met[number] for number in numbers] == [
            tongue(language).stem(word) for text in said for word in words(text)
        ]
    assert len(met) == len(set(met))
