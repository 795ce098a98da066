"""Term vectors of pages, for "more like this" and for relevance feedback.

A vector contains the most discriminative words of a page. Each stem is represented by its most frequent form, so that
users can read the vector and another collection can stem the words itself. The weight of a stem with f occurrences is

    weight = f / (f + 2)

The words are selected by weight · idf, with the idf of the language first and then the idf of the collection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from topicrawl.search.analysis import get_lexicon
from topicrawl.text.tokenizer import tokenise

MAX_WORDS = 40  # words of a vector
_MAX_CANDIDATES = 100  # stems whose idf in the collection is looked up
_TITLE_WEIGHT = 3  # an occurrence in the title counts three times
_HALF_WEIGHT_COUNT = 2.0  # occurrences that give a weight of one half
_MAX_PAGE_WORDS = 20_000  # words of a page that are read


def build_page_vector(
    title: str, text: str, language: str, idf: Callable[[Sequence[str]], Mapping[str, float]]
) -> dict[str, float]:
    """Return the most discriminative words of a page with their weights, best first.

    `idf` returns the inverse document frequencies of words in the collection.

    >>> found = build_page_vector("Owls", "An owl hunts. Owls sleep.", "en", lambda words: dict.fromkeys(words, 1.0))
    >>> {word: round(weight, 3) for word, weight in found.items()}
    {'owls': 0.714, 'hunts': 0.333, 'sleep': 0.333}
    """
    lexicon = get_lexicon(language)
    tokens = (tokenise(title) * _TITLE_WEIGHT + tokenise(text)[:_MAX_PAGE_WORDS])[: _MAX_PAGE_WORDS + 100]
    forms: dict[str, Counter[str]] = {}
    counts = Counter(tokens)
    for (word, count), stem in zip(counts.items(), lexicon.align_terms(list(counts)), strict=True):
        if stem and len(word) < 50 and not word.isdecimal():
            forms.setdefault(stem, Counter())[word] += count
    weights = {stem: (total := several.total()) / (total + _HALF_WEIGHT_COUNT) for stem, several in forms.items()}
    candidates = sorted(weights, key=lambda stem: (-weights[stem] * lexicon.idf(stem), stem))[:_MAX_CANDIDATES]
    words = {max(forms[stem], key=lambda word: (forms[stem][word], word)): stem for stem in candidates}
    idf_of = idf(list(words))
    best = sorted(words, key=lambda word: (-weights[words[word]] * idf_of[word], words[word]))[:MAX_WORDS]
    return {word: weights[words[word]] for word in best}
