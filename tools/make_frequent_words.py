"""Build the word lists src/topicrawl/text/data/words.<language>.txt.z.

    python -m venv venv && venv/bin/pip install wordfreq PyStemmer
    PYTHONPATH=src venv/bin/python tools/make_frequent_words.py ar ca cs da de el en es fa fi fr hi hu id it lt nl no \
        pl pt ro ru sv ta tr

Word frequencies come from the wordfreq package (CC-BY-SA 4.0, see NOTICE). A list contains the most frequent word of
each of the most frequent stems, in descending order of the frequency of the stem. Stop words, single letters and words
with digits are left out. The words are separated by line feeds and compressed with zlib.
"""

from __future__ import annotations

import sys
import zlib
from collections import defaultdict
from pathlib import Path

import wordfreq

from topicrawl.text.lexicon import load_lexicon
from topicrawl.text.tokenizer import tokenise

DATA = Path(__file__).parent.parent / "src" / "topicrawl" / "text" / "data"
STEMS = 12_000
#: Languages with another code in wordfreq.
SOURCE_CODES = {"no": "nb"}


def list_frequent_words(language: str) -> list[str]:
    """Return the most frequent word of each of the most frequent stems of a language."""
    lexicon, source = load_lexicon(language), SOURCE_CODES.get(language, language)
    totals: defaultdict[str, float] = defaultdict(float)
    words: dict[str, tuple[float, str]] = {}
    for entry in wordfreq.iter_wordlist(source, "best"):
        if any(character.isdigit() for character in entry):
            continue
        frequency = wordfreq.word_frequency(entry, source)
        for word in tokenise(entry):
            if len(word) > 1 and (stem := lexicon.get_term(word)):
                totals[stem] += frequency
                words[stem] = max(words.get(stem, (0.0, "")), (frequency, word))
    return [words[stem][1] for stem in sorted(totals, key=lambda stem: (-totals[stem], stem))[:STEMS]]


def main() -> None:
    """Build the lists of the languages named on the command line."""
    for language in sys.argv[1:]:
        words = list_frequent_words(language)
        data = zlib.compress("\n".join(words).encode(), 9)
        (DATA / f"words.{language}.txt.z").write_bytes(data)
        print(f"{language}: {len(words)} words, {len(data)} bytes")


if __name__ == "__main__":
    main()
