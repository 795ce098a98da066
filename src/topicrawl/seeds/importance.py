"""Important results first: those that the other results link to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from topicrawl.learn.hits import authorities
from topicrawl.learn.page_rank import page_ranks
from topicrawl.seeds.voting import Group, Seed, same
from topicrawl.urls import host

_DAMPING = 0.9  # of Cho et al. 1998
_ORDER = {group: number for number, group in enumerate(Group)}


def ordered(seeds: Sequence[Seed], links: Mapping[str, Sequence[str]], method: str) -> list[Seed]:
    """The seeds with their importance, the most important of each group first.

    `links` has for each seed that could be read the addresses that it links to. Links within one host are no
    recommendation and do not count.

    >>> pages = [Seed(f"http://{name}.example/", Group.RELEVANT, {"x": 1, "y": 1}) for name in "ab"]
    >>> [seed.url for seed in ordered(pages, {"http://a.example/": ["http://b.example/"]}, "hits")]
    ['http://b.example/', 'http://a.example/']
    """
    number = {same(seed.url): index for index, seed in enumerate(seeds)}
    graph: list[list[int]] = []
    for seed in seeds:
        targets = (number.get(same(url)) for url in links.get(seed.url, ()) if host(url) != host(seed.url))
        graph.append(list(dict.fromkeys(target for target in targets if target is not None)))
    values = authorities(graph) if method == "hits" else _ranks(graph)
    rated = [replace(seed, importance=value) for seed, value in zip(seeds, values, strict=True)]
    return sorted(rated, key=lambda seed: (_ORDER[seed.group], -seed.importance))


def _ranks(graph: Sequence[Sequence[int]]) -> list[float]:
    degrees = [len(targets) for targets in graph]
    flat = [target for targets in graph for target in targets]
    ranks, _ = page_ranks(degrees, range(len(graph)), flat, [1.0] * len(graph), _DAMPING)
    return [float(rank) for rank in ranks]
