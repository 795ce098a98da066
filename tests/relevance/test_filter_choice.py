"""Tests of building a filter and tuning its thresholds on example pages."""

from __future__ import annotations

from random import Random

import pytest

from topicrawl.models import Page
from topicrawl.relevance.filter_choice import FilterBuilder, fit_filter, pass_rate, remove_boilerplate
from topicrawl.relevance.filter_model import FilterCoverage, FilterModel
from topicrawl.text.lexicon import load_lexicon
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Thresholds, Topic, TopicFilter

ENGLISH = load_lexicon("en")
ON = ("dengue fever", "mosquito nets", "aedes aegypti mosquito", "high fever", "skin rash", "blood platelets")
OFF = ("steam locomotive", "railway stations", "main line", "express trains", "boiler works", "skin rash")


def page(number: int, phrases: tuple[str, ...]) -> Page:
    random = Random(number)
    parts = [phrase for phrase in phrases for _ in range(random.randrange(4))] + ["people", "people"]
    parts += ["skin rash"] * (phrases is OFF)
    text = ". ".join(parts) + "."
    return Page(f"http://a.example/{number}", text=text, words=tuple(tokenise(text)), language="en")


RELEVANT = [page(number, ON) for number in range(30)]
IRRELEVANT = [page(number + 100, OFF) for number in range(30)]


def test_filter_contains_distinguishing_elements() -> None:
    found = FilterBuilder(ENGLISH, frozenset(), RELEVANT, IRRELEVANT).build_filter()
    assert set(found.pairs) == {*ON, "aedes aegypti", "aegypti mosquito"} - {"aedes aegypti mosquito", "skin rash"}
    assert set(found.triples) == {"aedes aegypti mosquito"}
    assert {"dengue", "fever", "mosquito"} <= found.terms.keys()
    assert not {"people", "skin", "rash", "locomotive"} & found.terms.keys()


def test_rare_words_of_many_pages_rank_first_without_irrelevant_examples() -> None:
    found = list(FilterBuilder(ENGLISH, frozenset(), RELEVANT).build_filter().terms)
    assert found.index("mosquito") < found.index("people")


def test_number_of_elements_is_limited() -> None:
    """Kluev, section 4, step 3: between 20 and 100 elements of each class."""
    many = [
        Page(f"http://a.example/{n}", text=" ".join(f"{a}{b}x" for a in "abcdefgh" for b in "ijklmnopqrstuvwxyz") * 2)
        for n in range(5)
    ]
    found = FilterBuilder(ENGLISH, frozenset(), many).build_filter()
    assert [len(found.terms), len(found.pairs), len(found.triples)] == [100, 100, 100]


def test_thresholds_pass_60_to_70_percent_of_the_core() -> None:
    """Kluev, section 4, step 4."""
    core = FilterBuilder(ENGLISH, frozenset(), RELEVANT, IRRELEVANT)
    chosen = core.build_filter()
    tuned = core.tune_thresholds(chosen)
    sieve = FilterModel.of(chosen, ENGLISH)
    rows = [sieve.measure_coverage(sieve.extract_terms(each)) for each in RELEVANT]
    at = FilterCoverage(tuned.terms or 0, tuned.pairs or 0, tuned.triples or 0, tuned.vsm or 0)
    assert 0.55 <= pass_rate(rows, at) <= 0.75
    others = [sieve.measure_coverage(sieve.extract_terms(each)) for each in IRRELEVANT]
    assert pass_rate(others, at) < 0.1


def test_few_pages_never_raise_thresholds() -> None:
    _, found = fit_filter(Topic.of("dengue"), RELEVANT[:2])
    values = found.get_defined()
    assert values["terms"] <= 0.5
    assert values["pairs"] <= 0.1
    assert values["triples"] <= 0.08
    assert values["vsm"] <= 0.18
    assert values["passage"] == values["vsm"] / 2


def test_irrelevant_examples_raise_the_passage_threshold() -> None:
    mentions = [
        Page(
            f"http://b.example/{number}",
            text=f"A mosquito, a fever and a rash. {'Express trains on the main line. ' * 30} n{number}.",
        )
        for number in range(40)
    ]
    # Half of the VSM threshold, as in the paper, accepts pages that only mention a term of the filter.
    topic = Topic("x", {"rash": 1.0}, filter=TopicFilter({"rash": 1.0, "mosquito": 1.0, "fever": 1.0}))
    _, few = fit_filter(topic, RELEVANT, mentions[:10])
    _, many = fit_filter(topic, RELEVANT, mentions)
    assert few.vsm is not None
    assert few.passage == few.vsm / 2
    sieve = FilterModel.of(topic.filter, ENGLISH)
    values = [sieve.best_passage_similarity(sieve.extract_terms(each)) for each in mentions]
    assert many.passage is not None
    assert sum(value >= few.passage for value in values) == 40
    assert sum(value >= many.passage for value in values) <= 2


def test_values_of_the_topic_have_precedence() -> None:
    own = TopicFilter({"rash": 1.0})
    topic = Topic("x", {"rash": 1.0}, filter=own, thresholds=Thresholds(vsm=0.3, terms=0.9))
    chosen, found = fit_filter(topic, RELEVANT, IRRELEVANT)
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
def test_filter_from_words(phrase: str, pairs: list[str], triples: list[str]) -> None:
    topic = Topic.of(phrase)
    chosen, found = fit_filter(topic)
    assert list(chosen.terms) == list(topic.words)
    assert (list(chosen.pairs), list(chosen.triples)) == (pairs, triples)
    assert found.get_defined() == {
        "vsm": topic.similarity_threshold,
        "terms": 0.5,
        "pairs": 0.1,
        "triples": 0.08,
        "passage": topic.similarity_threshold / 2,
    }


def test_default_thresholds_are_those_of_the_paper() -> None:
    _, found = fit_filter(Topic("x", {"x": 1.0}, filter=TopicFilter({"fever": 1.0})))
    assert found == Thresholds(0.18, 0.5, 0.1, 0.08, 0.09)


def test_boilerplate_is_removed() -> None:
    pages = [Page(f"http://a.example/{n}", text=f"Imprint and terms\npage {n}\nAll rights reserved") for n in range(4)]
    assert [each.text for each in remove_boilerplate(pages)] == [f"page {n}" for n in range(4)]
    assert remove_boilerplate(pages[:2]) == pages[:2]


def test_irrelevant_examples_raise_the_thresholds_of_undoubted_pages() -> None:
    mentions = [
        Page(
            f"http://b.example/{number}", text=f"A mosquito, a fever and a rash, but no {number % 3} trains. n{number}."
        )
        for number in range(40)
    ]
    topic = Topic("x", {"rash": 1.0}, filter=TopicFilter({"rash": 1.0, "mosquito": 1.0, "fever": 1.0, "larva": 1.0}))
    _, few = fit_filter(topic, RELEVANT, mentions[:10])
    _, many = fit_filter(topic, RELEVANT, mentions)
    assert few.undoubted_terms is None
    sieve = FilterModel.of(topic.filter, ENGLISH)
    rows = [sieve.measure_coverage(sieve.extract_terms(each)) for each in mentions]
    for name in ("terms", "vsm"):
        assert all(getattr(row, name) < many.get_undoubted(name) for row in rows)
        assert getattr(many, name) == getattr(few, name), "the thresholds of the votes stay those of the core"
    # Thresholds that the user sets count for undoubted pages too.
    own = Topic("x", {"rash": 1.0}, filter=topic.filter, thresholds=Thresholds(vsm=0.3))
    assert fit_filter(own, RELEVANT, mentions)[1].undoubted_terms is None
