"""Language detection by stop words and, if these are not decisive, by a fastText model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import as_file, files
from typing import Protocol, cast

from topicrawl.text.lexicon import load_lexicon
from topicrawl.text.tokenizer import tokenise

#: The language of shorter texts is not detected.
MIN_TEXT_LENGTH = 100
#: Characters of the sample for stop words and for the model. Longer samples cost more and are hardly more accurate.
SAMPLE_LENGTH = 300
MODEL_SAMPLE_LENGTH = 200
#: Language used for texts whose language is unknown.
FALLBACK_LANGUAGE = "en"
#: Languages written without spaces between words.
UNSPACED_LANGUAGES = frozenset({"zh", "ja", "ko", "th", "lo", "my", "km", "bo"})

_HIGH_CONFIDENCE, _LOW_CONFIDENCE = 0.6, 0.3
# In prose, every second word is a stop word of its language, and every tenth one of a related language.
_MIN_STOP_WORD_SHARE = 0.25


class _LanguageModel(Protocol):
    """The part of the fastText model that is used here."""

    def predict(self, text: str) -> tuple[Sequence[str], Sequence[float]]:
        """Return the labels of the most likely languages and their probabilities."""
        ...


def detect_language(text: str, declared: str = "") -> str:
    """Detect the language of a text; return an ISO 639-1 code, "" if unknown.

    `declared` is the `lang` attribute of the page. It is used if the text is short or the detection is not confident.
    Otherwise the text decides, because declarations are often copied with page templates.

    >>> detect_language("kurz", declared="de-AT"), detect_language("")
    ('de', '')
    """
    declared_code = declared.strip().replace("_", "-").partition("-")[0].lower()
    if not (len(declared_code) == 2 and declared_code.isascii() and declared_code.isalpha()):
        declared_code = ""
    if len(text) < MIN_TEXT_LENGTH:
        return declared_code
    # Pages begin with menus; after a quarter of the text there is mostly prose.
    sample = _take_sample(text, len(text) // 4)
    sample_words = tokenise(sample)
    for guess in dict.fromkeys((declared_code, "en")):
        if guess and _is_written_in(guess, sample_words):
            return guess
    # The sample may be code or a table. A second sample costs a tenth of the model.
    if declared_code and _is_written_in(declared_code, tokenise(_take_sample(text, len(text) // 2))):
        return declared_code
    labels, scores = _load_model().predict(sample[:MODEL_SAMPLE_LENGTH])
    code, score = labels[0].removeprefix("__label__"), scores[0]
    if len(code) == 2 and (score >= _HIGH_CONFIDENCE or (not declared_code and score >= _LOW_CONFIDENCE)):
        return code
    return declared_code


def _take_sample(text: str, start: int) -> str:
    """Return a sample of a text from an offset, on one line."""
    return text[start : start + SAMPLE_LENGTH].replace("\n", " ")


def _is_written_in(language: str, sample_words: list[str]) -> bool:
    """Return whether enough of the words are stop words of a language."""
    return sum(map(load_lexicon(language).stop_words.__contains__, sample_words)) > _MIN_STOP_WORD_SHARE * len(
        sample_words
    )


@cache
def _load_model() -> _LanguageModel:
    """Load the fastText language model (once)."""
    # Imported here, because few pages need the model.
    import fasttext

    with as_file(files("topicrawl.text") / "data" / "lid.176.ftz") as path:
        return cast(_LanguageModel, fasttext.load_model(str(path)))
