"""Interpretation of a topic as units: phrases whose words belong together.

The phrase "full text search in databases" has two units, "full text search" and "databases". A page about the topic
contains both, and the words of each unit near each other. The topic "health and medicine" has two alternatives, and a
topic of many words is a list of alternatives: a page about it contains some of them.

A unit of three or more words has an acronym, such as GIS for "geographic information systems". The acronym counts as
the whole unit, because many pages about the topic never write it out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class TopicUnit:
    """Terms that belong together, with their shares of the unit, and the unit's share of the topic."""

    terms: Mapping[str, float]
    weight: float
    acronym: str = ""  # stands for all words of the unit; empty: none
    acronym_term: str = ""  # the acronym as a term: its stem


@dataclass(frozen=True)
class TopicUnits:
    """Units of a topic. A page about the topic contains all units, or some of them if they are alternatives.

    >>> TopicUnits.of(Topic.of("full text search in databases")).describe()
    '"full text search" (FTS) with "databas"'
    >>> TopicUnits.of(Topic.of("health and medicine")).describe()
    '"health" or "medicin"'
    """

    units: tuple[TopicUnit, ...]
    are_alternatives: bool

    @classmethod
    def of(cls, topic: Topic, query: Mapping[str, float] | None = None) -> TopicUnits:
        """Interpret a topic. `query` has the weight of each term; by default, all terms weigh the same."""
        groups, are_alternatives = _split_topic(topic)
        weights = dict.fromkeys((term for group in groups for term in group), 1.0) if query is None else query
        total = fsum(weights.get(term, 0.0) for group in groups for term in group) or 1.0
        units = []
        for group in groups:
            weight = fsum(weights.get(term, 0.0) for term in group)
            if weight > 0:
                terms = {term: weights.get(term, 0.0) / weight for term in group}
                acronym, term = _find_acronym(group, topic.lexicon)
                if term in weights:
                    acronym = term = ""
                units.append(TopicUnit(terms, weight / total, acronym, term))
        return cls(tuple(units), are_alternatives or len(units) < 1)

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
        return separator.join(
            f'"{" ".join(unit.terms)}"' + (f" ({unit.acronym})" if unit.acronym else "") for unit in self.units
        )


def _split_topic(topic: Topic) -> tuple[list[list[str]], bool]:
    """Return the terms of each unit, and whether the units are alternatives."""
    lexicon, kept = topic.lexicon, find_kept_words(topic)
    if not _is_phrase(topic):
        keys = (lexicon.extract_terms(tokenise(word), kept) for word in topic.words)
        return list({tuple(key): list(key) for key in keys if key}.values()), True
    parts = [part for part in _LIST_SEPARATOR.split(topic.name) if part.strip()]
    groups: list[list[str]] = []
    alternatives = len(parts) > 1
    for part in parts:
        chunks, has_conjunction = _split_phrase(part, lexicon, kept)
        alternatives |= has_conjunction
        groups += chunks
    if any(len(group) > _MAX_UNIT_TERMS for group in groups) or sum(map(len, groups)) > _MAX_PHRASE_TERMS:
        return [[term] for term in dict.fromkeys(term for group in groups for term in group)], True
    return [list(dict.fromkeys(group)) for group in groups], alternatives


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


def _split_phrase(text: str, lexicon: LanguageLexicon, kept: frozenset[str]) -> tuple[list[list[str]], bool]:
    """Split a phrase at stop words. Return the terms of each chunk, and whether a conjunction separates two of them."""
    conjunctions = _CONJUNCTIONS.get(lexicon.language, set())
    chunks: list[list[str]] = [[]]
    has_conjunction = False
    for token in tokenise(text):
        terms = [] if token in conjunctions else lexicon.extract_terms([token], kept)
        if terms:
            chunks[-1] += terms
        elif chunks[-1]:
            chunks.append([])
        has_conjunction |= token in conjunctions
    return [chunk for chunk in chunks if chunk], has_conjunction
