"""What a page says only to crawlers, or hardly to anybody: Mohammadi, section 3.

Four kinds of sentences are left out before a page is summed up: those nobody can see (3.1), the very short (3.2), those
in very small letters (3.3), and those that say one word again and again (3.4). How a sentence looks is the parser's to
find out (`topicrawl.parse.styles`): text in the background's colour is hidden to it, as all that is out of sight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from topicrawl.records import Sentence, Style
from topicrawl.text.lexicon import Lexicon
from topicrawl.text.tokens import words as tokenise


@dataclass(frozen=True, slots=True)
class Rules:
    """From where on a sentence is left out; the defaults are the paper's."""

    words: int = 5  # fewer are too short
    smallest: float = 9.0  # CSS pixels: "xx-small", and below
    repeats: int = 3  # a word may stand in a sentence so often; stop words as often as they like


@dataclass(frozen=True, slots=True)
class Kept:
    """A sentence that stays, cut into words and terms."""

    sentence: Sentence
    words: int
    terms: Sequence[str]


PAPER = Rules()


def kept(
    sentences: Iterable[Sentence], lexicon: Lexicon, rules: Rules = PAPER, *, own: frozenset[str] = frozenset()
) -> list[Kept]:
    """The sentences that stay, in their order. Words in `own` are never stop words.

    >>> from topicrawl.records import Style
    >>> from topicrawl.text.lexicon import lexicon
    >>> page = [
    ...     Sentence("Owls hunt mice in the forest.", 0),
    ...     Sentence("Owls, owls, owls, the best owls.", 1),
    ...     Sentence("Read on.", 2),
    ...     Sentence("Owls hunt at night in silence.", 3, Style(hidden=True)),
    ...     Sentence("Owls hunt at night in silence.", 4, Style(font_size=9.0)),
    ... ]
    >>> [(left.sentence.paragraph, left.words, left.terms) for left in kept(page, lexicon("en"))]
    [(0, 6, ['owl', 'hunt', 'mice', 'forest'])]
    """
    told = [
        (sentence, words)
        for sentence in sentences
        if _is_seen(sentence.style, rules.smallest) and len(words := tokenise(sentence.text)) >= rules.words
    ]
    found = []
    for (sentence, words), terms in zip(told, _terms([words for _, words in told], lexicon, own), strict=True):
        if not _is_repeated(terms, rules.repeats):
            found.append(Kept(sentence, len(words), terms))
    return found


def _is_seen(style: Style, smallest: float) -> bool:
    return not style.hidden and style.font_size > smallest and style.colour != style.background


def _terms(told: list[list[str]], lexicon: Lexicon, own: frozenset[str]) -> list[list[str]]:
    """The terms of each sentence. Asking for those of all at once takes half the time."""
    if own:
        return [lexicon.terms(words, own) for words in told]
    aligned = lexicon.aligned([word for words in told for word in words])
    ends = list(accumulate(map(len, told), initial=0))
    return [list(filter(None, aligned[start:end])) for start, end in pairwise(ends)]


def _is_repeated(terms: list[str], most: int) -> bool:
    # Few sentences repeat anything so often that counting is worth it.
    return len(terms) - len(set(terms)) >= most and max(Counter(terms).values()) > most
