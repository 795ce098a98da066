"""Split compounds such as the name of a host into the words of a language."""

from __future__ import annotations

from topicrawl.text.lexicon import LanguageLexicon

_MIN_PART = 3  # letters of a part; shorter words fit into almost any string
_MAX_COMPOUND = 40  # letters of a compound; longer names are data


def split_compound(text: str, lexicon: LanguageLexicon) -> list[str]:
    """Return the fewest known words that make up a text, or the text itself if it is a word or has no such parts.

    A word is known if its stem has an idf in the language, or if it is a stop word. In languages without an idf table,
    no text is split.

    >>> from topicrawl.text.lexicon import load_lexicon
    >>> english = load_lexicon("en")
    >>> split_compound("worldmarket", english), split_compound("markets", english), split_compound("qqqmarket", english)
    (['world', 'market'], ['markets'], ['qqqmarket'])
    """
    if not 2 * _MIN_PART <= len(text) <= _MAX_COMPOUND or not text.isalpha() or _is_word(text, lexicon):
        return [text]
    # best[end]: the fewest words that make up text[:end], or None
    best: list[list[str] | None] = [[], *[None] * len(text)]
    for end in range(_MIN_PART, len(text) + 1):
        for start in range(end - _MIN_PART + 1):
            before, part = best[start], text[start:end]
            if before is None or not _is_word(part, lexicon):
                continue
            known = best[end]
            if known is None or len(before) + 1 < len(known):
                best[end] = [*before, part]
    return best[-1] or [text]


def _is_word(text: str, lexicon: LanguageLexicon) -> bool:
    """Return whether a text is a word of the language."""
    return lexicon.stem(text) in lexicon.idf_table[0] or text in lexicon.stop_words
