"""What can be seen of a link before it is followed, as numbers, for all links of a page at once.

Texts are looked up once each; everything else is done on arrays, because a page has a hundred links with fifty
features each. Features are hashed (xxh32), the same on every machine, and `names.py` can tell which word one was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import Any, cast

import numpy as np
import xxhash
from numpy.typing import NDArray

from topicrawl.learn.online import Floats
from topicrawl.records import Link, Page
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.bag import Vocabulary, vocabulary_for
from topicrawl.text.tokens import words as tokenise
from topicrawl.text.wording import Stretch, wordings
from topicrawl.urls import directory, host

#: Words on each side of a link that count as near.
NEAR = 8
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
_MOST_NAMES = 50_000
_MOST_TEXTS = 20_000
_TITLE = 12  # words of a page's title that count
# They stand in addresses and say nothing.
_QUIET = frozenset({"html", "htm", "php", "asp", "aspx", "jsp", "cgi", "index", "www", "http", "https"})

Numbers = NDArray[np.integer[Any]]
Hashes = NDArray[np.uint32]
Hashed = tuple[Hashes, Numbers]  # features, and the number of the link of each


@dataclass(frozen=True, slots=True)
class Traits:
    """The links of one page."""

    alike: Floats  # similarity of each link's texts to the topic: links × TEXTS
    flat: Hashes  # features of all links, one behind the other
    lengths: NDArray[np.int32]
    groups: list[tuple[str, str, str, str]]  # page, page and tag path, directory, host


class Terms:
    """What a topic's observer knows of terms, in arrays, by the numbers that a vocabulary has given them; 0 is none."""

    def __init__(self, vsm: Vsm, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.said: dict[int, str] = {}  # hash → term
        length = float(np.sqrt(sum(weight * weight for weight in vsm.query.values())))
        self._query = {term: weight / length for term, weight in vsm.query.items()}
        self.hashes = np.zeros(0, np.uint32)
        self.rarity = np.zeros(0, np.float32)  # idf², 0 for what says nothing
        self.wanted = np.zeros(0, np.float32)  # the topic's weight times idf
        self._count = 0

    def follow(self) -> None:
        """Look at the terms that are new in the vocabulary."""
        terms, old = self.vocabulary.terms, self._count
        if old == len(terms):
            return
        self._count = count = len(terms)
        if count > len(self.hashes):
            for name in ("hashes", "rarity", "wanted"):
                array = getattr(self, name)
                setattr(self, name, np.concatenate([array, np.zeros(2 * count - len(array), array.dtype)]))
        new = list(islice(reversed(terms), count - old))[::-1]
        self.hashes[old:count] = hashes = list(map(hashed, new))
        self.said.update(zip(hashes, new, strict=True))
        idf = self.vocabulary.idf[old:count]
        self.rarity[old:count] = idf * idf
        for at, term in enumerate(new, old):
            if term.isdigit() or term in _QUIET or not term:
                self.rarity[at] = 0.0
            elif term in self._query:
                self.wanted[at] = self._query[term] * idf[at - old]

    def parted(self, texts: Sequence[str]) -> list[Numbers]:
        """The terms of each text; words that are none are left out."""
        said, ends = wordings(texts)
        found = self.vocabulary.numbers(said)
        spoken = found.nonzero()[0]
        found = found[spoken]
        return [found[start:end] for start, end in pairwise([0, *spoken.searchsorted(ends).tolist()])]


class _Hashes(dict[str, int]):
    """Text → its hash."""

    def __init__(self, said: dict[int, str]) -> None:
        self._said = said

    def __missing__(self, text: str) -> int:
        value = self[text] = hashed(text)
        self._said[value] = text
        return value

    def of(self, texts: Sequence[str]) -> Hashes:
        return np.fromiter(map(self.__getitem__, texts), np.uint32, len(texts))


class Observer:
    """Sees the links of pages with the eyes of a topic."""

    def __init__(self, vsm: Vsm) -> None:
        self._vsm = vsm
        self._begin(vocabulary_for((), vsm.lexicon))

    def _begin(self, vocabulary: Vocabulary) -> None:
        self.words = Terms(self._vsm, vocabulary)
        # Addresses and the texts of links come again and again.
        self._texts: dict[str, Numbers] = {}
        self._hashes = _Hashes(self.words.said)

    def traits(self, links: Sequence[Link], url: str, page: Page) -> Traits:
        """What the links of a page look like."""
        vocabulary = vocabulary_for((), self._vsm.lexicon)
        if vocabulary is not self.words.vocabulary or len(self._hashes) > _MOST_NAMES:
            self._begin(vocabulary)
        elif len(self._texts) > _MOST_TEXTS:
            self._texts.clear()
        count = len(links)
        title = " ".join(tokenise(page.title)[:_TITLE])
        anchors = [link.anchor or link.alt for link in links]
        addresses = [_address(link.url) for link in links]
        headings = [link.heading for link in links]
        self._read([*anchors, *addresses, *headings, title])
        spoken = [self._of_texts(anchors), self._of_texts(addresses), self._near(links), self._of_texts(headings)]
        self.words.follow()
        alike = np.stack([self._alike(numbers, owner, count) for numbers, owner in spoken], axis=1)
        paths = [_tail(link.tag_path) for link in links]
        urls = [link.url for link in links]
        groups = [(url, f"{url} {path}", directory(to), host(to)) for to, path in zip(urls, paths, strict=True)]
        found = [*self._of_words(spoken), self._of_title(title, count)]
        found += self._of_place(links, groups, paths, len(page.links))
        return Traits(alike, *_rows(found, count), groups)

    def said(self, link: Link) -> Mapping[int, str]:
        """What features may stand for, by their hashes; the words of a link are among them."""
        self._read([link.anchor or link.alt, _address(link.url)])
        self.words.follow()
        self._hashes.of([link.source, directory(link.url), host(link.url)])
        return self.words.said

    def _read(self, texts: Sequence[str]) -> None:
        """Cut texts into terms, all that are new in one go."""
        known = self._texts
        if new := [text for text in dict.fromkeys(texts) if text not in known]:
            known.update(zip(new, self.words.parted(new), strict=True))

    def _of_texts(self, texts: Sequence[str]) -> tuple[Numbers, Numbers]:
        """The terms of texts that have been read, and to which text each belongs."""
        found = list(map(self._texts.__getitem__, texts))
        return np.concatenate(found), np.repeat(np.arange(len(found)), list(map(len, found)))

    def _near(self, links: Sequence[Link]) -> tuple[Numbers, Numbers]:
        """The terms of the words near links, and to which link each belongs."""
        sides = list(chain.from_iterable([(link.before, link.after) for link in links]))
        first = sides[0]
        if isinstance(first, Stretch) and all(type(side) is Stretch and side.places is first.places for side in sides):
            # They stand in one row of words, which has been read already.
            spans = np.array([(side.start, side.stop) for side in cast("list[Stretch]", sides)], np.int64)
            spans[0::2, 0] = np.maximum(spans[0::2, 0], spans[0::2, 1] - NEAR)
            spans[1::2, 1] = np.minimum(spans[1::2, 1], spans[1::2, 0] + NEAR)
            sizes = spans[:, 1] - spans[:, 0]
            numbers = self.words.vocabulary.among(first.wording, first.places[_ranges(spans[:, 0], sizes)])
        else:
            near = [side[:NEAR] if number % 2 else side[-NEAR:] for number, side in enumerate(sides)]
            sizes = np.fromiter(map(len, near), np.int64, len(near))
            numbers = self.words.vocabulary.numbers(list(chain.from_iterable(near)))
        owner = np.repeat(np.arange(len(sides)) // 2, sizes)
        spoken = numbers > 0
        return numbers[spoken], owner[spoken]

    def _alike(self, numbers: Numbers, owner: Numbers, count: int) -> Floats:
        """The cosine of each text with the topic; a word that is said twice counts as two words."""
        length = np.sqrt(np.bincount(owner, self.words.rarity[numbers], count))
        product = np.bincount(owner, self.words.wanted[numbers], count)
        return np.minimum(np.divide(product, length, out=np.zeros(count), where=length > 0), 1.0).astype(np.float32)

    def _of_words(self, spoken: Sequence[tuple[Numbers, Numbers]]) -> list[Hashed]:
        """Features of what is said in and around links, each with the number of its link."""
        (anchor, anchor_of), (address, address_of), (near, near_of), (heading, heading_of) = spoken
        pairs = np.flatnonzero(anchor_of[1:] == anchor_of[:-1])
        ends = np.flatnonzero(np.diff(address_of, append=-1))
        hashes = self.words.hashes
        first, second = hashes[anchor[pairs]], hashes[anchor[pairs + 1]]
        return [
            (hashes[anchor] ^ SALTS["anchor"], anchor_of),
            (first * np.uint32(31) ^ second ^ SALTS["pair"], anchor_of[pairs]),
            (hashes[address] ^ SALTS["address"], address_of),
            (hashes[address[ends]] ^ SALTS["last"], address_of[ends]),
            (hashes[near] ^ SALTS["near"], near_of),
            (hashes[heading] ^ SALTS["heading"], heading_of),
        ]

    def _of_title(self, title: str, count: int) -> Hashed:
        words = self._texts[title]
        return np.tile(self.words.hashes[words] ^ SALTS["title"], count), np.repeat(np.arange(count), len(words))

    def _of_place(
        self, links: Sequence[Link], groups: Sequence[tuple[str, str, str, str]], paths: Sequence[str], many: int
    ) -> list[Hashed]:
        """Features of where links stand and where they lead."""
        each = np.arange(len(links))
        many = many.bit_length()
        # Where on the page a link stands, how many there are, how deep its address is: roughly.
        places = [f"{min(link.position // 10, 20)} {many} {link.url.count('/')}" for link in links]
        pages, rows, directories, hosts = zip(*groups, strict=True)
        named = {"path": paths, "parent": pages, "row": rows, "directory": directories, "host": hosts, "place": places}
        return [(self._hashes.of(texts) ^ SALTS[name], each) for name, texts in named.items()]


def hashed(text: str) -> int:
    return xxhash.xxh32_intdigest(text.encode("utf-8", "replace"))


def _address(url: str) -> str:
    """What follows the host.

    >>> _address("https://example.org/a/b?c"), _address("https://example.org/")
    ('a/b?c', '')
    """
    return url.split("/", 3)[3]


def _tail(path: str) -> str:
    """The last three elements of a tag path.

    >>> _tail("body/main/ul/li/p"), _tail("body")
    ('ul/li/p', 'body')
    """
    return "/".join(path.rsplit("/", 3)[-3:])


def _ranges(starts: Numbers, sizes: Numbers) -> Numbers:
    """The numbers from each start on, so many of them, one range after the other.

    >>> _ranges(np.array([5, 0, 9]), np.array([2, 0, 1])).tolist()
    [5, 6, 9]
    """
    ends = sizes.cumsum()
    found: Numbers = np.arange(int(sizes.sum())) + np.repeat(starts - ends + sizes, sizes)
    return found


def _rows(found: Sequence[Hashed], count: int) -> tuple[Hashes, NDArray[np.int32]]:
    """Features with their links, sorted by link."""
    hashes = np.concatenate([hashes for hashes, _ in found])
    owner = np.concatenate([owner for _, owner in found])
    order = np.argsort(owner, kind="stable")
    return (hashes * MIXED)[order], np.bincount(owner, minlength=count).astype(np.int32)
