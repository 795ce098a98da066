"""The words in and beside the links of a page."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple, cast

import numpy as np

from topicrawl.records import Link
from topicrawl.scoring.terms import Numbers, Spans, read
from topicrawl.text.bag import Vocabulary
from topicrawl.text.wording import Stretch

#: Words on each side of a link that count as near.
NEAR = 8
#: Terms of a link's own text that count.
_OWN = 100


class Nearby(NamedTuple):
    """Terms of a page, and which of them belong to its links."""

    terms: Numbers
    own: Spans  # the text of each link
    beside: Spans  # what stands before and after each link, by turns


def nearby(links: Sequence[Link], vocabulary: Vocabulary) -> Nearby:
    """The terms of the words in and near links.

    >>> from topicrawl.text.lexicon import lexicon
    >>> link = Link("http://a/", anchor="of owls", before=("red",), after=("owl", "bat"))
    >>> found = nearby([link], Vocabulary(lexicon("en")))
    >>> found.terms.tolist(), found.own, found.beside.sizes.tolist()
    ([1, 2, 3, 2], Spans(starts=array([3]), sizes=array([1])), [1, 2])
    """
    sides = list(chain.from_iterable([(link.before, link.after) for link in links]))
    first = sides[0]
    if isinstance(first, Stretch) and all([type(it) is Stretch and it.places is first.places for it in sides]):
        found = _in_row(cast("list[Stretch]", sides), vocabulary)
    else:
        near = [side[:NEAR] if number % 2 else side[-NEAR:] for number, side in enumerate(sides)]
        beside = Spans(np.zeros(len(near), np.int64), np.fromiter(map(len, near), np.int64, len(near))).in_a_row()
        none = Spans(*np.zeros((2, len(links)), np.int64))
        found = Nearby(vocabulary.numbers(list(chain.from_iterable(near))), none, beside)
    return _named(_spoken(found), links, vocabulary)


def _in_row(sides: list[Stretch], vocabulary: Vocabulary) -> Nearby:
    """All stand in one row of words, which has been read already."""
    first = sides[0]
    begins = np.array([side.stop for side in sides[0::2]])
    ends = np.array([side.start for side in sides[1::2]])
    starts, stops = np.empty((2, len(sides)), np.int64)
    starts[0::2], stops[0::2] = np.maximum(begins - NEAR, 0), begins
    starts[1::2], stops[1::2] = ends, np.minimum(ends + NEAR, len(first.places))
    own, beside = Spans(begins, np.minimum(ends - begins, _OWN)), Spans(starts, stops - starts)
    if vocabulary.has(first.wording):
        return Nearby(vocabulary.among(first.wording, first.places), own, beside)
    # It was read in another language, or holds too many words for the vocabulary of all: only what is needed.
    wanted = first.places[np.concatenate([own.places(), beside.places()])]
    terms = vocabulary.among(first.wording, wanted)
    return Nearby(terms, own.in_a_row(), beside.in_a_row(int(own.sizes.sum())))


def _spoken(found: Nearby) -> Nearby:
    """The same without words that are no terms."""
    if found.terms.all():
        return found
    # How many terms stand before each word.
    rank = np.concatenate([np.zeros(1, np.int64), (found.terms > 0).cumsum()])
    own, beside = (
        Spans(rank[starts], rank[starts + sizes] - rank[starts]) for starts, sizes in (found.own, found.beside)
    )
    return Nearby(found.terms[found.terms > 0], own, beside)


def _named(found: Nearby, links: Sequence[Link], vocabulary: Vocabulary) -> Nearby:
    """The same with the texts of links that stand nowhere in the row: of pictures, or in what is not shown."""
    bare = [at for at in (found.own.sizes == 0).nonzero()[0].tolist() if links[at].anchor or links[at].alt]
    if not bare:
        return found
    terms, read_in = read([links[at].anchor or links[at].alt for at in bare], vocabulary)
    starts, sizes = found.own.starts.copy(), found.own.sizes.copy()
    starts[bare], sizes[bare] = read_in.starts + len(found.terms), read_in.sizes
    return Nearby(np.concatenate([found.terms, terms]), Spans(starts, sizes), found.beside)
