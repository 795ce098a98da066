"""The records of a WARC file: where each one begins, and the response that one holds.

A compressed file must have one gzip member for each record; then any record can be read without the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, cast

from isal import igzip_lib, isal_zlib

from topicrawl.fetch.decode import TooLarge, Undecodable, dechunk, decode
from topicrawl.fetch.headers import lowered
from topicrawl.fetch.status import failure_of
from topicrawl.records import Failure, Readable, Response

#: Room for the headers of a record on top of its body.
_HEADERS = 256 * 1024
_PIECE = 16 * 1024
_LARGEST_STEP = 1024 * 1024
_GZIP = b"\x1f\x8b"
_END = b"\r\n\r\n"

# The library's type information calls the class an instance.
_IsalError = cast("type[Exception]", igzip_lib.IsalError)


class Torn(Exception):
    """The record ends too early, or is not a record."""


class OneStream(Exception):
    """Several records in one gzip member: they cannot be read one by one."""


def scan(path: Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Offset and header of every whole record; `Torn` where one is not."""
    with path.open("rb", buffering=0) as file:
        packed = file.read(2) == _GZIP
        file.seek(0)
        yield from _members(file) if packed else _plain(file)


def record_at(path: Path, offset: int, limit: int) -> bytes:
    """The bytes of the record that begins at `offset`; `TooLarge` when it passes `limit` by far."""
    with path.open("rb", buffering=0) as file:
        file.seek(offset)
        first = file.read(_PIECE)
        if first.startswith(_GZIP):
            return _member(first, file, limit + _HEADERS)
        head, block = _head(first, file)
        size = _length(_fields(head))
        if size > limit + _HEADERS:
            raise TooLarge
        while len(block) < size and (more := file.read(size - len(block))):
            block += more
        return head + _END + block


def response_of(record: bytes, url: str, limit: int) -> Response:
    """The response in a record, with the failure its status or body stands for."""
    start = record.find(_END) + len(_END)
    about = _fields(record[:start])
    end = start + _length(about)
    if len(record) < end:
        raise Torn
    split = record.find(_END, start, end)
    split = end if split < 0 else split
    line, _, rest = record[start:split].partition(b"\n")
    words = line.split(None, 2)
    status = int(words[1]) if len(words) > 1 and words[1].isdigit() and len(words[1]) == 3 else 0
    headers = _fields(b"\n" + rest)
    failure, detail, body = failure_of(status), "", b""
    if failure is not None:
        detail = f"status {status}"
    elif 200 <= status < 300:
        failure, detail, body = _body(record[split + len(_END) : end], headers, limit)
    at = _time(about.get("warc-date", ""))
    return Response(url, url, status, headers, body, at, failure=failure, detail=detail)


def readable_of(record: bytes) -> Readable:
    """What the document before a conversion record says."""
    start = record.find(_END) + len(_END)
    about = _fields(record[:start])
    end = start + _length(about)
    if len(record) < end:
        raise Torn
    return Readable(about.get("content-type", ""), record[start:end])


def _members(file: BinaryIO) -> Iterator[tuple[int, Mapping[str, str]]]:
    offset, data = 0, file.read(_PIECE)
    while data:
        stream = isal_zlib.decompressobj(31)
        head, size, used = b"", 0, 0
        while not stream.eof:
            used += len(data)
            try:
                part = stream.decompress(data, _LARGEST_STEP)
                while not stream.eof and len(part) == _LARGEST_STEP:
                    size, head = size + len(part), head or part
                    part = stream.decompress(stream.unconsumed_tail, _LARGEST_STEP)
            except _IsalError as error:
                raise Torn from error
            size += len(part)
            if len(head) < _HEADERS and _END not in head:
                head += part
            data = stream.unused_data if stream.eof else file.read(_PIECE)
            if not data and not stream.eof:
                raise Torn
        fields = _fields(head.partition(_END)[0])
        if size > head.find(_END) + 2 * len(_END) + _length(fields):
            raise OneStream
        yield offset, fields
        offset += used - len(data)
        data = data or file.read(_PIECE)


def _plain(file: BinaryIO) -> Iterator[tuple[int, Mapping[str, str]]]:
    end = file.seek(0, 2)
    offset = 0
    while offset < end:
        file.seek(offset)
        head, _ = _head(file.read(_PIECE), file)
        fields = _fields(head)
        after = offset + len(head) + len(_END) + _length(fields)
        if after > end:
            raise Torn
        yield offset, fields
        offset = after + len(_END)


def _head(first: bytes, file: BinaryIO) -> tuple[bytes, bytes]:
    """A record's header, and as much of its block as was read with it."""
    while _END not in first:
        more = file.read(_PIECE)
        if not more or len(first) > _HEADERS:
            raise Torn
        first += more
    head, _, block = first.partition(_END)
    return head, block


def _member(data: bytes, file: BinaryIO, limit: int) -> bytes:
    """One gzip member, unpacked."""
    stream = isal_zlib.decompressobj(31)
    parts: list[bytes] = []
    size = 0
    while data:
        try:
            part = stream.decompress(data, limit + 1 - size)
        except _IsalError as error:
            raise Torn from error
        parts.append(part)
        size += len(part)
        if size > limit:
            raise TooLarge
        if stream.eof:
            return b"".join(parts)
        data = file.read(_PIECE)
    raise Torn


def _body(body: bytes, headers: Mapping[str, str], limit: int) -> tuple[Failure | None, str, bytes]:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = dechunk(body)
    try:
        body = decode(body, headers.get("content-encoding", ""), limit=limit)
    except Undecodable:
        # Archives often keep the header after unpacking the body.
        body = body if len(body) <= limit else b""
    return (None, "", body) if body else (Failure.EMPTY, "without a body", b"")


def _fields(head: bytes) -> dict[str, str]:
    """Header lines by name; the first line, which says WARC or HTTP, is left out."""
    pairs: list[tuple[str, str]] = []
    for line in head.decode("utf-8", "surrogateescape").split("\n")[1:]:
        name, colon, value = line.partition(":")
        if line[:1] in (" ", "\t") and pairs:
            # A line that begins with a blank goes on with the one before.
            pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]} {line.strip()}")
        elif colon:
            pairs.append((name.strip(), value.strip()))
    return lowered(pairs)


def _length(fields: Mapping[str, str]) -> int:
    value = fields.get("content-length", "")
    if not (value.isascii() and value.isdigit() and len(value) < 19):
        raise Torn
    return int(value)


def _time(date: str) -> float:
    try:
        return datetime.fromisoformat(date).timestamp()
    except (ValueError, OverflowError):
        return 0.0
