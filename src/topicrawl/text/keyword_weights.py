"""Topic keyword weight table: Hati et al. 2010, section 4.2, Table 2; Safran et al. 2012, section III.C, Table 1.

Both papers search the web for the topic, count the words of the first results, select the most frequent ones (ten in
the first paper, fourteen in the second) and divide their counts by the greatest count. Safran et al. write tf·idf, with
idf = log(N/n) over the seed pages, but print tf values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import exp, log

from topicrawl.text.lexicon import LanguageLexicon
from topicrawl.text.tokenizer import tokenise

SEED_IDF = "tf_seed_idf"
#: The weightings of the papers: term frequency alone, with the idf of the language, or with the idf of the seed pages.
WEIGHTINGS = ("tf", "tf_idf", SEED_IDF)
#: The weightings of `topic build`. The default also uses irrelevant pages.
TOPIC_WEIGHTINGS = ("distinctive", "tf", "tf_idf")
_MIN_WEIGHT = 0.1  # relative to the best word


def build_distinctive_table(
    relevant: Sequence[Sequence[str]], irrelevant: Sequence[Sequence[str]], lexicon: LanguageLexicon, *, k: int = 14
) -> dict[str, float]:
    """Return the k words that distinguish the relevant texts best, with weights relative to the best.

        w(t) = (s(t) − max(s'(t), p(t))) · idf(t)

    s, s': the mean of 1 + ln f over all relevant and all irrelevant texts, where f is the number of occurrences in a
    text; 0 for a text without the word. p: the share of the texts in the language that contain the word. A word must
    occur in a fifth of the relevant texts, and in two of them if there are three or more. Words with less than a tenth
    of the best weight are left out.

    >>> from topicrawl.text.lexicon import load_lexicon
    >>> relevant = [["using", "a", "table", "of", "stocks"], ["using", "stock", "tables"], ["using", "stock", "data"]]
    >>> build_distinctive_table(relevant, [["using", "a", "table"], ["table"]], load_lexicon("en"), k=3)
    {'stock': 1.0}
    """
    counts = [_count_forms(text, lexicon) for text in relevant]
    other = _compute_salience([_count_forms(text, lexicon) for text in irrelevant])
    least = max(0.2 * len(relevant), 2 if len(relevant) > 2 else 1)
    weights = {
        term: (salience - max(other.get(term, 0.0), exp(-lexicon.idf(term)))) * lexicon.idf(term)
        for term, salience in _compute_salience(counts).items()
        if sum(term in forms for forms in counts) >= least
    }
    limit = _MIN_WEIGHT * max(weights.values(), default=0.0)
    best = sorted((term for term in weights if weights[term] > max(0.0, limit)), key=lambda term: -weights[term])[:k]
    spelling: dict[str, Counter[str]] = {term: Counter() for term in best}
    for forms in counts:
        for term in best:
            spelling[term].update(forms.get(term, {}))
    return {max(spelling[term], key=spelling[term].__getitem__): weights[term] / weights[best[0]] for term in best}


def _count_forms(text: Sequence[str], lexicon: LanguageLexicon) -> dict[str, Counter[str]]:
    """Return term → inflected form → occurrences, without numbers."""
    forms: dict[str, Counter[str]] = {}
    for word, count in Counter(text).items():
        (term,) = lexicon.align_terms((word,))
        if term and not word.isnumeric():
            forms.setdefault(term, Counter())[word] = count
    return forms


def _compute_salience(counts: Sequence[dict[str, Counter[str]]]) -> dict[str, float]:
    """Return the mean of 1 + ln f of each term over all texts."""
    sums: dict[str, float] = {}
    for forms in counts:
        for term, words in forms.items():
            sums[term] = sums.get(term, 0.0) + 1 + log(words.total())
    return {term: total / len(counts) for term, total in sums.items()}


def build_weight_table(
    texts: Sequence[Sequence[str]],
    lexicon: LanguageLexicon,
    *,
    keep_words: Iterable[str] = (),
    k: int = 14,
    weighting: str = "tf",
    others: Sequence[Sequence[str]] = (),
    normalise: bool = False,
) -> dict[str, float]:
    """Return the k heaviest words of texts, heaviest first, with weights relative to the heaviest.

        w = f / max f          or          w = f·idf / max (f·idf)

    f: the occurrences of a word in all texts; with `normalise`, the sum of its shares of the words of each text, so
    that a long text does not dominate. The weighting `tf_idf` uses the idf of the language, `tf_seed_idf` the idf
    log(N/n): N texts, including `others`, n of which contain the word. Inflected forms count as one word, spelled as
    the most frequent form. Stop words, single letters and numbers are no keywords, unless they are in `keep_words`. If
    words have the same weight, the first one in the texts comes first.

    >>> from topicrawl.text.lexicon import load_lexicon
    >>> texts = [["the", "stock", "market", "and", "stocks"], ["stock", "markets"], ["the", "stock", "who", "1929"]]
    >>> build_weight_table(texts, load_lexicon("en"), k=2)
    {'stock': 1.0, 'market': 0.5}
    >>> build_weight_table(texts, load_lexicon("en"), keep_words=["The Who"], k=3)
    {'stock': 1.0, 'the': 0.5, 'market': 0.5}
    """
    if weighting not in WEIGHTINGS:
        raise ValueError(f"weighting must be one of {', '.join(WEIGHTINGS)}, not {weighting!r}")
    keep = {token for word in keep_words for token in tokenise(word)}
    forms: dict[str, Counter[str]] = {}
    frequencies: dict[str, float] = {}
    for text in texts:
        share = 1 / len(text) if normalise and text else 1.0
        # Dictionaries keep the order of the first occurrence.
        for word, count in Counter(text).items():
            (term,) = (lexicon.stem(word),) if word in keep else lexicon.align_terms((word,))
            if term and (word in keep or not word.isnumeric()):
                forms.setdefault(term, Counter())[word] += count
                frequencies[term] = frequencies.get(term, 0.0) + count * share
    weights = frequencies
    if weighting == "tf_idf":
        weights = {term: weight * lexicon.idf(term) for term, weight in frequencies.items()}
    elif weighting == SEED_IDF:
        idf = compute_seed_idf(frequencies, (*texts, *others), lexicon)
        weights = {term: weight * idf[term] for term, weight in frequencies.items()}
    heaviest = sorted(weights, key=weights.__getitem__, reverse=True)[:k]
    return {
        # The most frequent form. `max` returns the first of equals.
        max(forms[term], key=forms[term].__getitem__): weights[term] / weights[heaviest[0]]
        for term in heaviest
        if weights[term]
    }


def compute_seed_idf(
    words: Iterable[str], texts: Sequence[Sequence[str]], lexicon: LanguageLexicon
) -> dict[str, float]:
    """Return log(N/n) of words: N texts, n of which contain the word in any inflection. 0 for a word in no text.

    >>> from topicrawl.text.lexicon import load_lexicon
    >>> texts = [["stocks", "page"], ["stock", "page"], ["owl", "page"], ["page"]]
    >>> idf = compute_seed_idf(["stock", "page", "zebra"], texts, load_lexicon("en"))
    >>> {word: round(value, 4) for word, value in idf.items()}
    {'stock': 0.6931, 'page': 0.0, 'zebra': 0.0}
    """
    counts = Counter(stem for text in texts for stem in {lexicon.stem(word) for word in set(text)})
    stems = {word: word if word in counts else lexicon.stem(word) for word in words}
    return {word: log(len(texts) / counts[stem]) if counts[stem] else 0.0 for word, stem in stems.items()}
