"""Shark-Search: Hersovici, Jacovi, Maarek, Pelleg, Shtalhaim and Ur 1998, figure 2; Batsakis 2007, section 2.3.

The successor of Fish-Search. It uses graded similarities, the anchor text and the text around the link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topicrawl.errors import StrategyError
from topicrawl.models import JsonValue, Link, LinkContextLevel, Priority, Visit
from topicrawl.strategies.base import Strategy


@dataclass
class SharkSearch(Strategy):
    """Score a link by an inherited score and by its anchor text or the text around it.

        potential     = γ · inherited + (1 − γ) · neighbourhood
        inherited     = δ · sim(q, page)          if the page has any similarity,
                        δ · inherited(page)       otherwise
        neighbourhood = β · anchor + (1 − β) · context
        anchor        = sim(q, anchor text)
        context       = 1 if anchor > 0, otherwise sim(q, anchor text and the words around it)

    q: the topic; δ = `decay`, β = `anchor`, γ = `inherit`. The depth works as in Fish-Search: a path ends after `depth`
    pages in a row without any similarity. The default values of the constants are not from the paper.

    A page of similarity .4 and an anchor equal to the topic: inherited .5·.4 = .2, neighbourhood .8·1 + .2·1 = 1,
    potential .5·.2 + .5·1 = .6. A link without any topic word in its anchor and around it gets .1, all of it inherited.

    >>> from random import Random
    >>> from topicrawl.models import Page
    >>> from topicrawl.relevance.vsm import Vsm
    >>> from topicrawl.strategies.base import StrategyContext
    >>> from topicrawl.topic import Topic
    >>> topic = Topic.of("dengue fever")
    >>> class Two(Vsm):
    ...     def score(self, page):
    ...         return 0.4
    >>> crawler = SharkSearch()
    >>> crawler.bind(StrategyContext(topic, Two(topic), Random(0)))
    >>> visit = Visit(1, Link("http://a/"), Priority(1.0), "http://a/", Page("http://a/"), 0.4)
    >>> links = [Link("http://b/", anchor="Dengue fever"), Link("http://c/", anchor="imprint")]
    >>> [round(priority.score, 6) for priority in crawler.score_links(links, visit)]
    [0.6, 0.1]
    """

    name = "shark_search"
    family = "classic"
    paper = "Hersovici et al. 1998; Batsakis 2007, 2.3"
    link_context = LinkContextLevel.WITHOUT_SENTENCE

    decay: float = 0.5  # δ: factor on the inherited score per link
    anchor: float = 0.8  # β: weight of the anchor against the text around it
    inherit: float = 0.5  # γ: weight of the inherited score against the neighbourhood
    depth: int = 3  # number of pages without similarity in a row after which a path ends
    window: int = 20  # words on each side of the anchor, at most 20

    def __post_init__(self) -> None:
        if not all(0 <= value <= 1 for value in (self.decay, self.anchor, self.inherit)):
            raise StrategyError(f"{self.name}: decay, anchor and inherit are from 0 to 1")
        if self.depth < 1 or not 0 <= self.window <= 20:
            raise StrategyError(f"{self.name}: depth is 1 or more, window from 0 to 20")

    def score_seeds(self, links: Sequence[Link]) -> list[Priority]:
        """Return the highest score, a full inherited score and the full depth for each seed."""
        return [Priority(1.0, [1.0, self.depth]) for _ in links]

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        """Return the potential of each link, or None if the path ends here."""
        parent_score, depth = self._parse_payload(visit.priority.payload)
        similarity = self.context.score_page(visit.page) if visit.page is not None else 0.0
        if not similarity and depth <= 0:
            return [None] * len(links)
        inherited = self.decay * (similarity or parent_score)
        payload: JsonValue = [inherited, self.depth if similarity else depth - 1]
        anchors = self.context.vsm.score_texts([link.anchor or link.alt for link in links])
        contexts = self._score_contexts(links, anchors, visit.page.words if visit.page is not None else ())
        priorities: list[Priority | None] = []
        for in_anchor, around in zip(anchors, contexts, strict=True):
            neighbourhood = self.anchor * in_anchor + (1 - self.anchor) * around
            score = self.inherit * inherited + (1 - self.inherit) * neighbourhood
            parts = (("inherited", inherited), ("anchor", in_anchor), ("context", around))
            priorities.append(Priority(score, payload, parts))
        return priorities

    def merge(self, old: Priority, new: Priority) -> Priority:
        """Keep the higher score, the larger inherited score and the larger remaining depth."""
        best = new if new.score > old.score else old
        old_values, new_values = self._parse_payload(old.payload), self._parse_payload(new.payload)
        return Priority(best.score, [max(old_values[0], new_values[0]), max(old_values[1], new_values[1])], best.parts)

    def _score_contexts(self, links: Sequence[Link], anchors: Sequence[float], words: Sequence[str]) -> list[float]:
        """Return the context score of each link.

        The score is 1 if the anchor has any similarity, otherwise the similarity of the anchor text with the words
        around it.
        """
        vsm, scores = self.context.vsm, [1.0] * len(links)
        # Words around links are words of the page. Most contexts contain no topic word and need no similarity
        # computation.
        distinct = list(dict.fromkeys(words))
        topic_words = {
            word for word, term in zip(distinct, vsm.lexicon.align_terms(distinct), strict=True) if term in vsm.query
        }
        candidates = []
        for index, link in enumerate(links):
            if not anchors[index]:
                scores[index] = 0.0
                if not (topic_words.isdisjoint(link.before) and topic_words.isdisjoint(link.after)):
                    candidates.append(index)
        if candidates:
            for index, similarity in zip(
                candidates, vsm.score_texts([self._get_context_text(links[i]) for i in candidates]), strict=True
            ):
                scores[index] = similarity
        return scores

    def _get_context_text(self, link: Link) -> str:
        """Return the anchor text with up to `window` words on each side."""
        before = link.before[-self.window :] if self.window else ()
        return " ".join((*before, link.anchor or link.alt, *link.after[: self.window]))

    def _parse_payload(self, payload: JsonValue) -> tuple[float, int]:
        """Return the inherited score and the remaining depth of a page. A seed has a score of 1 and the full depth."""
        if isinstance(payload, list) and len(payload) == 2:
            inherited, depth = payload
            if isinstance(inherited, int | float) and isinstance(depth, int | float):
                return float(inherited), int(depth)
        return 1.0, self.depth
