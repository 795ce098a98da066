"""Language resources: stop words, stems and inverse document frequencies.

English uses the original Porter stemmer, other languages use Snowball stemmers. The idf comes from general word counts
of the language, so that it is the same for the first and the last page of a crawl. The tables are loaded at first use.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from importlib import resources

import Stemmer

#: ISO 639-1 code → stemming algorithm. The papers use Porter's original algorithm, not its successor.
STEMMING_ALGORITHMS = {
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
_LANGUAGE_ALIASES = {"nb": "no", "nn": "no"}
#: Entries of the term cache, about 6 MB. Rarer words are seldom repeated.
_CACHE_SIZE = 50_000
#: Longer tokens are data, not words. Without this limit a host could fill the memory with them.
MAX_WORD_LENGTH = 256


class LanguageLexicon:
    """Stop words, stems and idf of one language. Use `load_lexicon(language)` to get an instance.

    >>> english = load_lexicon("en")
    >>> english.extract_terms(["the", "hunting", "owls", "of", "a", "forest"])
    ['hunt', 'owl', 'forest']
    >>> english.extract_terms(["the", "who", "reports"], keep_words=frozenset({"who"}))
    ['who', 'report']
    """

    def __init__(self, language: str) -> None:
        self.language = language
        algorithm = STEMMING_ALGORITHMS.get(language, "")
        # Older versions of PyStemmer support fewer languages. The cache of this class is faster than PyStemmer's.
        is_supported = algorithm in Stemmer.algorithms()
        self._stemmer = Stemmer.Stemmer(algorithm, 0) if is_supported else None
        self._term_cache: dict[str, str] = {}  # word → term, or "" for a stop word

    @cached_property
    def stop_words(self) -> frozenset[str]:
        """Stop words of the language."""
        lines = read_data_file(f"stop.{self.language}.txt").decode().splitlines()
        return frozenset(line for line in lines if not line.startswith("#"))

    def stem(self, word: str) -> str:
        """Return the stem of a word.

        >>> load_lexicon("en").stem("relational"), load_lexicon("de").stem("häuser"), load_lexicon("xx").stem("häuser")
        ('relat', 'haus', 'häuser')
        """
        if self._stemmer is None:
            return word
        stem: str = self._stemmer.stemWord(word)
        return stem

    def extract_terms(self, words: Iterable[str], keep_words: frozenset[str] = frozenset()) -> list[str]:
        """Return the stems of words in their order, without stop words, single letters and over-long tokens.

        Words in `keep_words` are never dropped.
        """
        if keep_words:
            word_list = list(words)
            pairs = zip(word_list, self.align_terms(word_list), strict=True)
            return [stem for word, term in pairs if (stem := self.stem(word) if word in keep_words else term)]
        return list(filter(None, self.align_terms(words)))

    def align_terms(self, words: Iterable[str]) -> list[str]:
        """Return one term for each word, with "" for stop words, single letters and over-long tokens.

        >>> load_lexicon("en").align_terms(["the", "owls"])
        ['', 'owl']
        """
        words = words if isinstance(words, list | tuple) else list(words)
        # A dictionary lookup for all words is fast; the few new words follow.
        terms = list(map(self._term_cache.get, words))
        at = -1
        for _ in range(terms.count(None)):
            at = terms.index(None, at + 1)
            terms[at] = self._cache_term(words[at])
        return terms  # type: ignore[return-value]  # every word has a term now

    def get_term(self, word: str) -> str:
        """Return the term of one word, or "" for a stop word, a single letter or an over-long token.

        >>> load_lexicon("en").get_term("owls"), load_lexicon("en").get_term("the")
        ('owl', '')
        """
        term = self._term_cache.get(word)
        return self._cache_term(word) if term is None else term

    def _cache_term(self, word: str) -> str:
        """Compute the term of a word and add it to the cache."""
        (term,) = self.compute_terms([word])
        if len(word) <= MAX_WORD_LENGTH:
            if len(self._term_cache) >= _CACHE_SIZE:
                self._term_cache.clear()
            self._term_cache[word] = term
        return term

    def compute_terms(self, words: list[str]) -> list[str]:
        """Compute the terms of words like `align_terms`, without the cache. For callers with their own cache.

        >>> load_lexicon("en").compute_terms(["the", "owls"])
        ['', 'owl']
        """
        stop_set = self.stop_words
        stems = words if self._stemmer is None else self._stemmer.stemWords(words)
        return [
            stem
            if (1 < len(word) <= MAX_WORD_LENGTH and word not in stop_set) or _is_single_character_word(word, stop_set)
            else ""
            for word, stem in zip(words, stems, strict=True)
        ]

    def select_terms(self, words: Sequence[str], stems: Sequence[str]) -> list[str]:
        """Return the stems of those words that are no stop words, single letters or over-long tokens.

        >>> load_lexicon("en").select_terms(["the", "owls"], ["the", "owl"])
        ['owl']
        """
        stop_set = self.stop_words
        return [
            stem
            for word, stem in zip(words, stems, strict=True)
            if word not in stop_set and (1 < len(word) <= MAX_WORD_LENGTH or _is_single_character_word(word, stop_set))
        ]

    def compute_weights(self, words: Iterable[str]) -> dict[str, float]:
        """Return term → occurrences times idf: the vector of a text before normalisation.

        >>> load_lexicon("xx").compute_weights(["owl", "night", "owl"])
        {'owl': 2.0, 'night': 1.0}
        """
        # Words are counted first, because texts repeat words and the lookup is slower.
        counts = Counter(words)
        term_counts: dict[str, int] = {}
        for term, count in zip(self.align_terms(list(counts)), counts.values(), strict=True):
            term_counts[term] = term_counts.get(term, 0) + count
        term_counts.pop("", None)
        idf, rarest = self.idf_table
        return {term: count * idf.get(term, rarest) for term, count in term_counts.items()}

    def idf(self, term: str) -> float:
        """Return the idf of a stem: 0 if it is in every document. An unknown stem has the idf of the rarest known one.

        >>> english = load_lexicon("en")
        >>> english.idf("peopl") < english.idf("forest") < english.idf("owl") < english.idf("qqqq")
        True
        >>> load_lexicon("xx").idf("anything")
        1.0
        """
        weights, rarest = self.idf_table
        return weights.get(term, rarest)

    @cached_property
    def idf_table(self) -> tuple[dict[str, float], float]:
        """Stem → idf, and the idf of unknown stems. Used by loops that cannot afford a function call per term."""
        # Each line of the table is an idf in hundredths, followed by the stems with that idf.
        packed = read_data_file(f"idf.{self.language}.txt.z")
        if not packed:
            return {}, 1.0
        weights: dict[str, float] = {}
        rarest = 0.0
        for line in zlib.decompress(packed).decode().splitlines():
            hundredths, *stems = line.split(" ")
            rarest = int(hundredths) / 100
            weights.update(dict.fromkeys(stems, rarest))
        return weights, rarest


def _is_single_character_word(word: str, stop_words: frozenset[str]) -> bool:
    """Return whether a single character is a word, which is the case in some scripts."""
    return len(word) == 1 and word >= "\u0e00" and word.isalnum() and word not in stop_words


@cache
def load_lexicon(language: str) -> LanguageLexicon:
    """Return the lexicon of a language by its ISO 639-1 code. An unknown language has no stems and no stop words.

    >>> (
    ...     load_lexicon("en") is load_lexicon("en"),
    ...     load_lexicon("en-GB").stem("owls"),
    ...     sorted(load_lexicon("xx").stop_words),
    ... )
    (True, 'owl', [])
    """
    code = language.replace("_", "-").partition("-")[0].lower()
    code = _LANGUAGE_ALIASES.get(code, code)
    return LanguageLexicon(code) if code == language else load_lexicon(code)


def read_data_file(name: str) -> bytes:
    """Read a data file of the package, or return b"" if it does not exist."""
    file = resources.files("topicrawl.text").joinpath("data", name)
    return file.read_bytes() if file.is_file() else b""
