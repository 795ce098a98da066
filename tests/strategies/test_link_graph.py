"""The link graph: numbers, forgetting, packing."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from topicrawl.strategies.link_graph import LinkGraph

PAGES = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=5)),
    max_size=12,
)


def made(pages: list[tuple[str, list[str]]]) -> LinkGraph:
    graph = LinkGraph(new=0.1)
    for page, targets in pages:
        graph.add(page, [target for target in targets if target != page])
    for number in range(len(graph.urls)):
        graph.weights[number] = (number * 7) % 5 + 0.25
    return graph


def links(graph: LinkGraph) -> dict[str, list[str | None]]:
    """Page → where its links lead; None for a URL that was forgotten."""
    names: dict[int, str | None] = {number: url for url, number in graph.urls.items()} | {-1: None}
    found: dict[str, list[str | None]] = {}
    at = 0
    for page in graph.pages:
        found[str(names[page])] = [names[end] for end in graph.targets[at : at + graph.degrees[page]]]
        at += graph.degrees[page]
    assert at == len(graph.targets)
    return found


@given(PAGES)
def test_a_packed_graph_comes_back_the_same(pages: list[tuple[str, list[str]]]) -> None:
    graph = made(pages)
    state = json.loads(json.dumps(graph.packed()))
    assert LinkGraph.unpacked(state) == graph


@given(PAGES, st.integers(1, 10))
def test_the_heaviest_urls_stay_with_their_links(pages: list[tuple[str, list[str]]], count: int) -> None:
    graph = made(pages)
    weights = {url: graph.weights[number] for url, number in graph.urls.items()}
    waiting = {url for url, number in graph.urls.items() if graph.waits(number)}
    before = links(graph)
    graph.keep_heaviest(count)
    kept = set(graph.urls)
    assert kept == set(sorted(weights, key=weights.__getitem__, reverse=True)[:count])
    assert list(graph.urls.values()) == list(range(len(kept)))
    assert {url: graph.weights[number] for url, number in graph.urls.items()} == {url: weights[url] for url in kept}
    assert {url for url, number in graph.urls.items() if graph.waits(number)} == waiting & kept
    assert links(graph) == {
        page: [end if end in kept else None for end in ends] for page, ends in before.items() if page in kept
    }
    graph.keep_heaviest(1)
    assert len(graph.urls) == min(1, len(kept)), "forgetting again works too"
