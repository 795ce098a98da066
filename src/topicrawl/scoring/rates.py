"""How often the links of a group have led to relevant pages: a page's links, a row of them, a directory, a host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import cast

import numpy as np
from numpy.typing import NDArray

from topicrawl.learn.online import Floats, Ids
from topicrawl.packing import array_of, packed_array, packed_numbers, packed_texts, texts_of
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
        self.names: list[str] = []  # of groups, by number
        self._new: dict[str, list[float]] | None = None  # group → reward and visits since others were told
        self._sums = np.zeros(64)
        self._counts = np.zeros(64)
        # One visit's worth of belief that one page in twenty is relevant.
        self._reward, self._visits = 0.05, 1.0
        self._known = (self._reward, self._visits)  # to others

    @property
    def base(self) -> float:
        return self._reward / self._visits

    def __len__(self) -> int:
        return len(self._numbers)

    def numbers(self, names: Iterable[str]) -> Ids:
        """The numbers of groups by their names."""
        known = self._numbers
        found = [known.setdefault(name, len(known)) for name in names]
        self.names += list(islice(reversed(known), len(known) - len(self.names)))[::-1]
        if len(known) > len(self._sums):
            room = np.zeros(max(len(known), len(self._sums)))
            self._sums, self._counts = np.concatenate([self._sums, room]), np.concatenate([self._counts, room])
        return np.array(found, np.int32)

    def seen(self, reward: float) -> None:
        """A visit, whatever led to it."""
        self._reward += reward
        self._visits += 1

    def learn(self, groups: Ids, reward: float) -> None:
        """The same visit for the groups of a link that led to it."""
        # A link that has a group twice counts once.
        for number in set(groups.tolist()):
            self._sums[number] += reward
            self._counts[number] += 1
            if self._new is not None:
                new = self._new.setdefault(self.names[number], [0.0, 0.0])
                new[0] += reward
                new[1] += 1

    def trusted(self, groups: Ids, trust: Sequence[float]) -> float:
        """The rates of a few groups, each times how much it is trusted, in sum."""
        base, sums, counts = self.base, self._sums, self._counts
        return sum(
            share * ((float(sums[group]) + _DOUBT * base) / (float(counts[group]) + _DOUBT) - base)
            for group, share in zip(groups.tolist(), trust, strict=True)
        )

    def of(self, groups: Ids) -> Floats:
        base, count = self.base, len(self._numbers)
        if groups.size < count:
            return ((self._sums[groups] + _DOUBT * base) / (self._counts[groups] + _DOUBT) - base).astype(np.float32)
        # Where many are asked for, most are asked for often.
        rates = (self._sums[:count] + _DOUBT * base) / (self._counts[:count] + _DOUBT) - base
        return rates.astype(np.float32)[groups]

    def strayed(self, groups: Ids) -> Floats:
        """How far the true rates might lie from `of`, drawn by lot (Thompson 1933): little is known of a group that
        few visits have led to, so that it gets its chance now and then.

        The same group after the same number of visits has the same luck, also after a restart.
        """
        # Thousands of links share a few groups.
        asked = np.zeros(len(self._numbers), np.bool_)
        asked[groups] = True
        some = asked.nonzero()[0]
        mean = (self._sums[some] + _DOUBT * self.base) / (self._counts[some] + _DOUBT)
        spread = np.sqrt(np.clip(mean * (1 - mean), 0.0, 1.0) / (self._counts[some] + _DOUBT + 1))
        found = np.zeros(len(asked), np.float32)
        found[some] = spread * _luck(some, int(self._visits))
        return found[groups]

    def keep(self, used: Ids, most: int) -> Ids:
        """Forget groups that nobody uses, but for the last ones; returns the new number of each old one."""
        wanted = np.zeros(len(self._numbers), np.bool_)
        wanted[used] = True
        wanted[max(0, len(wanted) - most) :] = True
        renumbered = (np.cumsum(wanted) - 1).astype(np.int32)
        count = len(wanted)
        self._sums, self._counts = self._sums[:count][wanted], self._counts[:count][wanted]
        self.names = [name for name, number in self._numbers.items() if wanted[number]]
        self._numbers = {name: number for number, name in enumerate(self.names)}
        return renumbered

    def told(self) -> dict[str, Carry]:
        """What was learned since the last call, for others; from the first call on it is noted down."""
        new, self._new = self._new or {}, {}
        seen = [self._reward - self._known[0], self._visits - self._known[1]]
        self._known = (self._reward, self._visits)
        return {
            "groups": packed_texts(new), "sums": packed_numbers("d", (it[0] for it in new.values())),
            "counts": packed_numbers("d", (it[1] for it in new.values())), "seen": list(seen),
        }  # fmt: skip

    def hear(self, told: Mapping[str, Carry]) -> None:
        """Take in what another has learned."""
        groups = self.numbers(texts_of(told["groups"]))
        self._sums[groups] += array_of(told["sums"], np.float64)
        self._counts[groups] += array_of(told["counts"], np.float64)
        reward, visits = (float(str(it)) for it in cast("list[Carry]", told["seen"]))
        self._reward, self._visits = self._reward + reward, self._visits + visits
        self._known = (self._known[0] + reward, self._known[1] + visits)

    def state(self) -> dict[str, Carry]:
        count = len(self._numbers)
        return {
            "names": packed_texts(self._numbers), "sums": packed_array(self._sums[:count]),
            "counts": packed_array(self._counts[:count]), "reward": self._reward, "visits": self._visits,
        }  # fmt: skip

    def restore(self, state: Mapping[str, Carry]) -> None:
        self.names = texts_of(state["names"])
        self._numbers = {name: number for number, name in enumerate(self.names)}
        self._sums, self._counts = array_of(state["sums"], np.float64), array_of(state["counts"], np.float64)
        self._reward, self._visits = float(str(state["reward"])), float(str(state["visits"]))
        self._known = (self._reward, self._visits)


def _luck(groups: NDArray[np.int64], turn: int) -> NDArray[np.float64]:
    """Numbers that look drawn from a normal distribution: the sum of four numbers that look drawn evenly."""
    bits = groups.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(turn * 0xD1B54A32D192ED03 % (1 << 64))
    for shift, factor in ((33, 0xFF51AFD7ED558CCD), (29, 0xC4CEB9FE1A85EC53)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    parts = (bits ^ (bits >> np.uint64(32))).view(np.uint16).reshape(-1, 4)
    luck: NDArray[np.float64] = (parts.sum(axis=1, dtype=np.float64) / 65535 - 2) * np.sqrt(3)
    return luck
