"""Read pages from the archive for the index: the compressed text, and the words as term numbers.

Each reader numbers terms independently and sends the terms that are new since its last reply with every reply.
Therefore several readers can work in parallel; the index writer maps their numbers to its own ids (`term_ids.py`).

    python -m topicrawl.search.page_reader DIR      run a reader as a process that uses standard input and output
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

from topicrawl.collection.archive import RecordLocation, WarcArchive
from topicrawl.errors import DamagedError
from topicrawl.models import Failure
from topicrawl.parse.text_only import extract_text
from topicrawl.search.index_file import MAX_TEXT_CHARS, compress_text
from topicrawl.search.segments import MAX_FIELD_WORDS
from topicrawl.search.term_numbering import TermNumbering
from topicrawl.text.tokenizer import tokenise_to_bytes

_MAX_CACHED_WORDS = 300_000  # words whose stems are cached, about 40 MB
_NUMBERING_CHUNK_BYTES = 1 << 20  # bytes of text whose words are numbered together
_LENGTH_PREFIX_BYTES = 8  # bytes of the length prefix of a message


class PageReadRequest(NamedTuple):
    """A page to read from the archive."""

    segment: int
    offset: int
    length: int
    language: str
    title: str
    url: str


class PageContent(NamedTuple):
    """The text of a page for the index."""

    text: bytes  # compressed
    field_sizes: tuple[int, int, int]  # number of words of the title, the text and the URL
    error: str = ""  # error message if the page cannot be read


#: Number of the first new term, new terms, pages, and term numbers of all words of the pages (four bytes each).
ReaderReply: TypeAlias = tuple[int, list[str], list[PageContent], bytes]


class PageReader:
    """Reads pages in this process. Not thread-safe."""

    def __init__(self, directory: Path) -> None:
        self._archive, self._compressor = WarcArchive(directory), zstandard.ZstdCompressor(level=1)
        self._numbering = TermNumbering()

    def read_pages(self, requests: Sequence[PageReadRequest]) -> ReaderReply:
        """Read pages from the archive and number their words. Unreadable pages have an error and no text.

        The reply also contains the stems that were numbered for the first time.
        """
        if len(self._numbering) > _MAX_CACHED_WORDS:
            self._numbering = TermNumbering()
        first = len(self._numbering.terms)
        contents: list[PageContent] = [PageContent(b"", (0, 0, 0))] * len(requests)
        terms: list[NDArray[np.int32]] = [np.zeros(0, np.int32)] * len(requests)
        pending: dict[str, dict[int, tuple[bytes, ...]]] = {}  # language → fields of the pages still to be numbered
        for at, request in enumerate(requests):
            text, error = self._extract_text(request)
            contents[at] = PageContent(compress_text(text, self._compressor), (0, 0, 0), error)
            if not error:
                pages = pending.setdefault(request.language, {})
                pages[at] = _normalize_fields(request, text)
                if sum(len(fields[1]) for fields in pages.values()) > _NUMBERING_CHUNK_BYTES:
                    self._number_words(pending.pop(request.language), request.language, contents, terms)
        for language, pages in pending.items():
            self._number_words(pages, language, contents, terms)
        new, self._numbering.new_terms = self._numbering.new_terms, []
        return first, new, contents, np.concatenate(terms).tobytes()

    def close(self) -> None:
        """Close the archive."""
        self._archive.close()

    def _extract_text(self, request: PageReadRequest) -> tuple[str, str]:
        """Return the text of a page and an error message; one of them is empty."""
        try:
            text = extract_text(
                self._archive.read_response(RecordLocation(request.segment, request.offset, request.length))
            )
        except DamagedError as error:
            return "", str(error)
        return ("", str(text)) if isinstance(text, Failure) else (text[:MAX_TEXT_CHARS], "")

    def _number_words(
        self,
        pages: Mapping[int, tuple[bytes, ...]],
        language: str,
        contents: list[PageContent],
        terms: list[NDArray[np.int32]],
    ) -> None:
        """Set the terms and sizes of pages in one language; a batch costs little more than a single page."""
        numbers, sizes = self._numbering.number_words(
            [field for fields in pages.values() for field in fields], language
        )
        page_sizes = sizes.reshape(-1, 3)
        page_terms = np.split(numbers, np.cumsum(page_sizes.sum(1))[:-1])
        for at, own, (title, text, url) in zip(pages, page_terms, page_sizes.tolist(), strict=True):
            terms[at], contents[at] = own, contents[at]._replace(field_sizes=(title, text, url))


def _normalize_fields(request: PageReadRequest, text: str) -> tuple[bytes, bytes, bytes]:
    """Return the normalized words of the title, the text and the URL."""
    title, url = (
        b" ".join(tokenise_to_bytes(field).split()[:MAX_FIELD_WORDS]) for field in (request.title, request.url)
    )
    return title, tokenise_to_bytes(text), url


def send_message(pipe: IO[bytes], message: Any) -> None:
    """Write a message to a pipe.

    Uses `marshal`, because both ends run the same program.
    """
    data = marshal.dumps(message)
    pipe.write(len(data).to_bytes(_LENGTH_PREFIX_BYTES, "big") + data)
    pipe.flush()


def receive_message(pipe: IO[bytes]) -> Any:
    """Read the next message from a pipe; raise `EOFError` if the other end has closed it."""
    size = pipe.read(_LENGTH_PREFIX_BYTES)
    data = pipe.read(int.from_bytes(size, "big"))
    if len(size) < _LENGTH_PREFIX_BYTES:
        raise EOFError
    return marshal.loads(data)


def main() -> None:
    """Process the requests of the parent process until it closes the pipe."""
    reader = PageReader(Path(sys.argv[1]))
    while True:
        try:
            first, new, contents, terms = reader.read_pages(
                [PageReadRequest(*fields) for fields in receive_message(sys.stdin.buffer)]
            )
            send_message(sys.stdout.buffer, (first, new, list(map(tuple, contents)), terms))
        except (EOFError, BrokenPipeError):
            return


if __name__ == "__main__":
    main()
