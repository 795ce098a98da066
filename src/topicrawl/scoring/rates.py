"""How often the links of a group have led to relevant pages: a page's links, a row of them, a directory, a host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from topicrawl.learn.online import Floats, Ids
from topicrawl.packing import array_of, packed_array, packed_texts, texts_of
from topicrawl.records import Carry

_DOUBT = 4.0  # visits' worth of belief that a group is like all others


class Rates:
    """Sums over the visits that each group has led to.

        rate(g) = (Σ rewards of g + 4·base) / (visits of g + 4) − base

    base: the mean reward of all visits. A group that nothing is known of has the rate 0.

    >>> rates = Rates()
    >>> group = rates.numbers(["http://a/"])
    >>> for reward in (1.0, 1.0):
    ...     rates.seen(reward)
    ...     rates.learn(group, reward)
    >>> round(rates.base, 4), [round(float(rate), 4) for rate in rates.of(rates.numbers(["http://a/", "http://b/"]))]
    (0.6833, [0.1056, 0.0])
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._sums = np.zeros(64)
        self._counts = np.zeros(64)
        # One visit's worth of belief that one page in twenty is relevant.
        self._reward, self._visits = 0.05, 1.0

    @property
    def base(self) -> float:
        return self._reward / self._visits

    def __len__(self) -> int:
        return len(self._numbers)

    def numbers(self, names: Iterable[str]) -> Ids:
        """The numbers of groups by their names."""
        found = []
        for name in names:
            number = self._numbers.get(name)
            if number is None:
                number = self._numbers[name] = len(self._numbers)
            found.append(number)
        if len(self._numbers) > len(self._sums):
            room = np.zeros(max(len(self._numbers), len(self._sums)))
            self._sums, self._counts = np.concatenate([self._sums, room]), np.concatenate([self._counts, room])
        return np.array(found, np.int32)

    def seen(self, reward: float) -> None:
        """A visit, whatever led to it."""
        self._reward += reward
        self._visits += 1

    def learn(self, groups: Ids, reward: float) -> None:
        """The same visit for the groups of a link that led to it."""
        self._sums[groups] += reward
        self._counts[groups] += 1

    def of(self, groups: Ids) -> Floats:
        base = self.base
        rates = (self._sums[groups] + _DOUBT * base) / (self._counts[groups] + _DOUBT) - base
        return rates.astype(np.float32)

    def counts(self, groups: Ids) -> tuple[Sequence[float], Sequence[float]]:
        return self._sums[groups].tolist(), self._counts[groups].tolist()

    def keep(self, used: Ids, most: int) -> Ids:
        """Forget groups that nobody uses, but for the last ones; returns the new number of each old one."""
        wanted = np.zeros(len(self._numbers), np.bool_)
        wanted[used] = True
        wanted[max(0, len(wanted) - most) :] = True
        renumbered = (np.cumsum(wanted) - 1).astype(np.int32)
        count = len(wanted)
        self._sums, self._counts = self._sums[:count][wanted], self._counts[:count][wanted]
        kept = [name for name, number in self._numbers.items() if wanted[number]]
        self._numbers = {name: number for number, name in enumerate(kept)}
        return renumbered

    def state(self) -> dict[str, Carry]:
        count = len(self._numbers)
        return {
            "names": packed_texts(self._numbers), "sums": packed_array(self._sums[:count]),
            "counts": packed_array(self._counts[:count]), "reward": self._reward, "visits": self._visits,
        }  # fmt: skip

    def restore(self, state: Mapping[str, Carry]) -> None:
        self._numbers = {name: number for number, name in enumerate(texts_of(state["names"]))}
        self._sums, self._counts = array_of(state["sums"], np.float64), array_of(state["counts"], np.float64)
        self._reward, self._visits = float(str(state["reward"])), float(str(state["visits"]))
