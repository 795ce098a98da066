"""Rank correlation: its properties, and Tables 2 to 4 of Mohammadi's paper recomputed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.lab.rank_correlation import count_equal_ranks, kendall, ranks, spearman

#: Mohammadi, Table 2: ranking of 20 pages by a person; the numbers are the page numbers after the P.
HUMAN = [100, 101, 103, 102, 105, 108, 106, 107, 104, 109, 111, 110, 112, 113, 114, 116, 115, 119, 118, 117]
#: Table 3, by the vector space model alone. The table prints P105 at ranks 3 and 11 and omits P104.
VSM = [106, 109, 104, 100, 102, 113, 101, 114, 103, 108, 105, 107, 115, 110, 112, 116, 111, 117, 119, 118]
#: Table 4, by pruned summaries: in the order of their numbers.
PROPOSED = list(range(100, 120))


def ranks_of_pages(order: list[int]) -> list[int]:
    """Return the ranks of P100, P101, … in an order."""
    return [order.index(page) + 1 for page in range(100, 120)]


@pytest.mark.parametrize(
    ("table", "correlation", "exact"), [(PROPOSED, 0.969925, 9), (VSM, 0.658647, 1)], ids=["Table 4", "Table 3"]
)
def test_mohammadi_tables_2_to_4(table: list[int], correlation: float, exact: int) -> None:
    # The paper claims 11 and 0 exact ranks; its own tables have 9 and 1.
    assert spearman(ranks_of_pages(HUMAN), ranks_of_pages(table)) == pytest.approx(correlation, abs=5e-7)
    assert count_equal_ranks(ranks_of_pages(HUMAN), ranks_of_pages(table)) == exact


def test_kendall_also_ranks_summaries_closer_to_the_human_order() -> None:
    assert (
        kendall(ranks_of_pages(HUMAN), ranks_of_pages(PROPOSED))
        > kendall(ranks_of_pages(HUMAN), ranks_of_pages(VSM))
        > 0
    )


PAIRS = st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), max_size=30)


@pytest.mark.parametrize("measure", [spearman, kendall])
@given(pairs=PAIRS)
def test_properties_of_a_correlation(measure: object, pairs: list[tuple[int, int]]) -> None:
    assert callable(measure)
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    found = measure(a, b)
    assert -1 <= found <= 1
    assert measure(b, a) == pytest.approx(found)
    assert measure(a, [-y for y in b]) == pytest.approx(-found)
    assert measure([x**3 for x in a], b) == pytest.approx(found), "only the order counts"
    assert measure(a, a) == pytest.approx(1.0 if len(set(a)) > 1 else 0.0)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=30))
def test_ranks_with_ties_add_up_as_those_without(values: list[int]) -> None:
    assert sum(ranks(values)) == len(values) * (len(values) + 1) / 2


@given(st.permutations(range(12)))
def test_without_ties_spearman_is_the_formula_of_differences(order: list[int]) -> None:
    n = len(order)
    differences = sum((place - value) ** 2 for place, value in enumerate(order))
    assert spearman(range(n), order) == pytest.approx(1 - 6 * differences / (n**3 - n))


@pytest.mark.parametrize("measure", [spearman, kendall, count_equal_ranks])
def test_orders_of_different_lengths_are_rejected(measure: object) -> None:
    assert callable(measure)
    with pytest.raises(ValueError, match="2 and 1 values"):
        measure([1, 2], [1])
