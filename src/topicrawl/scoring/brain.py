"""What the apprentice knows: a prior, rates of groups, learned weights, and the links that wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from topicrawl.learn.online import Floats, Online, logistic
from topicrawl.packing import array_of, packed_array
from topicrawl.records import Carry, Link, Place, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.scoring.judge import Judge
from topicrawl.scoring.pool import Pool, Rows
from topicrawl.scoring.rates import Rates
from topicrawl.scoring.reward import Reward
from topicrawl.scoring.traits import TEXTS, Observer, Traits

#: What is known of a link without learning, and how much it counts.
KNOWN = {"always": -2.5, "anchor": 2.5, "address": 2.0, "surroundings": 1.5, "heading": 1.0, "page": 1.5, "reward": 1.0,
         "distance": -1.5}  # fmt: skip
#: Groups that a link belongs to, and how much their success counts.
GROUPS = {"siblings": 1.0, "row": 1.0, "directory": 1.0, "host": 0.3}
_CAUTION = 0.1
_FURTHEST = 5  # links from a relevant page; further away is all the same
_IDLE_GROUPS = 20_000
_LEAST_CHANGE = 1e-3
_PRIOR = np.array(list(KNOWN.values()), np.float32)
_TRUST = np.array(list(GROUPS.values()), np.float32)


class Brain:
    """Scores links and learns from visits."""

    def __init__(self, vsm: Vsm, *, rate: float, pool: int) -> None:
        self._judge = Judge(vsm)
        self._observer = Observer(vsm)
        self._model = Online(rate=rate, caution=_CAUTION)
        self._rates = Rates()
        self._reward = Reward()
        self._pool = Pool(len(KNOWN), len(GROUPS))
        self._most = pool
        self._told: dict[str, float] = {}  # the score that the frontier has of each address
        self._last: tuple[str, Sequence[Link], Rows, Floats] | None = None  # the page that was learned from last
        self._distance = 0

    def learn(self, visit: Visit) -> None:
        """A page was fetched: learn from the links that led to it, and look at the links that stand on it."""
        self._last = None
        if visit.page is None:
            self._forget(visit)
            return
        similarity = self._judge(visit.page)
        reward = self._reward(similarity)
        self._rates.seen(reward)
        for url in dict.fromkeys((visit.link.url, visit.url)):
            for number in self._pool.rows.get(url, ()):
                features, known, groups = self._pool.row(number)
                self._model.learn(features, float(known @ _PRIOR + self._rates.of(groups) @ _TRUST), reward)
                self._rates.learn(groups, reward)
        self._forget(visit)
        carried = visit.place.carry
        before = carried if isinstance(carried, int) else 0
        self._distance = 0 if reward >= 0.5 else min(before + 1, _FURTHEST)
        links = visit.page.links
        if not links:
            return
        traits = self._observer.traits(links, visit.url, visit.page.title)
        rows = self._rows(traits, similarity, reward)
        scores = self._scores(rows, rows.starts)
        self._last = (visit.url, links, rows, scores)
        urls = [link.url for link in links]
        self._pool.add(urls, rows)
        for url, score in zip(urls, scores.tolist(), strict=True):
            if score > self._told.get(url, -1.0):
                self._told[url] = score

    def _forget(self, visit: Visit) -> None:
        for url in (visit.link.url, visit.url):
            self._pool.remove(url)
            self._told.pop(url, None)

    def _rows(self, traits: Traits, similarity: float, reward: float) -> Rows:
        count = len(traits.lengths)
        known = np.empty((count, len(KNOWN)), np.float32)
        known[:, 0] = 1.0
        known[:, 1 : 1 + len(TEXTS)] = traits.alike
        known[:, 1 + len(TEXTS) :] = (similarity, reward, self._distance / _FURTHEST)
        groups = self._rates.numbers(chain.from_iterable(traits.groups)).reshape(count, len(GROUPS))
        return Rows(traits.flat, traits.lengths, known, groups)

    def _scores(self, rows: Rows, starts: NDArray[np.int64]) -> Floats:
        learned = self._model.sums(rows.flat, starts, rows.lengths)
        z = rows.known @ _PRIOR + self._rates.of(rows.groups) @ _TRUST + learned
        return (1 / (1 + np.exp(-z))).astype(np.float32)

    def places(self, links: Sequence[Link], visit: Visit) -> list[Place]:
        """Places for links of the page that was learned from last."""
        if self._last is None or self._last[0] != visit.url:
            return [Place(logistic(float(_PRIOR[0])), self._distance) for _ in links]
        _, known, rows, scores = self._last
        numbers = {id(link): number for number, link in enumerate(known)}
        chosen = [numbers[id(link)] for link in links]
        values = scores.tolist()
        parts = self._parts(rows)
        return [Place(values[number], self._distance, parts[number]) for number in chosen]

    def _parts(self, rows: Rows) -> list[tuple[tuple[str, float], ...]]:
        """What the score of each link is made of: the parts of z, those that are not 0."""
        learned = self._model.sums(rows.flat, rows.starts, rows.lengths)
        columns = np.column_stack([rows.known * _PRIOR, self._rates.of(rows.groups) * _TRUST, learned])
        names = (*KNOWN, *GROUPS, "learned")
        return [
            tuple((name, value) for name, value in zip(names, values, strict=True) if value)
            for values in np.round(columns.astype(np.float64), 3).tolist()
        ]

    def revised(self) -> Mapping[str, float]:
        """New scores of the links that wait, where they have changed."""
        rows, starts = self._pool.all()
        if not len(starts):
            return {}
        best = self._pool.best(self._scores(rows, starts))
        told = self._told
        changed = {url: score for url, score in best.items() if abs(score - told.get(url, -1.0)) > _LEAST_CHANGE}
        told.update(changed)
        if len(self._pool.urls) > self._most:
            worst = sorted(best, key=best.__getitem__)[: len(best) // 5]
            for url in worst:
                self._pool.remove(url)
                told.pop(url, None)
        if self._pool.sweep() and len(self._rates) > _IDLE_GROUPS + self._pool.all()[0].groups.size:
            self._pool.renumber(self._rates.keep(self._pool.all()[0].groups.ravel(), _IDLE_GROUPS))
        return changed

    def state(self) -> dict[str, Carry]:
        slots, weights, squares = self._model.learned()
        return {
            "slots": packed_array(slots), "weights": packed_array(weights), "squares": packed_array(squares),
            "rates": self._rates.state(), "reward": self._reward.state(), "pool": self._pool.state(),
            "told": dict(self._told),
        }  # fmt: skip

    def restore(self, state: Mapping[str, Carry]) -> None:
        self._model.take(
            array_of(state["slots"], np.int32), array_of(state["weights"], np.float32),
            array_of(state["squares"], np.float32),
        )  # fmt: skip
        rates, pool, told = state["rates"], state["pool"], state["told"]
        assert isinstance(rates, dict)
        assert isinstance(pool, dict)
        assert isinstance(told, dict)
        self._rates.restore(rates)
        self._reward.restore(state["reward"])
        self._pool.restore(pool)
        self._told = {url: float(str(score)) for url, score in told.items()}
