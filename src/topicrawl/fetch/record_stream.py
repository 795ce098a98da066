"""Read the captures of web archives in order: WARC (plain, gzip, zstd), ARC and WACZ files of any software.

Unlike `warc_reader`, this module needs no record that can be read on its own: a file may be one gzip stream.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import zstandard
from isal import igzip, igzip_lib

from topicrawl.errors import RecordingError
from topicrawl.fetch.warc_reader import parse_fields

_GZIP_MAGIC = b"\x1f\x8b"
_ZIP_MAGIC = b"PK\x03\x04"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_DICTIONARY_MAGIC = b"\x5d\x2a\x4d\x18"  # skippable frame with the dictionary, at the start of a .warc.zst file
_MAX_DICTIONARY_BYTES = 16 << 20
_MAX_ZSTD_WINDOW = 128 << 20
_MAX_LINE_BYTES = 64 * 1024
_MAX_HEADER_BYTES = 256 * 1024
_SKIP_BYTES = 1 << 20
# Some programs have written URLs with spaces.
_ARC_LINE = re.compile(rb"(\S.*?) (\S+) (\d{8,14}) (.*?) (\d{1,15})\r?\n")

# The type stubs of the library declare the class as an instance.
_IsalError = cast("type[Exception]", igzip_lib.IsalError)
_READ_ERRORS = (OSError, EOFError, ValueError, zlib.error, _IsalError, zstandard.ZstdError, zipfile.BadZipFile)


class Capture(NamedTuple):
    """One record with a captured response or file."""

    kind: str  # "response": the block is an HTTP response; "resource": a file; "conversion": another form of a file
    url: str
    at: float  # seconds since 1970
    content_type: str  # of the block
    block: bytes


def iterate_captures(path: Path, *, max_bytes: int) -> Iterator[Capture]:
    """Yield the captures of a file. Those of more than `max_bytes` bytes are skipped.

    Raise `RecordingError` for a file that cannot be read or is damaged, after the captures before the damage.
    """
    count = 0
    try:
        with path.open("rb") as file:
            is_zip = file.read(4) == _ZIP_MAGIC
            file.seek(0)
            for stream in _open_wacz(file, path) if is_zip else [_open_stream(file)]:
                for capture in _read_captures(stream, max_bytes):
                    count += 1
                    yield capture
    except _READ_ERRORS as error:
        where = f"after {count} captures" if count else "at its start"
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or "it is truncated"
        raise RecordingError(f"{path} cannot be read {where}: {reason}") from error


def _open_wacz(file: BinaryIO, path: Path, *, may_have_parts: bool = True) -> Iterator[io.BufferedReader[io.RawIOBase]]:
    """Yield a stream for each WARC file in a WACZ file. Raise `RecordingError` if there are none.

    A file with the profile `multi-wacz-package` contains other WACZ files in place of WARC files.
    """
    with zipfile.ZipFile(file) as archive:
        names = [name for name in archive.namelist() if name.startswith("archive/") and ".warc" in name]
        parts = [name for name in archive.namelist() if name.endswith(".wacz")] if may_have_parts else []
        if not names and not parts:
            raise RecordingError(f"{path} is a zip file without WARC files in the folder archive/: not a WACZ file")
        for name in sorted(names):
            with archive.open(name) as member:
                yield _open_stream(cast(BinaryIO, member))
        for name in sorted(parts):
            with archive.open(name) as part:
                yield from _open_wacz(cast(BinaryIO, part), path, may_have_parts=False)


def _open_stream(file: BinaryIO) -> io.BufferedReader[io.RawIOBase]:
    """Return a reader of the uncompressed bytes."""
    source = io.BufferedReader(cast(io.RawIOBase, file), 1 << 16)
    start = source.peek(4)[:4]
    if start.startswith(_GZIP_MAGIC):
        reader: object = igzip.IGzipFile(fileobj=source, mode="rb")  # type: ignore[no-untyped-call]
        return io.BufferedReader(cast(io.RawIOBase, reader), 1 << 16)
    if start in (_ZSTD_MAGIC, _ZSTD_DICTIONARY_MAGIC):
        dictionary = _read_dictionary(source) if start == _ZSTD_DICTIONARY_MAGIC else None
        decompressor = zstandard.ZstdDecompressor(dict_data=dictionary, max_window_size=_MAX_ZSTD_WINDOW)
        reader = decompressor.stream_reader(source, read_across_frames=True)
        return io.BufferedReader(cast(io.RawIOBase, reader), 1 << 16)
    return source


def _read_dictionary(source: io.BufferedReader[io.RawIOBase]) -> zstandard.ZstdCompressionDict:
    """Read the dictionary at the start of a .warc.zst file, which may itself be compressed."""
    size = int.from_bytes(source.read(8)[4:], "little")
    if size > _MAX_DICTIONARY_BYTES:
        raise ValueError("the zstd dictionary is too large")
    data = source.read(size)
    if data.startswith(_ZSTD_MAGIC):
        data = zstandard.ZstdDecompressor().decompress(data, max_output_size=_MAX_DICTIONARY_BYTES)
    return zstandard.ZstdCompressionDict(data)


def _read_captures(stream: io.BufferedReader[io.RawIOBase], max_bytes: int) -> Iterator[Capture]:
    """Yield the captures of an uncompressed WARC or ARC stream. Raise ValueError at a damaged record."""
    while line := stream.readline(_MAX_LINE_BYTES):
        if not line.strip():
            continue
        if line.startswith(b"WARC/"):
            fields = _read_warc_fields(stream, line)
            length = fields.get("content-length", "")
            if not (length.isascii() and length.isdecimal() and len(length) < 16):
                raise ValueError("a record has no valid Content-Length")
            block = _read_block(stream, int(length), max_bytes)
            kind, url = fields.get("warc-type", ""), fields.get("warc-target-uri", "").strip("<>")
            if kind in ("response", "resource", "conversion") and block is not None:
                at = _parse_date(fields.get("warc-date", ""))
                yield Capture(kind, url, at, fields.get("content-type", ""), block)
        elif found := _ARC_LINE.fullmatch(line):
            block = _read_block(stream, int(found[5]), max_bytes)
            url, at = found[1].decode("utf-8", "replace"), _parse_date(found[3].decode())
            if block is not None and block[:5] == b"HTTP/":
                yield Capture("response", url, at, "application/http; msgtype=response", block)
        else:
            raise ValueError("it contains no WARC or ARC record where one must begin")


def _read_warc_fields(stream: io.BufferedReader[io.RawIOBase], first: bytes) -> Mapping[str, str]:
    """Read the header of a WARC record after its first line."""
    lines, size = [first], 0
    while (line := stream.readline(_MAX_LINE_BYTES)).strip():
        lines.append(line)
        size += len(line)
        if size > _MAX_HEADER_BYTES:
            raise ValueError("the header of a record is too long")
    return parse_fields(b"".join(lines))


def _read_block(stream: io.BufferedReader[io.RawIOBase], size: int, max_bytes: int) -> bytes | None:
    """Read the block of a record; None if it is too large. Raise EOFError if the stream ends before."""
    if size <= max_bytes + _MAX_HEADER_BYTES:
        block = stream.read(size)
        if len(block) < size:
            raise EOFError
        return block
    while size:
        skipped = len(stream.read(min(size, _SKIP_BYTES)))
        if not skipped:
            raise EOFError
        size -= skipped
    return None


def _parse_date(text: str) -> float:
    """Return the date of a WARC record (ISO 8601) or an ARC record (14 digits) as a Unix timestamp; 0 if invalid.

    >>> _parse_date("19700101000130"), _parse_date("1970-01-01T00:01:30Z")
    (90.0, 90.0)
    """
    try:
        if text.isdecimal():
            return datetime.strptime(text.ljust(14, "0"), "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return 0.0
