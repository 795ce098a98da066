"""Pages out of the archive, as the index wants them: a packed text, and terms as numbers.

Numbers of terms are the reader's own; with each reply go the terms that are new since the last. So several readers can
work beside each other, and whoever writes the index translates (`terms.py`).

    python -m topicrawl.search.reading DIR      a reader as a process of its own, over its standard input and output
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
import zstandard
from numpy.typing import NDArray

from topicrawl.collection.archive import Archive, Spot
from topicrawl.errors import DamagedError
from topicrawl.parse.text_only import text_only
from topicrawl.records import Failure
from topicrawl.search.index_file import LONGEST_TEXT, packed
from topicrawl.search.numbering import Numbering
from topicrawl.search.segments import SHORT
from topicrawl.text.tokens import spelled

_KNOWN = 300_000  # words whose stems are remembered, about 40 MB
_AT_ONCE = 1 << 20  # bytes of text whose words are numbered together
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
    trouble: str = ""  # why there is nothing


#: The number of the first new term, the new terms, the pages, and the terms of all their words, four bytes each.
Reply: TypeAlias = tuple[int, list[str], list[Said], bytes]


class Reading:
    """Reads pages in this process; for one thread."""

    def __init__(self, directory: Path) -> None:
        self._archive, self._packer = Archive(directory), zstandard.ZstdCompressor(level=1)
        self._numbering = Numbering()

    def read(self, wanted: Sequence[Wanted]) -> Reply:
        if len(self._numbering) > _KNOWN:
            self._numbering = Numbering()
        first = len(self._numbering.terms)
        said: list[Said] = [Said(b"", (0, 0, 0))] * len(wanted)
        terms: list[NDArray[np.int32]] = [np.zeros(0, np.int32)] * len(wanted)
        waiting: dict[str, dict[int, tuple[bytes, ...]]] = {}  # language → pages whose words have no numbers yet
        for at, one in enumerate(wanted):
            text, trouble = self._text(one)
            said[at] = Said(packed(text, self._packer), (0, 0, 0), trouble)
            if not trouble:
                parts = waiting.setdefault(one.language, {})
                parts[at] = _parts(one, text)
                if sum(len(it[1]) for it in parts.values()) > _AT_ONCE:
                    self._number(waiting.pop(one.language), one.language, said, terms)
        for language, pages in waiting.items():
            self._number(pages, language, said, terms)
        new, self._numbering.new = self._numbering.new, []
        return first, new, said, np.concatenate(terms).tobytes()

    def close(self) -> None:
        self._archive.close()

    def _text(self, wanted: Wanted) -> tuple[str, str]:
        """The text of a page, and why there is none."""
        try:
            text = text_only(self._archive.read(Spot(wanted.segment, wanted.offset, wanted.length)))
        except DamagedError as error:
            return "", str(error)
        return ("", str(text)) if isinstance(text, Failure) else (text[:LONGEST_TEXT], "")

    def _number(
        self, pages: Mapping[int, tuple[bytes, ...]], language: str, said: list[Said], terms: list[NDArray[np.int32]]
    ) -> None:
        """Fill in the terms of pages of a language: many at once cost little more than one."""
        numbers, sizes = self._numbering.numbers([part for parts in pages.values() for part in parts], language)
        of_pages = sizes.reshape(-1, 3)
        several = np.split(numbers, np.cumsum(of_pages.sum(1))[:-1])
        for at, own, (title, text, url) in zip(pages, several, of_pages.tolist(), strict=True):
            terms[at], said[at] = own, said[at]._replace(sizes=(title, text, url))


def _parts(wanted: Wanted, text: str) -> tuple[bytes, bytes, bytes]:
    """Title, text and address as words."""
    title, url = (b" ".join(spelled(said).split()[:SHORT]) for said in (wanted.title, wanted.url))
    return title, spelled(text), url


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
            first, new, said, terms = reading.read([Wanted(*one) for one in received(sys.stdin.buffer)])
            send(sys.stdout.buffer, (first, new, list(map(tuple, said)), terms))
        except (EOFError, BrokenPipeError):
            return


if __name__ == "__main__":
    main()
