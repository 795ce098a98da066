"""Tests of the link graph: numbers, dropping URLs, state."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.strategies.link_graph import LinkGraph

PAGES = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=5)),
    max_size=12,
)


def build_graph(pages: list[tuple[str, list[str]]]) -> LinkGraph:
    graph = LinkGraph(new_weight=0.1)
    for page, targets in pages:
        graph.add_page(page, [target for target in targets if target != page])
    for number in range(len(graph.urls)):
        graph.weights[number] = (number * 7) % 5 + 0.25
    return graph


def list_links(graph: LinkGraph) -> dict[str, list[str | None]]:
    """Return the link targets of each page, with None for a dropped URL."""
    names: dict[int, str | None] = {number: url for url, number in graph.urls.items()} | {-1: None}
    found: dict[str, list[str | None]] = {}
    at = 0
    for page in graph.pages:
        found[str(names[page])] = [names[end] for end in graph.targets[at : at + graph.out_degrees[page]]]
        at += graph.out_degrees[page]
    assert at == len(graph.targets)
    return found


@given(PAGES)
def test_the_state_of_a_graph_survives_a_round_trip(pages: list[tuple[str, list[str]]]) -> None:
    graph = build_graph(pages)
    state = json.loads(json.dumps(graph.get_state()))
    assert LinkGraph.from_state(state) == graph


@given(PAGES, st.integers(1, 10))
def test_the_heaviest_urls_stay_with_their_links(pages: list[tuple[str, list[str]]], count: int) -> None:
    graph = build_graph(pages)
    weights = {url: graph.weights[number] for url, number in graph.urls.items()}
    waiting = {url for url, number in graph.urls.items() if graph.is_waiting(number)}
    before = list_links(graph)
    graph.keep_heaviest(count)
    kept = set(graph.urls)
    assert kept == set(sorted(weights, key=weights.__getitem__, reverse=True)[:count])
    assert list(graph.urls.values()) == list(range(len(kept)))
    assert {url: graph.weights[number] for url, number in graph.urls.items()} == {url: weights[url] for url in kept}
    assert {url for url, number in graph.urls.items() if graph.is_waiting(number)} == waiting & kept
    assert list_links(graph) == {
        page: [end if end in kept else None for end in ends] for page, ends in before.items() if page in kept
    }
    graph.keep_heaviest(1)
    assert len(graph.urls) == min(1, len(kept)), "URLs can be dropped repeatedly"
