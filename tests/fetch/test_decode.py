"""Bodies are unpacked as their encoding says, and never beyond the limit."""

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

from topicrawl.fetch.decode import TooLarge, Undecodable, dechunk, decode

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
def test_every_encoding_gives_back_what_was_packed(name: str, data: bytes) -> None:
    encoding, pack = PACKERS[name]
    assert decode(pack(data), encoding, limit=len(data)) == data


@pytest.mark.parametrize("name", PACKED)
def test_a_body_cut_in_the_middle_is_undecodable(name: str) -> None:
    encoding, pack = PACKED[name]
    packed = pack(bytes(range(256)) * 40)
    with pytest.raises(Undecodable):
        decode(packed[: len(packed) // 2], encoding, limit=MEGABYTE)


@pytest.mark.parametrize("name", PACKED)
def test_a_body_that_is_not_packed_at_all_is_undecodable(name: str) -> None:
    with pytest.raises(Undecodable):
        decode(b"<html>plain text after all</html>" * 9, PACKED[name][0], limit=MEGABYTE)


@pytest.mark.parametrize("name", PACKED)
def test_a_bomb_stops_at_the_limit_with_little_memory(name: str) -> None:
    encoding, pack = PACKED[name]
    bomb = pack(bytes(64 * MEGABYTE))
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge):
            decode(bomb, encoding, limit=MEGABYTE)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 * MEGABYTE


def test_a_bomb_inside_a_bomb_stops_at_the_limit() -> None:
    with pytest.raises(TooLarge):
        decode(gzip.compress(gzip.compress(bytes(32 * MEGABYTE))), "gzip, gzip", limit=4096)


@pytest.mark.parametrize("name", PACKERS)
def test_cut_keeps_the_beginning_of_a_body_that_is_too_large(name: str) -> None:
    encoding, pack = PACKERS[name]
    assert decode(pack(b"0123456789" * 1000), encoding, limit=15, cut=True) == b"012345678901234"


@pytest.mark.parametrize("name", ["gzip", "zlib", "raw deflate", "zstd", "brotli"])
def test_cut_reads_what_there_is_of_a_torn_body(name: str) -> None:
    encoding, pack = PACKED[name]
    data = bytes(index * index % 251 for index in range(60_000))
    packed = pack(data)
    found = decode(packed[:-5], encoding, limit=MEGABYTE, cut=True)
    assert data.startswith(found)


def test_the_last_encoding_of_a_list_is_undone_first() -> None:
    packed = brotli.compress(gzip.compress(b"hello"))
    assert decode(packed, "gzip, identity, br", limit=100) == b"hello"


def test_gzip_members_behind_each_other_are_one_body_and_trailing_garbage_is_ignored() -> None:
    packed = gzip.compress(b"one ") + gzip.compress(b"two") + b"\0\0garbage"
    assert decode(packed, "gzip", limit=100) == b"one two"


def test_thousands_of_gzip_members_are_refused_at_once() -> None:
    with pytest.raises(Undecodable, match="members"):
        decode(gzip.compress(b"x") * 100_000, "gzip", limit=MEGABYTE)


@pytest.mark.parametrize("encodings", ["compress", "gzip, aes", "gzip,gzip,gzip,gzip"])
def test_unknown_encodings_and_towers_of_them_are_refused(encodings: str) -> None:
    with pytest.raises(Undecodable):
        decode(b"x", encodings, limit=100)


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", "deflate"])
def test_an_empty_body_is_empty_in_every_encoding(encoding: str) -> None:
    assert decode(b"", encoding, limit=10) == b""


@given(st.lists(st.binary(min_size=1, max_size=40)))
def test_chunks_are_put_together(chunks: list[bytes]) -> None:
    wire = b"".join(b"%x;name=value\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    assert dechunk(wire + b"0\r\n\r\n") == b"".join(chunks)


@given(st.binary(max_size=200))
def test_taking_chunks_apart_never_fails(body: bytes) -> None:
    assert len(dechunk(body)) <= len(body)


def test_a_body_whose_chunks_were_taken_apart_already_stays_as_it_is() -> None:
    assert dechunk(b"<html>\r\n</html>") == b"<html>\r\n</html>"
