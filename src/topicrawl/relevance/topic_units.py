"""Interpretation of a topic as units: phrases whose words belong together.

The phrase "full text search in databases" has two units, "full text search" and "databases". A page about the topic
contains both, and the words of each unit near each other. The preposition says that "databases" is the context of the
subject: a page without the subject is not about the topic, but the context may be that of the whole site. The topic
"health and medicine" has two alternatives, and a topic of many words is a list of alternatives: a page about it
contains some of them.

A unit of three or more words has an acronym, such as GIS for "geographic information systems". The acronym counts as
the whole unit, because many pages about the topic never write it out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum

from topicrawl.relevance.vsm import find_kept_words
from topicrawl.text.lexicon import LanguageLexicon
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Topic

_MAX_UNIT_TERMS = 4  # a longer sequence of words without a stop word is a list, not a phrase
_MIN_ACRONYM_LETTERS = 3  # two letters have too many meanings
_MIN_ACRONYM_IDF = 4.0  # an acronym that is also a common word, such as "sea", has other meanings
_MAX_PHRASE_TERMS = 5  # more words are a list, even if a stop word is among them
_LIST_SEPARATOR = re.compile(r"[,;|]|\s[/&+]\s")  # a slash inside a word, as in TCP/IP, separates nothing
#: Words between two alternatives, by language.
_CONJUNCTIONS = {
    "en": {"and", "or", "versus", "vs"},
    "de": {"und", "oder"},
    "fr": {"et", "ou"},
    "es": {"y", "e", "o", "u"},
    "it": {"e", "ed", "o", "od"},
    "pt": {"e", "ou"},
    "nl": {"en", "of"},
}
#: Prepositions after which a phrase names the context of its subject, by language. Others, such as "of" and "for",
#: often introduce the subject itself: "history of Rome", "tools for image processing".
_CONTEXT_PREPOSITIONS = {
    "en": {"in", "within", "inside", "at", "across", "during", "among"},
    "de": {"in", "im", "innerhalb", "bei", "während"},
    "fr": {"dans", "en", "chez", "pendant"},
    "es": {"en", "dentro", "durante"},
    "it": {"in", "nel", "nella", "nei", "nelle", "durante"},
    "pt": {"em", "no", "na", "nos", "nas", "durante"},
    "nl": {"in", "binnen", "tijdens"},
}
_CONTEXT_FACTOR = 0.4  # of the weights of the terms of the context
_MIN_SUBJECT_TERMS, _MIN_SUBJECT_IDF = 2, 3.0  # "research in physics" is about physics: "research" is too general


@dataclass(frozen=True)
class TopicUnit:
    """Terms that belong together, with their shares of the unit, and the unit's share of the topic."""

    terms: Mapping[str, float]
    weight: float
    acronym: str = ""  # stands for all words of the unit; empty: none
    acronym_term: str = ""  # the acronym as a term: its stem
    is_context: bool = False  # names the context of the subject: "databases" in "full text search in databases"


@dataclass(frozen=True)
class TopicUnits:
    """Units of a topic. A page about the topic contains all units, or some of them if they are alternatives.

    >>> TopicUnits.of(Topic.of("full text search in databases")).describe()
    '"full text search" (FTS) in the context "databas"'
    >>> TopicUnits.of(Topic.of("health and medicine")).describe()
    '"health" or "medicin"'
    """

    units: tuple[TopicUnit, ...]
    are_alternatives: bool

    @classmethod
    def of(cls, topic: Topic, query: Mapping[str, float] | None = None) -> TopicUnits:
        """Interpret a topic. `query` has the weight of each term; by default, all terms weigh the same."""
        groups, are_alternatives, subject_count = _split_topic(topic)
        weights = dict.fromkeys((term for group in groups for term in group), 1.0) if query is None else dict(query)
        context = {term for group in groups[subject_count:] for term in group}
        context -= {term for group in groups[:subject_count] for term in group}
        weights = {term: weight * (_CONTEXT_FACTOR if term in context else 1.0) for term, weight in weights.items()}
        total = fsum(weights.get(term, 0.0) for group in groups for term in group) or 1.0
        units = []
        for number, group in enumerate(groups):
            weight = fsum(weights.get(term, 0.0) for term in group)
            if weight > 0:
                # The rarest word of a phrase is not enough: "notation" alone is not "music notation".
                terms = {term: (weights.get(term, 0.0) / weight + 1 / len(group)) / 2 for term in group}
                acronym, term = _find_acronym(group, topic.lexicon)
                if term in weights:
                    acronym = term = ""
                units.append(TopicUnit(terms, weight / total, acronym, term, number >= subject_count))
        if all(unit.is_context for unit in units):
            units = [replace(unit, is_context=False) for unit in units]
        return cls(tuple(units), are_alternatives or len(units) < 1)

    @property
    def longest_phrase(self) -> int:
        """Number of terms of the longest phrase that a page about the topic contains; 0 for alternatives."""
        return 0 if self.are_alternatives else max(len(unit.terms) for unit in self.units)

    @property
    def has_context(self) -> bool:
        """Whether the topic is a subject in a context, such as "full text search in databases"."""
        return any(unit.is_context for unit in self.units)

    def weight_query(self, query: Mapping[str, float]) -> dict[str, float]:
        """Return the weights of the topic's terms with smaller weights for the terms of the context."""
        context = {term for unit in self.units if unit.is_context for term in unit.terms}
        context -= {term for unit in self.units if not unit.is_context for term in unit.terms}
        return {term: weight * (_CONTEXT_FACTOR if term in context else 1.0) for term, weight in query.items()}

    @property
    def is_conjunction(self) -> bool:
        """Whether a page about the topic must contain several units.

        Most pages of a site contain one of them: in the manual of a database, few pages are about "full text search in
        databases". Evidence of the site is therefore not used for such a topic.
        """
        return len(self.units) > 1 and not self.are_alternatives

    def describe(self) -> str:
        """Return the units as text."""
        separator = " or " if self.are_alternatives else " with "
        subject, context = (
            separator.join(
                f'"{" ".join(unit.terms)}"' + (f" ({unit.acronym})" if unit.acronym else "")
                for unit in self.units
                if unit.is_context == is_context
            )
            for is_context in (False, True)
        )
        return f"{subject} in the context {context}" if context else subject


