"""Packing of large lists into strings."""

from __future__ import annotations

import base64
import zlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.serialization import pack_array, pack_numbers, pack_texts, unpack_array, unpack_numbers, unpack_texts


@given(st.lists(st.text(st.characters(exclude_characters="\n"))))
def test_texts_come_back_the_same(texts: list[str]) -> None:
    assert unpack_texts(pack_texts(texts)) == texts


@given(st.lists(st.floats(allow_nan=False)))
def test_floats_come_back_the_same(numbers: list[float]) -> None:
    assert list(unpack_numbers("d", pack_numbers("d", numbers))) == numbers


def test_what_is_very_large_is_packed_in_pieces_and_comes_back_the_same() -> None:
    values = np.arange(200_000, dtype=np.uint32).reshape(-1, 4)
    texts = [f"http://a/{number}" for number in range(10_000)]
    packed = [
        pack_array(values),
        pack_array(values[:, ::2]),
        pack_texts(texts),
        pack_numbers("d", range(70_000)),
    ]
    assert all(isinstance(each, list) and len(each) > 1 for each in packed)
    assert (unpack_array(packed[0], np.uint32) == values.ravel()).all()
    assert (unpack_array(packed[1], np.uint32) == values[:, ::2].ravel()).all()
    assert unpack_texts(packed[2]) == texts
    assert list(unpack_numbers("d", packed[3])) == list(range(70_000))


def test_what_was_packed_in_one_piece_is_still_read() -> None:
    text = "".join(f"http://a/{number}\n" for number in range(10_000))
    packed = base64.b64encode(zlib.compress(text.encode())).decode()
    assert unpack_texts(packed) == text.splitlines()


def test_urls_of_one_site_take_little_room() -> None:
    urls = [f"https://www.example.org/articles/2024/page-{number}.html" for number in range(1000)]
    assert len(str(pack_texts(urls))) < sum(map(len, urls)) / 5
