"""Make the English word net, src/topicrawl/text/data/wordnet.en.z.

    apt-get download wordnet-base && dpkg -x wordnet-base_*.deb wordnet
    PYTHONPATH=src python tools/make_wordnet.py wordnet/usr/share/wordnet

From WordNet's nouns and verbs (see NOTICE) the file keeps which terms share a synset, in the order of their senses,
what a synset is a kind of (hypernyms, instances included), what it is part of (holonyms: parts, members, substances),
and the irregular inflections. Glosses, adjectives, adverbs and all other relations are left out. Terms are cut into
words as a crawl cuts a text, so "x-ray" is "x ray".

The file, zlib throughout: one line with the sizes of the sections, then the sections:
- terms, sorted, one a line; irregular forms of nouns, "form base …" a line; those of verbs;
- four tables, each as the lengths of its rows (one byte a row) and its numbers (three planes of bytes, lowest first):
  term → synsets, nouns before verbs, each in WordNet's order; synset → terms; synset → kinds; synset → wholes.
The line ends with the number of noun synsets; nouns come first.
"""

from __future__ import annotations

import sys
import zlib
from pathlib import Path

from topicrawl.text.tokens import words

TARGET = Path(__file__).parent.parent / "src" / "topicrawl" / "text" / "data" / "wordnet.en.z"
KINDS = ("@", "@i")
WHOLES = ("#p", "#m", "#s")
Rows = list[list[int]]


def term(lemma: str) -> str:
    """A lemma as a crawl reads it.

    >>> term("X-ray_tube"), term("hot_dog")
    ('x ray tube', 'hot dog')
    """
    return " ".join(words(lemma.replace("_", " ")))


def lines(path: Path) -> list[list[str]]:
    """The fields of a file's lines, without its licence and its glosses."""
    text = path.read_text("latin-1")
    return [line.partition("|")[0].split() for line in text.splitlines() if line and not line.startswith(" ")]


def synsets(folder: Path, kind: str) -> dict[str, tuple[list[str], list[tuple[str, str]]]]:
    """Offset → lemmas and (pointer, offset) within the same part of speech."""
    found = {}
    for fields in lines(folder / f"data.{kind}"):
        count = int(fields[3], 16)
        lemmas = fields[4 : 4 + 2 * count : 2]
        rest = fields[4 + 2 * count :]
        pointers = [tuple(rest[at : at + 4]) for at in range(1, 1 + 4 * int(rest[0]), 4)]
        found[fields[0]] = (lemmas, [(sign, to) for sign, to, speech, _ in pointers if speech == kind[0]])
    return found


def senses(folder: Path, kind: str) -> dict[str, list[str]]:
    """Term → offsets in the order of its senses."""
    found: dict[str, list[str]] = {}
    for fields in lines(folder / f"index.{kind}"):
        row = found.setdefault(term(fields[0]), [])
        row += [offset for offset in fields[-int(fields[2]) :] if offset not in row]
    return found


def irregular(folder: Path, kind: str) -> str:
    pairs = [(term(form), *map(term, bases)) for form, *bases in lines(folder / f"{kind}.exc")]
    # A form that a text cannot show as one word is never asked for.
    return "\n".join(" ".join(row) for row in sorted(pairs) if not any(" " in entry for entry in row))


def table(rows: Rows) -> list[bytes]:
    """The lengths of the rows, and their numbers as three planes of bytes."""
    numbers = [number for row in rows for number in row]
    planes = b"".join(bytes((number >> shift) & 255 for number in numbers) for shift in (0, 8, 16))
    return [bytes(len(row) for row in rows), planes]


def main() -> None:
    folder = Path(sys.argv[1])
    order: dict[tuple[str, str], int] = {}  # (part of speech, offset) → number
    index: dict[str, list[int]] = {}
    data = {kind: synsets(folder, kind) for kind in ("noun", "verb")}
    for kind in data:
        for name, offsets in sorted(senses(folder, kind).items()):
            # Numbered as the terms bring them, equal neighbours compress well.
            row = [order.setdefault((kind, offset), len(order)) for offset in offsets]
            index.setdefault(name, []).extend(row)
    names = sorted(filter(None, index))
    place = {name: at for at, name in enumerate(names)}
    members, kinds, wholes = [], [], []
    for kind, offset in order:
        lemmas, pointers = data[kind][offset]
        members.append(list(dict.fromkeys(place[term(lemma.partition("(")[0])] for lemma in lemmas)))
        kinds.append([order[kind, to] for sign, to in pointers if sign in KINDS])
        wholes.append([order[kind, to] for sign, to in pointers if sign in WHOLES])
    sections = ["\n".join(names).encode(), irregular(folder, "noun").encode(), irregular(folder, "verb").encode()]
    for rows in ([index[name] for name in names], members, kinds, wholes):
        sections += table(rows)
    nouns = sum(kind == "noun" for kind, _ in order)
    head = " ".join(map(str, (*map(len, sections), nouns)))
    packed = zlib.compress(b"\n".join([head.encode(), b"".join(sections)]), 9)
    TARGET.write_bytes(packed)
    print(f"{len(names)} terms, {len(order)} synsets, {nouns} of nouns, {len(packed)} bytes")


if __name__ == "__main__":
    main()
