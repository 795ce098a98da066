"""Best-first by page, by anchor text, or by both: Batsakis 2007, sections 3.2.1 to 3.2.3, equations 2 and 7.

N-best-first: section 2.3, after Menczer, Pant and Srinivasan 2004. Similarity is the cosine of tf·idf vectors
(`topicrawl.relevance.vsm`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topicrawl.errors import StrategyError
from topicrawl.models import Link, Priority, Visit
from topicrawl.strategies.base import Strategy


@dataclass
class BestFirst(Strategy):
    """Score a link by the mean similarity of its page and its anchor text to the topic.

        Priority(i) = (similarity(pᵢ, q) + similarity(aᵢ, q)) / 2                                    (7)

    pᵢ: the page that contains the link i; aᵢ: its anchor text; q: the topic. For an image link without text, the
    alternative text is the anchor text. The weights of the two parts are parameters. In the paper both are one half.

    Page similarity .5 and anchor similarity 1 give the mean .75.

    >>> from random import Random
    >>> from topicrawl.models import Page
    >>> from topicrawl.relevance.vsm import Vsm
    >>> from topicrawl.strategies.base import StrategyContext
    >>> from topicrawl.topic import Topic
    >>> class Half(Vsm):
    ...     def score(self, page):
    ...         return 0.5
    >>> topic = Topic.of("dengue fever")
    >>> crawler = BestFirst()
    >>> crawler.bind(StrategyContext(topic, Half(topic), Random(0)))
    >>> visit = Visit(1, Link("http://a/"), Priority(1.0), "http://a/", Page("http://a/"))
    >>> links = [Link("http://b/", anchor="Dengue fever"), Link("http://c/", anchor="imprint")]
    >>> [round(priority.score, 6) for priority in crawler.score_links(links, visit)]
    [0.75, 0.25]
    """

    name = "best_first"
    family = "classic"
    paper = "Batsakis 2007, 3.2.3, Eq 7"
    needs_all_links = False

    page: float = 0.5  # weight of the page's similarity
    anchor: float = 0.5  # weight of the anchor's similarity

    def __post_init__(self) -> None:
        if self.page < 0 or self.anchor < 0 or not self.page + self.anchor:
            raise StrategyError(f"{self.name}: page and anchor are weights of 0 or more, not both 0")

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        """Return the weighted mean of page and anchor similarity for each link."""
        vsm = self.context.vsm
        on_page = self.context.score_page(visit.page) if self.page and visit.page else 0.0
        in_anchors = vsm.score_texts([link.anchor or link.alt for link in links]) if self.anchor else [0.0] * len(links)
        page, anchor = self.page / (self.page + self.anchor), self.anchor / (self.page + self.anchor)
        # Most anchors have similarity 0, so links with equal anchor similarity share one priority object.
        priorities: dict[float, Priority | None] = {
            in_anchor: Priority(page * on_page + anchor * in_anchor, None, (("page", on_page), ("anchor", in_anchor)))
            for in_anchor in dict.fromkeys(in_anchors)
        }
        return [priorities[in_anchor] for in_anchor in in_anchors]


@dataclass
class BestFirstPage(BestFirst):
    """Give all links of a page the similarity of the page to the topic.

    Priority(i) = similarity(pᵢ, q)                                                                  (2)
    """

    name = "best_first_page"
    paper = "Batsakis 2007, 3.2.1, Eq 2"

    page: float = 1.0
    anchor: float = 0.0


@dataclass
class BestFirstAnchor(BestFirst):
    """Score a link by the similarity of its anchor text to the topic.

    Priority(i) = similarity(aᵢ, q)                                                                  (2)
    """

    name = "best_first_anchor"
    paper = "Batsakis 2007, 3.2.2, Eq 2"

    page: float = 0.0
    anchor: float = 1.0


@dataclass
class NBestFirst(BestFirst):
    """Best-first that leases the N best links together and scores their out-links after all N are fetched.

        Priority(i) = (similarity(pᵢ, q) + similarity(aᵢ, q)) / 2, and N links leave the frontier together.

    A larger N is less greedy, because links with lower scores are fetched too. The thesis gives no value for N. The
    default is 10.
    """

    name = "n_best_first"
    paper = "Batsakis 2007, 2.3"

    n: int = 10  # links leased from the frontier at a time

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n < 1:
            raise StrategyError(f"n_best_first: n is {self.n}, it must be 1 or more")
        self.batch_size = self.n
