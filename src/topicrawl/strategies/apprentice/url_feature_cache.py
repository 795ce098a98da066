"""Cache of URL features, because pages link to the same URLs repeatedly."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from topicrawl.ml.online import Floats
from topicrawl.strategies.apprentice.feature_hashing import MIX_FACTOR, SALTS
from topicrawl.strategies.apprentice.growable_array import GrowableArray
from topicrawl.strategies.apprentice.topic_terms import IntArray, Spans, TopicTerms, read_terms
from topicrawl.urls import get_directory_url

# Numbers in URLs are mostly ids of articles and threads, which would be words that occur only once.
_DIGITS = re.compile(r"\b[0-9]+\b", re.ASCII)


class UrlFeatureCache:
    """Concatenated features of URLs, with their directories and hosts. The last word of a URL has an extra feature.

    >>> from topicrawl.relevance.vsm import Vsm
    >>> from topicrawl.topic import Topic
    >>> vsm = Vsm(Topic.of("barn owl"))
    >>> memory = UrlFeatureCache(TopicTerms(vsm, vsm.vocabularies.get_vocabulary(vsm.lexicon)))
    >>> rows = memory.get_rows(["http://a.example/owls/barn-17.html", "http://a.example/"])
    >>> memory.get_spans(rows).sizes.tolist(), memory.get_similarities(rows).tolist()
    ([4, 1], [1.0, 0.0])
    >>> memory.groups
    [('http://a.example/owls/', 'a.example'), ('http://a.example/', 'a.example')]
    """

    def __init__(self, topic_terms: TopicTerms) -> None:
        self._topic_terms = topic_terms
        self._row_numbers: dict[str, int] = {}
        self.groups: list[tuple[str, str]] = []  # by row: directory and host
        self._similarities = GrowableArray(np.zeros(0, np.float32))
        self._meanings = GrowableArray(np.zeros(0, np.float32))
        self.features = GrowableArray(np.zeros(0, np.uint32))
        self._starts = GrowableArray(np.zeros(0, np.int64))
        self._sizes = GrowableArray(np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.groups)

    def get_rows(self, urls: Sequence[str]) -> IntArray:
        """Return the row numbers of URLs. New URLs are added together."""
        known = self._row_numbers
        if new := [url for url in dict.fromkeys(urls) if url not in known]:
            self._add_urls(new)
            known.update(zip(new, range(len(known), len(self)), strict=True))
        return np.array(list(map(known.__getitem__, urls)), np.int64)

    def _add_urls(self, urls: list[str]) -> None:
        """Compute the features of new URLs."""
        parts = [url.split("/", 3) for url in urls]
        paths = _DIGITS.sub("", "\n".join([path for _, _, _, path in parts])).split("\n")
        numbers, (starts, sizes) = read_terms(paths, self._topic_terms.vocabulary)
        hashes = self._topic_terms.get_hashes(numbers)
        self.groups += zip(map(get_directory_url, urls), [host for _, _, host, _ in parts], strict=True)
        # Each URL has one more feature than words, for its last word.
        starts += np.arange(len(urls))
        ends = starts + sizes
        features = np.full(len(numbers) + len(urls), SALTS["last"])
        features[Spans(starts, sizes).get_indices()] = hashes ^ SALTS["address"]
        with_words = ends[sizes > 0]
        features[with_words] ^= features[with_words - 1] ^ SALTS["address"]
        self._similarities.extend([self._topic_terms.compute_similarities(numbers, sizes)])
        self._meanings.extend([self._topic_terms.compute_meanings(numbers, sizes)])
        self._starts.extend([starts + len(self.features.values)])
        self._sizes.extend([sizes + 1])
        self.features.extend([features * MIX_FACTOR])

    def get_spans(self, rows: IntArray) -> Spans:
        """Return the spans of the features of URLs."""
        return Spans(self._starts.values[rows], self._sizes.values[rows])

    def get_similarities(self, rows: IntArray) -> Floats:
        """Return the topic similarities of URLs."""
        similarities: Floats = self._similarities.values[rows]
        return similarities

    def get_meanings(self, rows: IntArray) -> Floats:
        """Return the similarities in meaning of URLs to the topic."""
        meanings: Floats = self._meanings.values[rows]
        return meanings
