"""Collocations: two or three adjacent words of one clause (Kluev 2000, section 4).

Stop words, single letters and punctuation that ends a clause are separators; a hyphen is not. Words are compared by
their stems, so that "search engines" and "search engine" are the same collocation. `Page.words` has no punctuation, so
collocations are counted in `Page.text`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from topicrawl.text.lexicon import LanguageLexicon
from topicrawl.text.tokenizer import tokenise

#: Marks the end of a clause: a private character that the tokeniser keeps and that is no term in any language.
CLAUSE_END = "\ue000"
_SEPARATOR = b" \x1f "
#: Translation table: ASCII characters that always end a clause become one byte, including brackets and quotes.
_CLAUSE_END_TABLE = bytes(0x1F if byte in b'\n\r\t,;:!?()[]{}<>|"' else byte for byte in range(256))
# The same beyond ASCII, and separators that need blanks around them: "3.5", "U.S" and "x-ray" are not split.
_NON_ASCII_SEPARATORS = frozenset("•·…“”„«»‹›¿¡—،؛؟।॥。、，；：！？「」『』（）【】")
_SPACED_SEPARATORS = (b". ", b" - ", " – ".encode())
_ASCII = bytes(range(128))
# Removed, because in "Hodgkin's disease" the letter "s" would separate the two words.
_POSSESSIVES = ("'s ", "’s ")


def tokenise_clauses(text: str) -> list[str]:
    """Return the words of a text in lower case and in reading order, with `CLAUSE_END` where a clause ends.

    >>> [word if word != CLAUSE_END else "|" for word in tokenise_clauses("Owls hunt at night, mice hide. Version 3.5")]
    ['owls', 'hunt', 'at', 'night', '|', 'mice', 'hide', '|', 'version', '3', '5']
    """
    for possessive in _POSSESSIVES:
        text = text.replace(possessive, " ")
    # A few passes over bytes take a third of the time of one regular expression.
    raw = text.encode("utf-8", "replace").translate(_CLAUSE_END_TABLE)
    non_ascii = _NON_ASCII_SEPARATORS.intersection(raw.translate(None, _ASCII).decode())
    for mark in (*_SPACED_SEPARATORS, *(character.encode() for character in sorted(non_ascii))):
        raw = raw.replace(mark, _SEPARATOR)
    return tokenise(raw.replace(b"\x1f", f" {CLAUSE_END} ".encode()).decode())


def extract_clause_terms(text: str, lexicon: LanguageLexicon, keep_words: frozenset[str] = frozenset()) -> list[str]:
    """Return the stems of a text in reading order, with "" for separators. Words in `keep_words` never separate.

    >>> from topicrawl.text.lexicon import load_lexicon
    >>> extract_clause_terms("The hunting owls, at night", load_lexicon("en"))
    ['', 'hunt', 'owl', '', '', 'night']
    """
    words = tokenise_clauses(text)
    terms = lexicon.align_terms(words)
    if keep_words:
        terms = [lexicon.stem(word) if word in keep_words else term for word, term in zip(words, terms, strict=True)]
    return terms


def count_collocations(terms: Sequence[str], size: int = 2) -> Counter[tuple[str, ...]]:
    """Count the collocations of `size` terms.

    >>> count_collocations(["search", "engin", "", "search", "engin", "index"])
    Counter({('search', 'engin'): 2, ('engin', 'index'): 1})
    >>> count_collocations(["search", "engin", "index"], 3)
    Counter({('search', 'engin', 'index'): 1})
    """
    return Counter(iter_collocations(terms, size))


def iter_collocations(terms: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    """Iterate over the sequences of `size` adjacent terms without a separator, in reading order.

    >>> list(iter_collocations(["a1", "b2", "", "c3", "d4"], 2))
    [('a1', 'b2'), ('c3', 'd4')]
    """
    return (ngram for ngram in zip(*(terms[start:] for start in range(size)), strict=False) if all(ngram))


def get_phrase_key(phrase: str, lexicon: LanguageLexicon) -> tuple[str, ...]:
    """Return the stems by which a phrase is compared.

    >>> from topicrawl.text.lexicon import load_lexicon
    >>> get_phrase_key("Search engines", load_lexicon("en"))
    ('search', 'engin')
    """
    for possessive in _POSSESSIVES:
        phrase = phrase.replace(possessive, " ")
    return tuple(map(lexicon.stem, tokenise(phrase)))


def find_usual_spellings(
    texts: Iterable[str], lexicon: LanguageLexicon, size: int, keys: Iterable[tuple[str, ...]]
) -> dict[tuple[str, ...], str]:
    """Return the most frequent spelling of each collocation: key → phrase. The first one wins a tie.

    >>> from topicrawl.text.lexicon import load_lexicon
    >>> find_usual_spellings(
    ...     ["Search engines, a search engine and search engines"], load_lexicon("en"), 2, [("search", "engin")]
    ... )
    {('search', 'engin'): 'search engines'}
    """
    forms: dict[tuple[str, ...], Counter[str]] = {key: Counter() for key in keys}
    for text in texts:
        words = tokenise_clauses(text)
        stem = {word: lexicon.stem(word) for word in set(words)}
        stems = [stem[word] for word in words]
        for start in range(len(words) - size + 1):
            spellings = forms.get(tuple(stems[start : start + size]))
            if spellings is not None:
                spellings[" ".join(words[start : start + size])] += 1
    return {key: max(spellings, key=spellings.__getitem__) for key, spellings in forms.items() if spellings}
