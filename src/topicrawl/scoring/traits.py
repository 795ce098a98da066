"""What can be seen of a link before it is followed, as numbers, for all links of a page at once.

Texts are looked up once each; everything else is done on arrays, because a page has a hundred links with fifty
features each. Features are hashed (xxh32), the same on every machine, and `names.py` can tell which word one was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from topicrawl.learn.online import Floats
from topicrawl.records import Link, Page
from topicrawl.relevance.vsm import Vsm
from topicrawl.scoring.memory import Memory
from topicrawl.scoring.nearby import Nearby, nearby
from topicrawl.scoring.terms import Hashes, Names, Numbers, Spans, Terms, hashed
from topicrawl.text.bag import Vocabulary, vocabulary_for
from topicrawl.text.tokens import words as tokenise

#: Similarities to the topic, in the order of the columns of `Traits.alike`.
TEXTS = ("anchor", "address", "surroundings", "heading")
#: What features are about.
FIELDS = (
    "anchor", "pair", "address", "last", "near", "heading", "title", "path", "parent", "row", "directory", "host",
    "place",
)  # fmt: skip
SALTS = {name: np.uint32(xxhash.xxh32_intdigest(name.encode())) for name in FIELDS}
#: Multiplied once more, so that fields that share a word do not share neighbours.
MIXED = np.uint32(0x9E3779B1)
#: Of what stands before a link and after it.
_WORDS = np.array([SALTS[name] for name in ("anchor", "address", "near", "near", "heading")])
_TEXT_OF = np.array([0, 1, 2, 2, 3])
_NAMES = np.array([SALTS[name] for name in ("path", "parent", "row", "directory", "host", "place")])
_MOST_NAMES = 50_000
_MOST_TEXTS = 20_000
_TITLE = 12  # words of a page's title that count

Group = tuple[str, str, str, str]  # page, page and tag path, directory, host


@dataclass(frozen=True, slots=True)
class Traits:
    """The links of one page."""

    alike: Floats  # similarity of each link's texts to the topic: links × TEXTS
    flat: Hashes  # features of all links, one behind the other
    lengths: NDArray[np.int32]
    groups: list[Group]


class _Said(NamedTuple):
    """The terms of all links: of their own texts, the addresses, the surroundings, the headings."""

    terms: Numbers
    hashes: Hashes
    sizes: Numbers  # of each text of each link: links × _WORDS
    title: Hashes  # of the page


class _Spots(dict[int, int]):
    """Where on its page a link stands, how many there are, how deep its address is, in one number → its hash."""

    def __missing__(self, spot: int) -> int:
        value = self[spot] = hashed(f"{spot >> 32} {spot >> 16 & 0xFFFF} {spot & 0xFFFF}")
        return value


class Observer:
    """Sees the links of pages with the eyes of a topic."""

    def __init__(self, vsm: Vsm) -> None:
        self._vsm = vsm
        self._begin(vocabulary_for((), vsm.lexicon))

    def _begin(self, vocabulary: Vocabulary) -> None:
        self.words = Terms(self._vsm, vocabulary)
        self._names = Names(self.words.said)
        self._spots = _Spots()
        self._forget()

    def _forget(self) -> None:
        self._memory = Memory(self.words.vocabulary, self._names)

    def traits(self, links: Sequence[Link], url: str, page: Page) -> Traits:
        """What the links of a page look like."""
        vocabulary = vocabulary_for((), self._vsm.lexicon)
        if vocabulary is not self.words.vocabulary or len(self._names) + len(self._spots) > _MOST_NAMES:
            self._begin(vocabulary)
        elif len(self._memory) > _MOST_TEXTS:
            self._forget()
        near = nearby(links, vocabulary)
        # Mostly a link's own words stand in the page's row of words, and need not be read once more.
        shown = near.own.sizes.tolist()
        texts = ["" if size else link.anchor or link.alt for link, size in zip(links, shown, strict=True)]
        texts += [link.heading for link in links]
        to, rows = self._memory.rows([link.url for link in links], [*texts, " ".join(tokenise(page.title)[:_TITLE])])
        said = self._said(near, to, rows)
        groups = {path: (url, f"{url} {_tail(path)}") for path in {link.tag_path: None for link in links}}
        leads = map(self._memory.groups.__getitem__, to)
        places = self._places(links, np.array(to), groups, len(page.links))
        return Traits(
            self._alike(said), *self._features(said, places),
            [(*groups[link.tag_path], *lead) for link, lead in zip(links, leads, strict=True)],
        )  # fmt: skip

    def said(self, link: Link) -> Mapping[int, str]:
        """What features may stand for, by their hashes; the words of a link are among them."""
        to, rows = self._memory.rows([link.url], [link.anchor or link.alt])
        self.words.hashes(self._memory.terms[self._memory.spans([*to, *rows]).places()])
        _ = self._names[link.source]
        return self.words.said

    def _said(self, near: Nearby, to: list[int], rows: list[int]) -> _Said:
        """What is said in and around the links."""
        count = len(to)
        spans = self._memory.spans([*rows[:count], *to, *rows[count:]])
        read = self._memory.terms[spans.places()]
        begins = spans.in_a_row(len(near.terms)).starts
        starts, sizes = np.empty((2, count, len(_WORDS)), np.int64)
        for column, found in ((starts, begins), (sizes, spans.sizes)):
            column[:, 0], column[:, 1], column[:, 4] = found[:-1].reshape(3, count)
        starts[:, 2:4], sizes[:, 2:4] = near.beside.starts.reshape(count, 2), near.beside.sizes.reshape(count, 2)
        starts[:, 0] = np.where(near.own.sizes > 0, near.own.starts, starts[:, 0])
        sizes[:, 0] += near.own.sizes
        terms = np.concatenate([near.terms, read])[Spans(starts.ravel(), sizes.ravel()).places()]
        hashes = self.words.hashes(np.concatenate([terms, read[len(read) - int(spans.sizes[-1]) :]]))
        return _Said(terms, hashes[: len(terms)], sizes, hashes[len(terms) :])

    def _alike(self, said: _Said) -> Floats:
        """The cosine of each text with the topic; a word that is said twice counts as two words."""
        many = len(said.sizes) * len(TEXTS)
        wanted = self.words.wanted[said.terms]
        hits = wanted.nonzero()[0]
        if not len(hits):
            return np.zeros((len(said.sizes), len(TEXTS)), np.float32)
        texts = np.arange(0, many, len(TEXTS))[:, None] + _TEXT_OF
        owner = texts.ravel().repeat(said.sizes.ravel())
        product = np.bincount(owner[hits], wanted[hits], many)
        # Few texts speak of the topic: the length of the others does not matter.
        there = (product > 0)[owner].nonzero()[0]
        length = np.sqrt(np.bincount(owner[there], self.words.rarity[said.terms[there]], many))
        alike = np.minimum(np.divide(product, length, out=np.zeros(many), where=length > 0), 1.0)
        return alike.astype(np.float32).reshape(-1, len(TEXTS))

    def _places(self, links: Sequence[Link], to: Numbers, groups: Mapping[str, tuple[str, str]], many: int) -> Hashes:
        """Features of where links stand and where they lead: links × _NAMES."""
        found = np.empty((len(links), len(_NAMES)), np.uint32)
        names = self._names
        stands = {path: (names[_tail(path)], names[page], names[row]) for path, (page, row) in groups.items()}
        found[:, :3] = [stands[link.tag_path] for link in links]
        found[:, 3:5] = self._memory.leads(to)
        spots = np.minimum(np.array([link.position for link in links]) // 10, 20) << 32
        spots += (many.bit_length() << 16) + self._memory.depths(to)
        found[:, 5] = list(map(self._spots.__getitem__, spots.tolist()))
        found ^= _NAMES
        return found

    def _features(self, said: _Said, places: Hashes) -> tuple[Hashes, NDArray[np.int32]]:
        """The features of all links, one link behind the other, and how many each has."""
        words = said.sizes.sum(axis=1)
        first = words.cumsum() - words
        hashes, title = said.hashes, said.title ^ SALTS["title"]
        anchor, address = said.sizes[:, 0], said.sizes[:, 1]
        pair = np.maximum(anchor - 1, 0)
        always = np.empty((len(words), 1 + len(title) + places.shape[1]), np.uint32)
        always[:, 0] = SALTS["last"]
        there = address.nonzero()[0]
        always[there, 0] ^= hashes[(first + anchor + address)[there] - 1]
        always[:, 1 : 1 + len(title)] = title
        always[:, 1 + len(title) :] = places
        lengths = words + pair + always.shape[1]
        begins = lengths.cumsum() - lengths
        found = np.empty(int(lengths.sum()), np.uint32)
        found[Spans(begins, words).places()] = hashes ^ np.tile(_WORDS, len(words)).repeat(said.sizes.ravel())
        begins += words
        pairs = Spans(first, pair).places()
        found[Spans(begins, pair).places()] = hashes[pairs] * np.uint32(31) ^ hashes[pairs + 1] ^ SALTS["pair"]
        begins += pair
        found[begins[:, None] + np.arange(always.shape[1])] = always
        found *= MIXED
        return found, lengths.astype(np.int32)


def _tail(path: str) -> str:
    """The last three elements of a tag path.

    >>> _tail("body/main/ul/li/p"), _tail("body")
    ('ul/li/p', 'body')
    """
    return "/".join(path.rsplit("/", 3)[-3:])
