"""Success rates of link groups: the links of a page, of a row on a page, of a directory and of a host."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np
from msgspec import Struct, convert
from numpy.typing import NDArray

from topicrawl.ml.online import Floats, Ids
from topicrawl.models import JsonValue
from topicrawl.serialization import PackedValues, pack_array, pack_numbers, pack_texts, unpack_array, unpack_texts

_PRIOR_VISITS = 4.0  # number of prior visits at the base rate
_GOOD_BASE_RATE = 0.1  # mean reward from which the known hosts are good enough
_MIN_TRUST, _TRUST_SCALE = 0.15, 10.0  # topics with a trust of .25 or more in their vectors are subjects
_GOOD_SIMILARITY = 0.2  # recent mean similarity to the topic from which the known hosts are good enough
_RECENT_VISITS = 20.0  # time constant of the moving average of the similarity


class GroupRatesState(Struct, frozen=True):
    """Stored state of the rates."""

    names: PackedValues
    sums: PackedValues
    counts: PackedValues
    reward: float
    visits: float
    recent: float | None = None  # earlier versions did not store it


class GroupRatesDelta(Struct, frozen=True):
    """Changes that workers exchange."""

    groups: PackedValues
    sums: PackedValues
    counts: PackedValues
    seen: tuple[float, float]  # total reward and number of visits


class GroupRates:
    """Sums of rewards and visits for each group.

        rate(g) = (Σ rewards of g + 4·base) / (visits of g + 4) − base

    base: the mean reward of all visits. An unknown group has the rate 0.

    >>> rates = GroupRates()
    >>> group = rates.get_numbers(["http://a/"])
    >>> for reward in (1.0, 1.0):
    ...     rates.record_visit(reward)
    ...     rates.learn(group, reward)
    >>> (
    ...     round(rates.base_rate, 4),
    ...     [round(float(rate), 4) for rate in rates.compute_rates(rates.get_numbers(["http://a/", "http://b/"]))],
    ... )
    (0.6833, [0.1056, 0.0])
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.names: list[str] = []  # names of the groups, by number
        self._changes: dict[str, list[float]] | None = None  # group → reward and visits since the last export
        self._set_tables(np.zeros(64), np.zeros(64))
        # Prior: one visit, with a rate of one relevant page in twenty.
        self._reward, self._visits = 0.05, 1.0
        self._recent = 0.0  # moving average of the similarity of the fetched pages to the topic
        self._exported = (self._reward, self._visits)  # totals at the last export

    def _set_tables(self, sums: NDArray[np.float64], counts: NDArray[np.float64]) -> None:
        """Replace the sums of the rewards and the numbers of visits of all groups.

        The views give single values in a third of the time of an array.
        """
        self._sums, self._counts = sums, counts
        self._sum_view, self._count_view = cast("memoryview[float]", sums.data), cast("memoryview[float]", counts.data)

    @property
    def base_rate(self) -> float:
        """Mean reward of all visits."""
        return self._reward / self._visits

    @property
    def total_reward(self) -> float:
        """Sum of the rewards of all visits."""
        return self._reward

    @property
    def visits(self) -> float:
        """Number of visits, with the prior visit."""
        return self._visits

    def __len__(self) -> int:
        return len(self._numbers)

    def get_numbers(self, names: Iterable[str]) -> Ids:
        """Return the numbers of groups by their names. New groups get the next numbers."""
        known, names = self._numbers, list(names)
        new = [name for name in dict.fromkeys(names) if name not in known]
        known.update(zip(new, range(len(known), len(known) + len(new)), strict=True))
        self.names += new
        numbers = list(map(known.__getitem__, names))
        if len(known) > len(self._sums):
            room = np.zeros(max(len(known), len(self._sums)))
            self._set_tables(np.concatenate([self._sums, room]), np.concatenate([self._counts, room]))
        return np.array(numbers, np.int32)

    def record_visit(self, reward: float, similarity: float = 0.0) -> None:
        """Count a visit for the base rate and the recent similarity, independent of its groups."""
        self._reward += reward
        self._visits += 1
        self._recent += (similarity - self._recent) / _RECENT_VISITS

    def learn(self, groups: Ids, reward: float) -> None:
        """Count the reward of a visit for the groups of a link that led to it."""
        # A group counts once per link.
        for number in set(groups.tolist()):
            self._sum_view[number] += reward
            self._count_view[number] += 1
            if self._changes is not None:
                new = self._changes.setdefault(self.names[number], [0.0, 0.0])
                new[0] += reward
                new[1] += 1

    def compute_weighted_rate(self, groups: Ids, weights: Sequence[float]) -> float:
        """Return the weighted sum of the rates of a few groups."""
        base = self.base_rate
        prior = _PRIOR_VISITS * base
        sums, counts = self._sum_view, self._count_view
        numbers: list[int] = groups.tolist()
        return sum(
            [
                share * ((sums[number] + prior) / (counts[number] + _PRIOR_VISITS) - base)
                for number, share in zip(numbers, weights, strict=True)
            ]
        )

    def compute_rates(self, groups: Ids) -> Floats:
        """Return the rates of groups."""
        base, count = self.base_rate, len(self._numbers)
        if groups.size < count:
            return ((self._sums[groups] + _PRIOR_VISITS * base) / (self._counts[groups] + _PRIOR_VISITS) - base).astype(
                np.float32
            )
        # For many groups, computing all rates once is faster.
        rates = (self._sums[:count] + _PRIOR_VISITS * base) / (self._counts[:count] + _PRIOR_VISITS) - base
        return rates.astype(np.float32)[groups]

    def compute_novelty(self, groups: Ids, trust: float = 1.0) -> Floats:
        """Return how much each group is worth a trial because the known groups are poor, from 0 to 2.

            novelty(g) = (2 · t · max(0, 1 − recent / .2) + (1 − t) · max(0, 1 − base / .1)) / (visits of g + 1)

        recent: the moving average of the similarity to the topic over about twenty visits. It is low before the first
        good page, and falls when the crawl has fetched the good pages of the known hosts. t: 10 · (trust − .15) for the
        trust in the vectors of the topic, from 0 to 1. Hosts differ by subject, so other hosts are worth less for
        topics that are kinds of pages, such as course home pages.

        >>> rates = GroupRates()
        >>> known, unknown = rates.get_numbers(["poor.example", "new.example"])
        >>> for _ in range(9):
        ...     rates.record_visit(0.0)
        ...     rates.learn(np.array([known]), 0.0)
        >>> [round(float(value), 4) for value in rates.compute_novelty(np.array([known, unknown]))]
        [0.2, 2.0]
        """
        subject = min(1.0, max(0.0, _TRUST_SCALE * (trust - _MIN_TRUST)))
        scarcity = 2 * subject * max(0.0, 1 - self._recent / _GOOD_SIMILARITY)
        scarcity += (1 - subject) * max(0.0, 1 - self.base_rate / _GOOD_BASE_RATE)
        return (scarcity / (self._counts[groups] + 1)).astype(np.float32)

    def sample_deviations(self, groups: Ids) -> Floats:
        """Sample deviations of the true rates from the estimated rates (Thompson sampling, Thompson 1933).

        Groups with few visits have large deviations, so they are tried from time to time. The same group gets the same
        deviation after the same number of visits, also after a restart.
        """
        # Thousands of links share a few groups, so each group is sampled once.
        requested = np.zeros(len(self._numbers), np.bool_)
        requested[groups] = True
        distinct = requested.nonzero()[0]
        mean = (self._sums[distinct] + _PRIOR_VISITS * self.base_rate) / (self._counts[distinct] + _PRIOR_VISITS)
        spread = np.sqrt(np.clip(mean * (1 - mean), 0.0, 1.0) / (self._counts[distinct] + _PRIOR_VISITS + 1))
        deviations = np.zeros(len(requested), np.float32)
        deviations[distinct] = spread * _sample_normal(distinct, int(self._visits))
        return deviations[groups]

    def drop_idle_groups(self, used: Ids, keep_newest: int) -> Ids:
        """Drop groups that no waiting link uses, except for the `keep_newest` newest groups.

        Return the new number of each old number.
        """
        kept = np.zeros(len(self._numbers), np.bool_)
        kept[used] = True
        kept[max(0, len(kept) - keep_newest) :] = True
        renumbered = (np.cumsum(kept) - 1).astype(np.int32)
        count = len(kept)
        self._set_tables(self._sums[:count][kept], self._counts[:count][kept])
        self.names = [name for name, number in self._numbers.items() if kept[number]]
        self._numbers = {name: number for number, name in enumerate(self.names)}
        return renumbered

    def export_delta(self) -> dict[str, JsonValue]:
        """Return the changes since the last call, for other workers. The first call starts the recording."""
        changes, self._changes = self._changes or {}, {}
        seen = [self._reward - self._exported[0], self._visits - self._exported[1]]
        self._exported = (self._reward, self._visits)
        return {
            "groups": pack_texts(changes),
            "sums": pack_numbers("d", (reward for reward, _ in changes.values())),
            "counts": pack_numbers("d", (visits for _, visits in changes.values())),
            "seen": list(seen),
        }

    def apply_delta(self, delta: JsonValue) -> None:
        """Apply the changes of another worker."""
        changes = convert(delta, GroupRatesDelta, strict=False)
        groups = self.get_numbers(unpack_texts(changes.groups))
        self._sums[groups] += unpack_array(changes.sums, np.float64)
        self._counts[groups] += unpack_array(changes.counts, np.float64)
        reward, visits = changes.seen
        self._reward, self._visits = self._reward + reward, self._visits + visits
        self._exported = (self._exported[0] + reward, self._exported[1] + visits)

    def get_state(self) -> dict[str, JsonValue]:
        """Return the rates as plain values."""
        count = len(self._numbers)
        return {
            "names": pack_texts(self._numbers),
            "sums": pack_array(self._sums[:count]),
            "counts": pack_array(self._counts[:count]),
            "reward": self._reward,
            "visits": self._visits,
            "recent": self._recent,
        }

    def restore_state(self, state: JsonValue) -> None:
        """Restore the values of `get_state`."""
        saved = convert(state, GroupRatesState, strict=False)
        self.names = unpack_texts(saved.names)
        self._numbers = {name: number for number, name in enumerate(self.names)}
        self._set_tables(unpack_array(saved.sums, np.float64), unpack_array(saved.counts, np.float64))
        self._reward, self._visits = saved.reward, saved.visits
        self._recent = 0.0 if saved.recent is None else saved.recent
        self._exported = (self._reward, self._visits)


def _sample_normal(groups: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
    """Return pseudo-random, approximately normal numbers: sums of four uniform hash values."""
    bits = groups.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed * 0xD1B54A32D192ED03 % (1 << 64))
    for shift, factor in ((33, 0xFF51AFD7ED558CCD), (29, 0xC4CEB9FE1A85EC53)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    parts = (bits ^ (bits >> np.uint64(32))).view(np.uint16).reshape(-1, 4)
    normal: NDArray[np.float64] = (parts.sum(axis=1, dtype=np.float64) / 65535 - 2) * np.sqrt(3)
    return normal
