"""What can be seen of a link before it is followed, as numbers, for all links of a page at once.

Everything is done on arrays, because a page has a hundred links with fifty features each: the features of the page's
words are laid behind those of addresses, headings and titles that were met before, and one gather brings each link its
own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicrawl.learn.online import Floats
from topicrawl.records import Link, Page
from topicrawl.relevance.vsm import Vsm
from topicrawl.scoring.features import MIXED, SALTS
from topicrawl.scoring.memory import Memory
from topicrawl.scoring.nearby import nearby
from topicrawl.scoring.terms import Hashes, Numbers, Spans, Terms, read
from topicrawl.text.bag import Vocabulary, vocabulary_for
from topicrawl.text.tokens import words as tokenise

#: Similarities to the topic, in the order of the columns of `Traits.alike`.
TEXTS = ("anchor", "address", "surroundings", "heading")
_WORDS = np.array([SALTS[name] for name in ("anchor", "near", "heading", "title")])
_MOST_ADDRESSES = 20_000
_TITLE = 12  # words of a page's title that count

Group = tuple[str, str, str, str]  # page, page and tag path, directory, host


@dataclass(frozen=True, slots=True)
class Traits:
    """The links of one page."""

    alike: Floats  # similarity of each link's texts to the topic: links × TEXTS
    flat: Hashes  # features of all links, one behind the other
    lengths: NDArray[np.int32]
    said: Hashes  # the terms of the links' own texts
    groups: list[Group]


class _Said(NamedTuple):
    """Words that belong to links."""

    terms: Numbers  # of the links' own texts, of what stands before and after each, of headings, of the title
    hashes: Hashes
    sizes: Numbers  # how many terms each of these texts has
    under: Numbers  # the number of each link's heading


class Observer:
    """Sees the links of pages with the eyes of a topic."""

    def __init__(self, vsm: Vsm) -> None:
        self._vsm = vsm
        self._begin(vocabulary_for((), vsm.lexicon))

    def _begin(self, vocabulary: Vocabulary) -> None:
        self.words = Terms(self._vsm, vocabulary)
        self._memory = Memory(self.words)

    def traits(self, links: Sequence[Link], url: str, page: Page) -> Traits:
        """What the links of a page look like."""
        vocabulary = vocabulary_for((), self._vsm.lexicon)
        if vocabulary is not self.words.vocabulary:
            self._begin(vocabulary)
        elif len(self._memory) > _MOST_ADDRESSES:
            self._memory = Memory(self.words)
        to = self._memory.rows([link.url for link in links])
        said = self._said(links, " ".join(tokenise(page.title)[:_TITLE]))
        groups = {path: (url, f"{url} {_tail(path)}") for path in {link.tag_path: None for link in links}}
        leads = map(self._memory.groups.__getitem__, to.tolist())
        return Traits(
            self._alike(said, to), *self._features(said, to), said.hashes[: int(said.sizes[: len(links)].sum())],
            [(*groups[link.tag_path], *lead) for link, lead in zip(links, leads, strict=True)],
        )  # fmt: skip

    def said(self, link: Link) -> Mapping[int, str]:
        """What features may stand for, by their hashes; the words of a link are among them."""
        self._memory.rows([link.url])
        self.words.hashes(read([link.anchor or link.alt], self.words.vocabulary)[0])
        return self.words.said

    def _said(self, links: Sequence[Link], title: str) -> _Said:
        """What is said in and around links."""
        near = nearby(links, self.words.vocabulary)
        texts = [link.heading for link in links]
        headings = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        read_terms, above = read([*headings, title], self.words.vocabulary)
        here = near.terms[Spans(*map(np.concatenate, zip(near.own, near.beside, strict=True))).places()]
        terms = np.concatenate([here, read_terms])
        return _Said(
            terms, self.words.hashes(terms), np.concatenate([near.own.sizes, near.beside.sizes, above.sizes]),
            np.array(list(map(headings.__getitem__, texts)), np.int64),
        )  # fmt: skip

    def _alike(self, said: _Said, to: Numbers) -> Floats:
        """How much the texts of links are about the topic: links × TEXTS."""
        count = len(to)
        own, beside, above = said.sizes[:count], said.sizes[count : 3 * count], said.sizes[3 * count :]
        found = self.words.alike(said.terms, np.concatenate([own, beside[0::2] + beside[1::2], above]))
        alike = np.empty((count, len(TEXTS)), np.float32)
        alike[:, 0], alike[:, 2], alike[:, 3] = found[:count], found[count : 2 * count], found[2 * count :][said.under]
        alike[:, 1] = self._memory.alike(to)
        return alike

    def _features(self, said: _Said, to: Numbers) -> tuple[Hashes, NDArray[np.int32]]:
        """The features of all links, one link behind the other, and how many each has."""
        count, many, column = len(to), len(said.terms), self._memory.features
        first, sizes = len(column.values), said.sizes
        own, near, title = int(sizes[:count].sum()), int(sizes[count : 3 * count].sum()), int(sizes[-1])
        salts = _WORDS.repeat((own, near, many - own - near - title, title))
        pairs = said.hashes[:own] * np.uint32(31)
        pairs[:-1] ^= said.hashes[1:own]
        laid = column.behind([said.hashes ^ salts, pairs ^ SALTS["pair"]])
        laid[first:] *= MIXED
        # Of each link: its own words, their pairs, words before and after it, heading, title, address.
        parts = np.empty((2, count, 7), np.int64)
        spans = zip(Spans(sizes, sizes).in_a_row(first), self._memory.spans(to), strict=True)
        for part, (said_here, address) in zip(parts, spans, strict=True):
            part[:, 0] = part[:, 1] = said_here[:count]
            part[:, 2:4] = said_here[count : 3 * count].reshape(count, 2)
            part[:, 4], part[:, 5], part[:, 6] = said_here[3 * count :][said.under], said_here[-1], address
        starts, lengths = parts
        starts[:, 1] += many
        lengths[:, 1] -= lengths[:, 0] > 0
        return laid[Spans(starts.ravel(), lengths.ravel()).places()], lengths.sum(axis=1).astype(np.int32)


def _tail(path: str) -> str:
    """The last three elements of a tag path.

    >>> _tail("body/main/ul/li/p"), _tail("body")
    ('ul/li/p', 'body')
    """
    return "/".join(path.rsplit("/", 3)[-3:])
