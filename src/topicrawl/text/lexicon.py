"""What a language contributes: which words carry no meaning, which words are one, how rare each is.

Stems are Porter's original for English and Snowball's for other languages. Rarity is an inverse document
frequency from general word counts, so that it is the same for the first page of a crawl and the last.
Tables are read when they are first asked for.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable
from functools import cache, cached_property
from importlib import resources

import Stemmer

#: ISO 639-1 → the name of its algorithm. The papers stem English with Porter's original, not its successor.
ALGORITHMS = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "porter",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "st": "sesotho",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
_SAME = {"nb": "no", "nn": "no"}
#: Entries of the cache in front of the stemmer, about 6 MB: what is rarer is seldom said twice.
_CACHED = 50_000
#: No word of any language has more letters. What has is data, and a host could fill the memory with it.
LONGEST_WORD = 256


class Lexicon:
    """The words of one language; ask `lexicon(language)` for it.

    >>> english = lexicon("en")
    >>> english.terms(["the", "hunting", "owls", "of", "a", "forest"])
    ['hunt', 'owl', 'forest']
    >>> english.terms(["the", "who", "reports"], keep=frozenset({"who"}))
    ['who', 'report']
    """

    def __init__(self, language: str) -> None:
        self.language = language
        algorithm = ALGORITHMS.get(language, "")
        # An older PyStemmer knows fewer languages; ours has a cache of its own, faster than its.
        known = algorithm in Stemmer.algorithms()
        self._stemmer = Stemmer.Stemmer(algorithm, 0) if known else None
        self._terms: dict[str, str] = {}  # word → its term, or "" when it is none

    @cached_property
    def stop(self) -> frozenset[str]:
        """Words that say nothing about a topic."""
        lines = _data(f"stop.{self.language}.txt").decode().splitlines()
        return frozenset(line for line in lines if not line.startswith("#"))

    def stem(self, word: str) -> str:
        """The common form of a word's inflections.

        >>> lexicon("en").stem("relational"), lexicon("de").stem("häuser"), lexicon("xx").stem("häuser")
        ('relat', 'haus', 'häuser')
        """
        if self._stemmer is None:
            return word
        stem: str = self._stemmer.stemWord(word)
        return stem

    def terms(self, words: Iterable[str], keep: frozenset[str] = frozenset()) -> list[str]:
        """Stems of words in their order, without stop words, single letters and data; words in `keep` stay."""
        if keep:
            known = list(words)
            pairs = zip(known, self.aligned(known), strict=True)
            return [found for word, term in pairs if (found := self.stem(word) if word in keep else term)]
        return list(filter(None, self.aligned(words)))

    def aligned(self, words: Iterable[str]) -> list[str]:
        """One term for each word, "" for stop words and single letters.

        >>> lexicon("en").aligned(["the", "owls"])
        ['', 'owl']
        """
        words = words if isinstance(words, list | tuple) else list(words)
        # Asking a plain dictionary stays in C; the few words that are new come after.
        found = list(map(self._terms.get, words))
        at = -1
        for _ in range(found.count(None)):
            at = found.index(None, at + 1)
            found[at] = self._learned(words[at])
        return found  # type: ignore[return-value]  # every word is known by now

    def term(self, word: str) -> str:
        """The term of one word, "" for a stop word or a single letter.

        >>> lexicon("en").term("owls"), lexicon("en").term("the")
        ('owl', '')
        """
        term = self._terms.get(word)
        return self._learned(word) if term is None else term

    def _learned(self, word: str) -> str:
        (term,) = self.unremembered([word])
        if len(word) <= LONGEST_WORD:
            if len(self._terms) >= _CACHED:
                self._terms.clear()
            self._terms[word] = term
        return term

    def unremembered(self, words: list[str]) -> list[str]:
        """As `aligned`, for whoever remembers the terms of words by other means.

        >>> lexicon("en").unremembered(["the", "owls"])
        ['', 'owl']
        """
        stop = self.stop
        stems = words if self._stemmer is None else self._stemmer.stemWords(words)
        return [
            stem if (1 < len(word) <= LONGEST_WORD and word not in stop) or _stands_alone(word, stop) else ""
            for word, stem in zip(words, stems, strict=True)
        ]

    def weights(self, words: Iterable[str]) -> dict[str, float]:
        """Term → how often it occurs, times its idf: a page's vector before any scaling.

        >>> lexicon("xx").weights(["owl", "night", "owl"])
        {'owl': 2.0, 'night': 1.0}
        """
        # Counting first: a page repeats its words, and the large table is asked for each only once.
        counts = Counter(words)
        found: dict[str, int] = {}
        for term, count in zip(self.aligned(list(counts)), counts.values(), strict=True):
            found[term] = found.get(term, 0) + count
        found.pop("", None)
        known, rarest = self.rarity
        return {term: count * known.get(term, rarest) for term, count in found.items()}

    def idf(self, term: str) -> float:
        """How rare a stem is: 0 for one in every document; an unknown one counts as the rarest known.

        >>> english = lexicon("en")
        >>> english.idf("peopl") < english.idf("forest") < english.idf("owl") < english.idf("qqqq")
        True
        >>> lexicon("xx").idf("anything")
        1.0
        """
        weights, rarest = self.rarity
        return weights.get(term, rarest)

    @cached_property
    def rarity(self) -> tuple[dict[str, float], float]:
        """Stem → idf, and the idf of what is not listed: for loops that cannot afford a call a term."""
        # A line of the table is an idf in hundredths, then the stems that have it.
        packed = _data(f"idf.{self.language}.txt.z")
        if not packed:
            return {}, 1.0
        weights: dict[str, float] = {}
        rarest = 0.0
        for line in zlib.decompress(packed).decode().splitlines():
            hundredths, *stems = line.split(" ")
            rarest = int(hundredths) / 100
            weights.update(dict.fromkeys(stems, rarest))
        return weights, rarest


def _stands_alone(word: str, stop: frozenset[str]) -> bool:
    """A single character is a letter or a marker, unless its script writes words with one."""
    return len(word) == 1 and word >= "\u0e00" and word.isalnum() and word not in stop


@cache
def lexicon(language: str) -> Lexicon:
    """The lexicon of a language by its ISO 639-1 code; an unknown language has no stems and no stop words.

    >>> lexicon("en") is lexicon("en"), lexicon("en-GB").stem("owls"), sorted(lexicon("xx").stop)
    (True, 'owl', [])
    """
    code = language.replace("_", "-").partition("-")[0].lower()
    code = _SAME.get(code, code)
    return Lexicon(code) if code == language else lexicon(code)


def _data(name: str) -> bytes:
    """A file that comes with the package; empty when there is none."""
    file = resources.files("topicrawl.text").joinpath("data", name)
    return file.read_bytes() if file.is_file() else b""
