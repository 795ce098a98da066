"""WARC reader: scan a file for record offsets, and read and parse single records.

A compressed file must have one gzip member per record, so that every record can be read on its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, cast

from isal import igzip_lib, isal_zlib
from msgspec.structs import replace

from topicrawl.fetch.decoding import BodyTooLarge, DecodingError, decode_body, decode_chunked, salvage_body
from topicrawl.fetch.headers import normalize_headers
from topicrawl.fetch.http_parser import ResponseError, ResponseParser
from topicrawl.fetch.http_status import classify_status
from topicrawl.models import Failure, ReadableDocument, Response, WireResponse

#: Space for the headers of a record, in addition to its body.
_MAX_HEADER_BYTES = 256 * 1024
_READ_SIZE = 16 * 1024
_MAX_STEP_BYTES = 1024 * 1024
_GZIP_MAGIC = b"\x1f\x8b"
_HEADER_END = b"\r\n\r\n"
_HTTP_HEADER_END = re.compile(rb"\r?\n\r?\n")

# The type stubs of the library declare the class as an instance.
_IsalError = cast("type[Exception]", igzip_lib.IsalError)


class DamagedRecord(Exception):
    """The record is truncated, or is not a WARC record."""


class SingleGzipStream(Exception):
    """Several records share one gzip member, so they cannot be read one by one."""


def scan_records(path: Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield offset and header fields of every complete record; raise `DamagedRecord` at a damaged one.

    Raise `SingleGzipStream` if several records share one gzip member.
    """
    with path.open("rb", buffering=0) as file:
        is_compressed = file.read(2) == _GZIP_MAGIC
        file.seek(0)
        yield from _scan_gzip(file) if is_compressed else _scan_uncompressed(file)


def read_record(path: Path, offset: int, limit: int) -> bytes:
    """Read the record at `offset`, decompressed. Raise `BodyTooLarge` if it exceeds `limit` plus the space for headers.

    Raise `DamagedRecord` if its header or its gzip member is damaged. The block of an uncompressed record may be
    incomplete.
    """
    with path.open("rb", buffering=0) as file:
        file.seek(offset)
        first = file.read(_READ_SIZE)
        if first.startswith(_GZIP_MAGIC):
            return _read_gzip_member(first, file, limit + _MAX_HEADER_BYTES)
        head, block = _read_header(first, file)
        size = _get_content_length(parse_fields(head))
        if size > limit + _MAX_HEADER_BYTES:
            raise BodyTooLarge
        while len(block) < size and (more := file.read(size - len(block))):
            block += more
        return head + _HEADER_END + block


def parse_response_record(record: bytes, url: str, limit: int, *, keeps_wire: bool = False) -> Response:
    """Parse the HTTP response in a response record, including the failure that its status or body implies.

    A resource record counts as a response with status 200 and its media type. With `keeps_wire`, the response contains
    the recorded bytes, unless they contradict their headers.
    Raise `DamagedRecord` if the record is truncated, and `BodyTooLarge` if the decoded body exceeds `limit`.
    """
    start = record.find(_HEADER_END) + len(_HEADER_END)
    fields = parse_fields(record[:start])
    end = start + _get_content_length(fields)
    if len(record) < end:
        raise DamagedRecord
    if fields.get("warc-type") == "resource":
        return _build_resource_response(fields, record[start:end], url, limit)
    head, http_body = split_http_block(record[start:end])
    line, _, rest = head.partition(b"\n")
    words = line.split(None, 2)
    status = int(words[1]) if len(words) > 1 and words[1].isdigit() and len(words[1]) == 3 else 0
    headers = parse_fields(b"\n" + rest)
    failure, detail, body = classify_status(status), "", b""
    if failure is not None:
        detail = f"status {status}"
    elif 200 <= status < 300:
        failure, detail, body = _decode_payload(http_body, headers, limit)
    at = _parse_date(fields.get("warc-date", ""))
    response = Response(url, url, status, headers, body, at, failure=failure, detail=detail)
    return replace(response, wire=_find_wire(record[start:end], response)) if keeps_wire else response


