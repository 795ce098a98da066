"""Orders compared: the laws, and Tables 2 to 4 of Mohammadi's paper recomputed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicrawl.lab.rank_correlation import exact_ranks, kendall, ranks, spearman

#: Mohammadi, Table 2: 20 pages as a person ranked them; the numbers are those behind the P.
HUMAN = [100, 101, 103, 102, 105, 108, 106, 107, 104, 109, 111, 110, 112, 113, 114, 116, 115, 119, 118, 117]
#: Table 3, by the vector space model alone; the table prints P105 at rank 3 and again at 11, and P104 nowhere.
VSM = [106, 109, 104, 100, 102, 113, 101, 114, 103, 108, 105, 107, 115, 110, 112, 116, 111, 117, 119, 118]
#: Table 4, by pruned summaries: in the order of their numbers.
PROPOSED = list(range(100, 120))


def places(order: list[int]) -> list[int]:
    """The rank of P100, P101, … in an order."""
    return [order.index(page) + 1 for page in range(100, 120)]


@pytest.mark.parametrize(
    ("table", "correlation", "exact"), [(PROPOSED, 0.969925, 9), (VSM, 0.658647, 1)], ids=["Table 4", "Table 3"]
)
def test_mohammadi_tables_2_to_4(table: list[int], correlation: float, exact: int) -> None:
    # The paper claims 11 and 0 exact ranks; its own tables have 9 and 1.
    assert spearman(places(HUMAN), places(table)) == pytest.approx(correlation, abs=5e-7)
    assert exact_ranks(places(HUMAN), places(table)) == exact


def test_kendall_agrees_that_summaries_are_nearer_to_the_reader() -> None:
    assert kendall(places(HUMAN), places(PROPOSED)) > kendall(places(HUMAN), places(VSM)) > 0


PAIRS = st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), max_size=30)


@pytest.mark.parametrize("measure", [spearman, kendall])
@given(pairs=PAIRS)
def test_the_laws_of_a_correlation(measure: object, pairs: list[tuple[int, int]]) -> None:
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


@pytest.mark.parametrize("measure", [spearman, kendall, exact_ranks])
def test_orders_of_different_things_are_a_mistake(measure: object) -> None:
    assert callable(measure)
    with pytest.raises(ValueError, match="2 and 1 values"):
        measure([1, 2], [1])
