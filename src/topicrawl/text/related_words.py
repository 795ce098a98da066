"""Words related to the keywords of a topic, from texts about the topic: Hati et al. 2010, section 5.2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from topicrawl.text.lexicon import LanguageLexicon
from topicrawl.text.tokenizer import tokenise

_WINDOW = 10  # terms on each side of a keyword


def find_cooccurring_terms(
    keywords: Iterable[str], texts: Sequence[Sequence[str]], lexicon: LanguageLexicon, *, count: int
) -> dict[str, list[str]]:
    """Return up to `count` terms that occur near each keyword in the texts, the most distinctive first.

        weight(t | keyword) = texts in which t is within ten terms of the keyword · idf(t)

    With three or more texts, a term must be near the keyword in two of them.

    >>> from topicrawl.text.lexicon import load_lexicon
    >>> texts = [["the", "owl", "hunts", "mice"], ["mice", "fear", "the", "owl"], ["an", "owl", "at", "night"]]
    >>> find_cooccurring_terms(["owls", "train"], texts, load_lexicon("en"), count=5)
    {'owls': ['mice'], 'train': []}
    """
    term_lists = [lexicon.extract_terms(words) for words in texts]
    least = 2 if len(texts) > 2 else 1
    related = {}
    for keyword in keywords:
        own = set(lexicon.extract_terms(tokenise(keyword)))
        counts: Counter[str] = Counter()
        for terms in term_lists:
            near: set[str] = set()
            for place, term in enumerate(terms):
                if term in own:
                    near.update(terms[max(0, place - _WINDOW) : place + _WINDOW + 1])
            counts.update(near - own)
        weights = {term: number * lexicon.idf(term) for term, number in counts.items() if number >= least}
        related[keyword] = sorted(weights, key=lambda term: (-weights[term], term))[:count]
    return related
