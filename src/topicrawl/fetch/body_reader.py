"""Decide which bodies are read and how much of them, while they arrive, and decode them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from topicrawl.documents.file_types import (
    CONVERTED_TYPES,
    FEED_SNIFFED_BYTES,
    PLAIN_TYPES,
    detect_type,
    is_feed,
    may_be_document,
)
from topicrawl.fetch.decoding import BodyTooLarge, DecodingError, decode_body, salvage_body
from topicrawl.fetch.http_parser import ResponseParser
from topicrawl.fetch.http_settings import HttpSettings
from topicrawl.fetch.http_status import REDIRECT_STATUSES, classify_status
from topicrawl.models import Damage, Failure, WireResponse, parse_media_type

#: Read error pages up to this size, for the archive and so that the connection can be reused for the next request.
_MAX_ERROR_BYTES = 64 * 1024
#: Bytes for the chunk sizes of a body, in addition to its size limit.
_MAX_FRAMING_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class BodyOptions:
    """Size limit and media type rules for reading a body."""

    max_bytes: int
    any_type: bool
    truncate: bool


class BodyRefused(Exception):
    """The body has a media type that the crawler does not read."""

    def __init__(self, media_type: str) -> None:
        super().__init__(media_type[:100])


class BodyReader:
    """Reader of one response. Call `check_progress` after each received piece, and `finish` at the end."""

    def __init__(self, settings: HttpSettings, path: str, options: BodyOptions) -> None:
        self._settings, self._path, self._options = settings, path, options
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.set_cookies: list[str] = []  # values of the Set-Cookie fields
        self._failure: Failure | None = None
        self._must_detect_type = False
        self._limit, self._truncates = options.max_bytes, options.truncate
        self._has_head = False

    def check_progress(self, parser: ResponseParser) -> bool:
        """Return whether to read on. Raise `BodyRefused` or `BodyTooLarge` if the response is not wanted."""
        if not self._has_head:
            self._check_head(parser)
        if self._must_detect_type and parser.size >= FEED_SNIFFED_BYTES:
            self._detect_type(parser)
        if parser.size > self._limit or parser.wire_size > self._limit + _MAX_FRAMING_BYTES:
            if self._truncates:
                return False
            raise BodyTooLarge
        return True

    def finish(self, parser: ResponseParser) -> tuple[Failure | None, str, bytes]:
        """Decode the body. Return (None, "", body), or the failure, its detail and an empty body.

        The body of a redirect is not returned, and its failure is None. A compressed body that is truncated or corrupt
        is kept as far as it can be decoded, and `parser.damage` records it. Exceptions as in `check_progress`.
        """
        self.check_progress(parser)
        if self._must_detect_type:
            self._detect_type(parser)
        if self._failure is not None or self.status in REDIRECT_STATUSES:
            return self._failure, f"status {self.status}" if self._failure else "", b""
        limit, truncate, encoding = self._limit, self._truncates, self._list_encodings(parser)
        raw = b"".join(parser.parts)
        parser.parts = [raw]  # the pieces would take the same memory again while the body is decoded
        try:
            body = decode_body(raw, encoding, limit=limit, truncate=truncate)
        except DecodingError as error:
            body = salvage_body(raw, encoding, limit=limit)
            if not body:
                return Failure.BAD_RESPONSE, str(error), b""
            parser.damage.append(Damage.ENCODING)
        if not body:
            return Failure.EMPTY, f"status {self.status} with an empty body", b""
        return None, "", body

    def build_wire(self, parser: ResponseParser, body: bytes) -> WireResponse | None:
        """Return the response as it was sent, as far as it was read; None without headers.

        `body` is the decoded body.
        """
        if parser.head is None:
            return None
        parts = parser.parts if parser.wire_parts is None else parser.wire_parts
        raw = b"".join(parts)
        # Two equal objects would take twice the memory while the page is processed.
        return WireResponse(parser.head.raw, body if raw == body else raw, is_cut=not parser.is_complete)

    def _check_head(self, parser: ResponseParser) -> None:
        """Check status, media type and length."""
        head = parser.head
        if head is None:
            return
        self._has_head = True
        self.status, self.headers = head.status, head.headers
        if "set-cookie" in self.headers:
            self.set_cookies = head.list_values("set-cookie")
        self._failure = classify_status(head.status)
        if self._failure is not None or head.status in REDIRECT_STATUSES:
            self._limit, self._truncates = _MAX_ERROR_BYTES, True
            return
        kind = self._media_type
        is_accepted = not kind or kind in self._settings.accepted_types or self._is_document_type(kind)
        # The header Accept does not name them: some hosts would then send Markdown in place of web pages.
        is_accepted |= self._settings.detects_types and kind in PLAIN_TYPES
        if not is_accepted and not self._options.any_type:
            if not (self._settings.detects_types and may_be_document(kind)):
                raise BodyRefused(kind)
            self._must_detect_type = True
        length = self.headers.get("content-length", "")
        if length.isdecimal() and len(length) < 20 and int(length) > self._limit and not self._truncates:
            raise BodyTooLarge

    @property
    def _media_type(self) -> str:
        return parse_media_type(self.headers.get("content-type", ""))

    def _is_document_type(self, kind: str) -> bool:
        """Return whether the media type, or the file name suffix of an octet stream, belongs to a document."""
        if kind in self._settings.document_types:
            return True
        return kind.endswith("/octet-stream") and self._path.lower().endswith(self._settings.document_suffixes)

    def _detect_type(self, parser: ResponseParser) -> None:
        """Raise `BodyRefused` unless the first bytes are those of a web page or, if read, of a document or feed."""
        self._must_detect_type = False
        kind = self._media_type
        try:
            encoding = self._list_encodings(parser)
            start = decode_body(b"".join(parser.parts), encoding, limit=FEED_SNIFFED_BYTES, truncate=True)
        except DecodingError:
            raise BodyRefused(kind) from None
        found = detect_type(start, kind) if start else ""
        is_document = found in CONVERTED_TYPES and bool(self._settings.document_types)
        if not (found == "html" or is_document or (self._settings.reads_feeds and is_feed(start))):
            raise BodyRefused(kind)

    def _list_encodings(self, parser: ResponseParser) -> str:
        """Return the content and transfer encodings of the body, in the order in which they were applied."""
        encoding = self.headers.get("content-encoding", "")
        return ",".join((encoding, *parser.transfer_encodings)) if parser.transfer_encodings else encoding
