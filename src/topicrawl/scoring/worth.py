"""What words are worth: how much better than others the pages are that hold them.

A link's words are mostly ones that no link had before, so nothing was learned of them from links. But the pages that
were read hold most of them: a name that stands on relevant pages and on no others promises another relevant page.
"""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from topicrawl.learn.online import Floats, Hashes
from topicrawl.packing import array_of, packed_array
from topicrawl.records import Carry
from topicrawl.scoring.column import Column
from topicrawl.scoring.features import MIXED, SALTS
from topicrawl.scoring.terms import hashed
from topicrawl.text.bag import Bag, Vocabulary

_SLOTS = 1 << 19
_SHIFT = np.uint32(13)  # the first bits of a term's 32 are its slot
_DOUBT = 10.0  # pages' worth of belief that a word is like all others
_STRENGTH = 15.0  # the weight of a word that stands on perfect pages only, where the average page is worthless
_MOST_ASKED = 50_000  # terms of links; of more, those that came first are forgotten


class Worth:
    """Sums over the pages that hold a term; and which terms have stood in texts of links, since only these are asked.

        worth(t) = (Σ rewards of pages with t + 10·base) / (pages with t + 10) − base

    base: the mean reward of all visits. Terms are told apart by their hashes.

    >>> from topicrawl.text.bag import bag_of
    >>> from topicrawl.text.lexicon import lexicon
    >>> worth = Worth()
    >>> for words, reward in ((["owl", "night"], 1.0), (["train", "night"], 0.0)):
    ...     worth.seen(bag_of(words, lexicon("xx")), reward)
    >>> worth.ask(np.array([hashed("owl"), hashed("train"), hashed("day")], np.uint32))
    >>> [round(float(value), 4) for value in worth.weights(0.5)[1]]
    [0.6818, -0.6818, 0.0]
    """

    def __init__(self) -> None:
        self._sums: Floats = np.zeros(_SLOTS, np.float32)
        self._counts: Floats = np.zeros(_SLOTS, np.float32)
        self._asked = Column(np.zeros(0, np.uint32))  # hashes of terms in texts of links, in the order they came
        self._is_asked: NDArray[np.bool_] = np.zeros(_SLOTS, np.bool_)
        self._hashes: WeakKeyDictionary[Vocabulary, Hashes] = WeakKeyDictionary()  # by number; 0: not known yet

    def seen(self, bag: Bag, reward: float) -> None:
        """A page was read."""
        slots = self._hashed(bag) >> _SHIFT
        self._sums[slots] += np.float32(reward)
        self._counts[slots] += 1

    def _hashed(self, bag: Bag) -> Hashes:
        """The hashes of a bag's terms, which are the same in every process, as their numbers are not."""
        vocabulary, numbers = bag.vocabulary, bag.counted.numbers
        known = self._hashes.get(vocabulary)
        if known is None or len(known) < len(vocabulary.names):
            grown = np.zeros(2 * len(vocabulary.names), np.uint32)
            if known is not None:
                grown[: len(known)] = known
            known = self._hashes[vocabulary] = grown
        found: Hashes = known[numbers]
        if not found.all():
            new = numbers[found == 0]
            known[new] = list(map(hashed, map(vocabulary.names.__getitem__, new.tolist())))
            found = known[numbers]
        return found

    def ask(self, hashes: Hashes) -> None:
        """These terms have stood in texts of links."""
        new = hashes[~self._is_asked[hashes >> _SHIFT]].tolist()
        if not new:
            return
        # Of two terms that share a slot, one is asked.
        terms = np.array(list({term >> int(_SHIFT): term for term in new}.values()), np.uint32)
        self._is_asked[terms >> _SHIFT] = True
        self._asked.extend([terms])
        if len(self.asked) > _MOST_ASKED:
            gone, kept = np.split(self.asked, [_MOST_ASKED // 5])
            self._is_asked[gone >> _SHIFT] = False
            self._asked.replace(kept.copy())

    @property
    def asked(self) -> Hashes:
        """Hashes of the terms, in the order in which they came."""
        asked: Hashes = self._asked.values
        return asked

    def weights(self, base: float) -> tuple[Hashes, Floats]:
        """The features of all terms that have stood in texts of links, and what each is worth there."""
        asked = self.asked
        slots = asked >> _SHIFT
        rates = (self._sums[slots] + _DOUBT * base) / (self._counts[slots] + _DOUBT) - base
        return (asked ^ SALTS["anchor"]) * MIXED, (_STRENGTH * rates).astype(np.float32)

    def state(self) -> dict[str, Carry]:
        slots = np.flatnonzero(self._counts).astype(np.int32)
        return {
            "slots": packed_array(slots), "sums": packed_array(self._sums[slots]),
            "counts": packed_array(self._counts[slots]), "asked": packed_array(self.asked),
        }  # fmt: skip

    def restore(self, state: Mapping[str, Carry]) -> None:
        """Go on from a state; terms that were asked here are asked no more."""
        for table in (self._sums, self._counts, self._is_asked):
            table.fill(0)
        self._asked.replace(np.zeros(0, np.uint32))
        slots = array_of(state["slots"], np.int32)
        self._sums[slots], self._counts[slots] = (array_of(state[name], np.float32) for name in ("sums", "counts"))
        self.ask(array_of(state["asked"], np.uint32))
