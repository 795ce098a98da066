"""Text analysis of the search index: words of any script, stemmed by the stemmer of the language of a page.

The tokenizer of the package splits a text into lower-case words. The search engine stems them, which is three times as
fast as stemming in Python. Languages that only PyStemmer supports are stemmed here.
"""

from __future__ import annotations

from functools import cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from topicrawl.text.lexicon import MAX_WORD_LENGTH, STEMMING_ALGORITHMS, LanguageLexicon, load_lexicon
from topicrawl.text.tokenizer import tokenise_to_bytes

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
#: Analyzer of all other languages. Its input is already stemmed, if PyStemmer has a stemmer for the language.
PLAIN = "plain"
ANALYZER_NAMES = (*ENGINE_STEMMERS, PLAIN)


def get_analyzer_name(language: str) -> str:
    """Return the name of the analyzer for a language."""
    return language if language in ENGINE_STEMMERS else PLAIN


@cache
def get_analyzer(name: str) -> TextAnalyzer:
    """Return the analyzer of the search engine with a name: it splits normalized text at blanks and stems the words."""
    builder = TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.remove_long(MAX_WORD_LENGTH))
    if name != PLAIN:
        builder = builder.filter(Filter.stemmer(ENGINE_STEMMERS[name]))
    return builder.build()


def normalize_text(text: str, language: str) -> str:
    """Return the lower-case words of a text, separated by blanks, as the analyzer of the language expects them.

    >>> normalize_text("Newton's Ästhetik", "en").split(), normalize_text("koty 東京都", "xx").split()
    (['newton', 's', 'ästhetik'], ['koty', '東京', '京都'])
    """
    normalized = tokenise_to_bytes(text).decode("utf-8", "replace")
    if get_analyzer_name(language) == PLAIN and language in STEMMING_ALGORITHMS:
        return " ".join(map(load_lexicon(language).stem, normalized.split()))
    return normalized


def stem_word(word: str, language: str) -> str:
    """Return the stem of a normalized word as it is in the index; "" if the word is too long to be indexed.

    >>> stem_word("nesting", "en"), stem_word("nesting", "xx")
    ('nest', 'nesting')
    """
    name = get_analyzer_name(language)
    if name == PLAIN and language in STEMMING_ALGORITHMS:
        word = load_lexicon(language).stem(word)
    return "".join(get_analyzer(name).analyze(word))


def is_stop_word(word: str, language: str) -> bool:
    """Whether a word is a stop word of a language.

    >>> is_stop_word("the", "en"), is_stop_word("the", "de"), is_stop_word("the", "xx")
    (True, False, False)
    """
    return word in get_lexicon(language).stop_words


def get_lexicon(language: str) -> LanguageLexicon:
    """Return the lexicon of a language, or one without stemming if the language has no stemmer."""
    return load_lexicon(language if language in STEMMING_ALGORITHMS else "")
