"""Tests of the evidence about a URL and of merging it."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.models import Link, Page
from topicrawl.strategies.link_evidence import Evidence, EvidenceExtractor, split_url_words
from topicrawl.text.keyword_table import KeywordTable
from topicrawl.text.lexicon import load_lexicon

TABLE = KeywordTable({"dengue": 1.0, "fever": 0.5, "mosquito": 0.5}, load_lexicon("en"))
READER = EvidenceExtractor(TABLE, TABLE, k=2, uses_idf=False)
COUNTS = st.dictionaries(st.integers(0, 13), st.integers(1, 99).map(float), max_size=4)
EVIDENCE = st.builds(Evidence, st.just(1), st.integers(0, 7), st.integers(0, 7), COUNTS, COUNTS)


def page(*words: str) -> Page:
    return Page("http://a/", words=words)


def test_each_attribute_is_extracted_from_its_source() -> None:
    link = Link("http://b/fever", "http://a/", "Dengue", before=("mosquito", "bites"), after=("itch",))
    found = READER.extract_evidence([link], page("dengue", "dengue", "rash"))["http://b/fever"]
    assert found == Evidence(1, 0b010, 0b001, {0: 2}, {2: 1})


def test_links_of_one_page_to_the_same_url_are_merged() -> None:
    links = [Link("http://b/", anchor="", alt="a mosquito"), Link("http://b/", anchor="dengue", after=("fever",))]
    found = READER.extract_evidence(links, page())
    assert found == {"http://b/": Evidence(1, 0, 0b101, {}, {1: 1})}


def test_only_the_heaviest_terms_of_a_page_count() -> None:
    source = page("train", "train", "track", "track", "dengue")
    assert READER.extract_evidence([Link("http://b/")], source)["http://b/"].parents == {}


def test_four_attributes_are_computed() -> None:
    values = READER.compute_attributes(Evidence(1, 0b001, 0b111, {1: 3.0}, {}))
    assert [round(value, 4) for value in values] == [0.8165, 1.0, 0.4082, 0.0]


def test_urls_are_split_at_punctuation_and_unquoted() -> None:
    assert split_url_words("https://a.example/x_y/Caf%C3%A9-noir?z=1") == [
        "a",
        "example",
        "x",
        "y",
        "café",
        "noir",
        "z",
        "1",
    ]


@given(EVIDENCE)
def test_evidence_survives_json(one: Evidence) -> None:
    assert Evidence.from_payload(json.loads(json.dumps(one.to_payload()))) == one


@given(EVIDENCE, EVIDENCE, EVIDENCE)
def test_the_order_of_pages_does_not_matter(one: Evidence, two: Evidence, three: Evidence) -> None:
    assert one.merge(two).merge(three) == three.merge(one).merge(two)


@given(EVIDENCE, EVIDENCE)
def test_the_sixth_page_is_ignored(one: Evidence, sixth: Evidence) -> None:
    five = one.merge(one).merge(one).merge(one).merge(one)
    assert five.pages == 5
    assert five.merge(sixth) == five
