"""Terms and what they mean to each other: which share a meaning, which is a kind of which, which a part of which.

A meaning is a synset, known by its number: the set of terms that may stand for it. WordNet (`text.wordnet`) is one
ontology, a thesaurus of one's own (`text.thesaurus`) another; the measures on them are in `relevance.semantic`.

A path between two synsets goes up from both to where they meet, so its length is that of the shortest path as long
as nobody wants to go down and up again. Up is what a synset is a kind of and, when `parts` are asked for, also what
it is part of; the two ends of a path may then take one step aside to a synset that is merely related.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Protocol

#: Words that the longest term which is looked for in a text may have.
LONGEST = 5
#: Terms of which everything above them is remembered; some 5 MB when full.
_REMEMBERED = 500


class Table(Protocol):
    """Rows of numbers by their place."""

    def __len__(self) -> int: ...
    def __getitem__(self, place: int, /) -> Sequence[int]: ...


@dataclass(eq=False)
class Ontology:
    """A net of synsets; ask `wordnet()` or `thesaurus.read` for one.

    >>> from topicrawl.text.wordnet import wordnet
    >>> net = wordnet()
    >>> "automobile" in net.synonyms("cars"), "canine" in net.related("dog")
    (True, True)
    >>> dog, cat = net.senses("dog")[0], net.senses("cat")[0]
    >>> net.distance(dog, cat), net.depth(dog), net.meeting(dog, cat)
    (4, 8, 11)
    """

    name: str
    terms: Sequence[str]  # every known term, lower case, its words separated by one space
    lookup: Callable[[str], tuple[int, ...]]  # term, perhaps inflected → its synsets, the usual meaning first
    members: Table  # synset → the places of its terms in `terms`
    kinds: Table  # synset → what it is a kind of
    wholes: Table  # synset → what it is part of
    aside: Mapping[int, Sequence[int]] = field(default_factory=dict)  # synset → what it is related to, both ways
    tops: frozenset[int] = frozenset()  # roots so general that meeting there says nothing: of depth 0
    fold: Callable[[str], str] = str  # word → what inflections of it have in common

    def __len__(self) -> int:
        return len(self.members)

    def senses(self, term: str) -> tuple[int, ...]:
        """The synsets of a term, nothing when it is not known."""
        return self.lookup(term)

    def words(self, synset: int) -> tuple[str, ...]:
        """The terms of a synset, the most usual first."""
        return tuple(self.terms[place] for place in self.members[synset])

    def synonyms(self, term: str, senses: int = 0) -> tuple[str, ...]:
        """The other terms of a term's synsets, of its first so many senses or of all."""
        found = self.senses(term)
        return self._others(term, found[:senses] if senses else found)

    def related(self, term: str, senses: int = 0) -> tuple[str, ...]:
        """Synonyms, then the terms of all synsets one step away, up, down or aside."""
        found = self.senses(term)
        found = found[:senses] if senses else found
        near = [step for synset in found for step in (*self.parents(synset, parts=True), *self.children(synset))]
        near += [other for synset in found for other in self.aside.get(synset, ())]
        return self._others(term, (*found, *near))

    def _others(self, term: str, synsets: Iterable[int]) -> tuple[str, ...]:
        found = dict.fromkeys(word for synset in synsets for word in self.words(synset))
        found.pop(term, None)
        return tuple(found)

    def parents(self, synset: int, *, parts: bool = False) -> tuple[int, ...]:
        """What a synset is a kind of and, if asked for, what it is part of."""
        return (*self.kinds[synset], *self.wholes[synset]) if parts else tuple(self.kinds[synset])

    def children(self, synset: int) -> tuple[int, ...]:
        """What is a kind of a synset or part of it."""
        return tuple(self._below.get(synset, ()))

    @cached_property
    def _below(self) -> dict[int, list[int]]:
        below: dict[int, list[int]] = {}
        for synset in range(len(self)):
            for parent in self.parents(synset, parts=True):
                below.setdefault(parent, []).append(synset)
        return below

    def climb(self, synsets: Iterable[int], *, parts: bool = False) -> dict[int, int]:
        """Everything above some synsets, themselves included, with the steps to it from the nearest of them."""
        found = dict.fromkeys(synsets, 0)
        kinds, wholes, aside = self.kinds, self.wholes, self.aside
        ring = list(found)
        steps = 0
        while ring:
            steps += 1
            above = [parent for synset in ring for parent in kinds[synset]]
            if parts:
                above += [whole for synset in ring for whole in wholes[synset]]
                if aside and steps == 1:
                    above += [other for synset in ring for other in aside.get(synset, ())]
            ring = []
            for parent in above:
                if parent not in found:
                    found[parent] = steps
                    ring.append(parent)
        return found

    def above(self, term: str, *, parts: bool = False) -> dict[int, int]:
        """Everything above all senses of a term; the last terms asked for are remembered."""
        return self._above(term, parts)

    @cached_property
    def _above(self) -> Callable[[str, bool], dict[int, int]]:
        return lru_cache(_REMEMBERED)(lambda term, parts: self.climb(self.lookup(term), parts=parts))

    def distance(self, one: int, other: int, *, parts: bool = False) -> int | None:
        """The length of the path between two synsets, 0 for the same; None when they meet nowhere."""
        here, there = self.climb((one,), parts=parts), self.climb((other,), parts=parts)
        return min((here[shared] + there[shared] for shared in here.keys() & there.keys()), default=None)

    def depth(self, synset: int) -> int:
        """Steps from a root: 1 for a root, as if one nameless root stood above all; 0 for the roots in `tops`."""
        depth = self._depths[synset]
        if depth < 0:
            # What was reached first among those that have nothing above them is the nearest root.
            above = self.climb((synset,))
            root = next(place for place in above if not self.kinds[place])
            depth = self._depths[synset] = above[root] + (root not in self.tops)
        return depth

    @cached_property
    def _depths(self) -> array[int]:
        return array("l", [-1]) * len(self)

    def meeting(self, one: int, other: int) -> int | None:
        """The depth of the deepest synset that both are kinds of; None when there is none."""
        shared = self.climb((one,)).keys() & self.climb((other,)).keys()
        return max(map(self.depth, shared), default=None)

    def phrases(self, words: Sequence[str]) -> list[str]:
        """The known terms of several words that stand in a text, as they stand there; the longest wins.

        >>> from topicrawl.text.wordnet import wordnet
        >>> wordnet().phrases(["a", "hot", "dogs", "stand"])
        ['hot dogs']
        """
        found = []
        openers, fold, count = self._openers, self.fold, len(words)
        at = 0
        while at < count - 1:
            most = openers.get(f"{fold(words[at])} {words[at + 1][:1]}")
            term = ""
            if most:
                spans = (" ".join(words[at : at + size]) for size in range(min(most, count - at), 1, -1))
                if term := next(filter(self.lookup, spans), ""):
                    found.append(term)
            at += term.count(" ") + 1
        return found

    @cached_property
    def _openers(self) -> dict[str, int]:
        """How terms of several words begin, with the most words that one has.

        A word and a letter: few words of a text pass this, and no inflection changes a word's first letter.
        """
        openers: dict[str, int] = {}
        fold = self.fold
        for term in self.terms:
            first, _, rest = term.partition(" ")
            if rest:
                key = f"{fold(first)} {rest[:1]}"
                openers[key] = max(openers.get(key, 2), min(LONGEST, term.count(" ") + 1))
        return openers
