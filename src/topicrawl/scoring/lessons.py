"""What apprentices of one crawl tell each other, so that all of them believe the same.

A page is fetched by one worker, and the link to it was mostly seen by another, who alone knows its features. So a
lesson says which addresses were fetched and what they were worth, and whoever has links to them learns from these and
tells, in its next lesson, by how much its weights have moved. That is a kilobyte for a page, whatever the page's size.
What words are worth each finds out by the pages it reads itself: it would be three times as much to tell, and crawls
in which it was told found less. Whoever comes later begins with what one of the others has found out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from topicrawl.learn.online import Online
from topicrawl.packing import array_of, packed_array, packed_texts, texts_of
from topicrawl.records import Carry
from topicrawl.scoring.brain import Brain

_FAILED = -1.0  # stands for the reward of an address that gave no page


class Lessons:
    """One apprentice's ear and mouth."""

    def __init__(self, brain: Brain) -> None:
        self._brain = brain
        brain.visited = []
        brain.rates.told()
        self._noted()

    def _noted(self) -> None:
        """What others know is what is known here."""
        model = self._brain.model
        # What is given comes from the pages that were read here.
        self._weights, self._squares = model.weights - model.given, model.squares.copy()
        self._bins = self._brain.reward.counts()

    def lesson(self) -> Carry:
        """What was learned since the last lesson; None: nothing."""
        brain, model = self._brain, self._brain.model
        visited, brain.visited = brain.visited or [], []
        slots = np.flatnonzero(model.squares != self._squares).astype(np.int32)
        if not visited and not len(slots):
            return None
        bins = self._brain.reward.counts() - self._bins
        places = np.flatnonzero(bins).astype(np.int32)
        lesson: dict[str, Carry] = {
            "asked": packed_texts([asked for asked, _, _ in visited]),
            "found": packed_texts(["" if found == asked else found for asked, found, _ in visited]),
            "rewards": packed_array(np.array([_FAILED if it[2] is None else it[2] for it in visited], np.float32)),
            "slots": packed_array(slots), "weights": packed_array((model.weights - model.given - self._weights)[slots]),
            "squares": packed_array((model.squares - self._squares)[slots]),
            "bins": packed_array(places), "pages": packed_array(bins[places].astype(np.int32)),
            "rates": brain.rates.told(),
        }  # fmt: skip
        self._noted()
        return lesson

    def hear(self, lesson: Carry) -> None:
        """Take in what another has learned, and learn from the links to what it has fetched."""
        told = cast("Mapping[str, Carry]", lesson)
        model, brain = self._brain.model, self._brain
        slots = array_of(told["slots"], np.int32)
        # Added to what others know as well: it is not to be told once more.
        for mine, known, name in (
            (model.weights, self._weights, "weights"), (model.squares, self._squares, "squares"),
        ):  # fmt: skip
            moved = array_of(told[name], np.float32)
            mine[slots] += moved
            known[slots] += moved
        places, pages = array_of(told["bins"], np.int32), array_of(told["pages"], np.int32)
        brain.reward.add(dict(zip(places.tolist(), pages.tolist(), strict=True)))
        self._bins[places] += pages
        brain.rates.hear(cast("Mapping[str, Carry]", told["rates"]))
        rewards = array_of(told["rewards"], np.float32).tolist()
        for asked, found, reward in zip(texts_of(told["asked"]), texts_of(told["found"]), rewards, strict=True):
            brain.fetched(asked, found or asked, None if reward == _FAILED else reward)

    def revised(self) -> Mapping[str, float]:
        """New scores of the links that wait and that were found here."""
        return self._brain.revised()

    def beliefs(self) -> Carry:
        """What all workers have in common: everything but the links that wait."""
        return {name: value for name, value in self._brain.state().items() if name != "pool"}

    def take(self, beliefs: Carry) -> None:
        """Believe what others believe; the links that wait stay."""
        brain = self._brain
        groups, asked = list(brain.rates.names), brain.worth.asked.copy()
        model = Online(rate=brain.model.rate, caution=brain.model.caution)
        brain.model.weights, brain.model.squares, brain.model.given = model.weights, model.squares, model.given
        brain.restore({**cast("Mapping[str, Carry]", beliefs), "pool": brain.pool.state()})
        if groups:
            brain.pool.renumber(brain.rates.numbers(groups))
        brain.worth.ask(asked)
        brain.rates.told()
        brain.visited = []
        self._noted()
