"""Tests of body decoding: content encodings, chunked bodies and size limits."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.fetch.decoding import BodyTooLarge, DecodingError, decode_body, decode_chunked

MEGABYTE = 1024 * 1024


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("X-GZip", gzip.compress),
    "zlib": ("deflate", zlib.compress),
    "raw deflate": ("deflate", raw_deflate),
    "brotli": ("br", lambda data: brotli.compress(data, quality=3)),
    "zstd": ("zstd", zstandard.compress),
    "none": ("", bytes),
    "charset as encoding": ("UTF-8", bytes),
}
PACKED = {name: pair for name, pair in PACKERS.items() if name not in ("none", "charset as encoding")}


@pytest.mark.parametrize("name", PACKERS)
@given(data=st.binary(max_size=5000))
def test_every_encoding_round_trips(name: str, data: bytes) -> None:
    encoding, pack = PACKERS[name]
    assert decode_body(pack(data), encoding, limit=len(data)) == data


@pytest.mark.parametrize("name", PACKED)
def test_a_truncated_body_raises_a_decoding_error(name: str) -> None:
    encoding, pack = PACKED[name]
    packed = pack(bytes(range(256)) * 40)
    with pytest.raises(DecodingError):
        decode_body(packed[: len(packed) // 2], encoding, limit=MEGABYTE)


@pytest.mark.parametrize("name", PACKED)
def test_an_uncompressed_body_raises_a_decoding_error(name: str) -> None:
    with pytest.raises(DecodingError):
        decode_body(b"<html>plain text after all</html>" * 9, PACKED[name][0], limit=MEGABYTE)


@pytest.mark.parametrize("name", PACKED)
def test_a_decompression_bomb_stops_at_the_limit_with_little_memory(name: str) -> None:
    encoding, pack = PACKED[name]
    bomb = pack(bytes(64 * MEGABYTE))
    tracemalloc.start()
    try:
        with pytest.raises(BodyTooLarge):
            decode_body(bomb, encoding, limit=MEGABYTE)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 * MEGABYTE


def test_a_nested_decompression_bomb_stops_at_the_limit() -> None:
    with pytest.raises(BodyTooLarge):
        decode_body(gzip.compress(gzip.compress(bytes(32 * MEGABYTE))), "gzip, gzip", limit=4096)


@pytest.mark.parametrize("name", PACKERS)
def test_truncate_keeps_the_beginning_of_a_body_that_is_too_large(name: str) -> None:
    encoding, pack = PACKERS[name]
    assert decode_body(pack(b"0123456789" * 1000), encoding, limit=15, truncate=True) == b"012345678901234"


@pytest.mark.parametrize("name", ["gzip", "zlib", "raw deflate", "zstd", "brotli"])
def test_truncate_decodes_the_available_part_of_a_truncated_body(name: str) -> None:
    encoding, pack = PACKED[name]
    data = bytes(index * index % 251 for index in range(60_000))
    packed = pack(data)
    found = decode_body(packed[:-5], encoding, limit=MEGABYTE, truncate=True)
    assert data.startswith(found)


def test_the_last_encoding_of_a_list_is_decoded_first() -> None:
    packed = brotli.compress(gzip.compress(b"hello"))
    assert decode_body(packed, "gzip, identity, br", limit=100) == b"hello"


def test_several_gzip_members_are_one_body_and_trailing_garbage_is_ignored() -> None:
    packed = gzip.compress(b"one ") + gzip.compress(b"two") + b"\0\0garbage"
    assert decode_body(packed, "gzip", limit=100) == b"one two"


def test_thousands_of_gzip_members_are_refused_at_once() -> None:
    with pytest.raises(DecodingError, match="members"):
        decode_body(gzip.compress(b"x") * 100_000, "gzip", limit=MEGABYTE)


@pytest.mark.parametrize("encodings", ["compress", "gzip, aes", "gzip,gzip,gzip,gzip"])
def test_unknown_encodings_and_too_many_encodings_are_refused(encodings: str) -> None:
    with pytest.raises(DecodingError):
        decode_body(b"x", encodings, limit=100)


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", "deflate"])
def test_an_empty_body_is_empty_in_every_encoding(encoding: str) -> None:
    assert decode_body(b"", encoding, limit=10) == b""


@given(st.lists(st.binary(min_size=1, max_size=40)))
def test_chunks_are_joined(chunks: list[bytes]) -> None:
    wire = b"".join(b"%x;name=value\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    assert decode_chunked(wire + b"0\r\n\r\n") == b"".join(chunks)


@given(st.binary(max_size=200))
def test_chunked_decoding_never_fails(body: bytes) -> None:
    assert len(decode_chunked(body)) <= len(body)


def test_a_body_without_chunks_stays_unchanged() -> None:
    assert decode_chunked(b"<html>\r\n</html>") == b"<html>\r\n</html>"
