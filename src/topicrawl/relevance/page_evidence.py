"""Evidence that a page is about the topic: its words, phrases, title and meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicrawl.models import Page
from topicrawl.relevance.topic_meaning import TopicMeaning, compute_text_vector
from topicrawl.relevance.topic_units import TopicUnit, TopicUnits
from topicrawl.relevance.vsm import Vsm, find_kept_words
from topicrawl.text.bag_of_words import BagOfWords
from topicrawl.text.lexicon import LanguageLexicon
from topicrawl.text.tokenizer import tokenise
from topicrawl.text.word_vectors import compute_sif_weights

_TITLE_BONUS, _HEADING_BONUS = 2.0, 2.0  # added to the counts; a title word already counts once in the body count
_NEAR_TERMS = 5  # distance, in terms, up to which words of a unit belong together
_TYPICAL_LENGTH = 400  # terms of a typical page
_PASSAGE_TERMS = 200  # length of a passage; passages overlap by one half
_SATURATION = 1.2  # occurrences in a typical page that give .55 of the full strength

Floats = NDArray[np.float32]


class PageEvidence(NamedTuple):
    """Evidence on one page. All values are 0 if nothing on the page points to the topic."""

    words: float  # cosine of the topic and the page, times the coverage of the topic's units
    units: float  # how often the units occur, relative to the length of the page or of its best passage
    title: float  # share of the units in the title; headings count in `words`
    meaning: float  # how much closer than usual the page vector is to the topic vector
    title_meaning: float
    coverage: float  # share of the topic whose units occur on the page with their words near each other


@dataclass(frozen=True)
class PageProfile:
    """Term weights and vector of a page, both scaled to length 1."""

    bag: BagOfWords
    weights: NDArray[np.float64]  # of `bag.term_counts`
    vector: Floats | None  # None: the language has no word vectors

    def cosine(self, query: Mapping[str, float]) -> float:
        """Return the cosine of the page and a query vector of length 1."""
        places = self.bag.find_positions(query)
        weights = self.weights[list(places.values())].tolist()
        return float(sum(query[term] * weight for term, weight in zip(places, weights, strict=True)))

    def get_heaviest_terms(self, count: int) -> dict[str, float]:
        """Return the terms with the largest weights. Numbers are left out."""
        order = np.argsort(-self.weights, kind="stable")[: 2 * count]
        terms = self.bag.vocabulary.get_terms(self.bag.term_counts.term_ids[order].tolist())
        pairs = sorted(zip(terms, self.weights[order].tolist(), strict=True), key=lambda pair: (-pair[1], pair[0]))
        return dict([(term, weight) for term, weight in pairs if not term.isdigit()][:count])


class PageEvidenceExtractor:
    """Extracts the evidence for one topic in one language.

    The weights of a page's terms are (1 + ln f) · idf, where f counts a term three times in the title and twice in
    headings.

    >>> from topicrawl.topic import Topic
    >>> extractor = PageEvidenceExtractor(Vsm(Topic.of("text search")))
    >>> near, far = ("text search " + "owl " * 20, "text " + "owl " * 20 + "search")
    >>> pages = [Page("http://a/", words=tuple(words.split())) for words in (near, far)]
    >>> [round(extractor.extract(page, extractor.build_profile(page)).coverage, 2) for page in pages]
    [1.0, 0.35]
    """

    def __init__(self, vsm: Vsm) -> None:
        self.vsm = vsm
        self.topic = vsm.topic
        self.meaning = TopicMeaning(vsm)
        length = sqrt(sum(weight * weight for weight in vsm.query.values()))
        self._query = {term: weight / length for term, weight in vsm.query.items()}
        self._term_factor = len(self._query) ** 0.25  # the cosine of a page falls with the number of topic words
        self.units = TopicUnits.of(vsm.topic, vsm.query)
        for unit in self.units.units:
            if unit.acronym_term:
                self._query[unit.acronym_term] = sqrt(sum(self._query[term] ** 2 for term in unit.terms))
        self._kept_words = find_kept_words(vsm.topic)
        self._vectors = vsm.find_vectors()

    def build_profile(self, page: Page) -> PageProfile:
        """Compute the term weights and the vector of a page."""
        bag = self.vsm.get_bag(page)
        term_ids, counts, idf = bag.term_counts
        boosted = counts.copy()
        emphasis = _compute_emphasis(page, bag.vocabulary.lexicon)
        if places := bag.find_positions(emphasis):
            boosted[list(places.values())] += [emphasis[term] for term in places]
        frequencies = 1 + np.log(np.maximum(boosted, 1.0))
        weights = frequencies * idf
        weights /= sqrt(float(weights @ weights)) or 1.0
        vector = None
        if self._vectors is not None:
            text_weights = frequencies.astype(np.float32) * compute_sif_weights(idf)
            vector = compute_text_vector(self._vectors, bag.vocabulary, term_ids, text_weights)
        return PageProfile(bag, weights, vector)

    def extract(self, page: Page, profile: PageProfile) -> PageEvidence:
        """Return the evidence on a page."""
        meaning = self.meaning.compute_page_similarity(profile.vector) if profile.vector is not None else 0.0
        title_meaning = self._compute_title_meaning(page, profile.bag) if self.meaning.trust else 0.0
        cosine = profile.cosine(self._query)
        if not cosine:
            return PageEvidence(0.0, 0.0, 0.0, meaning, title_meaning, 0.0)
        content = self._get_content_ids(page, profile.bag)
        coverage = strength = title = 0.0
        title_terms = set(profile.bag.vocabulary.lexicon.extract_terms(tokenise(page.title), self._kept_words))
        for unit in self.units.units:
            positions, shares, near = self._find_unit(unit, profile.bag, content)
            if len(positions):
                coverage += unit.weight * float(near.max()) ** 1.5
                strength += unit.weight * _compute_strength(positions, shares * near**2, len(content))
            if unit.acronym_term in title_terms:
                title += unit.weight
            else:
                title += unit.weight * sum(share for term, share in unit.terms.items() if term in title_terms) ** 2
        if self.units.are_alternatives:
            coverage = 1.0
        return PageEvidence(cosine * self._term_factor * coverage, strength, title, meaning, title_meaning, coverage)

    def _get_content_ids(self, page: Page, bag: BagOfWords) -> NDArray[np.int32]:
        """Return the ids of a page's terms in their order. The kept words of the topic are terms."""
        if self._kept_words:
            terms = bag.vocabulary.lexicon.extract_terms(page.words, self._kept_words)
            return np.array(bag.vocabulary.assign_term_ids(terms), np.int32)
        ids = bag.vocabulary.get_term_ids(page.words)
        return ids[ids.nonzero()[0]]

    def _find_unit(
        self, unit: TopicUnit, bag: BagOfWords, content: NDArray[np.int32]
    ) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
        """Return the positions of the unit's terms, their shares, and how much of the unit is near each of them."""
        found = bag.vocabulary.find_term_ids(unit.terms)
        places = {term: (content == number).nonzero()[0] for term, number in found.items()}
        positions = np.concatenate([*places.values(), np.zeros(0, np.intp)])
        shares = np.repeat([unit.terms[term] for term in places] or [0.0], [len(p) for p in places.values()] or [0])
        if len(unit.terms) == 1:
            return positions, shares, np.ones(len(positions))
        near = np.zeros(len(positions))
        for term, own in places.items():
            if len(own):
                after = np.searchsorted(own, positions)
                gaps = [np.abs(own.take(place, mode="clip") - positions) for place in (after, after - 1)]
                near[np.minimum(*gaps) <= _NEAR_TERMS] += unit.terms[term]
        if number := bag.vocabulary.find_term_ids([unit.acronym_term]).get(unit.acronym_term):
            written = (content == number).nonzero()[0]  # each occurrence stands for all words of the unit
            whole = np.ones(len(written))
            positions = np.concatenate([positions, written])
            shares, near = np.concatenate([shares, whole]), np.concatenate([near, whole])
        return positions, shares, near

    def _compute_title_meaning(self, page: Page, bag: BagOfWords) -> float:
        if self._vectors is None or not page.title:
            return 0.0
        ids = bag.vocabulary.get_term_ids(tokenise(page.title))
        ids = ids[ids > 0]
        weights = compute_sif_weights(bag.vocabulary.get_idf(ids))
        return self.meaning.compute_similarity(compute_text_vector(self._vectors, bag.vocabulary, ids, weights))


