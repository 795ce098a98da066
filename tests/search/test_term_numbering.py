"""Words get the numbers of their stems, for words of any length and language."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from topicrawl.search.index_file import get_lexicon
from topicrawl.search.term_numbering import TermNumbering
from topicrawl.text.tokenizer import tokenise, tokenise_to_bytes

# Lengths around each number of bytes that the tokenizer hashes at once, and longer ones.
LONG = st.sampled_from([7, 8, 9, 15, 16, 17, 24, 25, 31, 32, 33, 40, 70]).flatmap(
    lambda size: st.text("abé", min_size=size, max_size=size)
)
TEXTS = st.lists(st.lists(st.one_of(st.sampled_from(["owl", "owls", "Häuser"]), LONG, st.text(max_size=9)), max_size=9))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(TEXTS, st.sampled_from(["en", "de", "xx"])), max_size=4))
def test_numbering_many_words_equals_stemming_each_word(batches: list[tuple[list[list[str]], str]]) -> None:
    numbering, stems = TermNumbering(), list[str]()
    for word_lists, language in batches:
        texts = [" ".join(word_list) for word_list in word_lists]
        numbers, sizes = numbering.number_words([tokenise_to_bytes(text) for text in texts], language)
        stems += numbering.new_terms
        numbering.new_terms = []
        assert sizes.tolist() == [len(tokenise(text)) for text in texts]
        assert [stems[number] for number in numbers] == [
            get_lexicon(language).stem(word) for text in texts for word in tokenise(text)
        ]
    assert len(stems) == len(set(stems))
