"""Build the idf tables src/topicrawl/text/data/idf.<language>.txt.z.

    python -m venv venv && venv/bin/pip install wordfreq PyStemmer
    PYTHONPATH=src venv/bin/python tools/make_idf.py en de fr es it pt nl ru sv

Word frequencies come from the wordfreq package (CC-BY-SA 4.0, see NOTICE), tokenised and stemmed as in a crawl. The
frequency f of a stem is the sum over its words. If the words of a document of L words were drawn independently, the
document would contain the stem with probability 1 − (1 − f)^L ≈ 1 − exp(−L·f), so

    idf = ln(1 / (1 − exp(−L·f))),  L = 500, a document of average length.

The idf is close to 0 for "the" and ln(1/f) − ln(L) for rare stems, which is the usual idf without a document corpus.

The file contains one line "idf stem stem …" for each idf in hundredths, in ascending order, compressed with zlib.
"""

from __future__ import annotations

import math
import sys
import zlib
from collections import defaultdict
from pathlib import Path

import wordfreq

from topicrawl.text.lexicon import load_lexicon
from topicrawl.text.tokenizer import tokenise

DATA = Path(__file__).parent.parent / "src" / "topicrawl" / "text" / "data"
LENGTH = 500
STEMS = 30_000
LARGEST = 130_000  # maximum size of a file in bytes


def stem_frequencies(language: str) -> dict[str, float]:
    """Return the frequency of each stem among all words of the language."""
    stem = load_lexicon(language).stem
    frequencies: defaultdict[str, float] = defaultdict(float)
    for entry in wordfreq.iter_wordlist(language, "best"):
        # The list contains patterns such as "0000" for all numbers of four digits.
        if any(character.isdigit() for character in entry):
            continue
        for word in tokenise(entry):
            frequencies[stem(word)] += wordfreq.word_frequency(entry, language)
    # Years and small numbers are on every page. Without these entries they would count as the rarest words.
    for number in range(2100):
        frequencies[str(number)] += wordfreq.word_frequency(str(number), language)
    return frequencies


def idf(frequency: float) -> float:
    """Return the idf of a stem in a document of average length.

    >>> round(idf(0.05), 6), round(idf(2e-6), 4)
    (0.0, 6.9083)
    """
    return -math.log(-math.expm1(-LENGTH * frequency))


def encode_table(frequencies: dict[str, float], stems: int) -> bytes:
    """Return the contents of the file with the most frequent stems."""
    lines: defaultdict[int, list[str]] = defaultdict(list)
    best = sorted(frequencies.items(), key=lambda item: (-item[1], item[0]))[:stems]
    for stem, frequency in best:
        if frequency > 0:
            lines[round(100 * idf(frequency))].append(stem)
    text = "\n".join(f"{hundredths} {' '.join(sorted(lines[hundredths]))}" for hundredths in sorted(lines))
    return zlib.compress(text.encode(), 9)


def main() -> None:
    """Build the tables of the languages named on the command line."""
    for language in sys.argv[1:]:
        frequencies = stem_frequencies(language)
        stems = STEMS
        while len(data := encode_table(frequencies, stems)) > LARGEST:
            stems -= 500
        (DATA / f"idf.{language}.txt.z").write_bytes(data)
        print(f"{language}: {stems} of {len(frequencies)} stems, {len(data)} bytes")


if __name__ == "__main__":
    main()
