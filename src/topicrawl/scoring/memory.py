"""What was read of addresses, headings and the texts of links, because most of them come again and again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain

import numpy as np
from numpy.typing import NDArray

from topicrawl.scoring.column import Column
from topicrawl.scoring.terms import Names, Numbers, Spans
from topicrawl.text.bag import Vocabulary
from topicrawl.text.tokens import words
from topicrawl.text.wording import wordings
from topicrawl.urls import directory

#: Texts of so few characters are sooner read one by one.
_SHORT = 1000


class Memory:
    """The terms of texts and addresses, all in one array, and where the addresses lead.

    >>> from topicrawl.text.lexicon import lexicon
    >>> memory = Memory(Vocabulary(lexicon("en")), Names({}))
    >>> addresses, texts = memory.rows(["http://a.example/owls/barn.html"], ["the owl", ""])
    >>> addresses, texts, memory.spans([*addresses, *texts]).sizes.tolist()
    ([0], [1, 2], [3, 1, 0])
    >>> memory.groups[0], memory.depths(np.array(addresses)).tolist()
    (('http://a.example/owls/', 'a.example'), [4])
    """

    def __init__(self, vocabulary: Vocabulary, names: Names) -> None:
        self._vocabulary = vocabulary
        self._names = names
        self._addresses: dict[str, int] = {}
        self._texts: dict[str, int] = {}
        self.groups: list[tuple[str, str]] = []  # by row: the directory and the host of an address
        self._leads = Column(np.zeros((0, 2), np.uint32))  # the hashes of both
        self._depths = Column(np.zeros(0, np.int64))  # slashes in an address
        self._terms = Column(np.zeros(0, np.int32))
        self._ends = Column(np.zeros(1, np.int64))  # of each text, where the next one begins

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def terms(self) -> Numbers:
        """The terms of all texts; words that are none are left out."""
        return self._terms.values

    def rows(self, urls: Sequence[str], texts: Sequence[str]) -> tuple[list[int], list[int]]:
        """The numbers of addresses and texts; those that are new are read in one go."""
        to = [url for url in dict.fromkeys(urls) if url not in self._addresses]
        new = [text for text in dict.fromkeys(texts) if text not in self._texts]
        if to or new:
            first = len(self)
            parts = [url.split("/", 3) for url in to]
            self._lead(to, [host for _, _, host, _ in parts], len(new))
            self._read([*[path for _, _, _, path in parts], *new])
            self._addresses.update(zip(to, range(first, first + len(to)), strict=True))
            self._texts.update(zip(new, range(first + len(to), len(self)), strict=True))
        return list(map(self._addresses.__getitem__, urls)), list(map(self._texts.__getitem__, texts))

    def _lead(self, urls: list[str], hosts: list[str], others: int) -> None:
        """Take addresses apart; they have their rows before those of so many other texts."""
        folders = list(map(directory, urls))
        hashed = self._names.__getitem__
        self.groups += zip(folders, hosts, strict=True)
        self.groups += [("", "")] * others
        leads, depths = np.zeros((len(urls) + others, 2), np.uint32), np.zeros(len(urls) + others, np.int64)
        leads[: len(urls), 0], leads[: len(urls), 1] = list(map(hashed, folders)), list(map(hashed, hosts))
        depths[: len(urls)] = [url.count("/") for url in urls]
        self._leads.extend([leads])
        self._depths.extend([depths])

    def _read(self, texts: list[str]) -> None:
        vocabulary = self._vocabulary
        if sum(map(len, texts)) < _SHORT:
            found = [vocabulary.given(vocabulary.lexicon.terms(words(text))) for text in texts]
            numbers = np.array(list(chain.from_iterable(found)), np.int32)
            ends = np.array(list(accumulate(map(len, found))))
        else:
            said, borders = wordings(texts)
            numbers = vocabulary.numbers(said)
            spoken = numbers.nonzero()[0]
            numbers, ends = numbers[spoken], spoken.searchsorted(borders)
        self._ends.extend([ends + len(self.terms)])
        self._terms.extend([numbers])

    def spans(self, rows: Sequence[int]) -> Spans:
        """Where the terms of texts stand."""
        at = np.array(rows, np.int64)
        ends = self._ends.values
        starts = ends[at]
        return Spans(starts, ends[at + 1] - starts)

    def leads(self, rows: Numbers) -> NDArray[np.uint32]:
        """The hashes of the directories and hosts of addresses."""
        found: NDArray[np.uint32] = self._leads.values[rows]
        return found

    def depths(self, rows: Numbers) -> Numbers:
        """How many slashes addresses have."""
        found: Numbers = self._depths.values[rows]
        return found
