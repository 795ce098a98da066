"""Remove sentences that are hidden from readers or that carry no content: Mohammadi, section 3.

Four kinds of sentences are removed before a page is summarised: invisible sentences (3.1), very short ones (3.2),
sentences in very small letters (3.3), and sentences that repeat a word many times (3.4). The parser computes the style
of a sentence (`topicrawl.parse.styled_sentences`). It marks text in the background colour, and all other text that is
out of sight, as hidden.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from msgspec import Struct

from topicrawl.models import Sentence, Style
from topicrawl.text.lexicon import LanguageLexicon
from topicrawl.text.tokenizer import tokenise


@dataclass(frozen=True, slots=True)
class SentenceRules:
    """Limits beyond which a sentence is removed. The defaults are those of the paper."""

    min_words: int = 5  # shorter sentences are removed
    small_font_size: float = 9.0  # CSS pixels ("xx-small"); sentences of this size or smaller are removed
    max_repeats: int = 3  # highest allowed number of occurrences of a word; stop words do not count


class ContentSentence(Struct, frozen=True):
    """Sentence that was not removed, with its number of words and its terms."""

    sentence: Sentence
    word_count: int
    terms: Sequence[str]


PAPER_RULES = SentenceRules()


def filter_sentences(
    sentences: Iterable[Sentence],
    lexicon: LanguageLexicon,
    rules: SentenceRules = PAPER_RULES,
    *,
    keep_words: frozenset[str] = frozenset(),
) -> list[ContentSentence]:
    """Return the sentences that are not removed, in their order. Words in `keep_words` are never stop words.

    >>> from topicrawl.models import Style
    >>> from topicrawl.text.lexicon import load_lexicon
    >>> page = [
    ...     Sentence("Owls hunt mice in the forest.", 0),
    ...     Sentence("Owls, owls, owls, the best owls.", 1),
    ...     Sentence("Read on.", 2),
    ...     Sentence("Owls hunt at night in silence.", 3, Style(hidden=True)),
    ...     Sentence("Owls hunt at night in silence.", 4, Style(font_size=9.0)),
    ... ]
    >>> [(left.sentence.paragraph, left.word_count, left.terms) for left in filter_sentences(page, load_lexicon("en"))]
    [(0, 6, ['owl', 'hunt', 'mice', 'forest'])]
    """
    candidates = [
        (sentence, words)
        for sentence in sentences
        if _is_visible(sentence.style, rules.small_font_size)
        and len(words := tokenise(sentence.text)) >= rules.min_words
    ]
    remaining = []
    for (sentence, words), terms in zip(
        candidates, _extract_terms([words for _, words in candidates], lexicon, keep_words), strict=True
    ):
        if not _is_repetitive(terms, rules.max_repeats):
            remaining.append(ContentSentence(sentence, len(words), terms))
    return remaining


def _is_visible(style: Style, small_font_size: float) -> bool:
    """Return whether a reader can see text of a style."""
    return not style.hidden and style.font_size > small_font_size and style.colour != style.background


def _extract_terms(sentences: list[list[str]], lexicon: LanguageLexicon, keep_words: frozenset[str]) -> list[list[str]]:
    """Return the terms of each sentence. One lookup for all sentences takes half the time of one for each."""
    if keep_words:
        return [lexicon.extract_terms(words, keep_words) for words in sentences]
    aligned = lexicon.align_terms([word for words in sentences for word in words])
    ends = list(accumulate(map(len, sentences), initial=0))
    return [list(filter(None, aligned[start:end])) for start, end in pairwise(ends)]


def _is_repetitive(terms: list[str], max_repeats: int) -> bool:
    """Return whether a term occurs more than `max_repeats` times."""
    # Counting is slow. Few sentences repeat enough words to need it.
    return len(terms) - len(set(terms)) >= max_repeats and max(Counter(terms).values()) > max_repeats