def _split_topic(topic: Topic) -> tuple[list[list[str]], bool, int]:
    """Return the terms of each unit, whether the units are alternatives, and the number of units before the context."""
    lexicon, kept = topic.lexicon, find_kept_words(topic)
    if not _is_phrase(topic):
        keys = (lexicon.extract_terms(tokenise(word), kept) for word in topic.words)
        groups = list({tuple(key): list(key) for key in keys if key}.values())
        return groups, True, len(groups)
    parts = [part for part in _LIST_SEPARATOR.split(topic.name) if part.strip()]
    groups = []
    alternatives = len(parts) > 1
    subject_count: int | None = None
    for part in parts:
        chunks, has_conjunction, before_context = _split_phrase(part, lexicon, kept)
        alternatives |= has_conjunction
        if before_context is not None and subject_count is None:
            subject_count = len(groups) + before_context
        groups += chunks
    if any(len(group) > _MAX_UNIT_TERMS for group in groups) or sum(map(len, groups)) > _MAX_PHRASE_TERMS:
        terms = list(dict.fromkeys(term for group in groups for term in group))
        return [[term] for term in terms], True, len(terms)
    if alternatives or subject_count is None or not _is_specific(groups[:subject_count], lexicon):
        subject_count = len(groups)
    return [list(dict.fromkeys(group)) for group in groups], alternatives, subject_count


def _is_specific(groups: Sequence[Sequence[str]], lexicon: LanguageLexicon) -> bool:
    """Return whether units before a preposition are specific enough to be the subject of a phrase."""
    terms = [term for group in groups for term in group]
    return len(terms) >= _MIN_SUBJECT_TERMS or any(lexicon.idf(term) >= _MIN_SUBJECT_IDF for term in terms)


def _find_acronym(terms: Sequence[str], lexicon: LanguageLexicon) -> tuple[str, str]:
    """Return the acronym of a unit and its term. Both are empty for a short unit, and for a common word."""
    letters = "".join(term[0] for term in terms)
    found = lexicon.extract_terms([letters])
    if len(letters) < _MIN_ACRONYM_LETTERS or not found or lexicon.idf(found[0]) < _MIN_ACRONYM_IDF:
        return "", ""
    return letters.upper(), found[0]


def _is_phrase(topic: Topic) -> bool:
    """Return whether the topic consists of the words of its name."""
    return set(tokenise(topic.name)) == {token for word in topic.words for token in tokenise(word)}


def _split_phrase(
    text: str, lexicon: LanguageLexicon, kept: frozenset[str]
) -> tuple[list[list[str]], bool, int | None]:
    """Split a phrase at stop words.

    Return the terms of each chunk, whether a conjunction separates two of them, and the number of chunks before the
    first preposition that introduces a context, or None.
    """
    conjunctions = _CONJUNCTIONS.get(lexicon.language, set())
    prepositions = _CONTEXT_PREPOSITIONS.get(lexicon.language, set())
    before_context: int | None = None
    chunks: list[list[str]] = [[]]
    has_conjunction = False
    for token in tokenise(text):
        terms = [] if token in conjunctions else lexicon.extract_terms([token], kept)
        if terms:
            chunks[-1] += terms
        elif chunks[-1]:
            chunks.append([])
            if token in prepositions and before_context is None:
                before_context = len(chunks) - 1
        has_conjunction |= token in conjunctions
    chunks = [chunk for chunk in chunks if chunk]
    if before_context is not None and before_context >= len(chunks):
        before_context = None
    return chunks, has_conjunction, before_context
