"""Tolerant parser of HTTP/1.x responses, without input and output.

Many servers deviate from RFC 9112, and browsers display their pages. The parser accepts what Chromium and curl both
accept, and records each deviation as a `Damage`: repeated equal Content-Length fields, Content-Length together with a
chunked body, white space around field names, folded and malformed field lines, bare line feeds, unusual status lines,
and bodies that end early. Anything else raises `ResponseError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum

from msgspec import Struct

from topicrawl.fetch.headers import normalize_headers
from topicrawl.models import Damage

#: Interim responses (1xx, such as 103 Early Hints) that may precede the final response.
MAX_INTERIM_RESPONSES = 16

_CHUNKED_BLOCK_BYTES = 1 << 15
_MIN_OVERHEAD_BYTES = 1 << 16  # bytes of a chunked body from which the share of its chunk sizes is limited
_MAX_CHUNK_LINE_BYTES = 16 * 1024  # of a chunk size with its extensions, and of the trailer
_HEAD_END = re.compile(rb"\n\r?\n")
_STATUS_LINE = re.compile(rb"HTTP(?:/(\d+)(?:\.(\d+))?)?[ \t]+(\d{3})(?!\d)", re.IGNORECASE)
_STANDARD_STATUS_LINE = re.compile(rb"HTTP/1\.[01] [1-9]\d\d [^\r\n]*\r?$")
_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,16}")
#: Folded lines, lines without a name or with white space before the colon, and carriage returns inside a line.
_IRREGULAR_LINE = re.compile(r"(?:^|\n)(?:[ \t:]|[^:\n]*(?:[ \t]:|[^:\n\r]\r?\n))|\r(?!\n)|(?<!\r)\n")
_STATUSES_WITHOUT_BODY = frozenset({204, 304})


class ResponseError(Exception):
    """The bytes are not an HTTP response, or none that a browser would display."""


class ResponseHead(Struct, frozen=True):
    """Status and header fields of a response. `raw` has them as they were sent, with the empty line."""

    status: int
    fields: list[tuple[str, str]]  # in the order of the response; bytes that are not UTF-8 as surrogate escapes
    headers: dict[str, str]  # the same by lower-case name, see `normalize_headers`
    raw: bytes

    def list_values(self, name: str) -> list[str]:
        """Return the values of all fields with a name, which is given in lower case."""
        return [value for key, value in self.fields if key.lower() == name]


class _Framing(IntEnum):
    """How the end of the body is found."""

    HEAD = 0  # the headers are not complete
    LENGTH = 1  # by Content-Length
    CLOSE = 2  # the host closes the connection
    CHUNK_SIZE = 3  # chunked: before a chunk size
    CHUNK_DATA = 4
    CHUNK_END = 5  # before the line end after the data of a chunk
    TRAILER = 6  # after the last chunk
    DONE = 7


class ResponseParser:
    """Parser of one response: call `feed` with the received bytes until `is_complete`, and `feed_end` at their end.

    `has_body=False`: the response never has a body (CONNECT).
    """

    def __init__(self, *, max_header_bytes: int, has_body: bool = True) -> None:
        self.head: ResponseHead | None = None
        self.damage: list[Damage] = []
        #: Pieces of the body without its transfer encoding, and their total size.
        self.parts: list[bytes] = []
        self.size = 0
        #: Pieces of a chunked body as they were sent; None for other bodies. `wire_size` is the total size as sent.
        self.wire_parts: list[bytes] | None = None
        self.wire_size = 0
        #: Transfer encodings other than chunked, such as gzip, in the order in which they were applied.
        self.transfer_encodings: list[str] = []
        #: Whether another request can be sent over the connection after this response.
        self.can_reuse = False
        self._max_header_bytes = max_header_bytes
        self._has_body = has_body
        self._framing = _Framing.HEAD
        self._buffer = b""
        self._remaining = 0
        self._interim_count = 0
        self._trailer_size = 0

    @property
    def is_complete(self) -> bool:
        """Whether the response has ended."""
        return self._framing is _Framing.DONE

    def feed(self, data: bytes) -> None:
        """Parse received bytes. Raise `ResponseError` if they are no part of an acceptable response."""
        if self._framing is _Framing.HEAD:
            data = self._feed_head(data)
            if not data:
                return
        if self._framing is _Framing.CLOSE:
            self._add_part(data)
        elif self._framing is _Framing.LENGTH:
            self._feed_length(data)
        elif self._framing is _Framing.DONE:
            self.can_reuse = False  # bytes after the end of the response belong to no request
        else:
            self._feed_chunked(data)

    def feed_end(self) -> None:
        """Note that the connection has ended. A body with missing bytes is kept as damaged.

        Raise `ResponseError` if there is no body to keep, and `EOFError` if the headers are missing or incomplete.
        """
        self.can_reuse = False
        if self._framing is _Framing.HEAD:
            raise EOFError("the response headers are truncated" if self._buffer else "the host closed the connection")
        if self._framing not in (_Framing.CLOSE, _Framing.DONE, _Framing.TRAILER):
            self._end_damaged("the response body is truncated")
        self._framing = _Framing.DONE

    def note_reset(self) -> None:
        """Note that the connection broke in the middle of the body, which is kept as damaged. Otherwise do nothing."""
        if self._framing is _Framing.CLOSE and self.size:
            self._add_damage(Damage.TRUNCATED)

    def _feed_head(self, data: bytes) -> bytes:
        """Parse headers, including those of interim responses. Return the bytes after them."""
        searched = max(0, len(self._buffer) - 2)
        buffer = self._buffer + data
        while True:
            if buffer[:1] in (b"\r", b"\n"):  # empty lines before the status line
                buffer, searched = buffer.lstrip(b"\r\n"), 0
            end = _HEAD_END.search(buffer, searched)
            if (end.start() if end else len(buffer)) > self._max_header_bytes:
                raise ResponseError(f"the response headers exceed {self._max_header_bytes} bytes")
            if buffer[:5].upper() != b"HTTP/"[: len(buffer)] and buffer[:5].upper() != b"HTTP ":
                raise ResponseError("the response is not HTTP")
            if end is None:
                self._buffer = buffer
                return b""
            raw, buffer, searched = buffer[: end.end()], buffer[end.end() :], 0
            is_final = self._parse_head(raw)
            if is_final:
                self._buffer = b""
                return buffer
            self._interim_count += 1
            if self._interim_count > MAX_INTERIM_RESPONSES:
                raise ResponseError(f"more than {MAX_INTERIM_RESPONSES} interim responses")
            if not buffer:
                self._buffer = b""
                return b""

    def _parse_head(self, raw: bytes) -> bool:
        """Parse complete headers. Return False for an interim response."""
        found = _STATUS_LINE.match(raw)
        if found is None:
            raise ResponseError("the status line is malformed")
        status = int(found[3])
        if 100 <= status < 200 and status != 101:
            return False
        if b"\0" in raw:
            raise ResponseError("the response headers contain a NUL byte")
        line_end = raw.index(b"\n")
        if not _STANDARD_STATUS_LINE.match(raw[:line_end]):
            self._add_damage(Damage.STATUS_LINE)
        if raw.count(b"\n") != raw.count(b"\r\n"):
            self._add_damage(Damage.HEADER_LINES)
        fields = self._parse_fields(raw[line_end + 1 :])
        self.head = ResponseHead(status, fields, normalize_headers(fields), raw)
        version = (int(found[1] or 1), int(found[2] or 0))
        self._choose_framing(self.head, is_persistent=version >= (1, 1))
        return True

    def _parse_fields(self, raw: bytes) -> list[tuple[str, str]]:
        """Return the header fields in the lines after the status line."""
        text = raw.decode("utf-8", "surrogateescape")
        if not _IRREGULAR_LINE.search(text):
            lines = [line.partition(":") for line in text.split("\r\n")]
            return [(name, value.strip(" \t")) for name, colon, value in lines if colon]
        fields: list[tuple[str, str]] = []
        for line in text.rstrip("\r\n").split("\n"):
            line = line.rstrip("\r").replace("\r", " ")
            key, colon, value = line.partition(":")
            name = key.strip(" \t")
            if line[:1] in (" ", "\t"):
                self._add_damage(Damage.HEADER_LINES)
                if fields:
                    fields[-1] = fields[-1][0], f"{fields[-1][1]} {line.strip()}".strip()
                continue
            if not (colon and name) or name != key:
                self._add_damage(Damage.HEADER_LINES)
            if colon and name:
                fields.append((name, value.strip(" \t")))
        return fields

    def _choose_framing(self, head: ResponseHead, *, is_persistent: bool) -> None:
        """Find out how the body ends (RFC 9112, section 6.3), and whether the connection stays open after it."""
        options = head.headers.get("connection", "").lower()
        is_persistent = "close" not in options and (is_persistent or "keep-alive" in options)
        # `headers` has only the first of several Content-Length fields.
        lengths = _split_list(head.list_values("content-length")) if "content-length" in head.headers else []
        encodings = [name for name in _split_list([head.headers.get("transfer-encoding", "")]) if name != "identity"]
        if not self._has_body or head.status in _STATUSES_WITHOUT_BODY:
            # After the response to CONNECT, the connection is a tunnel.
            self._framing, self.can_reuse = _Framing.DONE, is_persistent or not self._has_body
            return
        if encodings:
            if lengths or encodings[-1] != "chunked":
                self._add_damage(Damage.FRAMING)
                is_persistent = False
            self.transfer_encodings = [name for name in encodings if name != "chunked"]
            is_chunked = "chunked" in encodings
            self._framing = _Framing.CHUNK_SIZE if is_chunked else _Framing.CLOSE
            self.wire_parts = [] if is_chunked else None
        elif not lengths:
            self._framing = _Framing.CLOSE
        else:
            self._choose_length(lengths)
            is_persistent = is_persistent and Damage.FRAMING not in self.damage
        self.can_reuse = is_persistent and self._framing is not _Framing.CLOSE

    def _choose_length(self, lengths: list[str]) -> None:
        """Use the Content-Length. Repeated equal values count as one; invalid values are ignored."""
        if len(set(lengths)) > 1:
            raise ResponseError("the response has different Content-Length fields")
        if len(lengths) > 1:
            self._add_damage(Damage.FRAMING)
        length = lengths[0]
        if length.isascii() and length.isdecimal() and len(length) < 19:
            self._remaining = int(length)
            self._framing = _Framing.LENGTH if self._remaining else _Framing.DONE
        else:
            self._add_damage(Damage.FRAMING)
            self._framing = _Framing.CLOSE

    def _feed_length(self, data: bytes) -> None:
        if len(data) > self._remaining:
            data = data[: self._remaining]
            self.can_reuse = False
        self._add_part(data)
        self._remaining -= len(data)
        if not self._remaining:
            self._framing = _Framing.DONE

    def _feed_chunked(self, data: bytes) -> None:
        """Parse a part of a chunked body. Each chunk costs time, so a body that is mostly chunk sizes is cut off."""
        for start in range(0, len(data), _CHUNKED_BLOCK_BYTES):
            if self._framing is _Framing.DONE:
                self.can_reuse = False
                return
            self._feed_chunks(data[start : start + _CHUNKED_BLOCK_BYTES])
            self._limit_overhead()

    def _limit_overhead(self) -> None:
        """End a chunked body that is mostly chunk sizes."""
        if self._framing is not _Framing.DONE and self.wire_size > max(_MIN_OVERHEAD_BYTES, 4 * self.size):
            self._end_damaged("the chunked body consists of chunk sizes")

    def _feed_chunks(self, data: bytes) -> None:
        """Parse the chunks in a block. A body is cut off at the first invalid chunk after a valid one."""
        assert self.wire_parts is not None
        self.wire_parts.append(data)
        self.wire_size += len(data)
        # One part per call, so that a body of tiny chunks takes no more memory than another one.
        pieces: list[bytes] = []
        data, at, self._buffer = self._buffer + data, 0, b""
        while self._framing is not _Framing.DONE:
            if self._framing is _Framing.CHUNK_DATA:
                piece = data[at : at + self._remaining]
                pieces.append(piece)
                self.size += len(piece)
                at += len(piece)
                self._remaining -= len(piece)
                if self._remaining:
                    break
                self._framing = _Framing.CHUNK_END
            end = data.find(b"\n", at)
            if end < 0:
                self._buffer = data[at:]
                if len(self._buffer) > _MAX_CHUNK_LINE_BYTES:
                    self._end_damaged("the chunked body is malformed")
                break
            self._parse_chunk_line(data[at:end].strip())
            at = end + 1
        self.parts.append(b"".join(pieces))
        if self._framing is _Framing.DONE and at < len(data):
            self.can_reuse = False

    def _parse_chunk_line(self, line: bytes) -> None:
        """Parse a line between chunks: a chunk size, the line end after a chunk, or a line of the trailer."""
        if self._framing is _Framing.TRAILER:
            self._trailer_size += len(line)
            is_endless = self._trailer_size > _MAX_CHUNK_LINE_BYTES
            if is_endless or not line:
                self._framing, self.can_reuse = _Framing.DONE, self.can_reuse and not is_endless
        elif self._framing is _Framing.CHUNK_END:
            if line:
                self._end_damaged("the chunked body is malformed")
            else:
                self._framing = _Framing.CHUNK_SIZE
        else:
            size = line.partition(b";")[0].rstrip()
            if not _CHUNK_SIZE.fullmatch(size):
                self._end_damaged("the chunked body is malformed")
                return
            self._remaining = int(size, 16)
            self._framing = _Framing.CHUNK_DATA if self._remaining else _Framing.TRAILER

    def _end_damaged(self, reason: str) -> None:
        """End an incomplete body: keep what has arrived. Raise `ResponseError` if nothing has."""
        if not self.size:
            raise ResponseError(reason)
        self._add_damage(Damage.TRUNCATED)
        self._framing, self.can_reuse = _Framing.DONE, False

    def _add_part(self, data: bytes) -> None:
        self.parts.append(data)
        self.size += len(data)
        self.wire_size += len(data)

    def _add_damage(self, damage: Damage) -> None:
        if damage not in self.damage:
            self.damage.append(damage)


def _split_list(values: Iterable[str]) -> list[str]:
    """Return the members of comma-separated field values in lower case, without empty ones.

    >>> _split_list(["gzip, Chunked", ""])
    ['gzip', 'chunked']
    """
    return [name for value in values for part in value.lower().split(",") if (name := part.strip())]
