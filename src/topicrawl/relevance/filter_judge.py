"""Relevance model `multi_metric`: a page is relevant if a metric of Kluev 2000 recommends it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from topicrawl.models import JsonValue, Page, PageJudgement
from topicrawl.relevance.filter_choice import fit_filter
from topicrawl.relevance.filter_model import FilterModel, extract_page_terms
from topicrawl.relevance.multi_metric import FilterVerdict, MultiMetricJudge
from topicrawl.topic import Topic


class FilterJudge:
    """Relevance of a page by the vote of several metrics.

        relevance = t + (1 − t) · score if the metrics recommend the page, else t · score

    t: the threshold of the topic; score: the mean degree of the metrics (`multi_metric.py`). So t separates the
    recommended pages from the others, whatever the thresholds of the metrics are. The filter comes from the topic file,
    from the example pages or from the words of the topic, and adapts to the undoubtedly relevant pages of the crawl.

    >>> judge = FilterJudge(Topic.of("dengue fever"))
    >>> texts = ("Dengue fever is spread by mosquitoes", "The trains of the steam age")
    >>> pages = [Page("http://a/", text=text, words=tuple(text.lower().split())) for text in texts]
    >>> [judge.score(page) >= 0.5 for page in pages], judge.build_judgement(pages[0]).group
    ([True, False], 'undoubted')
    """

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._last_verdict: tuple[Page, FilterVerdict] | None = None
        self._rejected: dict[str, Mapping[str, float]] = {}  # URL → terms of a page that a user ruled irrelevant
        self._metrics = self._fit_metrics((), ())

    def _fit_metrics(self, relevant: Iterable[Page], irrelevant: Iterable[Page]) -> MultiMetricJudge:
        topic = self._topic
        filter, thresholds = fit_filter(topic, list(relevant), list(irrelevant))
        return MultiMetricJudge(FilterModel.of(filter, topic.lexicon, topic.tokens), thresholds)

    def score(self, page: Page) -> float:
        """Return the relevance of a page, from 0 to 1."""
        verdict, threshold = self._judge(page), self._topic.threshold
        return threshold + (1 - threshold) * verdict.score if verdict.group else threshold * verdict.score

    def build_judgement(self, page: Page) -> PageJudgement:
        """Return the metrics that recommend a page, its group and the values of the metrics."""
        verdict = self._judge(page)
        scores = {name: round(value, 4) for name, value in verdict.values.items()}
        return PageJudgement(verdict.group, verdict.metrics, scores)

    def _judge(self, page: Page) -> FilterVerdict:
        """Return the verdict on a page. The last one is cached."""
        if self._last_verdict is None or self._last_verdict[0] is not page:
            self._last_verdict = page, self._metrics.judge_page(page)
        return self._last_verdict[1]

    def observe(self, page: Page) -> None:
        """Adapt the filter to a fetched page if it is undoubtedly relevant."""
        self._metrics.observe_page(page)

    def learn(self, page: Page, relevant: bool) -> None:
        """Learn from an annotation: pages that resemble a page ruled irrelevant score less."""
        self._rejected.pop(page.url, None)
        if not relevant:
            self._rejected[page.url] = extract_page_terms(page, self._topic.lexicon).counts
        self._update_rejected_profile()

    def forget(self, url: str) -> None:
        """Discard the annotation of a page."""
        if self._rejected.pop(url, None) is not None:
            self._update_rejected_profile()

    def _update_rejected_profile(self) -> None:
        self._last_verdict = None
        self._metrics.rejected_profile = {}
        for counts in self._rejected.values():
            self._metrics.reject_terms(counts)

    def learn_examples(self, relevant: Iterable[Page], irrelevant: Iterable[Page]) -> None:
        """Choose the filter and its thresholds from the example pages of the topic."""
        self._metrics = self._fit_metrics(relevant, irrelevant)
        self._update_rejected_profile()

    def get_state(self) -> JsonValue:
        """Return the filter and what it has learned from pages. Annotations are not part of the state."""
        state = cast(dict[str, JsonValue], self._metrics.get_state())
        return {**state, "wrong": {}}

    def restore_state(self, state: JsonValue) -> None:
        """Restore the values of `get_state`."""
        if state is not None:
            self._metrics = MultiMetricJudge.from_state(cast(Mapping[str, Any], state), self._topic.lexicon)
            self._update_rejected_profile()
