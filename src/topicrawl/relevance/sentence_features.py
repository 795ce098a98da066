"""Six numbers that tell a summary sentence from the others: Mohammadi, section 4, Table 1.

    f1  near_anchor   1 when the sentence's paragraph has a word of the anchor that led to the page
    f2  place         its number in its paragraph, divided by the sentences there: 1 for the last, and for one alone
    f3  first         1 for the first sentence of its paragraph
    f4  length        its words, 40 and more count as 1
    f5  anchor_words  the share of the anchor's words that stand in it
    f6  size          its letters against the size of most of the page's words, .5 for the same, 1 for twice it

f5 counts anchor words in the paper's table and title words in its text. Here the anchor speaks first; where there is
none (a seed), or none of its words is on the page ("read more"), the title does, for f1 too. Where the title says
nothing either, the three most frequent words of the page stand for one, lines that stand alone (lists, tables) not
counted. Features are taken after pruning, so a paragraph is what is left of it. All numbers are 0 to 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from topicrawl.relevance.pruning import Kept
from topicrawl.text.lexicon import Lexicon
from topicrawl.text.tokens import words as tokenise

FEATURES = ("near_anchor", "place", "first", "length", "anchor_words", "size")
_LONG = 40.0
_FREQUENT = 3

#: The six, in the order of the paper's table.
Features = tuple[float, float, float, float, float, float]


def features(page: Sequence[Kept], lexicon: Lexicon, *, anchor: str = "", title: str = "") -> list[Features]:
    """The features of each sentence of a pruned page.

    >>> from topicrawl.records import Sentence, Style
    >>> from topicrawl.relevance.pruning import kept
    >>> from topicrawl.text.lexicon import lexicon
    >>> texts = ["Owls hunt at night here.", "Nobody hears them come near.", "Parking is free on all Sundays."]
    >>> page = kept([Sentence(text, number // 2) for number, text in enumerate(texts)], lexicon("en"))
    >>> for row in features(page, lexicon("en"), anchor="Night owl"): print(row)
    (1.0, 0.5, 1.0, 0.125, 1.0, 0.5)
    (1.0, 1.0, 0.0, 0.125, 0.0, 0.5)
    (0.0, 1.0, 1.0, 0.15, 0.0, 0.5)
    """
    named = _named(page, lexicon, anchor, title)
    usual = _usual_size(page)
    found: list[Features] = []
    for _, group in groupby(page, key=lambda told: told.sentence.paragraph):
        paragraph = list(group)
        said = [len(named.intersection(told.terms)) if named else 0 for told in paragraph]
        near = float(any(said))
        for place, told in enumerate(paragraph):
            length = min(1.0, told.words / _LONG)
            share = said[place] / len(named) if named else 0.0
            size = min(1.0, told.sentence.style.font_size / usual / 2)
            found.append((near, (place + 1) / len(paragraph), float(place == 0), length, share, size))
    return found


def _named(page: Sequence[Kept], lexicon: Lexicon, anchor: str, title: str) -> set[str]:
    """The terms of the anchor, or of the title where the anchor says nothing of the page, or the page's own."""
    for text in (anchor, title):
        terms = set(lexicon.terms(tokenise(text)))
        if any(not terms.isdisjoint(told.terms) for told in page):
            return terms
    sizes = Counter(told.sentence.paragraph for told in page)
    counts = Counter(term for told in page if sizes[told.sentence.paragraph] > 1 for term in told.terms)
    return {term for term, _ in counts.most_common(_FREQUENT)}


def _usual_size(page: Sequence[Kept]) -> float:
    """The size most words have; the larger one in doubt."""
    words: dict[float, int] = {}
    for told in page:
        size = told.sentence.style.font_size
        words[size] = words.get(size, 0) + told.words
    return max(words, key=lambda size: (words[size], size), default=16.0)
