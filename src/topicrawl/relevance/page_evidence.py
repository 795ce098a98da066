"""Evidence that a page is about the topic: its words, phrases, title and meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from topicrawl.text.tokenizer import tokenise
from topicrawl.text.word_sequence import WordSequence

_NO_POSITIONS = np.zeros(0, np.intp)
_TITLE_BONUS, _HEADING_BONUS = 2.0, 2.0  # added to the counts; a title word already counts once in the body count
_NEAR_TERMS = 5  # distance, in terms, up to which words of a unit belong together
_TYPICAL_LENGTH = 400  # terms of a typical page
_ANY_SUBJECT_MEANING = 0.3  # share of the meaning that counts on a page without the subject of a topic with a context
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
    context: float = 0.0  # how far the context of the topic occurs on the page


@dataclass(frozen=True)
class PageProfile:
    """Term weights and vector of a page, both scaled to length 1."""

    bag: BagOfWords
    weights: NDArray[np.float64]  # of `bag.term_counts`
    vector: Floats | None  # None: the language has no word vectors
    title_words: Sequence[str]
    title_terms: Sequence[str]

    def cosine(self, query: Mapping[str, float]) -> float:
        """Return the cosine of the page and a query vector of length 1."""
        places = self.bag.find_positions(query)
        weights = self.weights[list(places.values())].tolist()
        return float(sum(query[term] * weight for term, weight in zip(places, weights, strict=True)))

    def get_heaviest_terms(self, count: int) -> dict[str, float]:
        """Return the terms with the largest weights. Numbers are left out."""
        heaviest = _find_largest(self.weights, 2 * count)
        terms = self.bag.vocabulary.get_terms(self.bag.term_counts.term_ids[heaviest].tolist())
        pairs = sorted(zip((-self.weights[heaviest]).tolist(), terms, strict=True))
        return {term: -weight for weight, term in [pair for pair in pairs if not pair[1].isdigit()][:count]}


class PageEvidenceExtractor:
    """Extract the evidence for one topic in one language.

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
        self.units = TopicUnits.of(vsm.topic, vsm.query)
        query = self.units.weight_query(vsm.query)
        length = sqrt(sum(weight * weight for weight in query.values()))
        self._query = {term: weight / length for term, weight in query.items()}
        self._term_factor = len(self._query) ** 0.25  # the cosine of a page falls with the number of topic words
        # Hash and weight of each acronym. Its stem is not used: that of FTS is "ft", which is also another word.
        self._acronyms = {
            unit.acronym: (
                WordSequence.of([unit.acronym.lower()]).hashes[0],
                unit.acronym_term,
                sqrt(sum(self._query[term] ** 2 for term in unit.terms)),
            )
            for unit in self.units.units
            if unit.acronym
        }
        self._kept_words = find_kept_words(vsm.topic)
        self._vectors = vsm.find_vectors()

    def build_profile(self, page: Page) -> PageProfile:
        """Compute the term weights and the vector of a page."""
        bag = self.vsm.get_bag(page)
        term_ids, counts, idf = bag.term_counts
        boosted = counts.copy()
        lexicon = bag.vocabulary.lexicon
        title_words = tokenise(page.title)
        title_terms = lexicon.extract_terms(title_words)
        emphasis = _compute_emphasis(title_terms, lexicon.extract_terms(tokenise("\n".join(page.headings))))
        if places := bag.find_positions(emphasis):
            boosted[list(places.values())] += [emphasis[term] for term in places]
        frequencies = 1 + np.log(np.maximum(boosted, 1.0))
        weights = frequencies * idf
        weights /= sqrt(float(weights @ weights)) or 1.0
        vector = None
        if self._vectors is not None:
            text_weights = frequencies.astype(np.float32) * bag.vocabulary.get_sif_weights(term_ids)
            vector = compute_text_vector(self._vectors, bag.vocabulary, term_ids, text_weights)
        return PageProfile(bag, weights, vector, title_words, title_terms)

    def extract(self, page: Page, profile: PageProfile, *, site_context: float = 0.0) -> PageEvidence:
        """Return the evidence on a page.

        `site_context` says how far the other pages of the site contain the context of the topic, from 0 to 1. A page
        about full text search in the manual of a database need not contain "databases".
        """
        meaning = self.meaning.compute_page_similarity(profile.vector) if profile.vector is not None else 0.0
        title_meaning = self._compute_title_meaning(profile) if self.meaning.trust else 0.0
        acronym_positions = self._find_acronyms(page, profile.bag)
        cosine = profile.cosine(self._weight_acronyms(acronym_positions))
        if not cosine:
            gate = _ANY_SUBJECT_MEANING if self.units.has_context else 1.0
            return PageEvidence(0.0, 0.0, 0.0, gate * meaning, gate * title_meaning, 0.0)
        content = self._get_content_ids(page, profile.bag)
        coverage = strength = title = subject = subject_weight = context = 0.0
        title_terms = self._get_title_terms(profile)
        for unit in self.units.units:
            if len(unit.terms) == 1:
                own_coverage, own_strength = _measure_term(unit, profile.bag, content)
            else:
                written = acronym_positions.get(unit.acronym, _NO_POSITIONS)
                own_coverage, own_strength = _measure_phrase(unit, profile.bag, content, written)
            if unit.is_context:
                context += unit.weight * own_coverage
                own_coverage, own_strength = max(own_coverage, site_context), max(own_strength, site_context / 2)
            else:
                subject, subject_weight = subject + unit.weight * own_coverage, subject_weight + unit.weight
            coverage += unit.weight * own_coverage
            strength += unit.weight * own_strength
            if unit.acronym and unit.acronym.lower() in profile.title_words:
                title += unit.weight
            else:
                title += unit.weight * sum(share for term, share in unit.terms.items() if term in title_terms) ** 2
        if self.units.are_alternatives:
            coverage = 1.0
        if self.units.has_context:
            # Pages about the context alone are not about the topic, however close they are to it in meaning.
            gate = subject / subject_weight
            strength, title = strength * gate**0.5, title * gate**0.5
            gate = _ANY_SUBJECT_MEANING + (1 - _ANY_SUBJECT_MEANING) * gate
            meaning, title_meaning = gate * meaning, gate * title_meaning
            context /= 1 - subject_weight
        words = cosine * self._term_factor * coverage
        return PageEvidence(words, strength, title, meaning, title_meaning, coverage, context)

    def _find_acronyms(self, page: Page, bag: BagOfWords) -> dict[str, NDArray[np.intp]]:
        """Return the positions of the topic's acronyms among the terms of a page."""
        if not self._acronyms or not page.words:
            return {}
        sequence = WordSequence.of(page.words)
        positions = {}
        for acronym, (word_hash, _, _) in self._acronyms.items():
            places = (sequence.hashes == word_hash).nonzero()[0]
            if len(places):
                is_term = bag.vocabulary.get_term_ids(sequence) > 0
                positions[acronym] = is_term.cumsum()[places] - 1
        return positions

    def _weight_acronyms(self, acronyms: Iterable[str]) -> Mapping[str, float]:
        """Return the topic as a query that contains the given acronyms."""
        added = {term: weight for _, term, weight in map(self._acronyms.__getitem__, acronyms)}
        return {**self._query, **added} if added else self._query

    def _get_content_ids(self, page: Page, bag: BagOfWords) -> NDArray[np.int32]:
        """Return the ids of a page's terms in their order. The kept words of the topic are terms."""
        if self._kept_words:
            terms = bag.vocabulary.lexicon.extract_terms(page.words, self._kept_words)
            return np.array(bag.vocabulary.assign_term_ids(terms), np.int32)
        ids = bag.vocabulary.get_term_ids(page.words)
        return ids[ids.nonzero()[0]]

    def _get_title_terms(self, profile: PageProfile) -> set[str]:
        """Return the terms of the title. The kept words of the topic are terms."""
        if self._kept_words:
            return set(profile.bag.vocabulary.lexicon.extract_terms(profile.title_words, self._kept_words))
        return set(profile.title_terms)

    def _compute_title_meaning(self, profile: PageProfile) -> float:
        if self._vectors is None or not profile.title_words:
            return 0.0
        vocabulary = profile.bag.vocabulary
        ids = np.array(vocabulary.assign_term_ids(profile.title_terms), np.int32)
        weights = vocabulary.get_sif_weights(ids)
        return self.meaning.compute_similarity(compute_text_vector(self._vectors, vocabulary, ids, weights))


