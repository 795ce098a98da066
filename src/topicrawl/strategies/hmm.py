"""Hidden Markov model of the path to relevant pages: Batsakis 2007, sections 2.5 and 3.4.1, equations 5 and 6.

After Liu, Milios and Janssen 2004 and 2006. The hidden state of a page is its level: the number of clicks to the next
relevant page. The observation is the cluster of the page's terms. `topicrawl.strategies.training` implements the
training. `topicrawl.ml.hmm` implements the recursion and documents its misprints.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from typing import Any, ClassVar, cast

from topicrawl.errors import StrategyError
from topicrawl.models import JsonValue, Link, Priority, Visit
from topicrawl.strategies.base import Strategy
from topicrawl.strategies.training.path_model import PathModel, PathModelConfig, fit_path_model, validate_state
from topicrawl.strategies.training.training_data import TrainingData, read_text_file
from topicrawl.strategies.training.training_paths import PathLimits, TrainingPathCollector

_MIN_VALUES = {"clusters": 2, "levels": 2, "neighbours": 1, "sessions": 1, "pages": 10, "terms": 1}


@dataclass
class HiddenMarkovStrategy(Strategy):
    """Score a link by the probability that it leads to a relevant page, given the pages on the path to it.

        priority(i) = a(L₀, t+1) = Σⱼ a(Lⱼ, t)·aⱼ₀,   a(Lⱼ, t) = b(j, cₜ) · Σᵢ a(Lᵢ, t-1)·aᵢⱼ / (sum over j)   (5, 6)

    Lⱼ: level j, the number of clicks to the next relevant page; a(Lⱼ, t): the probability that the page is on that
    level, which the payload passes from page to link; cₜ: the cluster of the page, which is the cluster of the most
    similar training pages; aᵢⱼ, b(j, c): how often level j followed level i, and how often cluster c occurred on level
    j, in the training paths. K-means puts the irrelevant pages into four clusters, and the relevant pages are the
    fifth. Priorities within ε of each other (within one step of that size) are ordered by the probability of a relevant
    page in two clicks. The thesis gives no ε. Training needs examples or browsing sessions. Unlabelled pages are
    judged by their similarity to the topic, because examples are rarely complete. `positive_only`, which the
    thesis leaves to future work, uses no irrelevant pages: clusters are then bands of similarity to the relevant pages.

    A first page of cluster 1 is on the three levels with the probabilities .18, .53 and .29. The probability of level 0
    is .437190 after one click and .412893 after two, so the score is .43 + .01 · .412893:

    >>> from random import Random
    >>> from topicrawl.relevance.vsm import Vsm
    >>> from topicrawl.topic import Topic
    >>> from topicrawl.models import Page
    >>> from topicrawl.strategies.base import StrategyContext
    >>> crawler = HiddenMarkovStrategy()
    >>> crawler.bind(StrategyContext(Topic.of("owl"), Vsm(Topic.of("owl")), Random(0)))
    >>> crawler.restore_state(
    ...     {
    ...         "initial": [0.2, 0.3, 0.5],
    ...         "transition": [[0.5, 0.3, 0.2], [0.6, 0.2, 0.2], [0.1, 0.4, 0.5]],
    ...         "emission": [[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]],
    ...         "terms": ["owl", "train"],
    ...         "pages": [[2, [0], [1000]], [1, [1], [1000]]],
    ...         "neighbours": 1,
    ...         "centroid": {"owl": 1.0},
    ...         "idf": None,
    ...         "bands": [],
    ...     }
    ... )
    >>> visit = Visit(1, Link("http://a/"), Priority(1.0), "http://a/", Page("http://a/", words=("train",)))
    >>> [priority] = crawler.score_links([Link("http://b/")], visit)
    >>> round(priority.score, 6), priority.payload, [round(part, 6) for _, part in priority.parts]
    (0.434129, [0.181818, 0.528926, 0.289256], [0.43719, 0.412893])
    """

    name = "hmm"
    family = "learning"
    paper = "Batsakis 2007, 3.4.1, Eq 5, 6"
    required_inputs = ("words", "examples", "sessions")
    clustering: ClassVar[str] = "kmeans"

    clusters: int = 5  # the last cluster holds the relevant pages
    levels: int = 4  # the last level stands for that many clicks or more
    neighbours: int = 5  # number of training pages that decide the cluster of a page
    epsilon: float = 0.01  # priorities within one step of this size are ordered by two-click probabilities; 0: off
    smoothing: float = 1.0  # added to every count
    sessions: int = 400  # maximum number of sessions; those that reach a relevant page come first
    pages: int = 600  # maximum number of training pages
    terms: int = 40  # number of terms kept per training page
    judged: bool = True  # whether unlabelled pages are judged by similarity to the topic; no: they are irrelevant
    positive_only: bool = False
    model: str = ""  # model file from `topicrawl train hmm`, instead of examples and sessions

    def __post_init__(self) -> None:
        for name, least in _MIN_VALUES.items():
            if getattr(self, name) < least:
                raise StrategyError(f"{self.name}: {name} is {getattr(self, name)}, it must be {least} or more")
        if self.smoothing < 0 or not 0 <= self.epsilon < 1:
            raise StrategyError(f"{self.name}: smoothing must be 0 or more, and epsilon from 0 to less than 1")

    def fit(self, training_data: TrainingData) -> None:
        """Load the model file, or train a model on browsing sessions and examples."""
        if self.model:
            self.restore_state(self._load_model())
            return
        vsm = self.context.vsm
        limits = PathLimits(self.sessions, self.pages, self.levels, self.judged)
        paths = TrainingPathCollector(training_data, vsm, limits, judge=self.context.judge).collect(self.name)
        clustering = "bands" if self.positive_only else self.clustering
        config = PathModelConfig(clustering, self.clusters, self.levels, self.neighbours, self.smoothing, self.terms)
        paths = paths.cut_to_relevant() if self.positive_only else paths
        self.restore_state(fit_path_model(paths, config, vsm.lexicon, self.context.random))

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        """Return one priority for all links of a page."""
        one, two, payload, _ = self.follow_visit(visit)
        priority = Priority(self.compute_score(one, two), payload, (("hmm", one), ("two_steps", two)))
        return [priority for _ in links]

    def compute_score(self, one_step: float, two_steps: float) -> float:
        """Round the one-click probability down to steps of ε, and add the two-click probability within a step."""
        return min(1.0, (floor(one_step / self.epsilon) + two_steps) * self.epsilon) if self.epsilon else one_step

    def follow_visit(self, visit: Visit) -> tuple[float, float, JsonValue, dict[str, float]]:
        """Follow the path to a visited page.

        Return the probabilities of a relevant page in one click and in two clicks, the payload for the links, and the
        term vector of the page.
        """
        hmm = self.path_model.hmm
        vector = self.path_model.centroid.build_vector(visit.page) if visit.page is not None else {}
        before = visit.priority.payload
        # A seed has no payload. The payload of a link from a crawl with another model does not fit.
        is_valid = isinstance(before, list) and len(before) == hmm.state_count
        previous = cast(Sequence[float], before) if is_valid else hmm.initial
        shares = hmm.observe(previous, self.path_model.assign_cluster(vector) if vector else None)
        payload: JsonValue = [round(share, 6) for share in shares]
        return min(1.0, hmm.predict_target(shares)), min(1.0, hmm.predict_target(shares, 2)), payload, vector

    def get_state(self) -> JsonValue:
        """Return the trained model as plain values."""
        return dict(self.path_model.state)

    def restore_state(self, state: JsonValue) -> None:
        """Restore a trained model."""
        if isinstance(state, dict):
            self.path_model = PathModel(state, self.context.vsm.lexicon)

    def _load_model(self) -> dict[str, Any]:
        """Load the model file and check that it fits this strategy."""
        hint = f"create it again with `topicrawl train hmm --strategy {self.name}`"
        try:
            file = json.loads(read_text_file(self.model, self.name))
            if file["kind"] != "hmm":
                raise StrategyError(f"{self.name}: {self.model} is a model of another kind ({file['kind']}): {hint}")
            model: dict[str, Any] = file["model"]
            validate_state(model)
            PathModel(model, self.context.vsm.lexicon)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
            raise StrategyError(f"{self.name}: {self.model} is not a model: {hint}") from error
        if (model["clustering"] == "xmeans") != (self.clustering == "xmeans"):
            raise StrategyError(f"{self.name}: {self.model} has clusters of {model['clustering']}: {hint}")
        return model


@dataclass
class HiddenMarkovXMeansStrategy(HiddenMarkovStrategy):
    """Score a link by the probability that it leads to a relevant page, with clusters from X-means.

        priority(i) = a(L₀, t+1), as for `hmm`

    X-means clusters relevant and irrelevant pages together. The idf is log(N/n) over the N training pages, n of which
    contain the term, instead of the idf of the language.
    """

    name = "hmm_xmeans"
    paper = "Batsakis 2007, 3.4.1 b"
    clustering: ClassVar[str] = "xmeans"

    clusters: int = 20  # maximum number
