"""Decode HTTP bodies (Content-Encoding, chunked Transfer-Encoding) with a limit on the output size.

A few kilobytes can decompress to gigabytes. Every decoder stops at the given limit, so a decompression bomb
uses no more memory than the largest page that is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import cast

import brotli
import zstandard
from isal import igzip_lib, isal_zlib

#: Largest number of nested content encodings; more than two occur only in attacks.
MAX_ENCODINGS = 3

#: The limit of browsers. A larger window would let the page decide how much memory the crawler uses.
_MAX_ZSTD_WINDOW = 8 * 1024 * 1024

#: Input bytes per step. Four bytes can encode a block of 128 KiB, so one slice expands to at most 8 MiB.
_ZSTD_INPUT_SLICE = 256

#: Input bytes per step when the beginning of a corrupt body is decoded; what follows in the corrupt step is lost.
_SALVAGE_SLICE = 64

_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,16}")
_MAX_CHUNK_LINE_BYTES = 1024

#: Every gzip member copies the remaining input, so a body of many tiny members would take hours.
_MAX_GZIP_MEMBERS = 100

#: Values that servers send although they are not encodings; all mean that the body is not encoded.
_IDENTITY_ENCODINGS = frozenset({"", "identity", "none", "binary", "8bit", "utf-8", "utf8"})

# The type stubs of the library declare the class as an instance.
_IsalError = cast("type[Exception]", igzip_lib.IsalError)


class BodyTooLarge(Exception):
    """The decoded body exceeds the size limit."""


class DecodingError(Exception):
    """The body does not match its content encoding, or is truncated."""


def decode_body(body: bytes, encodings: str, *, limit: int, truncate: bool = False) -> bytes:
    """Decode a body by its Content-Encoding header, last encoding first.

    A body of more than `limit` bytes raises `BodyTooLarge`; with `truncate`, its first `limit` bytes are returned. An
    unknown encoding, a corrupt body or more than `MAX_ENCODINGS` encodings raise `DecodingError`.

    >>> import gzip
    >>> decode_body(gzip.compress(b"hello"), "gzip", limit=100)
    b'hello'
    >>> decode_body(b"hello", "identity", limit=3, truncate=True)
    b'hel'
    """
    layers = [name for part in encodings.lower().split(",") if (name := part.strip()) not in _IDENTITY_ENCODINGS]
    if len(layers) > MAX_ENCODINGS:
        raise DecodingError(f"{len(layers)} nested content encodings; at most {MAX_ENCODINGS} are decoded")
    for layer in reversed(layers):
        decoder = _DECODERS.get(layer)
        if decoder is None:
            raise DecodingError(f"unknown content-encoding {layer[:40]!r}")
        # An empty body is empty in every encoding; servers send the header with empty responses too.
        body = decoder(body, limit, truncate) if body else body
    if len(body) > limit and not truncate:
        raise BodyTooLarge
    return body[:limit]


def salvage_body(body: bytes, encodings: str, *, limit: int) -> bytes:
    """Decode the beginning of a body that `decode_body` rejects as truncated or corrupt, at most `limit` bytes.

    Return b"" if no part can be decoded.

    >>> import gzip
    >>> salvage_body(gzip.compress(b"hello")[:-4], "gzip", limit=4)
    b'hell'
    >>> salvage_body(b"hello", "gzip", limit=100)
    b''
    """
    layers = [name for part in encodings.lower().split(",") if (name := part.strip()) not in _IDENTITY_ENCODINGS]
    if len(layers) > MAX_ENCODINGS:
        return b""
    for layer in reversed(layers):
        body = _salvage_layer(body, layer, limit)
    return body[:limit]


def _salvage_layer(body: bytes, layer: str, limit: int) -> bytes:
    """Decode the beginning of a body in small slices, up to the first slice that is corrupt."""
    decompress: Callable[[bytes], bytes]
    if layer in ("gzip", "x-gzip"):
        decompress = isal_zlib.decompressobj(31).decompress
    elif layer == "deflate":
        decompress = isal_zlib.decompressobj(15 if _has_zlib_header(body) else -15).decompress
    elif layer == "br":
        decompress = partial(brotli.Decompressor().process, output_buffer_limit=limit + 1)
    elif layer == "zstd":
        decompress = zstandard.ZstdDecompressor(max_window_size=_MAX_ZSTD_WINDOW).decompressobj().decompress
    else:
        return b""
    out = bytearray()
    with suppress(_IsalError, brotli.error, zstandard.ZstdError):
        for at in range(0, len(body), _SALVAGE_SLICE):
            out += decompress(body[at : at + _SALVAGE_SLICE])
            if len(out) > limit:
                break
    return bytes(out)


def decode_chunked(body: bytes) -> bytes:
    """Decode a chunked Transfer-Encoding; return a body that is not chunked unchanged.

    Of a body that is truncated or damaged, the part before the damage is returned.

    >>> decode_chunked(b"5\\r\\nhello\\r\\n0\\r\\n\\r\\n"), decode_chunked(b"<html>")
    (b'hello', b'<html>')
    """
    parts: list[bytes] = []
    at = 0
    while True:
        end = body.find(b"\n", at, at + _MAX_CHUNK_LINE_BYTES)
        line = body[at:end].partition(b";")[0].strip() if end >= 0 else b""
        if not _CHUNK_SIZE.fullmatch(line):
            # Archives often keep the header after they have decoded the chunks.
            return b"".join(parts) if parts else body
        size = int(line, 16)
        if size == 0:
            return b"".join(parts)
        parts.append(body[end + 1 : end + 1 + size])
        at = end + 1 + size
        at += 2 if body[at : at + 2] == b"\r\n" else 1


def _inflate_stream(body: bytes, limit: int, truncate: bool, *, bits: int) -> tuple[bytes, bytes]:
    """Decompress one zlib stream. Return its content and the bytes that follow it.

    `bits` selects the format (31: gzip, 15: zlib, -15: raw). Content of more than `limit` bytes raises `BodyTooLarge`;
    with `truncate`, the first `limit` + 1 bytes are returned without the rest. A corrupt stream raises `DecodingError`,
    and so does an incomplete one unless `truncate` is set.
    """
    stream = isal_zlib.decompressobj(bits)
    try:
        out = stream.decompress(body, limit + 1)
    except _IsalError as error:
        raise DecodingError(str(error)) from error
    if len(out) > limit:
        if truncate:
            return out, b""
        raise BodyTooLarge
    if not stream.eof and not truncate:
        raise DecodingError("the compressed body is truncated")
    return out, stream.unused_data


def _decode_gzip(body: bytes, limit: int, truncate: bool) -> bytes:
    """Decompress a gzip body of one or more members, and ignore trailing bytes that are not a member.

    Content of more than `limit` bytes raises `BodyTooLarge`; with `truncate`, its first `limit` + 1 bytes are returned.
    A corrupt body or one of more than `_MAX_GZIP_MEMBERS` members raises `DecodingError`.
    """
    out, rest = _inflate_stream(body, limit, truncate, bits=31)
    # A body may have several members. Trailing bytes that are not a member are ignored, as browsers do.
    for _ in range(_MAX_GZIP_MEMBERS):
        if len(out) > limit or not rest.startswith(b"\x1f\x8b"):
            return out
        more, rest = _inflate_stream(rest, limit - len(out), truncate, bits=31)
        out += more
    raise DecodingError(f"more than {_MAX_GZIP_MEMBERS} gzip members")


def _decode_deflate(body: bytes, limit: int, truncate: bool) -> bytes:
    """Decompress a deflate body, with or without the zlib header. `limit` and `truncate` as in `_inflate_stream`."""
    # The standard requires a zlib header, but many servers send the raw stream. The first two bytes show which.
    return _inflate_stream(body, limit, truncate, bits=15 if _has_zlib_header(body) else -15)[0]


def _has_zlib_header(body: bytes) -> bool:
    return len(body) > 1 and body[0] & 0x0F == 8 and (body[0] << 8 | body[1]) % 31 == 0


def _decode_brotli(body: bytes, limit: int, truncate: bool) -> bytes:
    """Decompress a brotli body. `limit`, `truncate` and the exceptions are those of `_inflate_stream`."""
    stream = brotli.Decompressor()
    try:
        out: bytes = stream.process(body, output_buffer_limit=limit + 1)
    except brotli.error as error:
        raise DecodingError("the brotli stream is corrupt") from error
    if len(out) > limit:
        if not truncate:
            raise BodyTooLarge
    elif not stream.is_finished() and not truncate:
        raise DecodingError("the compressed body is truncated")
    return out


def _decode_zstd(body: bytes, limit: int, truncate: bool) -> bytes:
    """Decompress a zstd body. `limit`, `truncate` and the exceptions are those of `_inflate_stream`.

    With `truncate`, the result may exceed `limit` by the output of one input slice.
    """
    unpacker = zstandard.ZstdDecompressor(max_window_size=_MAX_ZSTD_WINDOW)
    stream = unpacker.decompressobj()
    out: list[bytes] = []
    size = 0
    # The library has no limit on its output, so it gets the input in slices that can only expand to a few MiB.
    for at in range(0, len(body), _ZSTD_INPUT_SLICE):
        try:
            part = stream.decompress(body[at : at + _ZSTD_INPUT_SLICE])
        except zstandard.ZstdError as error:
            raise DecodingError(str(error)) from error
        out.append(part)
        size += len(part)
        if size > limit:
            if truncate:
                break
            raise BodyTooLarge
        if stream.eof:
            break
    if not stream.eof and not truncate:
        raise DecodingError("the compressed body is truncated")
    return b"".join(out)


_DECODERS: dict[str, Callable[[bytes, int, bool], bytes]] = {
    "gzip": _decode_gzip,
    "x-gzip": _decode_gzip,
    "deflate": _decode_deflate,
    "br": _decode_brotli,
    "zstd": _decode_zstd,
}
