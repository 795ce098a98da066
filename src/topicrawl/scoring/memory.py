"""What was read of addresses, because most of them come again and again."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from topicrawl.learn.online import Floats
from topicrawl.scoring.column import Column
from topicrawl.scoring.features import MIXED, SALTS
from topicrawl.scoring.terms import Numbers, Spans, Terms, read
from topicrawl.urls import directory

# Numbers in addresses are mostly those of articles and threads: each would be a word that never comes again.
_NUMBERS = re.compile(r"\b[0-9]+\b", re.ASCII)


class Memory:
    """The features of addresses, one behind the other, and where they lead: their words, and once more the last.

    >>> from topicrawl.relevance.vsm import Vsm
    >>> from topicrawl.text.bag import vocabulary_for
    >>> from topicrawl.topic import Topic
    >>> vsm = Vsm(Topic.of("barn owl"))
    >>> memory = Memory(Terms(vsm, vocabulary_for((), vsm.lexicon)))
    >>> rows = memory.rows(["http://a.example/owls/barn-17.html", "http://a.example/"])
    >>> memory.spans(rows).sizes.tolist(), memory.alike(rows).tolist()
    ([4, 1], [1.0, 0.0])
    >>> memory.groups
    [('http://a.example/owls/', 'a.example'), ('http://a.example/', 'a.example')]
    """

    def __init__(self, words: Terms) -> None:
        self._words = words
        self._rows: dict[str, int] = {}
        self.groups: list[tuple[str, str]] = []  # by row: directory and host
        self._alike = Column(np.zeros(0, np.float32))
        self.features = Column(np.zeros(0, np.uint32))
        self._starts = Column(np.zeros(0, np.int64))
        self._sizes = Column(np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.groups)

    def rows(self, urls: Sequence[str]) -> Numbers:
        """The rows of addresses; those that are new are read in one go."""
        known = self._rows
        if new := [url for url in dict.fromkeys(urls) if url not in known]:
            self._read(new)
            known.update(zip(new, range(len(known), len(self)), strict=True))
        return np.array(list(map(known.__getitem__, urls)), np.int64)

    def _read(self, urls: list[str]) -> None:
        parts = [url.split("/", 3) for url in urls]
        paths = _NUMBERS.sub("", "\n".join([path for _, _, _, path in parts])).split("\n")
        numbers, (starts, sizes) = read(paths, self._words.vocabulary)
        hashes = self._words.hashes(numbers)
        self.groups += zip(map(directory, urls), [host for _, _, host, _ in parts], strict=True)
        # Each has one feature more than words: the last once more.
        starts += np.arange(len(urls))
        ends = starts + sizes
        features = np.full(len(numbers) + len(urls), SALTS["last"])
        features[Spans(starts, sizes).places()] = hashes ^ SALTS["address"]
        said = ends[sizes > 0]
        features[said] ^= features[said - 1] ^ SALTS["address"]
        self._alike.extend([self._words.alike(numbers, sizes)])
        self._starts.extend([starts + len(self.features.values)])
        self._sizes.extend([sizes + 1])
        self.features.extend([features * MIXED])

    def spans(self, rows: Numbers) -> Spans:
        """Where the features of addresses stand."""
        return Spans(self._starts.values[rows], self._sizes.values[rows])

    def alike(self, rows: Numbers) -> Floats:
        """How much addresses are about the topic."""
        found: Floats = self._alike.values[rows]
        return found
