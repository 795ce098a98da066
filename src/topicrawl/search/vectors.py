"""A page as the words that tell it from others, for "more like this" and for feedback.

Words stand for their stems by their most frequent form, so that people can read them and another collection can look
for them in its own way. A word's weight is its share in 0…1:

    weight = f / (f + 2)        chosen by weight · idf: of the language first, then of the collection
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from topicrawl.search.index_file import tongue
from topicrawl.text.tokens import words

MOST = 40  # words of a page
_CANDIDATES = 100
_TITLE = 3
_HALF = 2.0
_LONGEST = 20_000  # words of a page that are looked at


def vector(
    title: str, text: str, language: str, idf: Callable[[Sequence[str]], Mapping[str, float]]
) -> dict[str, float]:
    """The strongest words of a page, the strongest first; `idf` tells of stems how rare they are.

    >>> found = vector("Owls", "An owl hunts. Owls sleep.", "en", lambda stems: dict.fromkeys(stems, 1.0))
    >>> {word: round(weight, 3) for word, weight in found.items()}
    {'owls': 0.714, 'hunts': 0.333, 'sleep': 0.333}
    """
    spoken = tongue(language)
    said = (words(title) * _TITLE + words(text)[:_LONGEST])[: _LONGEST + 100]
    forms: dict[str, Counter[str]] = {}
    counts = Counter(said)
    for (word, count), stem in zip(counts.items(), spoken.aligned(list(counts)), strict=True):
        if stem and len(word) < 50 and not word.isdecimal():
            forms.setdefault(stem, Counter())[word] += count
    weights = {stem: (total := several.total()) / (total + _HALF) for stem, several in forms.items()}
    likely = sorted(weights, key=lambda stem: (-weights[stem] * spoken.idf(stem), stem))[:_CANDIDATES]
    rare = idf(likely)
    best = sorted(likely, key=lambda stem: (-weights[stem] * rare[stem], stem))[:MOST]
    return {max(forms[stem], key=lambda word: (forms[stem][word], word)): weights[stem] for stem in best}
