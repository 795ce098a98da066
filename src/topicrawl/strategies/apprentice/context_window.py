"""Extract the terms in and around the links of a page."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple, cast

import numpy as np

from topicrawl.models import Link
from topicrawl.strategies.apprentice.topic_terms import IntArray, Spans, read_terms
from topicrawl.text.bag_of_words import TermVocabulary
from topicrawl.text.word_sequence import WordWindow

#: Words on each side of a link that count as near.
WINDOW_WORDS = 8
#: Maximum number of terms of a link's own text.
_MAX_OWN_TERMS = 100


class LinkWindows(NamedTuple):
    """Terms of a page, and the spans that belong to its links."""

    terms: IntArray
    own: Spans  # own text of each link
    beside: Spans  # text before and text after each link, alternating


def extract_windows(links: Sequence[Link], vocabulary: TermVocabulary) -> LinkWindows:
    """Extract the terms in and near links.

    >>> from topicrawl.text.lexicon import load_lexicon
    >>> link = Link("http://a/", anchor="of owls", before=("red",), after=("owl", "bat"))
    >>> found = extract_windows([link], TermVocabulary(load_lexicon("en")))
    >>> found.terms.tolist(), found.own, found.beside.sizes.tolist()
    ([1, 2, 3, 2], Spans(starts=array([3]), sizes=array([1])), [1, 2])
    """
    sides = list(chain.from_iterable([(link.before, link.after) for link in links]))
    first = sides[0]
    if isinstance(first, WordWindow) and all(
        [type(side) is WordWindow and side.places is first.places for side in sides]
    ):
        windows = _slice_word_sequence(cast("list[WordWindow]", sides), vocabulary)
    else:
        near = [side[:WINDOW_WORDS] if number % 2 else side[-WINDOW_WORDS:] for number, side in enumerate(sides)]
        beside = Spans(
            np.zeros(len(near), np.int64), np.fromiter(map(len, near), np.int64, len(near))
        ).make_contiguous()
        no_own = Spans(*np.zeros((2, len(links)), np.int64))
        windows = LinkWindows(vocabulary.get_term_ids(list(chain.from_iterable(near))), no_own, beside)
    return _add_unplaced_texts(_drop_non_terms(windows), links, vocabulary)


def _slice_word_sequence(sides: list[WordWindow], vocabulary: TermVocabulary) -> LinkWindows:
    """Return the windows of links whose context is part of one word sequence that is already tokenised."""
    first = sides[0]
    begins = np.array([side.stop for side in sides[0::2]])
    ends = np.array([side.start for side in sides[1::2]])
    starts, stops = np.empty((2, len(sides)), np.int64)
    starts[0::2], stops[0::2] = np.maximum(begins - WINDOW_WORDS, 0), begins
    starts[1::2], stops[1::2] = ends, np.minimum(ends + WINDOW_WORDS, len(first.places))
    own, beside = Spans(begins, np.minimum(ends - begins, _MAX_OWN_TERMS)), Spans(starts, stops - starts)
    if vocabulary.has_ids_of(first.wording):
        return LinkWindows(vocabulary.get_term_ids_at(first.wording, first.places), own, beside)
    # The sequence has another language or too many words for the shared vocabulary, so only the needed words are looked
    # up.
    needed = first.places[np.concatenate([own.get_indices(), beside.get_indices()])]
    terms = vocabulary.get_term_ids_at(first.wording, needed)
    return LinkWindows(terms, own.make_contiguous(), beside.make_contiguous(int(own.sizes.sum())))


def _drop_non_terms(windows: LinkWindows) -> LinkWindows:
    """Remove words that are not terms, for example stop words."""
    if windows.terms.all():
        return windows
    # Number of terms before each word.
    rank = np.concatenate([np.zeros(1, np.int64), (windows.terms > 0).cumsum()])
    own, beside = (
        Spans(rank[starts], rank[starts + sizes] - rank[starts]) for starts, sizes in (windows.own, windows.beside)
    )
    return LinkWindows(windows.terms[windows.terms > 0], own, beside)


def _add_unplaced_texts(windows: LinkWindows, links: Sequence[Link], vocabulary: TermVocabulary) -> LinkWindows:
    """Add the texts of links that are not part of the visible text: image links and hidden text."""
    missing = [at for at in (windows.own.sizes == 0).nonzero()[0].tolist() if links[at].anchor or links[at].alt]
    if not missing:
        return windows
    terms, spans = read_terms([links[at].anchor or links[at].alt for at in missing], vocabulary)
    starts, sizes = windows.own.starts.copy(), windows.own.sizes.copy()
    starts[missing], sizes[missing] = spans.starts + len(windows.terms), spans.sizes
    return LinkWindows(np.concatenate([windows.terms, terms]), Spans(starts, sizes), windows.beside)
