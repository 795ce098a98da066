"""The keyword weight table of a topic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.text.keywords import weight_table
from topicrawl.text.lexicon import lexicon
from topicrawl.text.vectors import cosine

ENGLISH = lexicon("en")
#: Hati et al., Table 2: counts behind the printed weights; the words that the paper names, then stand-ins.
HATI = dict(zip(
    ("book", "computer", "program", "science", "java", "web", "database", "network", "linux", "perl"),
    (331, 296, 152, 126, 85, 85, 83, 74, 69, 62),
    strict=True,
))  # fmt: skip
SAFRAN = (332, 259, 142, 118, 107, 89, 81, 75, 45, 44, 44, 43, 42)


def text_of(counts: dict[str, int]) -> list[str]:
    return [word for word, count in counts.items() for _ in range(count)]


def test_weights_are_counts_over_the_greatest_as_in_table_2_of_hati() -> None:
    rare = {"zebra": 61, "the": 4000}
    table = weight_table([text_of({**rare, **HATI})], ENGLISH, own=["computer books"], k=10)
    assert table == {word: count / 331 for word, count in HATI.items()}
    assert table["computer"] == pytest.approx(0.894259, abs=1e-6)


def test_weights_are_counts_over_the_greatest_as_in_table_1_of_safran() -> None:
    counts = {f"keyword{chr(97 + n) * 3}": count for n, count in enumerate(SAFRAN)}
    table = weight_table([text_of(counts), ["of", "and"]], ENGLISH)
    assert list(table.values()) == [count / 332 for count in SAFRAN]
    # Safran et al.: the cosine of the subset {stock, market} of the table is sqrt(Σ_S w² / Σ w²).
    first_two = dict(list(table.items())[:2])
    assert cosine(first_two, table) == pytest.approx(0.838041, abs=1e-5)


@pytest.mark.parametrize(
    ("texts", "own", "expected"),
    [
        ([["owl", "owls", "owls"]], (), {"owls": 1.0}),
        ([["owls", "owl"]], (), {"owls": 1.0}),
        ([["night", "owl"]], (), {"night": 1.0, "owl": 1.0}),
        ([["the", "who", "band"]], (), {"band": 1.0}),
        ([["the", "who", "band"]], ("The Who",), {"the": 1.0, "who": 1.0, "band": 1.0}),
        ([["c", "c", "language"]], ("c",), {"c": 1.0, "language": 0.5}),
        ([["1929", "crash"]], (), {"crash": 1.0}),
        ([["1929", "crash"]], ("1929",), {"1929": 1.0, "crash": 1.0}),
        ([[], []], (), {}),
        ([], ("owl",), {}),
    ],
    ids=["inflections are one", "the first of equal forms", "ties in order of occurrence", "stop words are out",
         "but not the topic's own", "nor its letters", "numbers are out", "but not the topic's own number",
         "empty texts", "no texts"],
)  # fmt: skip
def test_what_is_in_the_table(texts: list[list[str]], own: tuple[str, ...], expected: dict[str, float]) -> None:
    assert weight_table(texts, ENGLISH, own=own) == expected


def test_tf_idf_prefers_rare_words() -> None:
    texts = [["people", "people", "owl", "people", "owl"]]
    assert list(weight_table(texts, ENGLISH)) == ["people", "owl"]
    assert list(weight_table(texts, ENGLISH, weighting="tf_idf")) == ["owl", "people"]


def test_an_unknown_weighting_is_named() -> None:
    with pytest.raises(ValueError, match="tf, tf_idf, not 'idf'"):
        weight_table([["owl"]], ENGLISH, weighting="idf")


@given(st.lists(st.lists(st.sampled_from(["owl", "owls", "night", "the", "of", "1", "東京"]))), st.integers(1, 5))
def test_the_heaviest_weighs_1_and_none_more(texts: list[list[str]], k: int) -> None:
    weights = list(weight_table(texts, ENGLISH, k=k).values())
    assert len(weights) <= k
    assert weights == sorted(weights, reverse=True)
    assert not weights or (weights[0] == 1 and weights[-1] > 0)
