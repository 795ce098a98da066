"""Term rewards: how much better than average the pages are that contain a term.

Most words of a link are new to the links, so their link weights are not learned yet. But the fetched pages contain most
of them: a name that occurs only on relevant pages indicates another relevant page.
"""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from topicrawl.ml.online import Floats, Hashes
from topicrawl.models import JsonValue
from topicrawl.serialization import pack_array, unpack_array
from topicrawl.strategies.apprentice.feature_hashing import MIX_FACTOR, SALTS
from topicrawl.strategies.apprentice.growable_array import GrowableArray
from topicrawl.strategies.apprentice.topic_terms import hash_text
from topicrawl.text.bag_of_words import BagOfWords, TermVocabulary

_SLOTS = 1 << 19
_SHIFT = np.uint32(13)  # the first 19 of the 32 bits are the slot
_PRIOR_PAGES = 10.0  # number of prior pages at the base rate
_WEIGHT_SCALE = 15.0  # weight of a term with reward above average 1
_MAX_TRACKED_TERMS = 50_000  # maximum number of tracked terms; the oldest are dropped


class TermRewards:
    """Sums of rewards over the pages that contain a term, and the terms that occur in link texts.

        worth(t) = (Σ rewards of pages with t + 10·base) / (pages with t + 10) − base

    base: the mean reward of all visits. Terms are identified by their hashes. Only terms of link texts are tracked.

    >>> from topicrawl.text.bag_of_words import VocabularyCache
    >>> from topicrawl.text.lexicon import load_lexicon
    >>> worth, cache = TermRewards(), VocabularyCache()
    >>> for words, reward in ((["owl", "night"], 1.0), (["train", "night"], 0.0)):
    ...     worth.add_page(cache.build_bag(words, load_lexicon("xx")), reward)
    >>> worth.track_terms(np.array([hash_text("owl"), hash_text("train"), hash_text("day")], np.uint32))
    >>> [round(float(value), 4) for value in worth.compute_weights(0.5)[1]]
    [0.6818, -0.6818, 0.0]
    """

    def __init__(self) -> None:
        self._sums: Floats = np.zeros(_SLOTS, np.float32)
        self._counts: Floats = np.zeros(_SLOTS, np.float32)
        self._tracked = GrowableArray(np.zeros(0, np.uint32))  # hashes of terms in link texts, oldest first
        self._is_tracked: NDArray[np.bool_] = np.zeros(_SLOTS, np.bool_)
        self._hashes: WeakKeyDictionary[TermVocabulary, Hashes] = (
            WeakKeyDictionary()
        )  # by term number; 0: not computed yet

    def add_page(self, bag: BagOfWords, reward: float) -> None:
        """Count a fetched page for each of its terms."""
        # numpy indexes by its own integer type twice as fast as by others.
        slots = (self._hash_bag(bag) >> _SHIFT).astype(np.intp)
        self._sums[slots] += np.float32(reward)
        self._counts[slots] += 1

    def _hash_bag(self, bag: BagOfWords) -> Hashes:
        """Return the hashes of a bag's terms. Unlike term numbers, hashes are the same in every process."""
        vocabulary, numbers = bag.vocabulary, bag.term_counts.term_ids
        cache = self._hashes.get(vocabulary)
        if cache is None or len(cache) < vocabulary.id_count:
            grown = np.zeros(2 * vocabulary.id_count, np.uint32)
            if cache is not None:
                grown[: len(cache)] = cache
            cache = self._hashes[vocabulary] = grown
        hashes: Hashes = cache[numbers]
        if not hashes.all():
            new = numbers[hashes == 0]
            cache[new] = list(map(hash_text, vocabulary.get_terms(new.tolist())))
            hashes = cache[numbers]
        return hashes

    def track_terms(self, hashes: Hashes) -> None:
        """Track terms that occur in link texts."""
        new = hashes[~self._is_tracked[hashes >> _SHIFT]].tolist()
        if not new:
            return
        # If two terms share a slot, only one is tracked.
        terms = np.array(list({term >> int(_SHIFT): term for term in new}.values()), np.uint32)
        self._is_tracked[terms >> _SHIFT] = True
        self._tracked.extend([terms])
        if len(self.tracked_terms) > _MAX_TRACKED_TERMS:
            dropped, kept = np.split(self.tracked_terms, [_MAX_TRACKED_TERMS // 5])
            self._is_tracked[dropped >> _SHIFT] = False
            self._tracked.replace(kept.copy())

    @property
    def tracked_terms(self) -> Hashes:
        """Hashes of the tracked terms, in the order of their first occurrence."""
        terms: Hashes = self._tracked.values
        return terms

    def compute_weights(self, base_rate: float) -> tuple[Hashes, Floats]:
        """Return the anchor features of all tracked terms, and their weights."""
        terms = self.tracked_terms
        slots = terms >> _SHIFT
        rates = (self._sums[slots] + _PRIOR_PAGES * base_rate) / (self._counts[slots] + _PRIOR_PAGES) - base_rate
        return (terms ^ SALTS["anchor"]) * MIX_FACTOR, (_WEIGHT_SCALE * rates).astype(np.float32)

    def get_state(self) -> dict[str, JsonValue]:
        """Return the rewards as plain values."""
        slots = np.flatnonzero(self._counts).astype(np.int32)
        return {
            "slots": pack_array(slots),
            "sums": pack_array(self._sums[slots]),
            "counts": pack_array(self._counts[slots]),
            "asked": pack_array(self.tracked_terms),
        }

    def restore_state(self, state: Mapping[str, JsonValue]) -> None:
        """Restore the values of `get_state`. Previously tracked terms are dropped."""
        for table in (self._sums, self._counts, self._is_tracked):
            table.fill(0)
        self._tracked.replace(np.zeros(0, np.uint32))
        slots = unpack_array(state["slots"], np.int32)
        self._sums[slots], self._counts[slots] = (unpack_array(state[name], np.float32) for name in ("sums", "counts"))
        self.track_terms(unpack_array(state["asked"], np.uint32))