def _compute_strength(positions: NDArray[np.intp], amounts: NDArray[np.float64], length: int) -> float:
    """Return how often a unit occurs, from 0 to 1: on the whole page, or in its best passage if that is stronger."""
    strength = _saturate(float(amounts.sum()), length)
    if length > 2 * _PASSAGE_TERMS:
        half = _PASSAGE_TERMS // 2
        sums = np.bincount(positions // half, amounts, length // half + 2)
        strength = max(strength, _saturate(float((sums[:-1] + sums[1:]).max()), _TYPICAL_LENGTH))
    return strength


def _saturate(amount: float, length: int) -> float:
    """Return amount / (amount + k), with a k that grows with the length of the text."""
    return amount / (amount + _SATURATION * (0.25 + 0.75 * length / _TYPICAL_LENGTH)) if amount else 0.0


def _compute_emphasis(page: Page, lexicon: LanguageLexicon) -> dict[str, float]:
    """Return the terms of the title and the headings with the amounts that are added to their counts."""
    amounts: dict[str, float] = {}
    for texts, amount in (((page.title,), _TITLE_BONUS), (page.headings, _HEADING_BONUS)):
        for term in lexicon.extract_terms(tokenise("\n".join(texts))):
            amounts[term] = amounts.get(term, 0.0) + amount
    return amounts
