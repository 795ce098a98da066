"""Lists of the most frequent words of a language, one word for each stem."""

from __future__ import annotations

import zlib

from topicrawl.text.lexicon import read_data_file


def load_frequent_words(language: str) -> list[str]:
    """Return the most frequent word of each frequent stem, the most frequent stem first. Stop words are left out.

    The list is empty if the package has none for the language.

    >>> load_frequent_words("en")[:3], len(load_frequent_words("de")), load_frequent_words("xx")
    (['one', 'like', 'get'], 12000, [])
    """
    packed = read_data_file(f"words.{language}.txt.z")
    return zlib.decompress(packed).decode().split("\n") if packed else []