def split_http_block(block: bytes) -> tuple[bytes, bytes]:
    r"""Return the head and the body of a recorded HTTP response, whose lines may end in bare line feeds.

    >>> split_http_block(b"HTTP/1.0 200 OK\nServer: x\n\nhello")
    (b'HTTP/1.0 200 OK\nServer: x', b'hello')
    """
    end = _HTTP_HEADER_END.search(block)
    return (block[: end.start()], block[end.end() :]) if end else (block, b"")


def _build_resource_response(fields: Mapping[str, str], body: bytes, url: str, limit: int) -> Response:
    """Return the file in a resource record as a response."""
    if len(body) > limit:
        raise BodyTooLarge
    headers, at = {"content-type": fields.get("content-type", "")}, _parse_date(fields.get("warc-date", ""))
    if not body:
        return Response(url, url, 200, headers, b"", at, failure=Failure.EMPTY, detail="the body is empty")
    return Response(url, url, 200, headers, body, at)


def _find_wire(block: bytes, response: Response) -> WireResponse | None:
    """Return a recorded response as it was sent; None if it is a failure, or if its body was changed by its recorder.

    Some recorders decode the body but keep the headers that described its encoding.
    """
    if response.failure is not None:
        return None
    parser = ResponseParser(max_header_bytes=_MAX_HEADER_BYTES)
    try:
        parser.feed(block)
        if not parser.is_complete:
            parser.feed_end()
        assert parser.head is not None
        encoding = ",".join((parser.head.headers.get("content-encoding", ""), *parser.transfer_encodings))
        body = decode_body(b"".join(parser.parts), encoding, limit=max(len(response.body), 1))
    except (ResponseError, EOFError, DecodingError, BodyTooLarge):
        return None
    head = parser.head.raw
    is_same = block.startswith(head) and (body == response.body or not 200 <= response.status < 300)
    return WireResponse(head, block[len(head) :]) if is_same else None


#: Prefix of the WARC-Target-URI of our conversion records. With the URL itself, replay tools would show the converted
#: text in place of the original.
CONVERSION_PREFIX = "urn:conversion:"


def parse_conversion_record(record: bytes) -> ReadableDocument:
    """Parse a conversion record: the readable form of the document recorded before it.

    Raise `DamagedRecord` if the record is truncated.
    """
    start = record.find(_HEADER_END) + len(_HEADER_END)
    fields = parse_fields(record[:start])
    end = start + _get_content_length(fields)
    if len(record) < end:
        raise DamagedRecord
    return ReadableDocument(fields.get("content-type", ""), record[start:end])


def _scan_gzip(file: BinaryIO) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield offset and header fields of the records of a compressed file. Exceptions as in `scan_records`."""
    offset, data = 0, file.read(_READ_SIZE)
    while data:
        stream = isal_zlib.decompressobj(31)
        head, size, used = b"", 0, 0
        while not stream.eof:
            used += len(data)
            try:
                part = stream.decompress(data, _MAX_STEP_BYTES)
                while not stream.eof and len(part) == _MAX_STEP_BYTES:
                    size, head = size + len(part), head or part
                    part = stream.decompress(stream.unconsumed_tail, _MAX_STEP_BYTES)
            except _IsalError as error:
                raise DamagedRecord from error
            size += len(part)
            if len(head) < _MAX_HEADER_BYTES and _HEADER_END not in head:
                head += part
            data = stream.unused_data if stream.eof else file.read(_READ_SIZE)
            if not data and not stream.eof:
                raise DamagedRecord
        fields = parse_fields(head.partition(_HEADER_END)[0])
        if size > head.find(_HEADER_END) + 2 * len(_HEADER_END) + _get_content_length(fields):
            raise SingleGzipStream
        yield offset, fields
        offset += used - len(data)
        data = data or file.read(_READ_SIZE)


def _scan_uncompressed(file: BinaryIO) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield offset and header fields of the records of an uncompressed file; raise `DamagedRecord` at a damaged one."""
    end = file.seek(0, 2)
    offset = 0
    while offset < end:
        file.seek(offset)
        head, _ = _read_header(file.read(_READ_SIZE), file)
        fields = parse_fields(head)
        after = offset + len(head) + len(_HEADER_END) + _get_content_length(fields)
        if after > end:
            raise DamagedRecord
        yield offset, fields
        offset = after + len(_HEADER_END)


