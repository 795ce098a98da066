"""Ordering by PageRank: Cho, Garcia-Molina and Page 1998; Batsakis 2007, section 2.2 b.

The rank is that of the links seen so far, so it is computed again as the crawl grows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from topicrawl.errors import StrategyError
from topicrawl.records import Carry, Link, Place, Visit
from topicrawl.strategies.link_graph import LinkGraph, distinct
from topicrawl.strategies.strategy import Strategy

_VISIBLE = 1e-3  # a smaller change of a score is not worth a move in the frontier


@dataclass
class PageRank(Strategy):
    """A link is worth the PageRank of its URL among all pages and links seen so far; the topic plays no part.

        R(p) = (1 − d) + d · Σ R(t) / c(t)        priority(p) = R(p) / (R(p) + 1)

    p: the URL; t: the fetched pages that link to it, each with c(t) links; d = `damping`. The average of R is 1; the
    fraction only brings it between 0 and 1.

    Between two computations a new link gives its target at once what it would: R(p) grows by d · R(t) / c(t). All is
    computed anew when the links have grown by a tenth, so that the price for a page stays the same however long the
    crawl is. At most `urls` URLs and twenty times as many links are known; when there are more, the quarter with the
    lowest ranks is forgotten and keeps the place that it has.

    The first page, of rank 1 − d = .1, links to two URLs that were not seen before: each gets .1 + .9 · .1 / 2 = .145,
    which is .145 / 1.145 as a priority. Then all is computed for the first time: b for the page, b + .45 b for each of
    the two, 3 together, so b = 3 / 3.9 and the two have 1.115, as a priority .527.

    >>> from topicrawl.records import Page
    >>> links = (Link("http://b/", "http://a/"), Link("http://c/", "http://a/"))
    >>> visit = Visit(1, Link("http://a/"), Place(1.0), "http://a/", Page("http://a/", links=links))
    >>> crawler = PageRank()
    >>> crawler.learn(visit)
    >>> [round(place.score, 6) for place in crawler.place(links, visit)]
    [0.126638, 0.126638]
    >>> {url: round(score, 3) for url, score in crawler.revise().items()}
    {'http://b/': 0.527, 'http://c/': 0.527}
    """

    name = "pagerank"
    family = "importance"
    paper = "Cho et al. 1998; Batsakis 2007, 2.2 b"

    damping: float = 0.9  # d: how much of a page's rank its links hand on
    urls: int = 100_000  # URLs that are ranked
    _graph: LinkGraph = field(init=False, repr=False)
    _ranked: int = field(default=0, init=False, repr=False)  # links when the ranks were last computed

    def __post_init__(self) -> None:
        if not 0 <= self.damping < 1:
            raise StrategyError(f"{self.name}: damping is {self.damping:g}, it must be from 0 to below 1")
        if self.urls < 1:
            raise StrategyError(f"{self.name}: urls is {self.urls}, it must be 1 or more")
        self._graph = LinkGraph(new=1 - self.damping)

    def learn(self, visit: Visit) -> None:
        graph, url = self._graph, visit.link.url
        links = visit.page.links if visit.page is not None else ()
        targets = graph.add(url, distinct((link.url for link in links), but=(url, visit.url)))
        if visit.url != url:
            graph.done(visit.url)
        if targets:
            share = self.damping * graph.weights[graph.urls[url]] / len(targets)
            for number in targets:
                graph.weights[number] += share

    def place(self, links: Sequence[Link], visit: Visit) -> list[Place | None]:
        graph = self._graph
        numbers = [graph.urls.get(link.url) for link in links]
        ranks = [graph.new if number is None else graph.weights[number] for number in numbers]
        return [Place(rank / (rank + 1), None, (("rank", rank),)) for rank in ranks]

    def revise(self) -> Mapping[str, float]:
        graph = self._graph
        if len(graph.targets) < max(1.0, 1.1 * self._ranked):
            return {}
        from topicrawl.learn.page_rank import page_ranks

        old = list(graph.weights)
        ranks, graph.new = page_ranks(graph.degrees, graph.pages, graph.targets, old, self.damping)
        told: dict[str, float] = {}
        for (url, number), before, rank in zip(graph.urls.items(), old, ranks.tolist(), strict=True):
            score = rank / (rank + 1)
            if not graph.waits(number):
                graph.weights[number] = rank
            elif abs(score - before / (before + 1)) >= _VISIBLE:
                # What is not told is not kept either, so that small changes add up until they are visible.
                graph.weights[number] = rank
                told[url] = score
        while graph.too_large(self.urls):
            graph.keep_heaviest(len(graph.urls) * 3 // 4)
        self._ranked = len(graph.targets)
        return told

    def state(self) -> Carry:
        return {"graph": self._graph.packed(), "ranked": self._ranked}

    def restore(self, state: Carry) -> None:
        if isinstance(state, dict) and isinstance(ranked := state["ranked"], int):
            graph = state["graph"]
            self._graph = LinkGraph.unpacked(graph if isinstance(graph, dict) else {})
            self._ranked = ranked
