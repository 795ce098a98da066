"""The topic keyword weight table: Hati et al. 2010, section 4.2, Table 2; Safran et al. 2012, section III.C, Table 1.

Both papers search the web for the topic, count the words of the first results, keep the most frequent ones (ten
in the first paper, fourteen in the second) and divide their counts by the greatest. Safran et al. say tf·idf
and print tf.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from topicrawl.text.lexicon import Lexicon
from topicrawl.text.tokens import words as tokenise

WEIGHTINGS = ("tf", "tf_idf")


def weight_table(
    texts: Sequence[Sequence[str]], lexicon: Lexicon, *, own: Iterable[str] = (), k: int = 14, weighting: str = "tf"
) -> dict[str, float]:
    """The k heaviest words of texts, heaviest first, relative to the heaviest.

        w = f / max f          or          w = f·idf / max (f·idf)

    f: how often a word occurs in all texts together. Inflections of a word count as one and are shown by the one
    that occurs most; stop words, single letters and numbers are no keywords, unless they are the topic's `own`.
    Of words that weigh the same, the one that occurs first comes first.

    >>> from topicrawl.text.lexicon import lexicon
    >>> texts = [["the", "stock", "market", "and", "stocks"], ["stock", "markets"], ["the", "stock", "who", "1929"]]
    >>> weight_table(texts, lexicon("en"), k=2)
    {'stock': 1.0, 'market': 0.5}
    >>> weight_table(texts, lexicon("en"), own=["The Who"], k=3)
    {'stock': 1.0, 'the': 0.5, 'market': 0.5}
    """
    if weighting not in WEIGHTINGS:
        raise ValueError(f"weighting is one of {', '.join(WEIGHTINGS)}, not {weighting!r}")
    keep = {token for word in own for token in tokenise(word)}
    forms: dict[str, Counter[str]] = {}
    # A counter keeps the order of first occurrence, and so do the forms of a term.
    for word, count in Counter(word for text in texts for word in text).items():
        (term,) = (lexicon.stem(word),) if word in keep else lexicon.aligned((word,))
        if term and (word in keep or not word.isnumeric()):
            forms.setdefault(term, Counter())[word] = count
    weights = {term: float(found.total()) for term, found in forms.items()}
    if weighting == "tf_idf":
        weights = {term: weight * lexicon.idf(term) for term, weight in weights.items()}
    heaviest = sorted(weights, key=weights.__getitem__, reverse=True)[:k]
    return {
        # The first of the most frequent forms: `max` takes the first of equals.
        max(forms[term], key=forms[term].__getitem__): weights[term] / weights[heaviest[0]]
        for term in heaviest
        if weights[term]
    }
