"""PageRank ordering: Cho, Garcia-Molina and Page 1998; Batsakis 2007, section 2.2 b.

The rank covers only the links found so far, so the strategy recomputes it while the crawl grows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct, convert

from topicrawl.errors import StrategyError
from topicrawl.models import JsonValue, Link, Priority, Visit
from topicrawl.strategies.base import Strategy
from topicrawl.strategies.link_graph import LinkGraph, deduplicate_urls

_MIN_SCORE_CHANGE = 1e-3  # smaller score changes are not sent to the frontier


class PageRankState(Struct, frozen=True):
    """Stored state of the strategy."""

    graph: Any  # state of the link graph
    ranked: int  # number of links at the last full computation


@dataclass
class PageRank(Strategy):
    """Score a link by the PageRank of its URL in the graph of all pages and links found so far.

        R(p) = (1 − d) + d · Σ R(t) / c(t)        priority(p) = R(p) / (R(p) + 1)

    p: the URL; t: the fetched pages that link to it, each with c(t) links; d = `damping`. The average of R is 1. The
    fraction maps it to the range from 0 to 1. The topic has no influence.

    Between two full computations, a new link raises the rank of its target at once: R(p) grows by d · R(t) / c(t). The
    strategy recomputes all ranks when the number of links has grown by a tenth, so the cost per page stays constant in
    long crawls. The graph holds at most `urls` URLs and twenty times as many links. Above this limit, the strategy
    drops the quarter with the lowest ranks. Dropped URLs keep their score in the frontier.

    The first page, of rank 1 − d = .1, links to two new URLs: each gets .1 + .9 · .1 / 2 = .145, which is the priority
    .145 / 1.145. Then the first full computation: b for the page and b + .45 b for each of the two sum to 3, so b = 3 /
    3.9 and the two have the rank 1.115 and the priority .527.

    >>> from topicrawl.models import Page
    >>> links = (Link("http://b/", "http://a/"), Link("http://c/", "http://a/"))
    >>> visit = Visit(1, Link("http://a/"), Priority(1.0), "http://a/", Page("http://a/", links=links))
    >>> crawler = PageRank()
    >>> crawler.learn(visit)
    >>> [round(priority.score, 6) for priority in crawler.score_links(links, visit)]
    [0.126638, 0.126638]
    >>> {url: round(score, 3) for url, score in crawler.rescore().items()}
    {'http://b/': 0.527, 'http://c/': 0.527}
    """

    name = "pagerank"
    family = "importance"
    paper = "Cho et al. 1998; Batsakis 2007, 2.2 b"

    damping: float = 0.9  # d: share of a page's rank that its links pass on
    urls: int = 100_000  # maximum number of ranked URLs
    _graph: LinkGraph = field(init=False, repr=False)
    _links_at_last_run: int = field(default=0, init=False, repr=False)  # number of links at the last full computation

    def __post_init__(self) -> None:
        if not 0 <= self.damping < 1:
            raise StrategyError(f"{self.name}: damping is {self.damping:g}, it must be from 0 to below 1")
        if self.urls < 1:
            raise StrategyError(f"{self.name}: urls is {self.urls}, it must be 1 or more")
        self._graph = LinkGraph(new_weight=1 - self.damping)

    def learn(self, visit: Visit) -> None:
        """Add a page and its links to the graph, and pass its rank on to the link targets."""
        graph, url = self._graph, visit.link.url
        links = visit.page.links if visit.page is not None else ()
        targets = graph.add_page(url, deduplicate_urls((link.url for link in links), exclude=(url, visit.url)))
        if visit.url != url:
            graph.mark_fetched(visit.url)
        if targets:
            share = self.damping * graph.weights[graph.urls[url]] / len(targets)
            for number in targets:
                graph.weights[number] += share

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        """Return a score for each link that rises with its current rank."""
        graph = self._graph
        numbers = [graph.urls.get(link.url) for link in links]
        ranks = [graph.new_weight if number is None else graph.weights[number] for number in numbers]
        return [Priority(rank / (rank + 1), None, (("rank", rank),)) for rank in ranks]

    def rescore(self) -> Mapping[str, float]:
        """Recompute all ranks if the graph has grown by a tenth. Return the scores that have changed."""
        graph = self._graph
        if len(graph.targets) < max(1.0, 1.1 * self._links_at_last_run):
            return {}
        from topicrawl.ml.page_rank import compute_page_ranks

        old = list(graph.weights)
        ranks, graph.new_weight = compute_page_ranks(graph.out_degrees, graph.pages, graph.targets, old, self.damping)
        scores: dict[str, float] = {}
        for (url, number), before, rank in zip(graph.urls.items(), old, ranks.tolist(), strict=True):
            score = rank / (rank + 1)
            if not graph.is_waiting(number):
                graph.weights[number] = rank
            elif abs(score - before / (before + 1)) >= _MIN_SCORE_CHANGE:
                # A rank that is not sent is not stored either, so small changes add up until they are large enough.
                graph.weights[number] = rank
                scores[url] = score
        while graph.exceeds_limit(self.urls):
            graph.keep_heaviest(len(graph.urls) * 3 // 4)
        self._links_at_last_run = len(graph.targets)
        return scores

    def get_state(self) -> JsonValue:
        """Return the learned state as plain values."""
        return {"graph": self._graph.get_state(), "ranked": self._links_at_last_run}

    def restore_state(self, state: JsonValue) -> None:
        """Restore a state that `get_state` returned."""
        if state is not None:
            saved = convert(state, PageRankState, strict=False)
            self._graph, self._links_at_last_run = LinkGraph.from_state(saved.graph), saved.ranked
