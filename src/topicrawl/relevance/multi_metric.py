"""Relevance by the vote of several metrics: Kluev 2000, section 4. Two votes make a page undoubtedly relevant.

| metric | votes for a page if |
|---|---|
| collocations | the page contains enough of the filter's pairs, or enough of its triples |
| terms | the page contains enough of the filter's terms |
| vsm | the page as a whole is similar enough to the filter's terms |
| passage | vsm does not vote, but one passage of the page is similar enough (half of that similarity suffices) |
| directory | no other metric votes, but an undoubtedly relevant page was found in the same directory |

Pages are grouped for evaluation by sampling: undoubted; vsm; terms (terms and collocations vote, the first group in
step 7); passage; directory. A page for which only terms or only collocations vote is not recommended: in Table 4 of the
paper, the other groups add up to the recommended pages. A passage does not count as one of the two votes of an
undoubted page: a passage and a few terms occur on many pages that only mention the topic. With irrelevant examples, a
metric counts as one of the two votes only from a higher threshold, which hardly any irrelevant example reaches
(`filter_choice.py`).

The paper defines when a page is relevant, but not its score. Here the degree of each metric is its value divided by
twice its threshold, at most 1, so that the degree is one half at the threshold. The score is the mean of the degrees of
terms, collocations and similarity. A passage or a directory can replace the similarity, with a degree of at most one
half.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

from topicrawl.models import JsonValue, Page
from topicrawl.relevance.base import UNDOUBTED
from topicrawl.relevance.directory_heuristic import DirectoryStats
from topicrawl.relevance.filter_model import FilterCoverage, FilterModel, PageTerms
from topicrawl.relevance.filter_tuning import FilterTuning, RecommendedPageStats
from topicrawl.text.lexicon import LanguageLexicon
from topicrawl.text.sparse_vectors import cosine
from topicrawl.topic import Thresholds

_MAX_PROFILE_TERMS = 300  # terms of the profile of rejected pages


@dataclass(frozen=True, slots=True)
class FilterVerdict:
    """Votes and score of the metrics for one page."""

    values: Mapping[str, float]  # terms, pairs, triples, vsm; passage, directory and wrong if they were computed
    metrics: tuple[str, ...]  # metrics that vote for the page
    score: float  # 0…1
    is_undoubted: bool = False  # whether two or more metrics besides the passage reach their higher thresholds

    @property
    def group(self) -> str:
        """Evaluation group: undoubted, vsm, terms, passage, directory, or "" if the page is not recommended.

        >>> [FilterVerdict({}, votes, 0.5).group for votes in ((), ("terms",), ("terms", "vsm"))]
        ['', '', 'vsm']
        >>> FilterVerdict({}, ("terms", "vsm"), 0.5, is_undoubted=True).group
        'undoubted'
        """
        if self.is_undoubted:
            return UNDOUBTED
        if "vsm" in self.metrics:
            return "vsm"
        if {"terms", "collocations"} <= {*self.metrics}:
            return "terms"
        return next((name for name in self.metrics if name in ("passage", "directory")), "")


def metric_degree(value: float, threshold: float) -> float:
    """Return the degree of a metric: one half at its threshold, 1 from twice its threshold on.

    >>> [metric_degree(value, 0.2) for value in (0.0, 0.1, 0.2, 0.5)]
    [0.0, 0.25, 0.5, 1.0]
    """
    return min(1.0, value / (2 * threshold)) if threshold else float(value > 0)


@dataclass
class MultiMetricJudge:
    """Judge pages by a filter whose metrics vote, and adapt the filter to the recommended pages.

    The page contains one of two terms, which is exactly the threshold: degree .5. Neither the page nor its only passage
    is similar enough; the degree is .707107 / 1.6 = .441942. The filter has no collocations, so the score is the mean
    of these two:

    >>> from topicrawl.text.lexicon import load_lexicon
    >>> from topicrawl.topic import TopicFilter
    >>> sieve = FilterModel.of(TopicFilter({"fever": 1.0, "rash": 1.0}), load_lexicon("xx"))
    >>> metrics = MultiMetricJudge(sieve, Thresholds(vsm=0.9, terms=0.5, pairs=0.1, triples=0.08, passage=0.8))
    >>> verdict = metrics.judge_page(Page("http://a/", text="fever"))
    >>> verdict.metrics, verdict.group, round(verdict.values["vsm"], 6), round(verdict.score, 6)
    (('terms',), '', 0.707107, 0.470971)
    """

    permanent: FilterModel
    thresholds: Thresholds
    tuning: FilterTuning = field(default_factory=FilterTuning)
    seed: int = 0  # of the random draws for the variable part

    def __post_init__(self) -> None:
        self.current = self.permanent
        self.update_count = 0  # updates of the variable part so far
        self.recent = RecommendedPageStats()
        self.directories = DirectoryStats()
        self.rejected_profile: dict[str, float] = {}  # profile of wrongly recommended pages: term → weight

    def judge_page(self, page: Page) -> FilterVerdict:
        """Judge a page without learning from it."""
        return self._judge_terms(page, self.current.extract_terms(page))

    def _judge_terms(self, page: Page, page_terms: PageTerms) -> FilterVerdict:
        thresholds = self.thresholds
        values: dict[str, float] = self.current.measure_coverage(page_terms)._asdict()
        collocations = max(
            metric_degree(values["pairs"], thresholds.pairs or 0.0),
            metric_degree(values["triples"], thresholds.triples or 0.0),
        )
        terms, similarity = (
            metric_degree(values["terms"], thresholds.terms or 0.0),
            metric_degree(values["vsm"], thresholds.vsm or 0.0),
        )
        degrees = {"collocations": collocations, "terms": terms, "vsm": similarity}
        metrics = [name for name, degree_value in degrees.items() if degree_value >= 0.5]
        if similarity < 0.5:
            values["passage"] = self.current.best_passage_similarity(page_terms)
            passage = min(0.5, metric_degree(values["passage"], thresholds.passage or 0.0))
            metrics += ["passage"] * (passage >= 0.5)
            similarity = max(similarity, passage)
        if not metrics:
            values["directory"] = self.directories.get_relevant_share(page.url)
            metrics += ["directory"] * (values["directory"] > 0)
            similarity = max(similarity, values["directory"] / 2)
        parts = [terms, similarity, *([collocations] if self.current.pairs or self.current.triples else [])]
        verdict = FilterVerdict(values, tuple(metrics), sum(parts) / len(parts), self._count_strong_votes(values) > 1)
        return self._apply_rejected_profile(verdict, page_terms)

    def _count_strong_votes(self, values: Mapping[str, float]) -> int:
        """Return how many of terms, collocations and similarity reach their thresholds for undoubted pages."""
        reached = {
            name
            for name in FilterCoverage._fields
            if metric_degree(values[name], self.thresholds.get_undoubted(name)) >= 0.5
        }
        return len(reached & {"terms", "vsm"}) + (not reached.isdisjoint({"pairs", "triples"}))

    def _apply_rejected_profile(self, verdict: FilterVerdict, page_terms: PageTerms) -> FilterVerdict:
        """Apply the profile of wrongly recommended pages to a verdict.

        A page that is nearer to the profile than to the topic is not recommended. Its score falls with its similarity
        to the profile (section 2, after Hoashi et al. 2000).
        """
        if not self.rejected_profile:
            return verdict
        weights = {term: count * self.current.lexicon.idf(term) for term, count in page_terms.counts.items()}
        similarity = cosine(weights, self.rejected_profile)
        values = {**verdict.values, "wrong": similarity}
        if similarity <= verdict.values["vsm"]:
            return FilterVerdict(values, verdict.metrics, verdict.score, verdict.is_undoubted)
        return FilterVerdict(values, (), verdict.score * (1 - similarity))

    def score(self, page: Page) -> float:
        """Return the relevance of a page, from 0 to 1."""
        return self.judge_page(page).score

    def observe_page(self, page: Page) -> FilterVerdict:
        """Judge a page and learn from the verdict.

        The page is counted for its directory: as relevant if the verdict is undoubted, else as not relevant. Only
        undoubted pages update the filter, every `tuning.interval` pages. In the paper, readers confirm the recommended
        pages. During a crawl there is no confirmation, so doubtful pages do not update the filter: pages recommended by
        a passage alone are many, and would move the filter away from the topic.
        """
        page_terms = self.current.extract_terms(page)
        verdict = self._judge_terms(page, page_terms)
        self.directories.record_page(page.url, relevant=verdict.is_undoubted)
        if verdict.is_undoubted:
            self._update_filter(page_terms)
        return verdict

    def _update_filter(self, page_terms: PageTerms) -> None:
        """Add a relevant page to the statistics, and update the variable part of the filter when it is due."""
        # A class without permanent elements gets no variable elements.
        classes = [name for name in ("pairs", "triples") if getattr(self.permanent, name)]
        self.recent.add(page_terms, self.current.terms, classes)
        if self.recent.page_count >= self.tuning.interval:
            random = Random(f"{self.seed} {self.update_count}")
            self.current = self.tuning.update_filter(self.permanent, self.current, self.recent, random)
            self.recent = RecommendedPageStats()
            self.update_count += 1

    def learn(self, page: Page, relevant: bool) -> None:
        """Learn from a user's annotation: update the filter, or extend the profile of rejected pages."""
        page_terms = self.current.extract_terms(page)
        self.directories.record_page(page.url, relevant=relevant)
        if relevant:
            self._update_filter(page_terms)
        else:
            self.reject_terms(page_terms.counts)

    def reject_terms(self, counts: Mapping[str, float]) -> None:
        """Add the terms of a page, or of a keyword table, to the profile of rejected pages."""
        greatest = max(counts.values(), default=1)
        profile = dict(self.rejected_profile)
        for term, count in counts.items():
            profile[term] = profile.get(term, 0.0) + count / greatest * self.current.lexicon.idf(term)
        heaviest = sorted(profile, key=profile.__getitem__, reverse=True)[:_MAX_PROFILE_TERMS]
        self.rejected_profile = {term: profile[term] for term in heaviest}

    def get_state(self) -> JsonValue:
        """Return the state of the model as JSON values, for `from_state`."""
        return {
            "permanent": self.permanent.get_state(),
            "now": self.current.get_state() if self.update_count else None,
            "thresholds": cast(JsonValue, self.thresholds.get_defined()),
            "tuning": [self.tuning.interval, self.tuning.share, self.tuning.factor],
            "draws": [self.seed, self.update_count],
            "lately": self.recent.get_state(),
            "directories": {name: list(counts) for name, counts in self.directories.counts.items()},
            "wrong": cast(JsonValue, self.rejected_profile),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], lexicon: LanguageLexicon) -> MultiMetricJudge:
        """Rebuild a model from the result of `get_state`."""
        seed, turns = state["draws"]
        permanent = FilterModel.from_state(state["permanent"], lexicon)
        model = cls(permanent, Thresholds(**state["thresholds"]), FilterTuning(*state["tuning"]), seed)
        model.current = FilterModel.from_state(state["now"], lexicon) if turns else permanent
        model.update_count = turns
        model.recent = RecommendedPageStats.from_state(state["lately"])
        model.directories = DirectoryStats(
            {name: (pages, good) for name, (pages, good) in state["directories"].items()}
        )
        model.rejected_profile = dict(state["wrong"])
        return model
