"""WordNet's nouns and verbs, from a file that comes with the package (made by tools/make_wordnet.py; see NOTICE).

Inflections are undone as WordNet's own lookup does it: irregular ones by its lists, regular ones by its endings, and
an ending of verbs leads to verbs only. The order of a word's synsets is that of WordNet's senses, nouns before verbs.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Sequence
from functools import cache
from importlib import resources
from itertools import accumulate

from topicrawl.text.ontology import Ontology

_ENDINGS = {
    "noun": (
        ("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"),
        ("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y"),
    ),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
}  # fmt: skip
_ANY_ENDING = tuple(sorted({ending for pairs in _ENDINGS.values() for ending, _ in pairs}))


class Rows:
    """Many short rows of numbers in one array.

    >>> rows = Rows(bytes([2, 0, 1]), array("I", [7, 8, 9]))
    >>> [list(row) for row in rows]
    [[7, 8], [], [9]]
    """

    def __init__(self, lengths: bytes, numbers: array[int]) -> None:
        self._starts = array("I", accumulate(lengths, initial=0))
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, place: int) -> Sequence[int]:
        # Asked for a hundred times a word, so it trusts that the place is not negative.
        starts = self._starts
        return self._numbers[starts[place] : starts[place + 1]]


class Words:
    """From a word in a text to the synsets it may mean."""

    def __init__(self, terms: Sequence[str], senses: Rows, nouns: int, irregular: dict[str, dict[str, list[str]]]):
        self._places = dict(zip(terms, range(len(terms)), strict=True))
        self._senses = senses
        self._nouns = nouns  # noun synsets come first; this many
        self._irregular = irregular

    def __call__(self, word: str) -> tuple[int, ...]:
        """The synsets of a word, perhaps inflected; unknown: none.

        >>> words = wordnet().lookup
        >>> words("geese") == words("goose")[:3], words("qqqq")
        (True, ())
        """
        if not word.endswith(_ANY_ENDING) and not any(word in forms for forms in self._irregular.values()):
            return tuple(self._listed(word))  # nouns stand before verbs there, too
        nouns = [synset for form in self._forms(word, "noun") for synset in form if synset < self._nouns]
        verbs = [synset for form in self._forms(word, "verb") for synset in form if synset >= self._nouns]
        return tuple(dict.fromkeys(nouns + verbs))

    def _forms(self, word: str, kind: str) -> list[Sequence[int]]:
        """The senses of what a word may be a form of: itself, then its bases."""
        bases = self._irregular[kind].get(word)
        if bases is None:
            endings = _ENDINGS[kind]
            bases = [word.removesuffix(ending) + base for ending, base in endings if word.endswith(ending)]
        return [self._listed(form) for form in (word, *bases)]

    def _listed(self, form: str) -> Sequence[int]:
        at = self._places.get(form)
        return () if at is None else self._senses[at]


@cache
def wordnet() -> Ontology:
    """The English word net, read once.

    >>> net = wordnet()
    >>> net is wordnet(), net.senses("automobile")[0] == net.senses("cars")[0]
    (True, True)
    """
    packed = resources.files("topicrawl.text").joinpath("data", "wordnet.en.z").read_bytes()
    head, _, body = zlib.decompress(packed).partition(b"\n")
    *sizes, nouns = map(int, head.split())
    starts = list(accumulate(sizes, initial=0))
    sections = [body[start : start + size] for start, size in zip(starts, sizes, strict=False)]
    terms = sections[0].decode().split("\n")
    irregular = {"noun": _bases(sections[1]), "verb": _bases(sections[2])}
    senses, members, kinds, wholes = (
        Rows(lengths, _numbers(planes)) for lengths, planes in zip(sections[3::2], sections[4::2], strict=True)
    )
    words = Words(terms, senses, nouns, irregular)
    # All nouns end in "entity": two that meet only there have nothing in common.
    return Ontology("WordNet 3.0", terms, words, members, kinds, wholes, tops=frozenset(words("entity")))


def _bases(section: bytes) -> dict[str, list[str]]:
    rows = (line.split(" ") for line in section.decode().splitlines())
    return {form: bases for form, *bases in rows}


def _numbers(planes: bytes) -> array[int]:
    """Numbers whose lowest bytes come first, then the middle ones, then the highest."""
    numbers = array("I")
    size, count = numbers.itemsize, len(planes) // 3
    joined = bytearray(size * count)
    for plane in range(3):
        at = plane if sys.byteorder == "little" else size - 1 - plane
        joined[at::size] = planes[plane * count : (plane + 1) * count]
    numbers.frombytes(joined)
    return numbers
