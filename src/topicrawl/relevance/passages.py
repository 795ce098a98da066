"""Dynamic passages: Kluev 2000, section 4. A window of 200 characters goes through a text in steps of 50, and each
stand of it is weighed as a document of its own, so that a page that says little about a topic as a whole is found by
the paragraph that does.

A word belongs to a window when it begins in it. The paper is silent about the tail: here windows go on until one
reaches the end of the text, and that last one may be shorter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import sqrt

from topicrawl.text.lexicon import Lexicon
from topicrawl.text.vectors import norm

WINDOW = 200
STEP = 50
#: Stands between two steps of a text; no word of any language.
MARK = "qxzjvkwq"


def windows(length: int, window: int = WINDOW, step: int = STEP) -> list[tuple[int, int]]:
    """Where the windows over a text of so many characters begin and end.

    >>> [len(windows(n)) for n in (0, 10, 200, 250, 1000)], windows(260)[-1]
    ([0, 1, 1, 2, 17], (100, 260))
    """
    behind = max(0, length - window)
    count = 1 + -(-behind // step) if length else 0
    return [(n * step, min(length, n * step + window)) for n in range(count)]


def marked(text: str, step: int = STEP) -> str:
    """The text with MARK after every step; a word that begins before the mark goes before it.

    >>> marked("an owl hunts at night", 8).replace(MARK, "|")
    'an owl hunts |  at |  night'
    """
    even = text.replace("\n", " ")
    starts = [0]
    for place in range(step, len(text), step):
        blank = even.find(" ", place - 1, place + step - 1)
        if blank < 0:
            # Where nothing is blank, as in scripts without spaces, the step itself divides; but not the last word.
            blank = place if place + step <= len(text) else len(text)
        starts.append(blank)
    return f" {MARK} ".join([text[start:end] for start, end in zip(starts, (*starts[1:], len(text)), strict=True)])


def blocks(terms: Sequence[str]) -> tuple[list[str], list[int]]:
    """The terms of a marked text without the marks, and where each step begins among them.

    >>> blocks(["owl", MARK, "", "night"])
    (['owl', '', 'night'], [0, 1])
    """
    starts, at = [0], -1
    for number in range(terms.count(MARK)):
        at = terms.index(MARK, at + 1)
        starts.append(at - number)
    return list(filter(MARK.__ne__, terms)), starts


def best_window(
    terms: Sequence[str], starts: Sequence[int], query: Mapping[str, float], lexicon: Lexicon, *, steps: int = 4
) -> float:
    """The greatest cosine of a window of so many steps and the query, which is term → weight with its idf.

    Two words of the query side by side, and too far apart for one window: 1 and 1 / √2.

    >>> from topicrawl.text.lexicon import lexicon
    >>> query = {"owl": 1.0, "night": 1.0}
    >>> round(best_window(["owl", "night"], [0, 1], query, lexicon("xx")), 6)
    1.0
    >>> round(best_window(["owl", "night"], [0, 1, 1, 1, 1], query, lexicon("xx")), 6)
    0.707107
    """
    length = norm(query)
    if not length or query.keys().isdisjoint(terms):
        return 0.0
    idf, rarest = lexicon.rarity
    # Looking up each different term once, and then the list in one go, keeps the long loops out of Python.
    rarity = {term: idf.get(term, rarest) if term else 0.0 for term in set(terms)}
    squares = map({term: weight * weight for term, weight in rarity.items()}.__getitem__, terms)
    products = map({term: query.get(term, 0.0) * weight for term, weight in rarity.items()}.__getitem__, terms)
    # Running sums give each window's product at once, and a length that it has at least: a word that is repeated
    # counts more in the true one. So only the few windows that may be the best are looked at word by word.
    lengths, hits = (list(accumulate(values, initial=0.0)) for values in (squares, products))
    width = min(steps, len(starts))
    ends = (*starts[width:], len(terms))
    spans = [(a, b) for a, b in zip(starts, ends, strict=False) if hits[b] > hits[a]]
    at_most = {(a, b): (hits[b] - hits[a]) / sqrt(max(lengths[b] - lengths[a], 1e-9)) for a, b in spans}
    best = 0.0
    for span in sorted(at_most, key=at_most.__getitem__, reverse=True):
        if at_most[span] <= best:
            break
        weights = [count * rarity[term] for term, count in Counter(terms[slice(*span)]).items()]
        best = max(best, (hits[span[1]] - hits[span[0]]) / sqrt(sum(weight * weight for weight in weights)))
    return min(1.0, best / length)
