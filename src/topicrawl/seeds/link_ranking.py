"""Rank seeds by the links between them: HITS authorities or PageRank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from topicrawl.ml.hits import compute_authorities
from topicrawl.ml.page_rank import compute_page_ranks
from topicrawl.seeds.voting import Seed, SeedGroup, get_page_key
from topicrawl.urls import get_host

_DAMPING = 0.9  # Cho et al. 1998
_GROUP_ORDER = {group: number for number, group in enumerate(SeedGroup)}


def rank_seeds(seeds: Sequence[Seed], links: Mapping[str, Sequence[str]], method: str) -> list[Seed]:
    """Return the seeds with their importance, the most important of each group first.

    `links` maps each seed that could be fetched to the URLs that it links to. Links within one host are no
    recommendation and do not count.

    >>> pages = [Seed(f"http://{name}.example/", SeedGroup.RELEVANT, {"x": 1, "y": 1}) for name in "ab"]
    >>> [seed.url for seed in rank_seeds(pages, {"http://a.example/": ["http://b.example/"]}, "hits")]
    ['http://b.example/', 'http://a.example/']
    """
    number = {get_page_key(seed.url): index for index, seed in enumerate(seeds)}
    graph: list[list[int]] = []
    for seed in seeds:
        targets = (
            number.get(get_page_key(url)) for url in links.get(seed.url, ()) if get_host(url) != get_host(seed.url)
        )
        graph.append(list(dict.fromkeys(target for target in targets if target is not None)))
    values = compute_authorities(graph) if method == "hits" else _compute_page_ranks(graph)
    rated = [replace(seed, importance=value) for seed, value in zip(seeds, values, strict=True)]
    return sorted(rated, key=lambda seed: (_GROUP_ORDER[seed.group], -seed.importance))


def _compute_page_ranks(graph: Sequence[Sequence[int]]) -> list[float]:
    """Return the PageRank of each node."""
    degrees = [len(targets) for targets in graph]
    flat = [target for targets in graph for target in targets]
    ranks, _ = compute_page_ranks(degrees, range(len(graph)), flat, [1.0] * len(graph), _DAMPING)
    return [float(rank) for rank in ranks]
