"""Text analysis of the search index: words of any script, stemmed by the stemmer of the language of a page.

The tokenizer of the package splits a text into lower-case words. The stemmers are those of the search engine, or of
PyStemmer for the languages that only PyStemmer supports. `WordStemmer` looks up the stems of the words of a page in a
table and gives the engine stems. That takes .2 ms for a page of 1,600 words; a filter of the engine, which stems each
occurrence of a word again, takes .45 ms.
"""

from __future__ import annotations

from functools import cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from topicrawl.text.lexicon import MAX_WORD_LENGTH, STEMMING_ALGORITHMS, LanguageLexicon, load_lexicon

#: ISO 639-1 code → stemmer of the search engine.
ENGINE_STEMMERS = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
#: Suffix of the fields of all other languages.
PLAIN = "plain"
ANALYZER_NAMES = (*ENGINE_STEMMERS, PLAIN)
_MAX_STEMS = 100_000  # stems that are kept for each language, about 20 MB


def get_analyzer_name(language: str) -> str:
    """Return the name of the analyzer for a language."""
    return language if language in ENGINE_STEMMERS else PLAIN


@cache
def get_stem_splitter() -> TextAnalyzer:
    """Return the analyzer of the search engine that splits stems at blanks."""
    return TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.remove_long(MAX_WORD_LENGTH)).build()


@cache
def _get_engine_stemmer(language: str) -> TextAnalyzer:
    """Return the analyzer of the search engine that stems a word."""
    return TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.stemmer(ENGINE_STEMMERS[language])).build()


class WordStemmer:
    """Stem the words of pages, and keep the stems of frequent words."""

    def __init__(self) -> None:
        self._tables: dict[str, _StemTable] = {}

    def stem_words(self, words: list[str], language: str) -> list[str]:
        """Return the stems of normalized words. Words that are too long to be indexed stay.

        >>> WordStemmer().stem_words(["nesting", "owls"], "en"), WordStemmer().stem_words(["nesting"], "xx")
        (['nest', 'owl'], ['nesting'])
        """
        if language not in ENGINE_STEMMERS and language not in STEMMING_ALGORITHMS:
            return words
        if language not in self._tables:
            self._tables[language] = _StemTable(language)
        return list(map(self._tables[language].__getitem__, words))


class _StemTable(dict[str, str]):
    """The stems of words of one language, computed at the first lookup."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._language = language

    def __missing__(self, word: str) -> str:
        if len(self) >= _MAX_STEMS:
            self.clear()
        stem = self[word] = stem_word(word, self._language) or word
        return stem


def stem_word(word: str, language: str) -> str:
    """Return the stem of a normalized word as it is in the index; "" if the word is too long to be indexed.

    >>> stem_word("nesting", "en"), stem_word("nesting", "xx")
    ('nest', 'nesting')
    """
    if 4 * len(word) >= MAX_WORD_LENGTH <= len(word.encode()):
        return ""
    if language in ENGINE_STEMMERS:
        return "".join(_get_engine_stemmer(language).analyze(word))
    return load_lexicon(language).stem(word) if language in STEMMING_ALGORITHMS else word


def is_stop_word(word: str, language: str) -> bool:
    """Whether a word is a stop word of a language.

    >>> is_stop_word("the", "en"), is_stop_word("the", "de"), is_stop_word("the", "xx")
    (True, False, False)
    """
    return word in get_lexicon(language).stop_words


def get_lexicon(language: str) -> LanguageLexicon:
    """Return the lexicon of a language, or one without stemming if the language has no stemmer."""
    return load_lexicon(language if language in STEMMING_ALGORITHMS else "")
