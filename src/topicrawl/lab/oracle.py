"""What could have been found at best: a greedy order that knows everything, and a bound that no order can pass.

An order is feasible when it begins with the seeds and every other page comes after a page that links to it. The best
feasible order is NP-hard to find, so it is bracketed: the greedy one is feasible, the bound is not always.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

Graph = Mapping[str, Sequence[str]]


def reachable(graph: Graph, seeds: Iterable[str]) -> dict[str, int]:
    """Every page that links lead to, with the fewest links to it from a seed, in breadth-first order.

    >>> reachable({"a": ["b", "c"], "b": ["d"], "x": ["a"]}, ["a"])
    {'a': 0, 'b': 1, 'c': 1, 'd': 2}
    """
    depths = dict.fromkeys(seeds, 0)
    level, depth = list(depths), 0
    while level:
        depth += 1
        after: list[str] = []
        for page in level:
            for url in graph.get(page, ()):
                if url not in depths:
                    depths[url] = depth
                    after.append(url)
        level = after
    return depths


def upper_bound(graph: Graph, seeds: Sequence[str], targets: Collection[str], fetches: int) -> list[int]:
    """At most so many targets can be among the first 1, 2, … fetches of any order that begins with the seeds.

        UB(n) = #{k : |seeds| + max(k, d_k) ≤ n},   d_1 ≤ d_2 ≤ … the depths of the targets

    k targets take k fetches, and the farthest of them is at least d_k links away. Two targets, one and three links
    away: the second cannot come before the fourth fetch.

    >>> upper_bound({"s": ["a", "b"], "b": ["c"], "c": ["d"]}, ["s"], {"a", "d"}, 6)
    [0, 1, 1, 2, 2, 2]
    """
    depths = reachable(graph, seeds)
    begun = len(set(seeds))
    wanted = sorted(depths[url] for url in set(targets) - set(seeds) if url in depths)
    first = [begun + max(k, depth) for k, depth in enumerate(wanted, 1)]
    counts = [0] * (fetches + 1)
    for fetch in first:
        if fetch <= fetches:
            counts[fetch] += 1
    for fetch in range(1, fetches + 1):
        counts[fetch] += counts[fetch - 1]
    return counts[1:]


def greedy(graph: Graph, seeds: Sequence[str], targets: Collection[str]) -> list[str]:
    """A feasible order that goes wherever the next targets are cheapest; it ends at the last target.

    Again and again: of the targets left, the one whose shortest path from what is fetched holds most targets per page
    (equal: the one that links to more targets left, then the smaller URL), and its path is fetched. Of several
    shortest paths the one with most targets is taken.

    "c" costs two pages for one target, "e" three pages for two targets:

    >>> greedy({"s": ["b", "x"], "b": ["c"], "x": ["d"], "d": ["e"]}, ["s"], {"c", "d", "e"})
    ['s', 'x', 'd', 'e', 'b', 'c']
    """
    web = _Web(graph, seeds, targets)
    while web.left:
        path = web.near() or web.far()
        if not path:
            break
        web.fetch(path)
    return [web.names[page] for page in web.order]


class _Web:
    """The part of the web that can be reached, as numbers in the order of the URLs, and how far the order has come."""

    def __init__(self, graph: Graph, seeds: Sequence[str], targets: Collection[str]) -> None:
        self.names = sorted(reachable(graph, seeds))
        number = {name: page for page, name in enumerate(self.names)}
        self._links = [sorted({number[url] for url in graph.get(name, ()) if url != name}) for name in self.names]
        begun = dict.fromkeys(number[url] for url in seeds)
        self.left = {number[url] for url in targets if url in number} - set(begun)
        self._parents: dict[int, list[int]] = {page: [] for page in self.left}
        for page, links in enumerate(self._links):
            for child in links:
                if child in self._parents:
                    self._parents[child].append(page)
        # How many targets each page links to that are not fetched yet.
        self._worth = [sum(child in self.left for child in links) for links in self._links]
        self.order: list[int] = []
        self._fetched = bytearray(len(self.names))
        self._near: set[int] = set()
        self.fetch(list(begun))

    def fetch(self, pages: Iterable[int]) -> None:
        for page in pages:
            self.order.append(page)
            self._fetched[page] = 1
            if page in self.left:
                self.left.discard(page)
                self._near.discard(page)
                for parent in self._parents[page]:
                    self._worth[parent] -= 1
            self._near.update(child for child in self._links[page] if child in self.left)

    def near(self) -> list[int]:
        """A target that is linked already: nothing can have more targets per page."""
        return [min(self._near, key=lambda page: (-self._worth[page], page))] if self._near else []

    def far(self) -> list[int]:
        """The path to the best target when all are two or more links away; empty when none can be reached."""
        parent, count, depth = self._paths()
        found = [page for page in self.left if page in parent]
        if not found:
            return []
        page = min(found, key=lambda it: (-count[it] / depth[it], -self._worth[it], it))
        path = []
        while not self._fetched[page]:
            path.append(page)
            page = parent[page]
        return path[::-1]

    def _paths(self) -> tuple[dict[int, int], dict[int, int], dict[int, int]]:
        """For each page that is not fetched: the page before it on the best shortest path, targets on it, length."""
        parent: dict[int, int] = {}
        count = dict.fromkeys(self.order, 0)
        depth = dict.fromkeys(self.order, 0)
        level, steps, left, links = sorted(self.order), 0, self.left, self._links
        while level:
            steps += 1
            after: list[int] = []
            for page in level:
                here = count[page]
                for child in links[page]:
                    if child not in depth:
                        depth[child] = steps
                        after.append(child)
                    elif depth[child] != steps or here + (child in left) <= count[child]:
                        continue
                    count[child] = here + (child in left)
                    parent[child] = page
            level = sorted(after)
        return parent, count, depth
