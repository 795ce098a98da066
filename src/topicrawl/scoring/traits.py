"""What can be seen of a link before it is followed, as numbers, for all links of a page at once.

Words are looked up once each; everything else is done on arrays, because a page has a hundred links with fifty
features each. Features are hashed (xxh32), the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import xxhash
from numpy.typing import NDArray

from topicrawl.learn.online import SLOTS, Floats, Ids
from topicrawl.records import Link
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.tokens import FENCE, fenced
from topicrawl.text.tokens import words as tokenise
from topicrawl.urls import directory, host

#: Words on each side of a link that count as near.
NEAR = 8
#: Similarities to the topic, in the order of the columns of `Traits.alike`.
TEXTS = ("anchor", "address", "surroundings", "heading")
_FIELDS = (
    "anchor",
    "pair",
    "address",
    "last",
    "near",
    "heading",
    "title",
    "path",
    "parent",
    "row",
    "directory",
    "host",
    "place",
)
_SALTS = {name: np.uint32(xxhash.xxh32_intdigest(name.encode())) for name in _FIELDS}
_MOST_WORDS = 200_000
_TITLE = 12  # words of a page's title that count
# They stand in addresses and say nothing.
_QUIET = frozenset({"html", "htm", "php", "asp", "aspx", "jsp", "cgi", "index", "www", "http", "https"})

Words = NDArray[np.int64]
Hashed = tuple[NDArray[np.uint32], Words]  # features, and the number of the link of each


@dataclass(frozen=True, slots=True)
class Traits:
    """The links of one page."""

    alike: Floats  # similarity of each link's texts to the topic: links × TEXTS
    flat: Ids  # features of all links, one behind the other
    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]
    groups: list[tuple[str, str, str, str]]  # page, page and tag path, directory, host


class Vocabulary(dict[str, int]):
    """Term → its number; what is known of a term stands in arrays under that number. 0 is no term."""

    def __init__(self, vsm: Vsm) -> None:
        super().__init__({"": 0})
        self._vsm = vsm
        length = float(np.sqrt(sum(weight * weight for weight in vsm.query.values())))
        self._query = {term: weight / length for term, weight in vsm.query.items()}
        self.hashes = np.zeros(1024, np.uint32)
        self.rarity = np.zeros(1024, np.float32)  # idf², 0 for what says nothing
        self.wanted = np.zeros(1024, np.float32)  # the topic's weight times idf

    def __missing__(self, term: str) -> int:
        number = len(self)
        if number == len(self.hashes):
            for name in ("hashes", "rarity", "wanted"):
                array = getattr(self, name)
                setattr(self, name, np.concatenate([array, np.zeros_like(array)]))
        idf = 0.0 if term.isdigit() or term in _QUIET else self._vsm.lexicon.idf(term)
        self.hashes[number] = xxhash.xxh32_intdigest(term.encode("utf-8", "replace"))
        self.rarity[number] = idf * idf
        self.wanted[number] = self._query.get(term, 0.0) * idf
        self[term] = number
        return number

    def numbers(self, words: Sequence[str]) -> Words:
        terms = self._vsm.lexicon.aligned(words)
        return np.fromiter(map(self.__getitem__, terms), np.int64, len(terms))


class Observer:
    """Sees the links of pages with the eyes of a topic."""

    def __init__(self, vsm: Vsm) -> None:
        self._vsm = vsm
        self._words = Vocabulary(vsm)

    def traits(self, links: Sequence[Link], page: str, title: str) -> Traits:
        """What the links of a page look like."""
        if len(self._words) > _MOST_WORDS:
            self._words = Vocabulary(self._vsm)
        spoken = [
            self._texts([link.anchor or link.alt for link in links]),
            self._texts([link.url.split("/", 3)[3] for link in links]),
            self._near(links),
            self._texts([link.heading for link in links]),
        ]
        alike = np.stack([self._alike(numbers, owner, len(links)) for numbers, owner in spoken], axis=1)
        paths = ["/".join(link.tag_path.split("/")[-3:]) for link in links]
        groups = [
            (page, f"{page} {path}", directory(link.url), host(link.url))
            for link, path in zip(links, paths, strict=True)
        ]
        found = [*self._of_words(spoken), *self._of_title(title, len(links)), *_of_place(links, groups, paths)]
        return Traits(alike, *_rows(found, len(links)), groups)

    def _of_words(self, spoken: Sequence[tuple[Words, Words]]) -> list[Hashed]:
        """Features of what is said in and around links, each with the number of its link."""
        (anchor, anchor_of), (address, address_of), (near, near_of), (heading, heading_of) = spoken
        pairs = np.flatnonzero(anchor_of[1:] == anchor_of[:-1])
        ends = np.flatnonzero(np.diff(address_of, append=-1))
        hashes = self._words.hashes
        return [
            (hashes[anchor] ^ _SALTS["anchor"], anchor_of),
            (hashes[anchor[pairs]] * np.uint32(31) ^ hashes[anchor[pairs + 1]] ^ _SALTS["pair"], anchor_of[pairs]),
            (hashes[address] ^ _SALTS["address"], address_of),
            (hashes[address[ends]] ^ _SALTS["last"], address_of[ends]),
            (hashes[near] ^ _SALTS["near"], near_of),
            (hashes[heading] ^ _SALTS["heading"], heading_of),
        ]

    def _of_title(self, title: str, count: int) -> list[Hashed]:
        words = self._words.numbers(tokenise(title)[:_TITLE])
        words = words[words > 0]
        return [(np.tile(self._words.hashes[words] ^ _SALTS["title"], count), np.repeat(np.arange(count), len(words)))]

    def _texts(self, texts: Sequence[str]) -> tuple[Words, Words]:
        """The terms of texts, and to which text each belongs."""
        words = fenced(texts)
        # The fence is asked as it stands: stemming must not touch it.
        fences = np.fromiter((word == FENCE for word in words), np.bool_, len(words))
        numbers, owner = self._words.numbers(words), np.cumsum(fences, dtype=np.int64)
        spoken = ~fences & (numbers > 0)
        return numbers[spoken], owner[spoken]

    def _near(self, links: Sequence[Link]) -> tuple[Words, Words]:
        windows = [(*link.before[-NEAR:], *link.after[:NEAR]) for link in links]
        numbers = self._words.numbers(list(chain.from_iterable(windows)))
        owner = np.repeat(np.arange(len(links)), [len(window) for window in windows])
        return numbers[numbers > 0], owner[numbers > 0]

    def _alike(self, numbers: Words, owner: Words, count: int) -> Floats:
        """The cosine of each text with the topic; a word that is said twice counts as two words."""
        length = np.sqrt(np.bincount(owner, self._words.rarity[numbers], count))
        product = np.bincount(owner, self._words.wanted[numbers], count)
        return np.minimum(np.divide(product, length, out=np.zeros(count), where=length > 0), 1.0).astype(np.float32)


def _of_place(links: Sequence[Link], groups: Sequence[tuple[str, str, str, str]], paths: Sequence[str]) -> list[Hashed]:
    """Features of where links stand and where they lead."""
    each = np.arange(len(links))
    pages, rows, directories, hosts = zip(*groups, strict=True)
    return [
        (_hashed(paths) ^ _SALTS["path"], each),
        (_hashed(pages) ^ _SALTS["parent"], each),
        (_hashed(rows) ^ _SALTS["row"], each),
        (_hashed(directories) ^ _SALTS["directory"], each),
        (_hashed(hosts) ^ _SALTS["host"], each),
        (_places(links) ^ _SALTS["place"], each),
    ]


def _places(links: Sequence[Link]) -> NDArray[np.uint32]:
    """Where on the page a link stands, how many there are, how deep its address is: roughly."""
    many = int(np.log2(len(links) + 1))
    return _hashed([f"{min(link.position // 10, 20)} {many} {link.url.count('/')}" for link in links])


def _hashed(texts: Iterable[str]) -> NDArray[np.uint32]:
    known: dict[str, int] = {}
    found = []
    for text in texts:
        value = known.get(text)
        if value is None:
            value = known[text] = xxhash.xxh32_intdigest(text.encode("utf-8", "replace"))
        found.append(value)
    return np.array(found, np.uint32)


def _rows(found: Sequence[Hashed], count: int) -> tuple[Ids, NDArray[np.int64], NDArray[np.int32]]:
    """Features with their links, sorted by link."""
    hashes = np.concatenate([hashes for hashes, _ in found])
    owner = np.concatenate([owner for _, owner in found])
    # Multiplied once more, so that fields that share a word do not share neighbours.
    slots = ((hashes * np.uint32(0x9E3779B1)) >> np.uint32(14)).astype(np.int32) & (SLOTS - 1)
    order = np.argsort(owner, kind="stable")
    lengths = np.bincount(owner, minlength=count).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(lengths[:-1])]).astype(np.int64)
    return slots[order].astype(np.int32), starts, lengths
