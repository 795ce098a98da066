"""Six features of a sentence that predict whether it belongs to a summary: Mohammadi, section 4, Table 1.

    f1  near_anchor   1 if the sentence's paragraph contains a word of the anchor text that led to the page
    f2  place         position in its paragraph divided by the number of sentences there: 1 for the last
    f3  first         1 for the first sentence of its paragraph
    f4  length        number of words divided by 40, at most 1
    f5  anchor_words  share of the anchor's words that occur in the sentence
    f6  size          font size relative to that of most words of the page: .5 for the same size, 1 for twice the size

f5 counts anchor words in the paper's table and title words in its text. Here the anchor text has precedence. If there
is none (a seed), or none of its words is on the page ("read more"), the title replaces it, also in f1. If no title word
is on the page either, the three most frequent words of the page replace it; lines that stand alone (lists, tables) are
not counted. The features are computed after hidden sentences were removed, so a paragraph is what remains of it. All
features are between 0 and 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from topicrawl.relevance.hidden_text import ContentSentence
from topicrawl.text.lexicon import LanguageLexicon
from topicrawl.text.tokenizer import tokenise

FEATURE_NAMES = ("near_anchor", "place", "first", "length", "anchor_words", "size")
_MAX_WORDS = 40.0
_MAX_FREQUENT_TERMS = 3

#: The six features, in the order of the paper's table.
SentenceFeatures = tuple[float, float, float, float, float, float]


def extract_features(
    page: Sequence[ContentSentence], lexicon: LanguageLexicon, *, anchor: str = "", title: str = ""
) -> list[SentenceFeatures]:
    """Return the features of each remaining sentence of a page.

    >>> from topicrawl.models import Sentence, Style
    >>> from topicrawl.relevance.hidden_text import filter_sentences
    >>> from topicrawl.text.lexicon import load_lexicon
    >>> texts = ["Owls hunt at night here.", "Mice cannot hear them come.", "Parking is free on all Sundays."]
    >>> page = filter_sentences([Sentence(text, number // 2) for number, text in enumerate(texts)], load_lexicon("en"))
    >>> for row in extract_features(page, load_lexicon("en"), anchor="Night owl"):
    ...     print(row)
    (1.0, 0.5, 1.0, 0.125, 1.0, 0.5)
    (1.0, 1.0, 0.0, 0.125, 0.0, 0.5)
    (0.0, 1.0, 1.0, 0.15, 0.0, 0.5)
    """
    reference = _get_reference_terms(page, lexicon, anchor, title)
    usual = _get_usual_font_size(page)
    rows: list[SentenceFeatures] = []
    for _, group in groupby(page, key=lambda sentence: sentence.sentence.paragraph):
        paragraph = list(group)
        matches = [len(reference.intersection(sentence.terms)) if reference else 0 for sentence in paragraph]
        near = float(any(matches))
        for place, sentence in enumerate(paragraph):
            length = min(1.0, sentence.word_count / _MAX_WORDS)
            share = matches[place] / len(reference) if reference else 0.0
            size = min(1.0, sentence.sentence.style.font_size / usual / 2)
            rows.append((near, (place + 1) / len(paragraph), float(place == 0), length, share, size))
    return rows


def _get_reference_terms(
    page: Sequence[ContentSentence], lexicon: LanguageLexicon, anchor: str, title: str
) -> set[str]:
    """Return the terms of the anchor text; else those of the title; else the most frequent terms of the page.

    A text is skipped if none of its terms occurs on the page.
    """
    for text in (anchor, title):
        terms = set(lexicon.extract_terms(tokenise(text)))
        if any(not terms.isdisjoint(sentence.terms) for sentence in page):
            return terms
    sizes = Counter(sentence.sentence.paragraph for sentence in page)
    counts = Counter(term for sentence in page if sizes[sentence.sentence.paragraph] > 1 for term in sentence.terms)
    return {term for term, _ in counts.most_common(_MAX_FREQUENT_TERMS)}


def _get_usual_font_size(page: Sequence[ContentSentence]) -> float:
    """Return the font size of most words. If two sizes are equally frequent, the larger one counts."""
    words: dict[float, int] = {}
    for sentence in page:
        size = sentence.sentence.style.font_size
        words[size] = words.get(size, 0) + sentence.word_count
    return max(words, key=lambda size: (words[size], size), default=16.0)
