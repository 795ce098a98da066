"""A hidden Markov model of the way to relevant pages: Batsakis 2007, sections 2.5 and 3.4.1, equations 5 and 6, after
Liu, Milios and Janssen 2004 and 2006.

The hidden state of a page is its level, the clicks to the next relevant page; what can be seen is the cluster its
words put it in. Training is in `walks` and `path_model`, the recursion and its misprints in `topicrawl.learn.hmm`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from typing import Any, ClassVar

from topicrawl.errors import StrategyError
from topicrawl.records import Carry, Link, Place, Visit
from topicrawl.strategies.material import Material, file_text
from topicrawl.strategies.path_model import Fit, PathModel, check, fitted
from topicrawl.strategies.strategy import Strategy
from topicrawl.strategies.walks import Gathering, Limits

_LEAST = {"clusters": 2, "levels": 2, "neighbours": 1, "sessions": 1, "pages": 10, "terms": 1}


@dataclass
class HiddenMarkov(Strategy):
    """A link is worth the probability that it leads to a relevant page, by what was seen on the way to it.

        priority(i) = a(L₀, t+1) = Σⱼ a(Lⱼ, t)·aⱼ₀,   a(Lⱼ, t) = b(j, cₜ) · Σᵢ a(Lᵢ, t-1)·aᵢⱼ / (sum over j)   (5, 6)

    Lⱼ: level j, the clicks to the next relevant page; a(Lⱼ, t): how likely the page is on that level, handed down from
    page to link; cₜ: the page's cluster, that of the training pages most like it; aᵢⱼ, b(j, c): how often level j
    followed level i, and cluster c was seen on level j, in the training walks. Four clusters are K-means of the
    irrelevant pages, the relevant pages are the fifth. Priorities within ε of each other (in one step of that size)
    are ordered by the probability of a relevant page in two clicks; the thesis gives no ε. Examples or browsing
    sessions are needed, either is enough. `positive_only`, which the thesis leaves to the future: no irrelevant page
    is used, and clusters are bands of similarity to the relevant ones.

    A first page of cluster 1 is on the levels with .18, .53, .29; from there .437190 lead to level 0 in one click and
    .412893 in two, so the step .43 is topped up by .01 · .412893:

    >>> from random import Random
    >>> from topicrawl.relevance.vsm import Vsm
    >>> from topicrawl.topic import Topic
    >>> from topicrawl.records import Page
    >>> from topicrawl.strategies.strategy import Setting
    >>> crawler = HiddenMarkov()
    >>> crawler.begin(Setting(Topic.of("owl"), Vsm(Topic.of("owl")), Random(0)))
    >>> crawler.restore({
    ...     "initial": [0.2, 0.3, 0.5], "transition": [[0.5, 0.3, 0.2], [0.6, 0.2, 0.2], [0.1, 0.4, 0.5]],
    ...     "emission": [[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]],
    ...     "terms": ["owl", "train"], "pages": [[2, [0], [1000]], [1, [1], [1000]]], "neighbours": 1,
    ...     "centroid": {"owl": 1.0}, "idf": None, "bands": []})
    >>> visit = Visit(1, Link("http://a/"), Place(1.0), "http://a/", Page("http://a/", words=("train",)))
    >>> [place] = crawler.place([Link("http://b/")], visit)
    >>> round(place.score, 6), place.carry, [round(part, 6) for _, part in place.parts]
    (0.434129, [0.181818, 0.528926, 0.289256], [0.43719, 0.412893])
    """

    name = "hmm"
    family = "learning"
    paper = "Batsakis 2007, 3.4.1, Eq 5, 6"
    inputs = ("words", "examples", "sessions")
    clustering: ClassVar[str] = "kmeans"

    clusters: int = 5  # the last one holds the relevant pages
    levels: int = 4  # the last one is that many clicks and more
    neighbours: int = 5  # training pages that decide on a page's cluster
    epsilon: float = 0.01  # priorities that differ by less are ordered by two steps; 0: never
    smoothing: float = 1.0  # added to every count
    sessions: int = 400  # at most that many are learned from, those first that reach a relevant page
    pages: int = 600  # at most that many pages are read
    terms: int = 40  # kept of each of them
    judged: bool = False  # pages that are no examples may be relevant too, by the topic's words
    positive_only: bool = False
    model: str = ""  # a file that `topicrawl train hmm` made, instead of examples and sessions

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise StrategyError(f"{self.name}: {name} is {getattr(self, name)}, it must be {least} or more")
        if self.smoothing < 0 or not 0 <= self.epsilon < 1:
            raise StrategyError(f"{self.name}: smoothing must be 0 or more, and epsilon from 0 to less than 1")

    def prepare(self, material: Material) -> None:
        if self.model:
            self.restore(self._loaded())
            return
        vsm = self.setting.vsm
        limits = Limits(self.sessions, self.pages, self.levels, self.judged)
        walks = Gathering(material, vsm, limits).walks(self.name)
        kind = "bands" if self.positive_only else self.clustering
        fit = Fit(kind, self.clusters, self.levels, self.neighbours, self.smoothing, self.terms)
        walks = walks.positive() if self.positive_only else walks
        self.restore(fitted(walks, fit, vsm.lexicon, self.setting.random))

    def place(self, links: Sequence[Link], visit: Visit) -> list[Place | None]:
        one, two, carry, _ = self.followed(visit)
        place = Place(self.score(one, two), carry, (("hmm", one), ("two_steps", two)))
        return [place for _ in links]

    def score(self, one: float, two: float) -> float:
        """Steps of ε, and within a step by the second probability."""
        return min(1.0, (floor(one / self.epsilon) + two) * self.epsilon) if self.epsilon else one

    def followed(self, visit: Visit) -> tuple[float, float, Carry, dict[str, float]]:
        """Probabilities of a relevant page in one and in two clicks, what goes down to it, and the page's vector."""
        hmm = self.trained.hmm
        vector = self.trained.centroid.vector(visit.page) if visit.page is not None else {}
        before = visit.place.carry
        # A seed comes from nowhere; so does a link of a crawl that had another model.
        known = isinstance(before, list) and len(before) == hmm.states
        shares = hmm.seen(before if known else hmm.initial, self.trained.cluster(vector) if vector else None)  # type: ignore[arg-type]
        carry: Carry = [round(share, 6) for share in shares]
        return min(1.0, hmm.ahead(shares)), min(1.0, hmm.ahead(shares, 2)), carry, vector

    def state(self) -> Carry:
        return dict(self.trained.plain)

    def restore(self, state: Carry) -> None:
        if isinstance(state, dict):
            self.trained = PathModel(state, self.setting.vsm.lexicon)

    def _loaded(self) -> dict[str, Any]:
        again = f"make it anew with `topicrawl train hmm --strategy {self.name}`"
        try:
            file = json.loads(file_text(self.model, self.name))
            if file["kind"] != "hmm":
                raise StrategyError(f"{self.name}: {self.model} is a model of another kind ({file['kind']}): {again}")
            model: dict[str, Any] = file["model"]
            check(model)
            PathModel(model, self.setting.vsm.lexicon)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
            raise StrategyError(f"{self.name}: {self.model} is not a model: {again}") from error
        if (model["clustering"] == "xmeans") != (self.clustering == "xmeans"):
            raise StrategyError(f"{self.name}: {self.model} has clusters of {model['clustering']}: {again}")
        return model


@dataclass
class HiddenMarkovXMeans(HiddenMarkov):
    """A link is worth the probability that it leads to a relevant page, with clusters that X-means finds.

        priority(i) = a(L₀, t+1), as for `hmm`

    Relevant and irrelevant pages are clustered together, and idf is log(N/n) of the N training pages, n of them with
    the term, instead of the language's.
    """

    name = "hmm_xmeans"
    paper = "Batsakis 2007, 3.4.1 b"
    clustering: ClassVar[str] = "xmeans"

    clusters: int = 20  # at most
