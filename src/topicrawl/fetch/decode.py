"""Body bytes as they came over the wire → the bytes of the content type, with a bound on the output.

A few kilobytes can unpack to gigabytes. Every step here stops at the limit it was given, so a bomb costs
as much memory as the largest page that is allowed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import brotli
import zstandard
from isal import igzip_lib, isal_zlib

#: Encodings on top of each other; more than two are seen in attacks only.
MAX_LAYERS = 3

#: What browsers accept too; a larger window would let a page decide how much memory we take.
_ZSTD_WINDOW = 8 * 1024 * 1024

#: Four bytes can stand for a block of 128 KiB, so this many unpack to 8 MiB at most.
_ZSTD_SLICE = 256

#: Each one copies what is behind it, so a body of tiny ones would take hours.
_MAX_MEMBERS = 100

#: Values that servers send although they are not encodings; they mean "as it is".
_PLAIN = frozenset({"", "identity", "none", "binary", "8bit", "utf-8", "utf8"})

# The library's type information calls the class an instance.
_IsalError = cast("type[Exception]", igzip_lib.IsalError)


class TooLarge(Exception):
    """The decoded body passes the limit."""


class Undecodable(Exception):
    """The body is not what its encoding says, or ends too early."""


def decode(body: bytes, encodings: str, *, limit: int, cut: bool = False) -> bytes:
    """Undo a Content-Encoding list, last encoding first; `cut` keeps the first `limit` bytes of more.

    >>> import gzip
    >>> decode(gzip.compress(b"hello"), "gzip", limit=100)
    b'hello'
    >>> decode(b"hello", "identity", limit=3, cut=True)
    b'hel'
    """
    layers = [name for part in encodings.lower().split(",") if (name := part.strip()) not in _PLAIN]
    if len(layers) > MAX_LAYERS:
        raise Undecodable(f"{len(layers)} encodings on top of each other")
    for layer in reversed(layers):
        decoder = _DECODERS.get(layer)
        if decoder is None:
            raise Undecodable(f"unknown content-encoding {layer[:40]!r}")
        # An empty body is empty in every encoding: servers label answers without one all the same.
        body = decoder(body, limit, cut) if body else body
    if len(body) > limit and not cut:
        raise TooLarge
    return body[:limit]


def dechunk(body: bytes) -> bytes:
    """Undo a chunked Transfer-Encoding; a body that is not chunked is not touched.

    >>> dechunk(b"5\\r\\nhello\\r\\n0\\r\\n\\r\\n"), dechunk(b"<html>")
    (b'hello', b'<html>')
    """
    parts: list[bytes] = []
    at = 0
    while True:
        end = body.find(b"\r\n", at, at + 64)
        try:
            size = int(body[at:end].partition(b";")[0], 16) if end >= 0 else -1
        except ValueError:
            size = -1
        if size < 0:
            # Archives often keep the header after taking the chunks apart.
            return b"".join(parts) if parts else body
        if size == 0:
            return b"".join(parts)
        parts.append(body[end + 2 : end + 2 + size])
        at = end + 2 + size + 2


def _inflate(body: bytes, limit: int, cut: bool, *, bits: int) -> tuple[bytes, bytes]:
    """One zlib stream, and the bytes behind it."""
    stream = isal_zlib.decompressobj(bits)
    try:
        out = stream.decompress(body, limit + 1)
    except _IsalError as error:
        raise Undecodable(str(error)) from error
    if len(out) > limit:
        if cut:
            return out, b""
        raise TooLarge
    if not stream.eof and not cut:
        raise Undecodable("the compressed body ends too early")
    return out, stream.unused_data


def _gunzip(body: bytes, limit: int, cut: bool) -> bytes:
    out, rest = _inflate(body, limit, cut, bits=31)
    # A body may have several members; what follows them and is none is ignored, as browsers do.
    for _ in range(_MAX_MEMBERS):
        if len(out) > limit or not rest.startswith(b"\x1f\x8b"):
            return out
        more, rest = _inflate(rest, limit - len(out), cut, bits=31)
        out += more
    raise Undecodable(f"more than {_MAX_MEMBERS} gzip members")


def _deflate(body: bytes, limit: int, cut: bool) -> bytes:
    # The standard says zlib, many servers send the raw stream: the first two bytes tell.
    wrapped = len(body) > 1 and body[0] & 0x0F == 8 and (body[0] << 8 | body[1]) % 31 == 0
    return _inflate(body, limit, cut, bits=15 if wrapped else -15)[0]


def _unbrotli(body: bytes, limit: int, cut: bool) -> bytes:
    stream = brotli.Decompressor()
    try:
        out: bytes = stream.process(body, output_buffer_limit=limit + 1)
    except brotli.error as error:
        raise Undecodable("brotli: broken stream") from error
    if len(out) > limit:
        if not cut:
            raise TooLarge
    elif not stream.is_finished() and not cut:
        raise Undecodable("the compressed body ends too early")
    return out


def _unzstd(body: bytes, limit: int, cut: bool) -> bytes:
    unpacker = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    stream = unpacker.decompressobj()
    out: list[bytes] = []
    size = 0
    # The library takes no bound on its output, so the input is fed in slices that cannot unpack to much.
    for at in range(0, len(body), _ZSTD_SLICE):
        try:
            part = stream.decompress(body[at : at + _ZSTD_SLICE])
        except zstandard.ZstdError as error:
            raise Undecodable(str(error)) from error
        out.append(part)
        size += len(part)
        if size > limit:
            if cut:
                break
            raise TooLarge
        if stream.eof:
            break
    if not stream.eof and not cut:
        raise Undecodable("the compressed body ends too early")
    return b"".join(out)


_DECODERS: dict[str, Callable[[bytes, int, bool], bytes]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _deflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
