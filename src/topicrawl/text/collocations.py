"""Collocations: two or three words that stand side by side in one clause (Kluev 2000, section 4).

A stop word, a single letter or a mark that ends a clause separates; a hyphen does not. Neighbours are compared by
their stems, so that "search engines" and "search engine" are one. Words lose their punctuation when a page is read,
so collocations are counted in its text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from topicrawl.text.lexicon import Lexicon
from topicrawl.text.tokens import words as tokenise

#: Stands where a clause ends; a private character that the tokeniser keeps and every lexicon drops.
FENCE = "\ue000"
_CUT = b" \x1f "
#: Bytes of ASCII that end a clause wherever they stand, as one byte; brackets and quotation marks set off.
_ENDS = bytes(0x1F if byte in b'\n\r\t,;:!?()[]{}<>|"' else byte for byte in range(256))
# The same beyond ASCII, and what separates only with blanks around it: "3.5", "U.S" and "x-ray" stay whole.
_BEYOND = frozenset("•·…“”„«»‹›¿¡—،؛؟।॥。、，；：！？「」『』（）【】")
_APART = (b". ", b" - ", " – ".encode())
_ASCII = bytes(range(128))
# "Hodgkin's disease" is a collocation: without this, the letter "s" would stand between its words.
_POSSESSIVES = ("'s ", "’s ")


def clause_words(text: str) -> list[str]:
    """The words of a text, lower case, in reading order, with FENCE where a clause ends.

    >>> [word if word != FENCE else "|" for word in clause_words("Owls hunt at night, mice hide. Version 3.5")]
    ['owls', 'hunt', 'at', 'night', '|', 'mice', 'hide', '|', 'version', '3', '5']
    """
    for possessive in _POSSESSIVES:
        text = text.replace(possessive, " ")
    # A few passes over bytes take a third of the time of one regular expression.
    raw = text.encode("utf-8", "replace").translate(_ENDS)
    odd = _BEYOND.intersection(raw.translate(None, _ASCII).decode())
    for mark in (*_APART, *(character.encode() for character in sorted(odd))):
        raw = raw.replace(mark, _CUT)
    return tokenise(raw.replace(b"\x1f", f" {FENCE} ".encode()).decode())


def terms_in_clauses(text: str, lexicon: Lexicon, own: frozenset[str] = frozenset()) -> list[str]:
    """The stems of a text in reading order, "" where something separates; words in `own` never do.

    >>> from topicrawl.text.lexicon import lexicon
    >>> terms_in_clauses("The hunting owls, at night", lexicon("en"))
    ['', 'hunt', 'owl', '', '', 'night']
    """
    words = clause_words(text)
    terms = lexicon.aligned(words)
    if own:
        terms = [lexicon.stem(word) if word in own else term for word, term in zip(words, terms, strict=True)]
    return terms


def collocations(terms: Sequence[str], size: int = 2) -> Counter[tuple[str, ...]]:
    """How often so many terms stand side by side.

    >>> collocations(["search", "engin", "", "search", "engin", "index"])
    Counter({('search', 'engin'): 2, ('engin', 'index'): 1})
    >>> collocations(["search", "engin", "index"], 3)
    Counter({('search', 'engin', 'index'): 1})
    """
    return Counter(neighbours(terms, size))


def neighbours(terms: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    """So many terms side by side, from the first to the last, without any that something separates.

    >>> list(neighbours(["a1", "b2", "", "c3", "d4"], 2))
    [('a1', 'b2'), ('c3', 'd4')]
    """
    return (found for found in zip(*(terms[start:] for start in range(size)), strict=False) if all(found))


def phrase_key(phrase: str, lexicon: Lexicon) -> tuple[str, ...]:
    """What a phrase written by hand is compared by.

    >>> from topicrawl.text.lexicon import lexicon
    >>> phrase_key("Search engines", lexicon("en"))
    ('search', 'engin')
    """
    for possessive in _POSSESSIVES:
        phrase = phrase.replace(possessive, " ")
    return tuple(map(lexicon.stem, tokenise(phrase)))


def shown(
    texts: Iterable[str], lexicon: Lexicon, size: int, keys: Iterable[tuple[str, ...]]
) -> dict[tuple[str, ...], str]:
    """How collocations are written most often, the first of equals: key → phrase.

    >>> from topicrawl.text.lexicon import lexicon
    >>> shown(["Search engines, a search engine and search engines"], lexicon("en"), 2, [("search", "engin")])
    {('search', 'engin'): 'search engines'}
    """
    forms: dict[tuple[str, ...], Counter[str]] = {key: Counter() for key in keys}
    for text in texts:
        words = clause_words(text)
        stem = {word: lexicon.stem(word) for word in set(words)}
        stems = [stem[word] for word in words]
        for start in range(len(words) - size + 1):
            found = forms.get(tuple(stems[start : start + size]))
            if found is not None:
                found[" ".join(words[start : start + size])] += 1
    return {key: max(found, key=found.__getitem__) for key, found in forms.items() if found}
