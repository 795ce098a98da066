"""Large tables as short strings."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.packing import numbers_of, packed_numbers, packed_texts, texts_of


@given(st.lists(st.text(st.characters(exclude_characters="\n"))))
def test_texts_come_back_the_same(texts: list[str]) -> None:
    assert texts_of(packed_texts(texts)) == texts


@given(st.lists(st.floats(allow_nan=False)))
def test_floats_come_back_the_same(numbers: list[float]) -> None:
    assert list(numbers_of("d", packed_numbers("d", numbers))) == numbers


def test_urls_of_one_site_take_little_room() -> None:
    urls = [f"https://www.example.org/articles/2024/page-{number}.html" for number in range(1000)]
    assert len(packed_texts(urls)) < sum(map(len, urls)) / 5
