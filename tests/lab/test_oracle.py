"""The greedy oracle and the upper bound, compared with brute force on small webs."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicrawl.lab.measures import auc, auc_from_hits, cumulative_hits, nauc
from topicrawl.lab.oracle import compute_depths, greedy_order, upper_bound

Web = tuple[dict[str, list[str]], list[str], set[str]]


@st.composite
def webs(draw: st.DrawFn) -> Web:
    """A web of at most six pages with one or two seeds and some targets. Some pages may be unreachable."""
    names = [f"p{number}" for number in range(draw(st.integers(2, 6)))]
    graph = {name: draw(st.lists(st.sampled_from(names), max_size=3)) for name in names}
    seeds = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
    return graph, seeds, draw(st.sets(st.sampled_from(names), min_size=1)) - set(seeds)


def is_feasible(graph: dict[str, list[str]], seeds: list[str], order: list[str]) -> bool:
    seed_count = len(seeds)
    return order[:seed_count] == seeds and all(
        any(order[number] in graph[parent] for parent in order[:number]) for number in range(seed_count, len(order))
    )


def best_harvest(graph: dict[str, list[str]], seeds: list[str], targets: set[str]) -> list[int]:
    """Return the most targets that any feasible order finds after each fetch, by enumerating all orders."""
    rest = [url for url in compute_depths(graph, seeds) if url not in seeds]
    counts = [0] * (len(seeds) + len(rest))
    for order in permutations(rest):
        whole = [*seeds, *order]
        if is_feasible(graph, seeds, whole):
            counts = [max(pair) for pair in zip(counts, cumulative_hits(whole, targets), strict=True)]
    return counts


@settings(deadline=None)  # a busy machine is slow, not wrong
@given(webs())
def test_the_best_order_lies_between_the_greedy_one_and_the_bound(web: Web) -> None:
    graph, seeds, targets = web
    optimum = best_harvest(graph, seeds, targets)
    greedy_hits = cumulative_hits(greedy_order(graph, seeds, targets), targets)
    greedy_hits += [greedy_hits[-1]] * (len(optimum) - len(greedy_hits))
    bound = upper_bound(graph, seeds, targets, len(optimum))
    assert all(low <= middle <= high for low, middle, high in zip(greedy_hits, optimum, bound, strict=True))


@settings(deadline=None)  # a busy machine is slow, not wrong
@given(webs())
def test_the_greedy_order_is_feasible_fetches_nothing_twice_and_finds_all_that_can_be_reached(web: Web) -> None:
    graph, seeds, targets = web
    order = greedy_order(graph, seeds, targets)
    assert is_feasible(graph, seeds, order)
    assert len(set(order)) == len(order)
    assert targets & set(order) == targets & set(compute_depths(graph, seeds))
    assert order == seeds or order[-1] in targets


@settings(deadline=None)  # a busy machine is slow, not wrong
@given(webs())
def test_where_every_target_is_linked_from_a_seed_or_a_target_greedy_bound_and_best_agree(web: Web) -> None:
    graph, seeds, targets = web
    # All reachable pages are targets, so that no fetch is spent on other pages.
    targets = set(compute_depths(graph, seeds)) - set(seeds)
    optimum = best_harvest(graph, seeds, targets)
    assert (
        cumulative_hits(greedy_order(graph, seeds, targets), targets)
        == optimum
        == upper_bound(graph, seeds, targets, len(optimum))
    )


@settings(deadline=None)  # a busy machine is slow, not wrong
@given(webs())
def test_breadth_first_is_0_the_oracle_is_1_and_the_bound_is_no_less(web: Web) -> None:
    graph, seeds, targets = web
    depths = compute_depths(graph, seeds)
    targets &= set(depths)
    oracle, plain = greedy_order(graph, seeds, targets), list(depths)
    if not targets:
        return
    at_best, at_first = auc(oracle, targets, len(plain)), auc(plain, targets, len(plain))
    assert auc_from_hits(upper_bound(graph, seeds, targets, len(plain)), len(targets), len(plain)) >= at_best - 1e-12
    if at_best != at_first:
        assert nauc(at_first, at_first, at_best) == 0.0
        assert nauc(at_best, at_first, at_best) == 1.0


@settings(deadline=None)  # a busy machine is slow, not wrong
@given(webs())
def test_the_order_of_links_and_targets_makes_no_difference(web: Web) -> None:
    graph, seeds, targets = web
    reversed_graph = {name: links[::-1] for name, links in reversed(graph.items())}
    assert greedy_order(reversed_graph, seeds, sorted(targets, reverse=True)) == greedy_order(graph, seeds, targets)


def test_of_two_shortest_paths_the_one_with_more_targets_is_taken() -> None:
    graph = {"s": ["a", "b"], "a": ["x"], "b": ["y"], "x": ["z"], "y": ["z"]}
    assert greedy_order(graph, ["s"], {"y", "z"}) == ["s", "b", "y", "z"]


def test_equal_targets_are_taken_by_what_they_link_to_then_by_address() -> None:
    graph = {"s": ["a", "b", "c"], "c": ["d"]}
    assert greedy_order(graph, ["s"], {"a", "b", "c", "d"}) == ["s", "c", "a", "b", "d"]


def test_a_seed_that_is_named_twice_costs_one_fetch() -> None:
    assert upper_bound({"s": ["a"]}, ["s", "s"], {"a"}, 2) == [0, 1]


def test_targets_that_cannot_be_reached_are_left_out() -> None:
    assert greedy_order({"s": ["a"]}, ["s"], {"z"}) == ["s"]
    assert upper_bound({"s": ["a"]}, ["s"], {"z"}, 3) == [0, 0, 0]


@pytest.mark.parametrize("fetches", [1, 5])
def test_the_bound_has_a_value_for_each_fetch(fetches: int) -> None:
    assert len(upper_bound({"s": ["a"]}, ["s"], {"a"}, fetches)) == fetches
