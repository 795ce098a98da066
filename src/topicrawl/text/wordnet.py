"""WordNet's nouns and verbs, from a data file of the package (created by tools/make_wordnet.py; see NOTICE).

Inflected forms are reduced as in WordNet's own lookup: irregular forms by its lists, regular forms by its endings. Verb
endings lead to verbs only. The synsets of a word are in the order of WordNet's senses, nouns before verbs.
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
        ("s", ""),
        ("ses", "s"),
        ("ves", "f"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
}
_ANY_ENDING = tuple(sorted({ending for pairs in _ENDINGS.values() for ending, _ in pairs}))


class PackedRows:
    """Many short rows of numbers in one array.

    >>> rows = PackedRows(bytes([2, 0, 1]), array("I", [7, 8, 9]))
    >>> [list(row) for row in rows]
    [[7, 8], [], [9]]
    """

    def __init__(self, lengths: bytes, numbers: array[int]) -> None:
        self._starts = array("I", accumulate(lengths, initial=0))
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, place: int) -> Sequence[int]:
        # Called a hundred times per word, so it does not support negative indexes.
        starts = self._starts
        return self._numbers[starts[place] : starts[place + 1]]


class WordNetLookup:
    """Map a word of a text to its possible synsets."""

    def __init__(
        self, terms: Sequence[str], senses: PackedRows, nouns: int, irregular: dict[str, dict[str, list[str]]]
    ):
        self._term_index = dict(zip(terms, range(len(terms)), strict=True))
        self._senses = senses
        self._noun_count = nouns  # number of noun synsets, which come before the verb synsets
        self._irregular = irregular

    def __call__(self, word: str) -> tuple[int, ...]:
        """Return the synsets of a word, possibly inflected, or an empty tuple if the word is unknown.

        >>> words = load_wordnet().lookup
        >>> words("geese") == words("goose")[:3], words("qqqq")
        (True, ())
        """
        if not word.endswith(_ANY_ENDING) and not any(word in forms for forms in self._irregular.values()):
            return tuple(self._get_exact_senses(word))  # here, too, nouns come before verbs
        nouns = [synset for form in self._get_form_senses(word, "noun") for synset in form if synset < self._noun_count]
        verbs = [
            synset for form in self._get_form_senses(word, "verb") for synset in form if synset >= self._noun_count
        ]
        return tuple(dict.fromkeys(nouns + verbs))

    def _get_form_senses(self, word: str, kind: str) -> list[Sequence[int]]:
        """Return the synsets of the possible base forms of a word, beginning with the word itself."""
        bases = self._irregular[kind].get(word)
        if bases is None:
            endings = _ENDINGS[kind]
            bases = [word.removesuffix(ending) + base for ending, base in endings if word.endswith(ending)]
        return [self._get_exact_senses(form) for form in (word, *bases)]

    def _get_exact_senses(self, form: str) -> Sequence[int]:
        """Return the synsets of an exact form."""
        at = self._term_index.get(form)
        return () if at is None else self._senses[at]


@cache
def load_wordnet() -> Ontology:
    """Return the English WordNet. The data is loaded once.

    >>> net = load_wordnet()
    >>> net is load_wordnet(), net.get_senses("automobile")[0] == net.get_senses("cars")[0]
    (True, True)
    """
    packed = resources.files("topicrawl.text").joinpath("data", "wordnet.en.z").read_bytes()
    head, _, body = zlib.decompress(packed).partition(b"\n")
    *sizes, nouns = map(int, head.split())
    starts = list(accumulate(sizes, initial=0))
    sections = [body[start : start + size] for start, size in zip(starts, sizes, strict=False)]
    terms = sections[0].decode().split("\n")
    irregular = {"noun": _parse_irregular_forms(sections[1]), "verb": _parse_irregular_forms(sections[2])}
    senses, members, kinds, wholes = (
        PackedRows(lengths, _decode_numbers(planes))
        for lengths, planes in zip(sections[3::2], sections[4::2], strict=True)
    )
    words = WordNetLookup(terms, senses, nouns, irregular)
    # "entity" is the root of all nouns: nouns that only share this ancestor are not similar.
    return Ontology("WordNet 3.0", terms, words, members, kinds, wholes, general_roots=frozenset(words("entity")))


def _parse_irregular_forms(section: bytes) -> dict[str, list[str]]:
    """Parse the list of irregular forms: form → base forms."""
    rows = (line.split(" ") for line in section.decode().splitlines())
    return {form: bases for form, *bases in rows}


def _decode_numbers(planes: bytes) -> array[int]:
    """Decode numbers stored as three planes: all lowest bytes, then all middle bytes, then all highest bytes."""
    numbers = array("I")
    size, count = numbers.itemsize, len(planes) // 3
    joined = bytearray(size * count)
    for plane in range(3):
        at = plane if sys.byteorder == "little" else size - 1 - plane
        joined[at::size] = planes[plane * count : (plane + 1) * count]
    numbers.frombytes(joined)
    return numbers
