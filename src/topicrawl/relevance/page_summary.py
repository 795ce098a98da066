"""Summary of a page for readers: the sentences that a network selects (Mohammadi, sections 5 and 7), without a topic.

The same pruning, features and networks as in `summary.py`. A page in a language without a network is summarised by the
English one: the features are positions, lengths, font sizes and shares of the title's words, not the words themselves.
"""

from __future__ import annotations

from functools import cache

from topicrawl.ml.network import NeuralNetwork
from topicrawl.models import Page
from topicrawl.relevance.hidden_text import filter_sentences
from topicrawl.relevance.sentence_features import extract_features
from topicrawl.relevance.summary import SUMMARY_THRESHOLD, split_plain_text
from topicrawl.relevance.summary_network import load_bundled_network
from topicrawl.text.lexicon import load_lexicon

SHOWN_SENTENCES = 5  # sentences of a summary that is shown beside a page
_FALLBACK_LANGUAGE = "en"


@cache
def _load_network(language: str) -> NeuralNetwork:
    network = load_bundled_network(language) or load_bundled_network(_FALLBACK_LANGUAGE)
    assert network is not None  # the package contains the English network
    return network


def select_summary(page: Page, *, anchor: str = "", limit: int | None = None) -> list[str]:
    """Return the sentences of the summary of a page in their order; with `limit`, only those with the highest output.

    Sentences with styles (`page.sentences`) are used if the page was parsed with them. `anchor` is the text of the link
    that led to the page.

    >>> text = "Owls hunt mice at night in the forest. They sleep by day. The forest is old.\\nNew here: a free map."
    >>> select_summary(Page("http://a/", title="Owls hunt at night", text=text, language="en"))
    ['Owls hunt mice at night in the forest.']
    """
    lexicon = load_lexicon(page.language or _FALLBACK_LANGUAGE)
    remaining = filter_sentences(page.sentences or split_plain_text(page.text), lexicon)
    rows = extract_features(remaining, lexicon, anchor=anchor, title=page.title)
    network = _load_network(page.language)
    outputs = {number: network.predict(row) for number, row in enumerate(rows)}
    selected = [number for number, output in outputs.items() if output >= SUMMARY_THRESHOLD]
    if limit is not None:
        selected = sorted(sorted(selected, key=outputs.__getitem__, reverse=True)[:limit])
    return [remaining[number].sentence.text for number in selected]
