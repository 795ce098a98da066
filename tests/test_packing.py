"""Large tables as short strings."""

from __future__ import annotations

import base64
import zlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.packing import array_of, numbers_of, packed_array, packed_numbers, packed_texts, texts_of


@given(st.lists(st.text(st.characters(exclude_characters="\n"))))
def test_texts_come_back_the_same(texts: list[str]) -> None:
    assert texts_of(packed_texts(texts)) == texts


@given(st.lists(st.floats(allow_nan=False)))
def test_floats_come_back_the_same(numbers: list[float]) -> None:
    assert list(numbers_of("d", packed_numbers("d", numbers))) == numbers


def test_what_is_very_large_is_packed_in_pieces_and_comes_back_the_same() -> None:
    values = np.arange(200_000, dtype=np.uint32).reshape(-1, 4)
    texts = [f"http://a/{number}" for number in range(10_000)]
    packed = [
        packed_array(values),
        packed_array(values[:, ::2]),
        packed_texts(texts),
        packed_numbers("d", range(70_000)),
    ]
    assert all(isinstance(each, list) and len(each) > 1 for each in packed)
    assert (array_of(packed[0], np.uint32) == values.ravel()).all()
    assert (array_of(packed[1], np.uint32) == values[:, ::2].ravel()).all()
    assert texts_of(packed[2]) == texts
    assert list(numbers_of("d", packed[3])) == list(range(70_000))


def test_what_was_packed_in_one_piece_is_still_read() -> None:
    text = "".join(f"http://a/{number}\n" for number in range(10_000))
    packed = base64.b64encode(zlib.compress(text.encode())).decode()
    assert texts_of(packed) == text.splitlines()


def test_urls_of_one_site_take_little_room() -> None:
    urls = [f"https://www.example.org/articles/2024/page-{number}.html" for number in range(1000)]
    assert len(str(packed_texts(urls))) < sum(map(len, urls)) / 5
