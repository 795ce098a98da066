"""Default relevance model: the probability that a page is about the topic.

A logistic function combines the evidence on the page (`page_evidence`), the similarity to good pages as soon as the
crawl has found some (`topic_expansion`), and the evidence on the other pages of the same site (`site_evidence`).
`tools/fit_judge.py` fits the coefficients to labelled webs, with 15 % of the pages on the topic. So .5 is a sensible
threshold for every topic, from the first page on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import exp, inf, log
from typing import NamedTuple

from topicrawl.models import JsonValue, Page, PageJudgement
from topicrawl.relevance.base import UNDOUBTED, is_undoubted
from topicrawl.relevance.page_evidence import PageEvidence, PageEvidenceExtractor, PageProfile
from topicrawl.relevance.site_evidence import SiteContext, SiteEvidence
from topicrawl.relevance.topic_expansion import (
    MIN_SOURCE_COVERAGE,
    MIN_SOURCE_SCORE,
    PAGE_TERMS,
    SourcePage,
    TopicExpansion,
)
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Topic


class Coefficients(NamedTuple):
    """Coefficients of the logistic function."""

    constant: float
    words: float
    units: float
    title: float
    meaning: float
    title_meaning: float
    similar_words: float = 0.0  # similarity to the terms of the expansion
    similar_meaning: float = 0.0  # similarity to the vector of the expansion


#: Without an expansion. `tools/fit_judge.py` printed these values before the rules for lists of words changed. It now
#: prints others, whose quality on other topics is about the same.
TOPIC_COEFFICIENTS = Coefficients(-3.47, 5.99, 3.06, 2.46, 7.26, 0.24)
#: With an expansion: rounded, and changed by hand in two places. The fit gives the title −.49, which would lower the
#: relevance of pages with the topic in the title, and the meaning of the title 1.89.
EXPANDED_COEFFICIENTS = Coefficients(-4.4, 4.1, 2.1, 0.0, 3.5, 1.7, 4.2, 3.3)
#: The same for topics whose vectors are not trusted: fitted without the meaning. Otherwise, the pages of a phrase of
#: general words, and of languages without vectors, would reach the threshold too rarely.
WORD_COEFFICIENTS = Coefficients(-3.13, 11.0, 3.76, 1.27, TOPIC_COEFFICIENTS.meaning, TOPIC_COEFFICIENTS.title_meaning)
EXPANDED_WORD_COEFFICIENTS = Coefficients(
    -3.67, 7.44, 3.2, 0.0, EXPANDED_COEFFICIENTS.meaning, EXPANDED_COEFFICIENTS.title_meaning, 8.76, 0.0
)
_REJECTED_COEFFICIENT = -6.0  # of the similarity to rejected pages


#: Metrics of the judge: name → parts of the log-odds that it adds up.
_METRIC_PARTS = {
    "words": ("words", "phrases", "title"),
    "meaning": ("meaning", "title meaning"),
    "similar pages": ("words of similar pages", "meaning of similar pages"),
    "site": ("site",),
}
_SITE_PART = "site"
_NO_SINGLE_METRIC = "combination"  # group of the pages that only several metrics together select


class Judgement(NamedTuple):
    """Relevance of a page, with the contributions that add up to its log-odds."""

    score: float
    parts: dict[str, float]


class TopicJudge:
    """Relevance of pages to a topic, as a probability.

    >>> from topicrawl.topic import Topic
    >>> judge = TopicJudge(Vsm(Topic.of("dengue fever")))
    >>> texts = ("Dengue fever is spread by mosquitoes", "The fever of the gold rush drew settlers")
    >>> pages = [Page("http://a/", words=tuple(text.lower().split())) for text in texts]
    >>> [judge.score(page) > 0.5 for page in pages]
    [True, False]
    """

    def __init__(self, vsm: Vsm) -> None:
        self.vsm = vsm
        excluded = vsm.lexicon.extract_terms(tokenise(" ".join(vsm.topic.exclude)))
        self.expansion = TopicExpansion(frozenset(excluded))
        self.site_evidence = SiteEvidence()
        self.site_context = SiteContext()
        self._extractors: dict[str, PageEvidenceExtractor] = {}  # language → extractor
        self._cached: tuple[Page, Topic, PageProfile, PageEvidence] | None = None
        self._last_judgement: tuple[Page, Judgement] | None = None

    def score(self, page: Page) -> float:
        """Return the probability that a page is about the topic."""
        judgement = self.judge(page)
        self._last_judgement = page, judgement
        return judgement.score

    def build_judgement(self, page: Page) -> PageJudgement:
        """Return the metrics that select a page, and its review group.

        A metric selects a page if it alone, with the constant, reaches the threshold of the topic. The strongest of
        these metrics is the group. A page whose odds are at least four times those of the threshold is undoubted.
        """
        last = self._last_judgement
        judgement = last[1] if last is not None and last[0] is page else self.judge(page)
        threshold = self.vsm.topic.threshold
        values = {name: sum(judgement.parts.get(part, 0.0) for part in parts) for name, parts in _METRIC_PARTS.items()}
        scores = {name: round(value, 3) for name, value in values.items()}
        if judgement.score < threshold:
            return PageJudgement(scores=scores)
        least = _logit(threshold) - judgement.parts["constant"]
        metrics = tuple(name for name, value in values.items() if value >= least)
        if is_undoubted(judgement.score, threshold):
            return PageJudgement(UNDOUBTED, metrics, scores)
        group = max(metrics, key=values.__getitem__) if metrics else _NO_SINGLE_METRIC
        return PageJudgement(group, metrics, scores)

    def judge(self, page: Page) -> Judgement:
        """Return the relevance of a page and how it comes about."""
        profile, evidence = self._analyse_page(page)
        meaning = self.get_extractor(page).meaning
        topic_parts = _compute_parts(evidence, _mix(TOPIC_COEFFICIENTS, WORD_COEFFICIENTS, meaning.trust))
        weight = self.expansion.compute_weight(meaning.expansion_trust)
        parts = topic_parts
        if weight:
            coefficients = _mix(EXPANDED_COEFFICIENTS, EXPANDED_WORD_COEFFICIENTS, meaning.trust)
            expanded = _compute_parts(evidence, coefficients, self.compute_expansion_similarity(profile))
            parts = {
                name: (1 - weight) * topic_parts.get(name, 0.0) + weight * value for name, value in expanded.items()
            }
        if rejected := self.expansion.rejected_weight:
            similarity = profile.cosine(self.expansion.rejected_terms)
            parts = {**parts, "similar to rejected pages": _REJECTED_COEFFICIENT * rejected * similarity}
        if bonus := self._compute_site_bonus(page):
            parts = {**parts, _SITE_PART: bonus}
        # Term numbers, and so the order of summation, differ between runs. Rounding hides the difference.
        return Judgement(round(_logistic(sum(parts.values())), 5), parts)

    def _compute_site_bonus(self, page: Page) -> float:
        """Return the bonus of a page for the evidence on the other pages of its site."""
        is_conjunction = self.get_extractor(page).units.is_conjunction
        return 0.0 if is_conjunction else self.site_evidence.compute_bonus(page.url)

    def build_profile(self, page: Page) -> PageProfile:
        """Compute the term weights and the vector of a page. They do not depend on the topic."""
        return self.get_extractor(page).build_profile(page)

    def observe(self, page: Page, profile: PageProfile | None = None) -> None:
        """Take a fetched page into account for the expansion. The crawl calls this once for each page.

        `profile` saves time if it is known.
        """
        source, is_source = self._describe_page(page, profile)
        last = self._last_judgement
        parts = last[1].parts if last is not None and last[0] is page else self.judge(page).parts
        own_evidence = round(sum(value for name, value in parts.items() if name != _SITE_PART), 5)
        self.expansion.add_page(source, is_source=is_source)
        if self.get_extractor(page).units.has_context:
            self.site_context.add_page(page.url, round(self._analyse_page(page)[1].context, 5))
        self.site_evidence.add_page(page.url, own_evidence, round(self._analyse_page(page)[1].meaning, 5))

    def learn(self, page: Page, relevant: bool, *, weight: float = 1.0) -> None:
        """Learn from an annotation. Its weight is 1 for a user, and less for a less reliable reviewer."""
        source, _ = self._describe_page(page)
        self.expansion.add_verdict(source, relevant=relevant, weight=weight)

    def learn_examples(self, relevant: Iterable[Page], irrelevant: Iterable[Page]) -> None:
        """Learn from the example pages of the topic. Unlike annotations, they are part of the state."""
        for pages, label in ((relevant, True), (irrelevant, False)):
            for page in pages:
                self.expansion.add_example(self._describe_page(page)[0], relevant=label)

    def forget(self, url: str) -> None:
        """Discard the annotation of a page."""
        self.expansion.remove_verdict(url)

    def get_state(self) -> JsonValue:
        """Return what the judge has learned from the pages of the crawl."""
        return {
            "expansion": self.expansion.get_state(),
            "sites": self.site_evidence.get_state(),
            "context": self.site_context.get_state(),
        }

    def restore_state(self, state: JsonValue) -> None:
        """Restore the values of `get_state`."""
        if isinstance(state, Mapping):
            # The state of earlier versions is that of the expansion, without sites.
            self.expansion.restore_state(state.get("expansion", state))
            self.site_evidence.restore_state(state.get("sites"))
            self.site_context.restore_state(state.get("context"))
            self.expansion.check_dimensions(self._get_dimensions())

    def export_sources(self) -> Mapping[str, JsonValue]:
        """Return the source pages of the expansion, for the other workers of a shared crawl."""
        return self.expansion.export_sources()

    def add_sources(self, sources: Mapping[str, JsonValue]) -> None:
        """Add the source pages of another worker to the expansion. Raise `ValueError` if it has other vectors."""
        self.expansion.add_sources(sources, dimensions=self._get_dimensions())

    def _get_dimensions(self) -> int | None:
        """Return the number of dimensions of the vectors, or None if the language of the topic has no vectors."""
        vectors = self.vsm.find_vectors()
        return None if vectors is None else vectors.dimensions

    def get_extractor(self, page: Page) -> PageEvidenceExtractor:
        """Return the evidence extractor for the language of a page."""
        model = self.vsm.select_model(page)
        language = model.lexicon.language
        extractor = self._extractors.get(language)
        if extractor is None or extractor.vsm is not model or extractor.topic is not model.topic:
            extractor = self._extractors[language] = PageEvidenceExtractor(model)
        return extractor

    def _analyse_page(self, page: Page, profile: PageProfile | None = None) -> tuple[PageProfile, PageEvidence]:
        """Return the profile and the evidence of a page. The last ones are cached."""
        extractor = self.get_extractor(page)
        if self._cached is None or self._cached[0] is not page or self._cached[1] is not extractor.topic:
            profile = extractor.build_profile(page) if profile is None else profile
            context = self.site_context.get_context(page.url)
            self._cached = page, extractor.topic, profile, extractor.extract(page, profile, site_context=context)
        return self._cached[2], self._cached[3]

    def compute_expansion_similarity(self, profile: PageProfile) -> tuple[float, float]:
        """Return the similarity of a page to the terms and to the vector of the expansion."""
        return profile.cosine(self.expansion.terms), self.expansion.compute_vector_similarity(profile.vector)

    def _describe_page(self, page: Page, profile: PageProfile | None = None) -> tuple[SourcePage, bool]:
        """Return a page as a source of the expansion, and whether it matches the original topic well enough."""
        profile, evidence = self._analyse_page(page, profile)
        coefficients = _mix(TOPIC_COEFFICIENTS, WORD_COEFFICIENTS, self.get_extractor(page).meaning.trust)
        score = _logistic(sum(_compute_parts(evidence, coefficients).values()))
        is_source = score >= MIN_SOURCE_SCORE and evidence.coverage >= MIN_SOURCE_COVERAGE
        return SourcePage(page.url, round(score, 5), profile.get_heaviest_terms(PAGE_TERMS), profile.vector), is_source


def _mix(with_meaning: Coefficients, by_words: Coefficients, trust: float) -> Coefficients:
    """Return the coefficients for a topic whose vectors have a trust from 0 to 1."""
    return Coefficients(*[trust * one + (1 - trust) * other for one, other in zip(with_meaning, by_words, strict=True)])


def _compute_parts(
    evidence: PageEvidence, coefficients: Coefficients, similar: tuple[float, float] = (0.0, 0.0)
) -> dict[str, float]:
    """Return the contributions to the log-odds."""
    return {
        "constant": coefficients.constant,
        "words": coefficients.words * evidence.words,
        "phrases": coefficients.units * evidence.units,
        "title": coefficients.title * evidence.title,
        "meaning": coefficients.meaning * evidence.meaning,
        "title meaning": coefficients.title_meaning * evidence.title_meaning,
        "words of similar pages": coefficients.similar_words * similar[0],
        "meaning of similar pages": coefficients.similar_meaning * similar[1],
    }


def _logit(probability: float) -> float:
    if probability in (0.0, 1.0):
        return inf if probability else -inf
    return log(probability / (1 - probability))


def _logistic(value: float) -> float:
    return 1 / (1 + exp(-value))
