"""Dynamic passages: Kluev 2000, section 4.

A window of 200 characters moves over a text in steps of 50. Each window is scored as a separate document, so that one
paragraph about the topic is enough to find a page that is mainly about something else.

A word belongs to a window if it begins in the window. The paper does not define the end of a text: here the last window
is the first one that reaches the end, and it may be shorter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import sqrt

from topicrawl.text.lexicon import LanguageLexicon
from topicrawl.text.sparse_vectors import norm

WINDOW_CHARS = 200
STEP_CHARS = 50
#: Separates the steps of a text. It is not a word of any language.
STEP_MARK = "qxzjvkwq"


def compute_windows(length: int, window: int = WINDOW_CHARS, step: int = STEP_CHARS) -> list[tuple[int, int]]:
    """Return the start and the end of each window over a text of `length` characters.

    >>> [len(compute_windows(n)) for n in (0, 10, 200, 250, 1000)], compute_windows(260)[-1]
    ([0, 1, 1, 2, 17], (100, 260))
    """
    behind = max(0, length - window)
    count = 1 + -(-behind // step) if length else 0
    return [(n * step, min(length, n * step + window)) for n in range(count)]


def insert_step_marks(text: str, step: int = STEP_CHARS) -> str:
    """Insert `STEP_MARK` after every step. A word that begins before a mark stays before it.

    >>> insert_step_marks("an owl hunts at night", 8).replace(STEP_MARK, "|")
    'an owl hunts |  at |  night'
    """
    single_line = text.replace("\n", " ")
    starts = [0]
    for place in range(step, len(text), step):
        blank = single_line.find(" ", place - 1, place + step - 1)
        if blank < 0:
            # Text without blanks (scripts without spaces) is divided at the step itself, except in the last word.
            blank = place if place + step <= len(text) else len(text)
        starts.append(blank)
    return f" {STEP_MARK} ".join([text[start:end] for start, end in zip(starts, (*starts[1:], len(text)), strict=True)])


def remove_step_marks(terms: Sequence[str]) -> tuple[list[str], list[int]]:
    """Remove the marks from the terms of a marked text, and return the index at which each step begins.

    >>> remove_step_marks(["owl", STEP_MARK, "", "night"])
    (['owl', '', 'night'], [0, 1])
    """
    starts, at = [0], -1
    for number in range(terms.count(STEP_MARK)):
        at = terms.index(STEP_MARK, at + 1)
        starts.append(at - number)
    return list(filter(STEP_MARK.__ne__, terms)), starts


def best_window_similarity(
    terms: Sequence[str], starts: Sequence[int], query: Mapping[str, float], lexicon: LanguageLexicon, *, steps: int = 4
) -> float:
    """Return the greatest cosine of a window of `steps` steps and the query (term → weight times idf).

    Two words of the query in one window give 1; too far apart for one window, they give 1 / √2.

    >>> from topicrawl.text.lexicon import load_lexicon
    >>> query = {"owl": 1.0, "night": 1.0}
    >>> round(best_window_similarity(["owl", "night"], [0, 1], query, load_lexicon("xx")), 6)
    1.0
    >>> round(best_window_similarity(["owl", "night"], [0, 1, 1, 1, 1], query, load_lexicon("xx")), 6)
    0.707107
    """
    length = norm(query)
    if not length or query.keys().isdisjoint(terms):
        return 0.0
    idf, rarest = lexicon.idf_table
    # One lookup per distinct term, then one `map` over the list, keeps the long loops out of the interpreter.
    rarity = {term: idf.get(term, rarest) if term else 0.0 for term in set(terms)}
    squares = map({term: weight * weight for term, weight in rarity.items()}.__getitem__, terms)
    products = map({term: query.get(term, 0.0) * weight for term, weight in rarity.items()}.__getitem__, terms)
    # Running sums give each window's dot product, and a lower bound of its norm: the true norm is larger if a word is
    # repeated. So only the few windows with the highest upper bound are counted word by word.
    lengths, hits = (list(accumulate(values, initial=0.0)) for values in (squares, products))
    width = min(steps, len(starts))
    ends = (*starts[width:], len(terms))
    spans = [(a, b) for a, b in zip(starts, ends, strict=False) if hits[b] > hits[a]]
    upper_bounds = {(a, b): (hits[b] - hits[a]) / sqrt(max(lengths[b] - lengths[a], 1e-9)) for a, b in spans}
    best = 0.0
    for span in sorted(upper_bounds, key=upper_bounds.__getitem__, reverse=True):
        if upper_bounds[span] <= best:
            break
        weights = [count * rarity[term] for term, count in Counter(terms[slice(*span)]).items()]
        best = max(best, (hits[span[1]] - hits[span[0]]) / sqrt(sum(weight * weight for weight in weights)))
    return min(1.0, best / length)
