"""Make the tables of word rarity, src/topicrawl/text/data/idf.<language>.txt.z.

    python -m venv venv && venv/bin/pip install wordfreq PyStemmer
    PYTHONPATH=src venv/bin/python tools/make_idf.py en de fr es it pt nl ru sv

Word frequencies are those of the wordfreq package (CC-BY-SA 4.0, see NOTICE), cut into words and stemmed as a
crawl does it. The frequency f of a stem is the sum over its words. If the words of a document of L words were
drawn independently, it would contain the stem with probability 1 − (1 − f)^L ≈ 1 − exp(−L·f), so

    idf = ln(1 / (1 − exp(−L·f))),  L = 500, a document of average length.

It falls to 0 for "the" and is ln(1/f) − ln(L) for rare stems: the usual idf without a corpus of documents.

The file: for each idf in hundredths, ascending, one line "idf stem stem …"; then zlib.
"""

from __future__ import annotations

import math
import sys
import zlib
from collections import defaultdict
from pathlib import Path

import wordfreq

from topicrawl.text.lexicon import lexicon
from topicrawl.text.tokens import words

DATA = Path(__file__).parent.parent / "src" / "topicrawl" / "text" / "data"
LENGTH = 500
STEMS = 30_000
LARGEST = 130_000  # bytes of a file


def frequencies(language: str) -> dict[str, float]:
    """Stem → frequency among all words of the language."""
    stem = lexicon(language).stem
    found: defaultdict[str, float] = defaultdict(float)
    for entry in wordfreq.iter_wordlist(language, "best"):
        # The list holds patterns such as "0000" for all numbers of four digits.
        if any(character.isdigit() for character in entry):
            continue
        for word in words(entry):
            found[stem(word)] += wordfreq.word_frequency(entry, language)
    # Years and small numbers are on every page; without these they would count as the rarest words.
    for number in range(2100):
        found[str(number)] += wordfreq.word_frequency(str(number), language)
    return found


def idf(frequency: float) -> float:
    """The idf of a stem in a document of average length.

    >>> round(idf(0.05), 6), round(idf(2e-6), 4)
    (0.0, 6.9083)
    """
    return -math.log(-math.expm1(-LENGTH * frequency))


def table(found: dict[str, float], stems: int) -> bytes:
    """The file of the most frequent stems."""
    lines: defaultdict[int, list[str]] = defaultdict(list)
    best = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:stems]
    for stem, frequency in best:
        if frequency > 0:
            lines[round(100 * idf(frequency))].append(stem)
    text = "\n".join(f"{hundredths} {' '.join(sorted(lines[hundredths]))}" for hundredths in sorted(lines))
    return zlib.compress(text.encode(), 9)


def main() -> None:
    for language in sys.argv[1:]:
        found = frequencies(language)
        stems = STEMS
        while len(packed := table(found, stems)) > LARGEST:
            stems -= 500
        (DATA / f"idf.{language}.txt.z").write_bytes(packed)
        print(f"{language}: {stems} of {len(found)} stems, {len(packed)} bytes")


if __name__ == "__main__":
    main()