def _read_header(first: bytes, file: BinaryIO) -> tuple[bytes, bytes]:
    """Read the header of a record. Return it and the part of the block that was read with it.

    `first` contains the bytes read so far. Raise `DamagedRecord` if the file ends or the header is too long.
    """
    while _HEADER_END not in first:
        more = file.read(_READ_SIZE)
        if not more or len(first) > _MAX_HEADER_BYTES:
            raise DamagedRecord
        first += more
    head, _, block = first.partition(_HEADER_END)
    return head, block


def _read_gzip_member(data: bytes, file: BinaryIO, limit: int) -> bytes:
    """Decompress one gzip member that begins with `data` and continues in `file`.

    Raise `BodyTooLarge` above `limit` bytes, and `DamagedRecord` if the member is corrupt or truncated.
    """
    stream = isal_zlib.decompressobj(31)
    parts: list[bytes] = []
    size = 0
    while data:
        try:
            part = stream.decompress(data, limit + 1 - size)
        except _IsalError as error:
            raise DamagedRecord from error
        parts.append(part)
        size += len(part)
        if size > limit:
            raise BodyTooLarge
        if stream.eof:
            return b"".join(parts)
        data = file.read(_READ_SIZE)
    raise DamagedRecord


def _decode_payload(body: bytes, headers: Mapping[str, str], limit: int) -> tuple[Failure | None, str, bytes]:
    """Decode an HTTP body. Return (None, "", body), or the failure EMPTY with its detail and an empty body.

    A body that does not match its Content-Encoding counts as decoded already. Of a gzip body that is truncated or
    corrupt, the beginning is decoded. Raise `BodyTooLarge` above `limit` bytes.
    """
    transfer_encodings = [name.strip() for name in headers.get("transfer-encoding", "").lower().split(",")]
    if "chunked" in transfer_encodings:
        body = decode_chunked(body)
    others = [name for name in transfer_encodings if name != "chunked"]
    encodings = ",".join([headers.get("content-encoding", ""), *others])
    try:
        body = decode_body(body, encodings, limit=limit)
    except DecodingError:
        # Archives often keep the Content-Encoding header after they have decompressed the body.
        salvaged = salvage_body(body, encodings, limit=limit) if body.startswith(_GZIP_MAGIC) else b""
        body = salvaged or (body if len(body) <= limit else b"")
    return (None, "", body) if body else (Failure.EMPTY, "the body is empty", b"")


def parse_fields(head: bytes) -> dict[str, str]:
    """Parse header fields of a WARC record or of HTTP; the first line (WARC version or HTTP status) is skipped."""
    pairs: list[tuple[str, str]] = []
    for line in head.decode("utf-8", "surrogateescape").split("\n")[1:]:
        name, colon, value = line.partition(":")
        if line[:1] in (" ", "\t") and pairs:
            # A line that begins with white space continues the previous field.
            pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]} {line.strip()}")
        elif colon:
            pairs.append((name.strip(), value.strip()))
    return normalize_headers(pairs)


def _get_content_length(fields: Mapping[str, str]) -> int:
    """Return the Content-Length; raise `DamagedRecord` if it is missing or invalid."""
    value = fields.get("content-length", "")
    if not (value.isascii() and value.isdigit() and len(value) < 19):
        raise DamagedRecord
    return int(value)


def _parse_date(date: str) -> float:
    """Return an ISO 8601 date as a Unix timestamp, 0 if it is invalid."""
    try:
        return datetime.fromisoformat(date).timestamp()
    except (ValueError, OverflowError):
        return 0.0
