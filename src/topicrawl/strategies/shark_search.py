"""Shark-Search: Hersovici, Jacovi, Maarek, Pelleg, Shtalhaim and Ur 1998, figure 2; Batsakis 2007, section 2.3.

The successor of Fish-Search: similarities instead of yes and no, and what stands in and around the anchor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topicrawl.errors import StrategyError
from topicrawl.records import Around, Carry, Link, Place, Visit
from topicrawl.strategies.strategy import Strategy


@dataclass
class SharkSearch(Strategy):
    """A link is worth what it inherits from the pages above and what its anchor, or else the text around it, says.

        potential     = γ · inherited + (1 − γ) · neighbourhood
        inherited     = δ · sim(q, page)          if the page has any similarity,
                        δ · inherited(page)       otherwise
        neighbourhood = β · anchor + (1 − β) · context
        anchor        = sim(q, anchor text)
        context       = 1 if anchor > 0, otherwise sim(q, anchor text and the words around it)

    q: the topic; δ = `decay`, β = `anchor`, γ = `inherit`. The depth is that of Fish-Search: a way ends after `depth`
    pages in a row without any similarity. The values of the constants are ours.

    A page of similarity .4, an anchor that is the topic: inherited .5·.4 = .2, neighbourhood .8·1 + .2·1 = 1,
    potential .5·.2 + .5·1 = .6. An anchor that says nothing amid words that say nothing has .1, all of it inherited.

    >>> from random import Random
    >>> from topicrawl.records import Page
    >>> from topicrawl.relevance.vsm import Vsm
    >>> from topicrawl.strategies.strategy import Setting
    >>> from topicrawl.topic import Topic
    >>> topic = Topic.of("dengue fever")
    >>> class Two(Vsm):
    ...     def score(self, page): return 0.4
    >>> crawler = SharkSearch()
    >>> crawler.begin(Setting(topic, Two(topic), Random(0)))
    >>> visit = Visit(1, Link("http://a/"), Place(1.0), "http://a/", Page("http://a/"), 0.4)
    >>> links = [Link("http://b/", anchor="Dengue fever"), Link("http://c/", anchor="imprint")]
    >>> [round(place.score, 6) for place in crawler.place(links, visit)]
    [0.6, 0.1]
    """

    name = "shark_search"
    family = "classic"
    paper = "Hersovici et al. 1998; Batsakis 2007, 2.3"
    context = Around.WORDS

    decay: float = 0.5  # δ: what is left of a score one link further
    anchor: float = 0.8  # β: weight of the anchor against the text around it
    inherit: float = 0.5  # γ: weight of what is inherited against the neighbourhood
    depth: int = 3  # pages in a row without any similarity after which a way ends
    window: int = 20  # words on each side of the anchor, 20 at most

    def __post_init__(self) -> None:
        if not all(0 <= value <= 1 for value in (self.decay, self.anchor, self.inherit)):
            raise StrategyError(f"{self.name}: decay, anchor and inherit are from 0 to 1")
        if self.depth < 1 or not 0 <= self.window <= 20:
            raise StrategyError(f"{self.name}: depth is 1 or more, window from 0 to 20")

    def seeds(self, links: Sequence[Link]) -> list[Place]:
        return [Place(1.0, [1.0, self.depth]) for _ in links]

    def place(self, links: Sequence[Link], visit: Visit) -> list[Place | None]:
        above, depth = self._carried(visit.place.carry)
        similarity = self.setting.vsm.score(visit.page) if visit.page is not None else 0.0
        if not similarity and depth <= 0:
            return [None] * len(links)
        inherited = self.decay * (similarity or above)
        carry: Carry = [inherited, self.depth if similarity else depth - 1]
        anchors = self.setting.vsm.phrases([link.anchor or link.alt for link in links])
        contexts = self._contexts(links, anchors, visit.page.words if visit.page is not None else ())
        places: list[Place | None] = []
        for in_anchor, around in zip(anchors, contexts, strict=True):
            neighbourhood = self.anchor * in_anchor + (1 - self.anchor) * around
            score = self.inherit * inherited + (1 - self.inherit) * neighbourhood
            parts = (("inherited", inherited), ("anchor", in_anchor), ("context", around))
            places.append(Place(score, carry, parts))
        return places

    def combine(self, old: Place, new: Place) -> Place:
        best = new if new.score > old.score else old
        kept, offered = self._carried(old.carry), self._carried(new.carry)
        return Place(best.score, [max(kept[0], offered[0]), max(kept[1], offered[1])], best.parts)

    def _contexts(self, links: Sequence[Link], anchors: Sequence[float], words: Sequence[str]) -> list[float]:
        vsm, found = self.setting.vsm, [1.0] * len(links)
        # What stands around links stands on the page: most surroundings have no word of the topic, and need no look.
        distinct = list(dict.fromkeys(words))
        telling = {
            word for word, term in zip(distinct, vsm.lexicon.aligned(distinct), strict=True) if term in vsm.query
        }
        told = []
        for index, link in enumerate(links):
            if not anchors[index]:
                found[index] = 0.0
                if not (telling.isdisjoint(link.before) and telling.isdisjoint(link.after)):
                    told.append(index)
        if told:
            for index, similarity in zip(told, vsm.phrases([self._around(links[i]) for i in told]), strict=True):
                found[index] = similarity
        return found

    def _around(self, link: Link) -> str:
        before = link.before[-self.window :] if self.window else ()
        return " ".join((*before, link.anchor or link.alt, *link.after[: self.window]))

    def _carried(self, carry: Carry) -> tuple[float, int]:
        """What the page inherited and how deep it may go; a seed inherits all."""
        if isinstance(carry, list) and len(carry) == 2:
            inherited, depth = carry
            if isinstance(inherited, int | float) and isinstance(depth, int | float):
                return float(inherited), int(depth)
        return 1.0, self.depth
