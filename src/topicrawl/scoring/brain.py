"""What the apprentice knows: a prior, rates of groups, learned weights, and the links that wait."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, compress, repeat
from math import log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicrawl.learn.online import Floats, Hashes, Ids, Online, logistic
from topicrawl.packing import array_of, packed_array
from topicrawl.records import Carry, Link, Page, Place, Visit, draft
from topicrawl.relevance.vsm import Vsm
from topicrawl.scoring.judge import Judge
from topicrawl.scoring.names import named
from topicrawl.scoring.pool import Pool, Rows
from topicrawl.scoring.rates import Rates
from topicrawl.scoring.reward import Reward
from topicrawl.scoring.traits import TEXTS, Observer, Traits
from topicrawl.scoring.worth import Worth

#: What is known of a link without learning, and how much it counts.
KNOWN = {"always": -2.5, "anchor": 2.5, "address": 2.0, "surroundings": 1.5, "heading": 1.0, "page": 1.5, "reward": 1.0,
         "distance": -0.75, "depth": -2.0}  # fmt: skip
#: Groups that a link belongs to, and how much their success counts.
GROUPS = {"siblings": 1.0, "row": 1.0, "directory": 1.0, "host": 0.3}
_CAUTION = 0.1
_CURIOSITY = 0.1  # how much of what a host might be worth is drawn by lot
_DEEP = 3.0  # twenty links from a seed count as one
_FURTHEST = 5  # links from a relevant page; further away is all the same
_IDLE_GROUPS = 20_000
_LEAST_CHANGE = 1e-3
_FRONT = 500  # waiting addresses whose scores are kept exact; those behind are told when they come near
_REASONS = 6  # learned features that are named
_PARTS = ("known", "neighbours", "learned")  # of a score
_Draft = draft(Place)
_PRIOR = np.array(list(KNOWN.values()), np.float32)
_SHARES = tuple(GROUPS.values())
_TRUST = np.array(_SHARES, np.float32)


class _Seen(NamedTuple):
    """The links of a page with their scores and what these are made of."""

    url: str
    links: Sequence[Link]
    scores: list[float]
    parts: list[list[float]]


class Brain:
    """Scores links and learns from visits."""

    def __init__(self, vsm: Vsm, *, rate: float, pool: int) -> None:
        self._vsm = vsm
        self._judge = Judge(vsm)
        self._observer = Observer(vsm)
        self.model = Online(rate=rate, caution=_CAUTION)
        self.rates = Rates()
        self.reward = Reward()
        self.worth = Worth()
        self.pool = Pool(len(KNOWN), len(GROUPS))
        self._most = pool
        self.visited: list[tuple[str, str, float | None]] | None = None  # what was fetched, where others are told of it
        self._last: _Seen | None = None  # the page that was learned from last
        self._distance = 0

    def teach(self, relevant: Sequence[Page], other: Sequence[Page], links: Iterable[tuple[Link, float]]) -> None:
        """Learn from examples before the first page: what they say, and the links that lead to them."""
        self._judge.widen(relevant, other)
        for link, reward in links:
            rows = self._rows(self._observer.traits([link], link.source, Page(link.source)), 0.0, 0.0, link.depth)
            self._led_to(rows.flat, rows.known[0], rows.groups[0], reward)

    def _led_to(self, features: Hashes, known: Floats, groups: Ids, reward: float) -> None:
        before = float(known @ _PRIOR) + self.rates.trusted(groups, _SHARES)
        self.model.learn(features, before, reward)
        self.rates.learn(groups, reward)

    def learn(self, visit: Visit) -> None:
        """A page was fetched: learn from the links that led to it, and look at the links that stand on it."""
        self._last = None
        if visit.page is None:
            self._visited(visit, None)
            return
        similarity = self._similarity(visit.page, visit.relevance)
        reward = self.reward(similarity)
        self.rates.seen(reward)
        self.worth.seen(self._vsm.bag(visit.page), reward)
        self._visited(visit, reward)
        carried = visit.place.carry
        behind = carried if isinstance(carried, int) else 0
        self._distance = 0 if reward >= 0.5 else min(behind + 1, _FURTHEST)
        self._look(visit.url, visit.page, similarity, reward)

    def _similarity(self, page: Page, relevance: float | None) -> float:
        """How much a page is about the topic; the crawl's own judge and readers' verdicts have their say."""
        if relevance is None:
            return self._judge(page)
        if self._vsm.judge is not None:
            return relevance
        # Nothing unless somebody has moved the topic's own judgement of the page.
        moved = relevance - self._vsm.score(page)
        return max(0.0, min(1.0, self._judge(page) + moved))

    def _look(self, url: str, page: Page, similarity: float, reward: float) -> None:
        """Score the links of a page that are not known from elsewhere."""
        links = list(compress(page.links, self.pool.room([link.url for link in page.links])))
        self._last = _Seen(url, (), [], [[], [], []])
        if links:
            traits = self._observer.traits(links, url, page)
            self.worth.ask(traits.said)
            rows = self._rows(traits, similarity, reward, links[0].depth)
            parts = self._parts(rows, rows.starts)
            scores = _logistic(parts[0] + parts[1] + parts[2])
            self._last = _Seen(url, links, scores.tolist(), [part.tolist() for part in parts])
            self.pool.add([link.url for link in links], rows, self._last.scores)

    def _visited(self, visit: Visit, reward: float | None) -> None:
        self.fetched(visit.link.url, visit.url, reward)
        if self.visited is not None:
            self.visited.append((visit.link.url, visit.url, reward))

    def fetched(self, asked: str, found: str, reward: float | None) -> None:
        """A page was fetched, here or by another worker: learn from the known links to it, which wait no longer."""
        for url in dict.fromkeys((asked, found)):
            if reward is not None:
                for features, known, groups in self.pool.rows(url):
                    self._led_to(features, known, groups, reward)
            self.pool.fetched(url)

    def _rows(self, traits: Traits, similarity: float, reward: float, depth: int) -> Rows:
        count = len(traits.lengths)
        known = np.empty((count, len(KNOWN)), np.float32)
        known[:, 0] = 1.0
        known[:, 1 : 1 + len(TEXTS)] = traits.alike
        known[:, 1 + len(TEXTS) :] = (similarity, reward, self._distance / _FURTHEST, log1p(depth) / _DEEP)
        groups = self.rates.numbers(chain.from_iterable(traits.groups)).reshape(count, len(GROUPS))
        return Rows(traits.flat, traits.lengths, known, groups)

    def _parts(self, rows: Rows, starts: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
        """What the scores are made of: what is known, what neighbours led to, what was learned."""
        learned = self.model.sums(rows.flat, starts, rows.lengths)
        return rows.known @ _PRIOR, self.rates.of(rows.groups) @ _TRUST, learned

    def places(self, links: Sequence[Link], visit: Visit) -> list[Place]:
        """Places for links of the page that was learned from last."""
        if self._last is None or self._last.url != visit.url:
            return [Place(logistic(float(_PRIOR[0])), self._distance) for _ in links]
        last = self._last
        numbers = {id(link): number for number, link in enumerate(last.links)}
        named = (zip(repeat(name), part) for name, part in zip(_PARTS, last.parts, strict=True))
        parts = list(zip(*named, strict=True))
        places: list[Place] = []
        for link in links:
            number = numbers.get(id(link))
            if number is None:
                place = _Draft(self.pool.score(link.url), self._distance, ())
            else:
                place = _Draft(last.scores[number], self._distance, parts[number])
            place.__class__ = Place
            places.append(place)
        return places

    def reasons(self, link: Link) -> tuple[tuple[str, float], ...]:
        """What speaks for and against a link that is about to be learned from, the strongest learned words named."""
        rows = self.pool.rows(link.url)
        if not rows:
            return ()
        sums = [
            float(known @ _PRIOR) + self.rates.trusted(groups, _SHARES) + self.model.sum(flat)
            for flat, known, groups in rows
        ]
        features, known, groups = rows[int(np.argmax(sums))]
        found = dict(zip(KNOWN, (known * _PRIOR).tolist(), strict=True))
        found |= zip(GROUPS, (self.rates.of(groups) * _TRUST).tolist(), strict=True)
        shares = self.model.shares(features)
        strongest = np.argsort(-np.abs(shares), kind="stable")[:_REASONS]
        names = named(features[strongest], self._observer.said(link))
        for name, share in zip(names, shares[strongest].tolist(), strict=True):
            if name:
                found[name] = found.get(name, 0.0) + share
        return tuple((name, round(value, 3)) for name, value in found.items() if abs(value) >= 0.0005)

    def revised(self) -> Mapping[str, float]:
        """New scores of the links that wait, where they have changed and may soon matter."""
        rows, starts = self.pool.all()
        if not len(self.pool):
            return {}
        self.model.give(*self.worth.weights(self.rates.base))
        known, neighbours, learned = self._parts(rows, starts)
        neighbours = neighbours + _CURIOSITY * self.rates.strayed(rows.groups[:, -1])
        best = _logistic(self.pool.worth(known + neighbours + learned))
        told = np.array(self.pool.told)
        alive = best > 0
        front = np.partition(best, -_FRONT)[-_FRONT] if len(best) > _FRONT else 0.0
        moved = alive & (np.abs(best - told) > _LEAST_CHANGE) & ((best >= front) | (told >= front))
        changed = {}
        for number in np.flatnonzero(moved).tolist():
            changed[self.pool.urls[number]] = self.pool.told[number] = float(best[number])
        self._bound(best)
        return changed

    def _bound(self, best: Floats) -> None:
        """Keep the pool within its bound: the worst fifth goes, and groups that nobody uses any more."""
        if len(self.pool) > self._most:
            order = np.argsort(best, kind="stable")
            worst = order[best[order] > 0][: len(self.pool) // 5]
            for number in worst.tolist():
                self.pool.remove(self.pool.urls[number])
        if self.pool.sweep() and len(self.rates) > _IDLE_GROUPS:
            used = np.unique(self.pool.all()[0].groups)
            if len(self.rates) > _IDLE_GROUPS + len(used):
                self.pool.renumber(self.rates.keep(used, _IDLE_GROUPS))

    def state(self) -> dict[str, Carry]:
        slots, weights, squares, given = self.model.learned()
        return {
            "slots": packed_array(slots), "weights": packed_array(weights), "squares": packed_array(squares),
            "rates": self.rates.state(), "reward": self.reward.state(), "pool": self.pool.state(),
            "query": dict(self._judge.state()), "worth": self.worth.state(), "given": packed_array(given),
        }  # fmt: skip

    def restore(self, state: Mapping[str, Carry]) -> None:
        slots, worth = array_of(state["slots"], np.int32), state.get("worth")
        # Crawls of earlier versions know nothing of what words are worth; they learn it from now on.
        given = array_of(state["given"], np.float32) if "given" in state else np.zeros(len(slots), np.float32)
        self.model.take(slots, array_of(state["weights"], np.float32), array_of(state["squares"], np.float32), given)
        if isinstance(worth, dict):
            self.worth.restore(worth)
        rates, pool, query = state["rates"], state["pool"], state["query"]
        assert isinstance(query, dict)
        self._judge.restore({term: float(str(weight)) for term, weight in query.items()})
        assert isinstance(rates, dict)
        assert isinstance(pool, dict)
        self.rates.restore(rates)
        self.reward.restore(state["reward"])
        self.pool.restore(pool)


def _logistic(z: Floats) -> Floats:
    return (1 / (1 + np.exp(-z))).astype(np.float32)