def _find_largest(values: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Return the positions of the largest values, the largest first. Of equal values, the first ones count.

    >>> _find_largest(np.array([1.0, 3.0, 2.0, 3.0, 1.0]), 4).tolist()
    [1, 3, 2, 0]
    """
    candidates = np.arange(len(values))
    if len(values) > count:
        # Sorting the candidates only takes a third of the time for the terms of a page.
        candidates = (values >= np.partition(values, -count)[-count]).nonzero()[0]
    return candidates[np.argsort(-values[candidates], kind="stable")[:count]]


def _measure_term(unit: TopicUnit, bag: BagOfWords, content: NDArray[np.int32]) -> tuple[float, float]:
    """Return coverage and strength of a unit of one term, as `_measure_phrase` does, but in a third of the time."""
    for number in bag.vocabulary.find_term_ids(unit.terms).values():
        positions = (content == number).nonzero()[0]
        if len(positions):
            return 1.0, _compute_strength(positions, None, len(content))
    return 0.0, 0.0


def _measure_phrase(
    unit: TopicUnit, bag: BagOfWords, content: NDArray[np.int32], written: NDArray[np.intp]
) -> tuple[float, float]:
    """Return how far the words of a unit occur near each other, and how often the unit occurs, both from 0 to 1.

    `written` has the positions of the acronym. Each of them stands for all words of the unit.
    """
    found = bag.vocabulary.find_term_ids(unit.terms)
    places = {term: (content == number).nonzero()[0] for term, number in found.items()}
    positions = np.concatenate([*places.values(), _NO_POSITIONS])
    if not len(positions) and not len(written):
        return 0.0, 0.0
    shares = np.repeat([unit.terms[term] for term in places] or [0.0], [len(p) for p in places.values()] or [0])
    near = np.zeros(len(positions))  # how much of the unit is near each position
    for term, own in places.items():
        if len(own):
            after = np.searchsorted(own, positions)
            gaps = [np.abs(own.take(place, mode="clip") - positions) for place in (after, after - 1)]
            near[np.minimum(*gaps) <= _NEAR_TERMS] += unit.terms[term]
    if len(written):
        whole = np.ones(len(written))
        positions = np.concatenate([positions, written])
        shares, near = np.concatenate([shares, whole]), np.concatenate([near, whole])
    coverage = float(near.max()) ** 1.5
    # A word of a phrase, however frequent, is not the phrase.
    return coverage, coverage * _compute_strength(positions, shares * near**2, len(content))


def _compute_strength(positions: NDArray[np.intp], amounts: NDArray[np.float64] | None, length: int) -> float:
    """Return how often a unit occurs, from 0 to 1: on the whole page, or in its best passage if that is stronger.

    `amounts` are how far each position counts; None: fully.
    """
    total = float(len(positions) if amounts is None else amounts.sum())
    strength = _saturate(total, length)
    # One occurrence on a long page is a reference, or part of the navigation.
    if length > 2 * _PASSAGE_TERMS and total > 1:
        half = _PASSAGE_TERMS // 2
        sums = np.bincount(positions // half, amounts, length // half + 2)
        best = max(0.0, float((sums[:-1] + sums[1:]).max()) - 1)
        strength = max(strength, _saturate(best, _TYPICAL_LENGTH))
    return strength


def _saturate(amount: float, length: int) -> float:
    """Return amount / (amount + k), with a k that grows with the length of the text."""
    return amount / (amount + _SATURATION * (0.25 + 0.75 * length / _TYPICAL_LENGTH)) if amount else 0.0


def _compute_emphasis(title_terms: Iterable[str], heading_terms: Iterable[str]) -> dict[str, float]:
    """Return the terms of the title and the headings with the amounts that are added to their counts."""
    amounts: dict[str, float] = {}
    for terms, amount in ((title_terms, _TITLE_BONUS), (heading_terms, _HEADING_BONUS)):
        for term in terms:
            amounts[term] = amounts.get(term, 0.0) + amount
    return amounts
