"""Best-first by the page, by the anchor, by both: Batsakis 2007, sections 3.2.1 to 3.2.3, equations 2 and 7;
N-best-first: section 2.3, after Menczer, Pant and Srinivasan 2004.

Similarity is the cosine of tf·idf vectors (`topicrawl.relevance.vsm`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topicrawl.errors import StrategyError
from topicrawl.records import Link, Place, Visit
from topicrawl.strategies.strategy import Strategy


@dataclass
class BestFirst(Strategy):
    """A link is worth what its page and its anchor are worth, in equal parts.

        Priority(i) = (similarity(pᵢ, q) + similarity(aᵢ, q)) / 2                                    (7)

    pᵢ: the page the link i stands on; aᵢ: its anchor text; q: the topic. An image link without text has its
    alternative text as its anchor. The weights of the two parts are parameters, one half each in the paper.

    Page similarity .5, anchor similarity 1: the mean is .75.

    >>> from random import Random
    >>> from topicrawl.records import Page
    >>> from topicrawl.relevance.vsm import Vsm
    >>> from topicrawl.strategies.strategy import Setting
    >>> from topicrawl.topic import Topic
    >>> class Half(Vsm):
    ...     def score(self, page): return 0.5
    >>> topic = Topic.of("dengue fever")
    >>> crawler = BestFirst()
    >>> crawler.begin(Setting(topic, Half(topic), Random(0)))
    >>> visit = Visit(1, Link("http://a/"), Place(1.0), "http://a/", Page("http://a/"))
    >>> links = [Link("http://b/", anchor="Dengue fever"), Link("http://c/", anchor="imprint")]
    >>> [round(place.score, 6) for place in crawler.place(links, visit)]
    [0.75, 0.25]
    """

    name = "best_first"
    family = "classic"
    paper = "Batsakis 2007, 3.2.3, Eq 7"

    page: float = 0.5  # weight of the page's similarity
    anchor: float = 0.5  # weight of the anchor's similarity

    def __post_init__(self) -> None:
        if self.page < 0 or self.anchor < 0 or not self.page + self.anchor:
            raise StrategyError(f"{self.name}: page and anchor are weights of 0 or more, not both 0")

    def place(self, links: Sequence[Link], visit: Visit) -> list[Place | None]:
        vsm = self.setting.vsm
        on_page = vsm.score(visit.page) if self.page and visit.page else 0.0
        in_anchors = vsm.phrases([link.anchor or link.alt for link in links]) if self.anchor else [0.0] * len(links)
        page, anchor = self.page / (self.page + self.anchor), self.anchor / (self.page + self.anchor)
        # Most anchors say nothing of the topic, and what is equal is one.
        places: dict[float, Place | None] = {
            in_anchor: Place(page * on_page + anchor * in_anchor, None, (("page", on_page), ("anchor", in_anchor)))
            for in_anchor in dict.fromkeys(in_anchors)
        }
        return [places[in_anchor] for in_anchor in in_anchors]


@dataclass
class BestFirstPage(BestFirst):
    """All links of a page are worth what the page is worth.

    Priority(i) = similarity(pᵢ, q)                                                                  (2)
    """

    name = "best_first_page"
    paper = "Batsakis 2007, 3.2.1, Eq 2"

    page: float = 1.0
    anchor: float = 0.0


@dataclass
class BestFirstAnchor(BestFirst):
    """A link is worth what its anchor text is worth.

    Priority(i) = similarity(aᵢ, q)                                                                  (2)
    """

    name = "best_first_anchor"
    paper = "Batsakis 2007, 3.2.2, Eq 2"

    page: float = 0.0
    anchor: float = 1.0


@dataclass
class NBestFirst(BestFirst):
    """Best-first that takes the N best links at a time and looks at what they brought only after all N.

        Priority(i) = (similarity(pᵢ, q) + similarity(aᵢ, q)) / 2, and N links leave the frontier together.

    A larger N is less greedy: links of lower score get their turn. The thesis gives no N; ours is 10.
    """

    name = "n_best_first"
    paper = "Batsakis 2007, 2.3"

    n: int = 10  # links taken from the frontier at a time

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n < 1:
            raise StrategyError(f"n_best_first: n is {self.n}, it must be 1 or more")
        self.batch = self.n
