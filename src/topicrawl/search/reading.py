"""Pages out of the archive, as the index wants them: a packed text, and terms as numbers.

Numbers of terms are the reader's own; with each reply go the terms that are new since the last. So several readers can
work beside each other, and whoever writes the index translates (`terms.py`).

    python -m topicrawl.search.reading DIR      a reader as a process of its own, over its standard input and output
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
import zstandard

from topicrawl.collection.archive import Archive, Spot
from topicrawl.errors import DamagedError
from topicrawl.parse.text_only import text_only
from topicrawl.records import Failure
from topicrawl.search.index_file import LONGEST_TEXT, packed, tongue
from topicrawl.search.segments import SHORT
from topicrawl.text.tokens import words

_KNOWN = 300_000  # words whose stems are remembered, about 40 MB
_LENGTH = 8  # bytes that tell the size of a message


class Wanted(NamedTuple):
    """A page that is to be read."""

    segment: int
    offset: int
    length: int
    language: str
    title: str
    url: str


class Said(NamedTuple):
    """What a page says."""

    text: bytes  # packed
    sizes: tuple[int, int, int]  # words of title, text and address
    terms: bytes  # of all words in their order, four bytes each
    trouble: str = ""  # why there is nothing


#: The number of the first new term, the new terms, and the pages.
Reply: TypeAlias = tuple[int, list[str], list[Said]]


class _Known(dict[str, int]):
    """Word → the number of its stem, in one language; a word that is not known yet is looked up."""

    def __init__(self, language: str, terms: dict[str, int], new: list[str]) -> None:
        self._stem, self._terms, self._new = tongue(language).stem, terms, new

    def __missing__(self, word: str) -> int:
        stem = self._stem(word)
        number = self._terms.get(stem)
        if number is None:
            number = self._terms[stem] = len(self._terms)
            self._new.append(stem)
        self[word] = number
        return number


class Reading:
    """Reads pages in this process; for one thread."""

    def __init__(self, directory: Path) -> None:
        self._archive, self._packer = Archive(directory), zstandard.ZstdCompressor(level=1)
        self._forget()

    def read(self, wanted: Sequence[Wanted]) -> Reply:
        if sum(map(len, self._known.values())) > _KNOWN:
            self._forget()
        first = len(self._terms)
        said = [self._page(one) for one in wanted]
        new, self._new[:] = list(self._new), []
        return first, new, said

    def close(self) -> None:
        self._archive.close()

    def _forget(self) -> None:
        self._known: dict[str, _Known] = {}
        self._terms: dict[str, int] = {}
        self._new: list[str] = []

    def _page(self, wanted: Wanted) -> Said:
        try:
            text = text_only(self._archive.read(Spot(wanted.segment, wanted.offset, wanted.length)))
        except DamagedError as error:
            return Said(packed("", self._packer), (0, 0, 0), b"", str(error))
        if isinstance(text, Failure):
            return Said(packed("", self._packer), (0, 0, 0), b"", f"{text}")
        text = text[:LONGEST_TEXT]
        parts = words(wanted.title)[:SHORT], words(text), words(wanted.url)[:SHORT]
        known = self._known.get(wanted.language)
        if known is None:
            known = self._known[wanted.language] = _Known(wanted.language, self._terms, self._new)
        found = parts[0] + parts[1] + parts[2]
        terms = np.fromiter(map(known.__getitem__, found), np.int32, len(found))
        return Said(packed(text, self._packer), (len(parts[0]), len(parts[1]), len(parts[2])), terms.tobytes())


def send(pipe: IO[bytes], message: Any) -> None:
    """Both ends are the same program, so that its own notation serves."""
    data = marshal.dumps(message)
    pipe.write(len(data).to_bytes(_LENGTH, "big") + data)
    pipe.flush()


def received(pipe: IO[bytes]) -> Any:
    """The next message; EOFError: the other end is gone."""
    size = pipe.read(_LENGTH)
    data = pipe.read(int.from_bytes(size, "big"))
    if len(size) < _LENGTH:
        raise EOFError
    return marshal.loads(data)


def main() -> None:
    """Serve whoever started this, and end with it."""
    reading = Reading(Path(sys.argv[1]))
    while True:
        try:
            first, new, said = reading.read([Wanted(*one) for one in received(sys.stdin.buffer)])
            send(sys.stdout.buffer, (first, new, list(map(tuple, said))))
        except (EOFError, BrokenPipeError):
            return


if __name__ == "__main__":
    main()
