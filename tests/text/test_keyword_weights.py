"""Tests of the keyword weight table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.text.keyword_weights import build_weight_table
from topicrawl.text.lexicon import load_lexicon
from topicrawl.text.sparse_vectors import cosine

ENGLISH = load_lexicon("en")
#: Hati et al., Table 2: counts of the printed weights; the words that the paper names, then placeholders.
HATI = dict(
    zip(
        ("book", "computer", "program", "science", "java", "web", "database", "network", "linux", "perl"),
        (331, 296, 152, 126, 85, 85, 83, 74, 69, 62),
        strict=True,
    )
)
SAFRAN = (332, 259, 142, 118, 107, 89, 81, 75, 45, 44, 44, 43, 42)


def make_text(counts: dict[str, int]) -> list[str]:
    return [word for word, count in counts.items() for _ in range(count)]


def test_weights_of_hati_table_2() -> None:
    rare = {"zebra": 61, "the": 4000}
    table = build_weight_table([make_text({**rare, **HATI})], ENGLISH, keep_words=["computer books"], k=10)
    assert table == {word: count / 331 for word, count in HATI.items()}
    assert table["computer"] == pytest.approx(0.894259, abs=1e-6)


def test_weights_of_safran_table_1() -> None:
    counts = {f"keyword{chr(97 + n) * 3}": count for n, count in enumerate(SAFRAN)}
    table = build_weight_table([make_text(counts), ["of", "and"]], ENGLISH)
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
    ids=[
        "inflections are one",
        "the first of equal forms",
        "ties in order of occurrence",
        "stop words are out",
        "but not the topic's own",
        "nor its letters",
        "numbers are out",
        "but not the topic's own number",
        "empty texts",
        "no texts",
    ],
)
def test_words_of_the_table(texts: list[list[str]], own: tuple[str, ...], expected: dict[str, float]) -> None:
    assert build_weight_table(texts, ENGLISH, keep_words=own) == expected


def test_tf_idf_prefers_rare_words() -> None:
    texts = [["people", "people", "owl", "people", "owl"]]
    assert list(build_weight_table(texts, ENGLISH)) == ["people", "owl"]
    assert list(build_weight_table(texts, ENGLISH, weighting="tf_idf")) == ["owl", "people"]


def test_seed_idf_drops_words_of_every_page_and_counts_irrelevant_pages() -> None:
    """Safran et al., III C step 3: idf = log(N/n) over the seed pages."""
    texts, others = [["menu", "owl", "night"], ["menu", "owl", "owls"]], [["menu", "train"], ["menu", "night"]]
    table = build_weight_table(texts, ENGLISH, weighting="tf_seed_idf", others=others)
    assert list(table) == ["owl", "night"]
    assert table["night"] == pytest.approx(1 / 3)  # once instead of three times; both are on two of four pages


def test_normalised_counts_are_shares_of_each_page() -> None:
    long, short = ["train"] * 90 + ["owl"] * 10, ["owl", "owl", "owl", "night"]
    assert list(build_weight_table([long, short], ENGLISH, k=1)) == ["train"]
    table = build_weight_table([long, short], ENGLISH, normalise=True)
    assert table == pytest.approx({"train": 1.0, "owl": 0.85 / 0.9, "night": 0.25 / 0.9})


def test_unknown_weighting_is_rejected() -> None:
    with pytest.raises(ValueError, match="tf, tf_idf, tf_seed_idf, not 'idf'"):
        build_weight_table([["owl"]], ENGLISH, weighting="idf")


@given(st.lists(st.lists(st.sampled_from(["owl", "owls", "night", "the", "of", "1", "東京"]))), st.integers(1, 5))
def test_heaviest_word_has_weight_1(texts: list[list[str]], k: int) -> None:
    weights = list(build_weight_table(texts, ENGLISH, k=k).values())
    assert len(weights) <= k
    assert weights == sorted(weights, reverse=True)
    assert not weights or (weights[0] == 1 and weights[-1] > 0)
