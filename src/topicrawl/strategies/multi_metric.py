"""Scores pages with several metrics, and links inherit the score: Kluev 2000, sections 1, 4 and 5, Tables 1 and 2.

`topicrawl.relevance.multi_metric` implements the metrics. `topicrawl.relevance.filter_choice` chooses the filter, and
`topicrawl.relevance.filter_tuning` adapts it to the recommended pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from msgspec import Struct, convert

from topicrawl.errors import StrategyError
from topicrawl.models import JsonValue, Link, Page, Priority, Visit
from topicrawl.relevance.filter_choice import fit_filter
from topicrawl.relevance.filter_model import FilterModel, extract_page_terms
from topicrawl.relevance.filter_tuning import FilterTuning
from topicrawl.relevance.multi_metric import FilterVerdict
from topicrawl.relevance.multi_metric import MultiMetricJudge as Metrics
from topicrawl.strategies.base import Strategy, StrategyContext
from topicrawl.strategies.in_link_index import InLinkIndex
from topicrawl.strategies.training.training_data import TrainingData
from topicrawl.topic import load_topic

_RESCORE_INTERVAL = 20  # visits between two rescoring runs


class MultiMetricState(Struct, frozen=True):
    """Stored state of the strategy."""

    metrics: dict[str, Any]  # state of the judge
    known: Any  # state of the in-link index
    waited: int  # visits since the last rescoring


@dataclass
class MultiMetricStrategy(Strategy):
    """Score a link by the mean score that several metrics give the pages that link to it.

        Score(link) = (score(p₁) + … + score(pₙ)) / n

    p: the pages found so far that link to the target (its parents); score: the mean of the term, collocation and
    similarity metrics, where each metric gives one half at its threshold. A waiting link is rescored when a parent is
    added, or when the score of a parent rises because it links to a relevant page. Filter and thresholds come from the
    topic file, from the example pages, or from the words of the topic. `wrong` lowers the score of pages that resemble
    wrong recommendations: a topic file built from such pages, or `examples` for the irrelevant examples that the
    metrics recommend.

    Parents with scores .9 and .3 give .6:

    >>> crawler = MultiMetricStrategy()
    >>> crawler.merge(Priority(0.9, 1), Priority(0.3, 1)).score
    0.6
    """

    name = "multi_metric"
    family = "multi-metric"
    paper = "Kluev 2000, 4"

    every: int = 100  # undoubted pages between two tuning steps of the filter
    variable: float = 0.3  # elements of the variable part per element of the permanent part
    damping: float = 0.2  # step size of the weights towards new values
    in_links: int = 10  # maximum number of in-links of a relevant page that are raised; 0: none
    wrong: str = ""

    def __post_init__(self) -> None:
        if self.every < 1 or self.in_links < 0:
            raise StrategyError("multi_metric: every is 1 or more, in_links 0 or more")
        if not (0 <= self.variable <= 1 and 0 <= self.damping <= 1):
            raise StrategyError("multi_metric: variable and damping are shares, from 0 to 1")

    def bind(self, context: StrategyContext) -> None:
        """Store the context and create the metrics without examples."""
        super().bind(context)
        self.in_link_index = InLinkIndex(self.in_links)
        self.visits_since_rescore = 0  # visits since the last rescoring run
        self._last_verdict: tuple[Page | None, FilterVerdict | None] = (None, None)
        self._create_metrics((), (), 0)

    def _create_metrics(self, relevant: Sequence[Page], irrelevant: Sequence[Page], seed: int) -> None:
        """Choose the filter and its thresholds, and create the metrics."""
        topic = self.context.topic
        filter, thresholds = fit_filter(topic, relevant, irrelevant)
        sieve = FilterModel.of(filter, topic.lexicon, topic.tokens)
        self.metrics = Metrics(sieve, thresholds, FilterTuning(self.every, self.variable, self.damping), seed)

    def fit(self, training_data: TrainingData) -> None:
        """Choose the filter from the example pages, and build the profile of wrong pages."""
        relevant, irrelevant = (
            [page for url in urls if (page := training_data.get_page(url)) is not None]
            for urls in (training_data.relevant, training_data.irrelevant)
        )
        self._create_metrics(relevant, irrelevant, self.context.random.getrandbits(32))
        if self.wrong == "examples":
            if not irrelevant:
                raise StrategyError("multi_metric: wrong=examples needs irrelevant example pages: pass --examples FILE")
            recommended = [page for page in irrelevant if self.metrics.judge_page(page).metrics]
            for page in recommended:
                self.metrics.reject_terms(extract_page_terms(page, self.context.topic.lexicon).counts)
        elif self.wrong:
            lexicon = self.context.topic.lexicon
            self.metrics.reject_terms(
                {lexicon.stem(word): weight for word, weight in load_topic(Path(self.wrong)).words.items()}
            )

    def learn(self, visit: Visit) -> None:
        """Score a page with the metrics, and update the index of in-links."""
        self.visits_since_rescore += 1
        if visit.page is None:
            return
        verdict = self.metrics.observe_page(visit.page)
        self._last_verdict = (visit.page, verdict)
        self.in_link_index.record_score(visit.link.url, verdict.score, relevant=verdict.is_undoubted)
        self.in_link_index.add_page(visit.url, verdict.score, [link.url for link in visit.page.links])

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        """Return the score of the page for each link."""
        if visit.page is None:
            return [Priority(0.0, 1)] * len(links)
        page, verdict = self._last_verdict
        if page is not visit.page or verdict is None:
            verdict = self.metrics.judge_page(visit.page)
        return [Priority(verdict.score, 1, tuple(verdict.values.items()))] * len(links)

    def merge(self, old: Priority, new: Priority) -> Priority:
        """Return the mean over all parents. A seed keeps its priority."""
        if not isinstance(old.payload, int):
            return old  # a seed keeps its priority
        # Scores below 0 mark suspected traps and have no mean with other scores.
        score = (
            new.score if min(old.score, new.score) < 0 else (old.score * old.payload + new.score) / (old.payload + 1)
        )
        return Priority(score, old.payload + 1, (*new.parts, ("parents", old.payload + 1.0)))

    def rescore(self) -> Mapping[str, float]:
        """Return new scores for the links of pages whose score has risen, every 20 visits."""
        if self.visits_since_rescore < _RESCORE_INTERVAL:
            return {}
        self.visits_since_rescore = 0
        return self.in_link_index.pop_new_scores()

    def get_state(self) -> JsonValue:
        """Return the learned state as plain values."""
        return cast(
            JsonValue,
            {
                "metrics": self.metrics.get_state(),
                "known": self.in_link_index.get_state(),
                "waited": self.visits_since_rescore,
            },
        )

    def restore_state(self, state: JsonValue) -> None:
        """Restore a state that `get_state` returned."""
        if state is not None:
            saved = convert(state, MultiMetricState, strict=False)
            self.metrics = Metrics.from_state(saved.metrics, self.context.topic.lexicon)
            self.in_link_index.restore_state(saved.known)
            self.visits_since_rescore = saved.waited
