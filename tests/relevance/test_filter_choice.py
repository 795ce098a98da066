"""The permanent filter, chosen from example pages, and thresholds tuned on them."""

from __future__ import annotations

from random import Random

import pytest

from topicrawl.records import Page
from topicrawl.relevance.filter_choice import Core, fitted, passing, unframed
from topicrawl.relevance.sieve import Shares, Sieve
from topicrawl.text.lexicon import lexicon
from topicrawl.text.tokens import words
from topicrawl.topic import Filter, Thresholds, Topic

ENGLISH = lexicon("en")
ON = ("dengue fever", "mosquito nets", "aedes aegypti mosquito", "high fever", "skin rash", "blood platelets")
OFF = ("steam locomotive", "railway stations", "main line", "express trains", "boiler works", "skin rash")


def page(number: int, phrases: tuple[str, ...]) -> Page:
    random = Random(number)
    said = [phrase for phrase in phrases for _ in range(random.randrange(4))] + ["people", "people"]
    said += ["skin rash"] * (phrases is OFF)
    text = ". ".join(said) + "."
    return Page(f"http://a.example/{number}", text=text, words=tuple(words(text)), language="en")


RELEVANT = [page(number, ON) for number in range(30)]
IRRELEVANT = [page(number + 100, OFF) for number in range(30)]


def test_the_filter_is_what_marks_the_examples() -> None:
    found = Core(ENGLISH, frozenset(), RELEVANT, IRRELEVANT).filter()
    assert set(found.pairs) == {*ON, "aedes aegypti", "aegypti mosquito"} - {"aedes aegypti mosquito", "skin rash"}
    assert set(found.triples) == {"aedes aegypti mosquito"}
    assert {"dengue", "fever", "mosquito"} <= found.terms.keys()
    assert not {"people", "skin", "rash", "locomotive"} & found.terms.keys()


def test_without_irrelevant_examples_the_rare_words_of_many_pages_come_first() -> None:
    found = list(Core(ENGLISH, frozenset(), RELEVANT).filter().terms)
    assert found.index("mosquito") < found.index("people")


def test_a_class_has_as_many_elements_as_it_is_allowed() -> None:
    """Kluev, section 4, step 3: between 20 and 100 elements of each class."""
    many = [
        Page(f"http://a.example/{n}", text=" ".join(f"{a}{b}x" for a in "abcdefgh" for b in "ijklmnopqrstuvwxyz") * 2)
        for n in range(5)
    ]
    found = Core(ENGLISH, frozenset(), many).filter()
    assert [len(found.terms), len(found.pairs), len(found.triples)] == [100, 100, 100]


def test_60_to_70_percent_of_the_core_pass() -> None:
    """Kluev, section 4, step 4."""
    core = Core(ENGLISH, frozenset(), RELEVANT, IRRELEVANT)
    chosen = core.filter()
    tuned = core.thresholds(chosen)
    sieve = Sieve.of(chosen, ENGLISH)
    rows = [sieve.shares(sieve.said(each)) for each in RELEVANT]
    at = Shares(tuned.terms or 0, tuned.pairs or 0, tuned.triples or 0, tuned.vsm or 0)
    assert 0.55 <= passing(rows, at) <= 0.75
    others = [sieve.shares(sieve.said(each)) for each in IRRELEVANT]
    assert passing(others, at) < 0.1


def test_a_few_pages_lower_thresholds_and_raise_none() -> None:
    _, found = fitted(Topic.of("dengue"), RELEVANT[:2])
    values = found.set()
    assert values["terms"] <= 0.5
    assert values["pairs"] <= 0.1
    assert values["triples"] <= 0.08
    assert values["vsm"] <= 0.18
    assert values["passage"] == values["vsm"] / 2


def test_what_the_topic_says_stands() -> None:
    own = Filter({"rash": 1.0})
    topic = Topic("x", {"rash": 1.0}, filter=own, thresholds=Thresholds(vsm=0.3, terms=0.9))
    chosen, found = fitted(topic, RELEVANT, IRRELEVANT)
    assert chosen == own
    assert (found.vsm, found.terms, found.passage) == (0.3, 0.9, 0.15)


@pytest.mark.parametrize(
    ("phrase", "pairs", "triples"),
    [
        ("dengue", [], []),
        ("Dengue fever", ["dengue fever"], []),
        ("binary search trees", ["binary search", "search trees"], ["binary search trees"]),
        ("the who", ["the who"], []),
        ("bird feathers nest eggs", [], []),
    ],
)
def test_words_alone_make_a_filter(phrase: str, pairs: list[str], triples: list[str]) -> None:
    topic = Topic.of(phrase)
    chosen, found = fitted(topic)
    assert list(chosen.terms) == list(topic.words)
    assert (list(chosen.pairs), list(chosen.triples)) == (pairs, triples)
    assert found.set() == {
        "vsm": topic.threshold, "terms": 0.5, "pairs": 0.1, "triples": 0.08, "passage": topic.threshold / 2,
    }  # fmt: skip


def test_a_filter_without_thresholds_has_those_of_the_paper() -> None:
    _, found = fitted(Topic("x", {"x": 1.0}, filter=Filter({"fever": 1.0})))
    assert found == Thresholds(0.18, 0.5, 0.1, 0.08, 0.09)


def test_the_frame_of_a_site_is_no_content() -> None:
    pages = [Page(f"http://a.example/{n}", text=f"Imprint and terms\npage {n}\nAll rights reserved") for n in range(4)]
    assert [each.text for each in unframed(pages)] == [f"page {n}" for n in range(4)]
    assert unframed(pages[:2]) == pages[:2]
