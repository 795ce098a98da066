"""Build the English WordNet file src/topicrawl/text/data/wordnet.en.z.

    apt-get download wordnet-base && dpkg -x wordnet-base_*.deb wordnet
    PYTHONPATH=src python tools/make_wordnet.py wordnet/usr/share/wordnet

For the nouns and verbs of WordNet (see NOTICE) the file contains the synsets of each term in the order of their senses,
the hypernyms of each synset (including instances), its holonyms (parts, members, substances) and the irregular
inflections. Glosses, adjectives, adverbs and all other relations are left out. Terms are tokenised like the text of a
page, so that "x-ray" is "x ray".

The file is compressed with zlib. It contains one line with the sizes of the sections, then the sections:
- terms, sorted, one per line; irregular forms of nouns, one "form base …" per line; irregular forms of verbs;
- four tables, each as the lengths of its rows (one byte per row) and its numbers (three planes of bytes, lowest first):
  term → synsets, nouns before verbs, each in WordNet's order; synset → terms; synset → hypernyms; synset → holonyms.
The first line ends with the number of noun synsets. Noun synsets come first.
"""

from __future__ import annotations

import sys
import zlib
from pathlib import Path

from topicrawl.text.tokenizer import tokenise

TARGET = Path(__file__).parent.parent / "src" / "topicrawl" / "text" / "data" / "wordnet.en.z"
KINDS = ("@", "@i")
WHOLES = ("#p", "#m", "#s")
Rows = list[list[int]]


def tokenize_lemma(lemma: str) -> str:
    """Return a lemma tokenised like the text of a page.

    >>> tokenize_lemma("X-ray_tube"), tokenize_lemma("hot_dog")
    ('x ray tube', 'hot dog')
    """
    return " ".join(tokenise(lemma.replace("_", " ")))


def read_fields(path: Path) -> list[list[str]]:
    """Return the fields of each line of a file, without its licence and its glosses."""
    text = path.read_text("latin-1")
    return [line.partition("|")[0].split() for line in text.splitlines() if line and not line.startswith(" ")]


def read_synsets(folder: Path, kind: str) -> dict[str, tuple[list[str], list[tuple[str, str]]]]:
    """Return the lemmas and the (pointer, offset) pairs within the same part of speech for each synset offset."""
    result = {}
    for fields in read_fields(folder / f"data.{kind}"):
        count = int(fields[3], 16)
        lemmas = fields[4 : 4 + 2 * count : 2]
        rest = fields[4 + 2 * count :]
        pointers = [tuple(rest[start : start + 4]) for start in range(1, 1 + 4 * int(rest[0]), 4)]
        result[fields[0]] = (
            lemmas,
            [(pointer, target) for pointer, target, speech, _ in pointers if speech == kind[0]],
        )
    return result


def read_senses(folder: Path, kind: str) -> dict[str, list[str]]:
    """Return the synset offsets of each term in the order of its senses."""
    offsets_by_term: dict[str, list[str]] = {}
    for fields in read_fields(folder / f"index.{kind}"):
        row = offsets_by_term.setdefault(tokenize_lemma(fields[0]), [])
        row += [offset for offset in fields[-int(fields[2]) :] if offset not in row]
    return offsets_by_term


def read_irregular_forms(folder: Path, kind: str) -> str:
    """Return the irregular forms of a part of speech, one "form base …" per line."""
    pairs = [
        (tokenize_lemma(form), *map(tokenize_lemma, bases)) for form, *bases in read_fields(folder / f"{kind}.exc")
    ]
    # Forms of several words are never looked up.
    return "\n".join(" ".join(row) for row in sorted(pairs) if not any(" " in entry for entry in row))


def encode_table(rows: Rows) -> list[bytes]:
    """Return the lengths of the rows, and their numbers as three planes of bytes."""
    numbers = [number for row in rows for number in row]
    planes = b"".join(bytes((number >> shift) & 255 for number in numbers) for shift in (0, 8, 16))
    return [bytes(len(row) for row in rows), planes]


def main() -> None:
    """Build the file from the WordNet directory named on the command line."""
    folder = Path(sys.argv[1])
    order: dict[tuple[str, str], int] = {}  # (part of speech, offset) → number
    index: dict[str, list[int]] = {}
    data = {kind: read_synsets(folder, kind) for kind in ("noun", "verb")}
    for kind in data:
        for name, offsets in sorted(read_senses(folder, kind).items()):
            # Synsets are numbered in the order of the terms, because similar neighbours compress well.
            row = [order.setdefault((kind, offset), len(order)) for offset in offsets]
            index.setdefault(name, []).extend(row)
    names = sorted(filter(None, index))
    term_numbers = {name: number for number, name in enumerate(names)}
    members, kinds, wholes = [], [], []
    for kind, offset in order:
        lemmas, pointers = data[kind][offset]
        members.append(list(dict.fromkeys(term_numbers[tokenize_lemma(lemma.partition("(")[0])] for lemma in lemmas)))
        kinds.append([order[kind, target] for pointer, target in pointers if pointer in KINDS])
        wholes.append([order[kind, target] for pointer, target in pointers if pointer in WHOLES])
    sections = [
        "\n".join(names).encode(),
        read_irregular_forms(folder, "noun").encode(),
        read_irregular_forms(folder, "verb").encode(),
    ]
    for rows in ([index[name] for name in names], members, kinds, wholes):
        sections += encode_table(rows)
    nouns = sum(kind == "noun" for kind, _ in order)
    head = " ".join(map(str, (*map(len, sections), nouns)))
    data_file = zlib.compress(b"\n".join([head.encode(), b"".join(sections)]), 9)
    TARGET.write_bytes(data_file)
    print(f"{len(names)} terms, {len(order)} synsets, {nouns} of nouns, {len(data_file)} bytes")


if __name__ == "__main__":
    main()
