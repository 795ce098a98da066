"""Ontology: synsets of terms with the relations "is a kind of", "is part of" and "is related to".

A synset is a meaning, identified by its number: the set of terms that express it. WordNet (`topicrawl.text.wordnet`) is
one ontology; a user's thesaurus (`topicrawl.text.thesaurus`) is another. The similarity measures on ontologies are in
`topicrawl.relevance.semantic_similarity`.

A path between two synsets goes up from both to a common ancestor. Its length is that of the shortest path among all
paths that do not go down and up again. The parents of a synset are what it is a kind of and, with `include_parts`, also
what it is part of. In that case both ends of a path may also take one step to a related synset.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Protocol

#: Maximum number of words of a term that is searched for in a text.
MAX_TERM_WORDS = 5
#: Terms whose ancestors are cached; about 5 MB when full.
_ANCESTOR_CACHE_SIZE = 500


class RelationTable(Protocol):
    """Rows of numbers by index."""

    def __len__(self) -> int: ...
    def __getitem__(self, place: int, /) -> Sequence[int]: ...


@dataclass(eq=False)
class Ontology:
    """Graph of synsets. Use `load_wordnet` or `parse_thesaurus` to create one.

    >>> from topicrawl.text.wordnet import load_wordnet
    >>> net = load_wordnet()
    >>> "automobile" in net.get_synonyms("cars"), "canine" in net.get_related_terms("dog")
    (True, True)
    >>> dog, cat = net.get_senses("dog")[0], net.get_senses("cat")[0]
    >>> net.distance(dog, cat), net.depth(dog), net.common_depth(dog, cat)
    (4, 8, 11)
    """

    name: str
    terms: Sequence[str]  # all terms, in lower case, words separated by one space
    lookup: Callable[[str], tuple[int, ...]]  # term, possibly inflected → its synsets, the most usual meaning first
    synset_terms: RelationTable  # synset → indexes of its terms in `terms`
    hypernyms: RelationTable  # synset → what it is a kind of (hypernyms)
    holonyms: RelationTable  # synset → what it is part of (holonyms)
    related_synsets: Mapping[int, Sequence[int]] = field(
        default_factory=dict
    )  # synset → related synsets, in both directions
    general_roots: frozenset[int] = frozenset()  # roots of depth 0: so general that sharing them means no similarity
    stem: Callable[[str], str] = str  # word → its stem

    def __len__(self) -> int:
        return len(self.synset_terms)

    def get_senses(self, term: str) -> tuple[int, ...]:
        """Return the synsets of a term, or an empty tuple if the term is unknown."""
        return self.lookup(term)

    def get_terms(self, synset: int) -> tuple[str, ...]:
        """Return the terms of a synset, the most usual one first."""
        return tuple(self.terms[place] for place in self.synset_terms[synset])

    def get_synonyms(self, term: str, senses: int = 0) -> tuple[str, ...]:
        """Return the other terms of a term's synsets; of its first `senses` synsets, or of all if 0."""
        synsets = self.get_senses(term)
        return self._collect_terms(term, synsets[:senses] if senses else synsets)

    def get_related_terms(self, term: str, senses: int = 0) -> tuple[str, ...]:
        """Return the synonyms of a term, then the terms of all synsets one step away in any relation."""
        synsets = self.get_senses(term)
        synsets = synsets[:senses] if senses else synsets
        near = [
            step
            for synset in synsets
            for step in (*self.get_parents(synset, include_parts=True), *self.get_children(synset))
        ]
        near += [other for synset in synsets for other in self.related_synsets.get(synset, ())]
        return self._collect_terms(term, (*synsets, *near))

    def _collect_terms(self, term: str, synsets: Iterable[int]) -> tuple[str, ...]:
        """Return the terms of synsets without the given term and without duplicates."""
        others = dict.fromkeys(word for synset in synsets for word in self.get_terms(synset))
        others.pop(term, None)
        return tuple(others)

    def get_parents(self, synset: int, *, include_parts: bool = False) -> tuple[int, ...]:
        """Return what a synset is a kind of and, with `include_parts`, what it is part of."""
        return (*self.hypernyms[synset], *self.holonyms[synset]) if include_parts else tuple(self.hypernyms[synset])

    def get_children(self, synset: int) -> tuple[int, ...]:
        """Return the synsets that are a kind of a synset or part of it."""
        return tuple(self._child_synsets.get(synset, ()))

    @cached_property
    def _child_synsets(self) -> dict[int, list[int]]:
        below: dict[int, list[int]] = {}
        for synset in range(len(self)):
            for parent in self.get_parents(synset, include_parts=True):
                below.setdefault(parent, []).append(synset)
        return below

    def get_ancestors(self, synsets: Iterable[int], *, include_parts: bool = False) -> dict[int, int]:
        """Return all ancestors of synsets, including the synsets, with the distance from the nearest of them."""
        distances = dict.fromkeys(synsets, 0)
        kinds, wholes, aside = self.hypernyms, self.holonyms, self.related_synsets
        level = list(distances)
        steps = 0
        while level:
            steps += 1
            above = [parent for synset in level for parent in kinds[synset]]
            if include_parts:
                above += [whole for synset in level for whole in wholes[synset]]
                if aside and steps == 1:
                    above += [other for synset in level for other in aside.get(synset, ())]
            level = []
            for parent in above:
                if parent not in distances:
                    distances[parent] = steps
                    level.append(parent)
        return distances

    def get_term_ancestors(self, term: str, *, include_parts: bool = False) -> dict[int, int]:
        """Return the synsets of a term (distance 0) and all their ancestors, each with its shortest distance.

        With `include_parts`, wholes and related synsets count as parents. Recent results are cached.
        """
        return self._cached_term_ancestors(term, include_parts)

    @cached_property
    def _cached_term_ancestors(self) -> Callable[[str, bool], dict[int, int]]:
        return lru_cache(_ANCESTOR_CACHE_SIZE)(
            lambda term, parts: self.get_ancestors(self.lookup(term), include_parts=parts)
        )

    def distance(self, one: int, other: int, *, include_parts: bool = False) -> int | None:
        """Return the path length between two synsets: 0 for the same synset, None if they share no ancestor."""
        here, there = (
            self.get_ancestors((one,), include_parts=include_parts),
            self.get_ancestors((other,), include_parts=include_parts),
        )
        return min((here[shared] + there[shared] for shared in here.keys() & there.keys()), default=None)

    def depth(self, synset: int) -> int:
        """Return the distance from a virtual root above all roots: 1 for a root, 0 for the roots in `general_roots`."""
        depth = self._depths[synset]
        if depth < 0:
            # Ancestors are in order of distance, so the first one without parents is the nearest root.
            above = self.get_ancestors((synset,))
            root = next(ancestor for ancestor in above if not self.hypernyms[ancestor])
            depth = self._depths[synset] = above[root] + (root not in self.general_roots)
        return depth

    @cached_property
    def _depths(self) -> array[int]:
        return array("l", [-1]) * len(self)

    def common_depth(self, one: int, other: int) -> int | None:
        """Return the depth of the deepest common hypernym of two synsets, or None if there is none."""
        shared = self.get_ancestors((one,)).keys() & self.get_ancestors((other,)).keys()
        return max(map(self.depth, shared), default=None)

    def find_phrases(self, words: Sequence[str]) -> list[str]:
        """Return the multi-word terms that occur in a text, as spelled there. The longest match wins.

        >>> from topicrawl.text.wordnet import load_wordnet
        >>> load_wordnet().find_phrases(["a", "hot", "dogs", "stand"])
        ['hot dogs']
        """
        matches = []
        openers, fold, count = self._phrase_openers, self.stem, len(words)
        at = 0
        while at < count - 1:
            most = openers.get(f"{fold(words[at])} {words[at + 1][:1]}")
            term = ""
            if most:
                spans = (" ".join(words[at : at + size]) for size in range(min(most, count - at), 1, -1))
                if term := next(filter(self.lookup, spans), ""):
                    matches.append(term)
            at += term.count(" ") + 1
        return matches

    @cached_property
    def _phrase_openers(self) -> dict[str, int]:
        """Beginnings of multi-word terms, with the maximum number of words of the terms that begin so.

        A beginning is the stem of the first word and the first letter of the second. Few words of a text pass this
        test, and inflection never changes the first letter of a word.
        """
        openers: dict[str, int] = {}
        fold = self.stem
        for term in self.terms:
            first, _, rest = term.partition(" ")
            if rest:
                key = f"{fold(first)} {rest[:1]}"
                openers[key] = max(openers.get(key, 2), min(MAX_TERM_WORDS, term.count(" ") + 1))
        return openers
