"""Oracle: the best possible harvest of a web, as a greedy fetch order and an upper bound.

A fetch order is feasible if it begins with the seeds and every other page comes after a page that links to it. Finding
the best feasible order is NP-hard. Its harvest lies between the greedy order, which is feasible, and the upper bound,
which may be unreachable.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

Graph = Mapping[str, Sequence[str]]


def compute_depths(graph: Graph, seeds: Iterable[str]) -> dict[str, int]:
    """Return the link distance from the nearest seed for every reachable page, in breadth-first order.

    >>> compute_depths({"a": ["b", "c"], "b": ["d"], "x": ["a"]}, ["a"])
    {'a': 0, 'b': 1, 'c': 1, 'd': 2}
    """
    depths = dict.fromkeys(seeds, 0)
    level, depth = list(depths), 0
    while level:
        depth += 1
        next_level: list[str] = []
        for page in level:
            for url in graph.get(page, ()):
                if url not in depths:
                    depths[url] = depth
                    next_level.append(url)
        level = next_level
    return depths


def upper_bound(graph: Graph, seeds: Sequence[str], targets: Collection[str], fetches: int) -> list[int]:
    """Return an upper bound of the number of targets among the first 1, 2, … fetches of any feasible order.

        UB(n) = #{k : |seeds| + max(k, d_k) ≤ n},   d_1 ≤ d_2 ≤ … the depths of the targets

    k targets take k fetches, and the farthest of them is at least d_k links away. Example with two targets, one and
    three links away: the second cannot come before the fourth fetch.

    >>> upper_bound({"s": ["a", "b"], "b": ["c"], "c": ["d"]}, ["s"], {"a", "d"}, 6)
    [0, 1, 1, 2, 2, 2]
    """
    depths = compute_depths(graph, seeds)
    seed_count = len(set(seeds))
    target_depths = sorted(depths[url] for url in set(targets) - set(seeds) if url in depths)
    earliest = [seed_count + max(k, depth) for k, depth in enumerate(target_depths, 1)]
    counts = [0] * (fetches + 1)
    for fetch in earliest:
        if fetch <= fetches:
            counts[fetch] += 1
    for fetch in range(1, fetches + 1):
        counts[fetch] += counts[fetch - 1]
    return counts[1:]


def greedy_order(graph: Graph, seeds: Sequence[str], targets: Collection[str]) -> list[str]:
    """Return a feasible fetch order that greedily takes the cheapest targets. It ends at the last target.

    Each step chooses the remaining target whose shortest path from the fetched pages contains most targets per page,
    and fetches that path. Ties go to the target that links to more remaining targets, then to the smaller URL. Of
    several shortest paths to a target, the one with most targets is used.

    In this example, "c" costs two pages for one target, and "e" costs three pages for two targets:

    >>> greedy_order({"s": ["b", "x"], "b": ["c"], "x": ["d"], "d": ["e"]}, ["s"], {"c", "d", "e"})
    ['s', 'x', 'd', 'e', 'b', 'c']
    """
    web = _GreedySearch(graph, seeds, targets)
    while web.remaining_targets:
        path = web.pick_linked_target() or web.find_best_path()
        if not path:
            break
        web.mark_fetched(path)
    return [web.urls[page] for page in web.order]


class _GreedySearch:
    """State of the greedy search: the reachable pages, numbered in the order of their URLs, and the fetches so far."""

    def __init__(self, graph: Graph, seeds: Sequence[str], targets: Collection[str]) -> None:
        self.urls = sorted(compute_depths(graph, seeds))
        number = {name: page for page, name in enumerate(self.urls)}
        self._links = [sorted({number[url] for url in graph.get(name, ()) if url != name}) for name in self.urls]
        seed_numbers = dict.fromkeys(number[url] for url in seeds)
        self.remaining_targets = {number[url] for url in targets if url in number} - set(seed_numbers)
        self._parents: dict[int, list[int]] = {page: [] for page in self.remaining_targets}
        for page, links in enumerate(self._links):
            for child in links:
                if child in self._parents:
                    self._parents[child].append(page)
        # Number of targets that each page links to and that are not fetched yet.
        self._target_link_counts = [sum(child in self.remaining_targets for child in links) for links in self._links]
        self.order: list[int] = []
        self._fetched = bytearray(len(self.urls))
        self._linked_targets: set[int] = set()
        self.mark_fetched(list(seed_numbers))

    def mark_fetched(self, pages: Iterable[int]) -> None:
        """Append pages to the fetch order."""
        for page in pages:
            self.order.append(page)
            self._fetched[page] = 1
            if page in self.remaining_targets:
                self.remaining_targets.discard(page)
                self._linked_targets.discard(page)
                for parent in self._parents[page]:
                    self._target_link_counts[parent] -= 1
            self._linked_targets.update(child for child in self._links[page] if child in self.remaining_targets)

    def pick_linked_target(self) -> list[int]:
        """Return the best target linked from a fetched page, as a path. No other path has more targets per page."""
        return (
            [min(self._linked_targets, key=lambda page: (-self._target_link_counts[page], page))]
            if self._linked_targets
            else []
        )

    def find_best_path(self) -> list[int]:
        """Return the path to the best target if none is linked directly, or an empty path if none is reachable."""
        parent, count, depth = self._find_shortest_paths()
        candidates = [page for page in self.remaining_targets if page in parent]
        if not candidates:
            return []
        page = min(
            candidates, key=lambda target: (-count[target] / depth[target], -self._target_link_counts[target], target)
        )
        path = []
        while not self._fetched[page]:
            path.append(page)
            page = parent[page]
        return path[::-1]

    def _find_shortest_paths(self) -> tuple[dict[int, int], dict[int, int], dict[int, int]]:
        """Return three mappings for the pages not fetched yet, along the best shortest path to each.

        They contain the previous page on the path, the number of targets on the path and its length.
        """
        parent: dict[int, int] = {}
        count = dict.fromkeys(self.order, 0)
        depth = dict.fromkeys(self.order, 0)
        level, steps, left, links = sorted(self.order), 0, self.remaining_targets, self._links
        while level:
            steps += 1
            next_level: list[int] = []
            for page in level:
                targets_so_far = count[page]
                for child in links[page]:
                    if child not in depth:
                        depth[child] = steps
                        next_level.append(child)
                    elif depth[child] != steps or targets_so_far + (child in left) <= count[child]:
                        continue
                    count[child] = targets_so_far + (child in left)
                    parent[child] = page
            level = sorted(next_level)
        return parent, count, depth
