"""What pages say about a URL, and how it is pooled."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.records import Link, Page
from topicrawl.strategies.link_evidence import Evidence, Reader, url_words
from topicrawl.text.keyword_table import KeywordTable
from topicrawl.text.lexicon import lexicon

TABLE = KeywordTable({"dengue": 1.0, "fever": 0.5, "mosquito": 0.5}, lexicon("en"))
READER = Reader(TABLE, TABLE, k=2, rare=False)
COUNTS = st.dictionaries(st.integers(0, 13), st.integers(1, 99).map(float), max_size=4)
EVIDENCE = st.builds(Evidence, st.just(1), st.integers(0, 7), st.integers(0, 7), COUNTS, COUNTS)


def page(*words: str) -> Page:
    return Page("http://a/", words=words)


def test_each_attribute_is_read_off_its_own_place() -> None:
    link = Link("http://b/fever", "http://a/", "Dengue", before=("mosquito", "bites"), after=("itch",))
    found = READER.read([link], page("dengue", "dengue", "rash"))["http://b/fever"]
    assert found == Evidence(1, 0b010, 0b001, {0: 2}, {2: 1})


def test_links_of_one_page_to_the_same_url_are_one_voice() -> None:
    links = [Link("http://b/", anchor="", alt="a mosquito"), Link("http://b/", anchor="dengue", after=("fever",))]
    found = READER.read(links, page())
    assert found == {"http://b/": Evidence(1, 0, 0b101, {}, {1: 1})}


def test_only_the_heaviest_terms_of_a_page_count() -> None:
    said = page("train", "train", "track", "track", "dengue")
    assert READER.read([Link("http://b/")], said)["http://b/"].parents == {}


def test_four_attributes_come_of_it() -> None:
    values = READER.values(Evidence(1, 0b001, 0b111, {1: 3.0}, {}))
    assert [round(value, 4) for value in values] == [0.8165, 1.0, 0.4082, 0.0]


def test_an_address_is_cut_at_its_signs_and_its_escapes_are_read() -> None:
    assert url_words("https://a.example/x_y/Caf%C3%A9-noir?z=1") == ["a", "example", "x", "y", "café", "noir", "z", "1"]


@given(EVIDENCE)
def test_evidence_survives_json(one: Evidence) -> None:
    assert Evidence.of(json.loads(json.dumps(one.carry()))) == one


@given(EVIDENCE, EVIDENCE, EVIDENCE)
def test_the_order_of_pages_does_not_matter(one: Evidence, two: Evidence, three: Evidence) -> None:
    assert one.joined(two).joined(three) == three.joined(one).joined(two)


@given(EVIDENCE, EVIDENCE)
def test_the_sixth_page_has_no_say(one: Evidence, sixth: Evidence) -> None:
    five = one.joined(one).joined(one).joined(one).joined(one)
    assert five.pages == 5
    assert five.joined(sixth) == five
