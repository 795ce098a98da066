"""Topicrawl's default strategy: a combination of the papers' methods that learns from every fetched page.

The score of a link depends on the similarity of its texts to the topic (Batsakis 2007, Eq 7; Hersovici et al. 1998), on
the success of its siblings, its directory and its host (Aggarwal, Al-Garawi and Yu 2001), on the pages that contain its
words, and on weights learned online from the features of links that led to relevant pages. Waiting links are rescored
every few pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec import Struct, convert

from topicrawl.errors import StrategyError
from topicrawl.models import JsonValue, Link, LinkContextLevel, Priority, Visit
from topicrawl.strategies.base import Strategy, StrategyContext, SyncProtocol
from topicrawl.strategies.training.training_data import TrainingData

if TYPE_CHECKING:
    from topicrawl.strategies.apprentice.link_model import LinkModel, PageScores

#: Links that may be rescored per visit. If more links wait, rescoring happens less often.
_ROWS_PER_VISIT = 700


class ApprenticeState(Struct, frozen=True):
    """Stored state of the strategy."""

    visits: int
    brain: dict[str, Any]  # state of the link model
    looked: int | None = None  # visits at the last rescoring; None: not stored by earlier versions


@dataclass
class Apprentice(Strategy):
    """Score a link by its texts and adjust the score by what similar links have led to so far.

        score = 1 / (1 + exp(−z)),   z = ⟨w₀, known⟩ + ⟨w₁, rates⟩ + Σᵢ wᵢ / √n

    known: the similarity of anchor, URL, surroundings, heading, page and name of the page to the topic, the reward of
    the page, the distance to the last relevant page and the depth of the link; w₀: fixed weights, so the scores are
    useful from the first page on. rates: the success above average of the links on the same page, in the same row on
    it, in the same directory and on the same host. wᵢ: learned weights of the link's n hashed features. The weight of
    an anchor word starts with the reward above average of the pages that contain it. The score of a URL with several
    links is the mean of the best link and the average link. If there are examples, the strategy learns from them before
    the first page.

    Before any learning, a link whose anchor is the topic, and a link without topic words:

    >>> from random import Random
    >>> from topicrawl.models import Page
    >>> from topicrawl.relevance.vsm import Vsm
    >>> from topicrawl.topic import Topic
    >>> topic = Topic.of("dengue fever")
    >>> crawler = Apprentice()
    >>> crawler.bind(StrategyContext(topic, Vsm(topic), Random(0)))
    >>> links = (Link("http://b/x", anchor="Dengue fever"), Link("http://c/y", anchor="imprint", position=1))
    >>> visit = Visit(1, Link("http://a/"), Priority(1.0), "http://a/", Page("http://a/", links=links), 0.0)
    >>> crawler.learn(visit)
    >>> [round(place.score, 3) for place in crawler.score_links(links, visit)]
    [0.794, 0.066]
    """

    name = "apprentice"
    family = "own"
    paper = "Topicrawl"
    needs_all_links = False
    link_context = LinkContextLevel.WITHOUT_SENTENCE

    rate: float = 1.0  # learning rate
    every: int = 15  # minimum number of visits between two rescoring runs
    pool: int = 20_000  # maximum number of waiting URLs that are rescored; others keep their last score

    def __post_init__(self) -> None:
        if self.every < 1 or self.pool < 1 or self.rate < 0:
            raise StrategyError("apprentice: every and pool are 1 or more, rate is 0 or more")

    def bind(self, context: StrategyContext) -> None:
        """Store the context and create the link model."""
        super().bind(context)
        # Importing numpy takes 0.1 s, so other strategies do not pay for it.
        from topicrawl.strategies.apprentice.link_model import LinkModel

        self._link_model: LinkModel = LinkModel(
            context.vsm, learning_rate=self.rate, max_urls=self.pool, has_cosine_judge=context.has_cosine_judge
        )
        self._page_scores: PageScores | None = None  # result of the last call of `learn`
        self._visit_count = 0
        self._last_rescore = 0  # visit count at the last rescoring run

    def fit(self, training_data: TrainingData) -> None:
        """Learn from the links to the example pages. The judge of the crawl learns from the pages themselves."""
        if not training_data.relevant:
            return
        labelled = ((training_data.relevant, 1.0), (training_data.irrelevant, 0.0))
        parents = (
            (link, reward) for urls, reward in labelled for url in urls for link in training_data.get_parents(url)
        )
        self._link_model.learn_links(parents)

    def explain(self, link: Link) -> tuple[tuple[str, float], ...]:
        """Return the contributions of prior, groups and learned features."""
        return self._link_model.explain(link)

    def learn(self, visit: Visit) -> None:
        """Learn from the links to a page, and score the links on it."""
        self._visit_count += 1
        self._page_scores = self._link_model.learn(visit)

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        """Return the priorities that `learn` has computed for the page of this visit.

        The links of any other page, such as a page with a noindex directive, have the prior score.
        """
        scores = self._page_scores
        if scores is None or scores.page is not visit.page:
            scores = self._link_model.describe_unlearned_page(visit)
        return list(self._link_model.score_links(links, scores))

    def rescore(self) -> Mapping[str, float]:
        """Rescore all waiting links every few visits. Return the scores that have changed."""
        pool = self._link_model.pool
        if self._visit_count - self._last_rescore < max(
            self.every, (len(pool.row_owners) - pool.dead_rows) // _ROWS_PER_VISIT
        ):
            return {}
        self._last_rescore = self._visit_count
        return self._link_model.rescore_links()

    def sync_protocol(self) -> SyncProtocol:
        """Return the exchange of model deltas."""
        from topicrawl.strategies.apprentice.sync import LinkModelSync

        return LinkModelSync(self._link_model)

    def get_state(self) -> JsonValue:
        """Return the learned state as plain values."""
        return {"visits": self._visit_count, "looked": self._last_rescore, "brain": self._link_model.get_state()}

    def restore_state(self, state: JsonValue) -> None:
        """Restore a state that `get_state` returned."""
        if state is not None:
            saved = convert(state, ApprenticeState, strict=False)
            self._visit_count = saved.visits
            self._last_rescore = saved.visits if saved.looked is None else saved.looked
            self._link_model.restore_state(saved.brain)
