"""Topicrawl's own crawler: it starts as a mixture of the papers' ideas and learns from every page it fetches.

A link is scored by what its texts say about the topic (Batsakis 2007, Eq 7; Hersovici et al. 1998), by what its
siblings, its directory and its host have led to (Aggarwal, Al-Garawi and Yu 2001), by which pages hold its words, and
by what was learned online from the features of links that led to relevant pages. Links that wait are scored anew every
few pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from topicrawl.errors import StrategyError
from topicrawl.records import Around, Carry, Link, Place, Visit
from topicrawl.strategies.material import Material
from topicrawl.strategies.strategy import Colleague, Setting, Strategy

if TYPE_CHECKING:
    from topicrawl.scoring.brain import Brain

#: Links that may be scored anew for each visit: where more wait, they are looked at less often.
_ROWS = 700


@dataclass
class Apprentice(Strategy):
    """A link is worth what its words promise, corrected by what such links have led to so far.

        score = 1 / (1 + exp(−z)),   z = ⟨w₀, known⟩ + ⟨w₁, rates⟩ + Σᵢ wᵢ / √n

    known: similarity of anchor, address, surroundings, heading and page to the topic, the page's reward, how many
    links ago the last relevant page was, and how far from a seed the link is; w₀: fixed weights, so that it is good
    from the first page on. rates: how much better than average the links of the same page, the same row on it, the
    same directory and the same host have done. wᵢ: learned weights of the link's n hashed features; a word of its text
    begins with how much better than average the pages were that hold it. An address with several links is worth half
    what the best says and half what they say on average. Examples, where there are any, teach it before the first page.

    With nothing learned yet, a link whose anchor is the topic and one that says nothing:

    >>> from random import Random
    >>> from topicrawl.records import Page
    >>> from topicrawl.relevance.vsm import Vsm
    >>> from topicrawl.topic import Topic
    >>> topic = Topic.of("dengue fever")
    >>> crawler = Apprentice()
    >>> crawler.begin(Setting(topic, Vsm(topic), Random(0)))
    >>> links = (Link("http://b/x", anchor="Dengue fever"), Link("http://c/y", anchor="imprint", position=1))
    >>> visit = Visit(1, Link("http://a/"), Place(1.0), "http://a/", Page("http://a/", links=links), 0.0)
    >>> crawler.learn(visit)
    >>> [round(place.score, 3) for place in crawler.place(links, visit)]
    [0.463, 0.066]
    """

    name = "apprentice"
    family = "own"
    paper = "Topicrawl"
    context = Around.WORDS

    rate: float = 1.0  # how fast it learns
    every: int = 15  # visits between two looks at all links that wait, at the least
    pool: int = 20_000  # links that are kept in mind; others keep their last score

    def __post_init__(self) -> None:
        if self.every < 1 or self.pool < 1 or self.rate < 0:
            raise StrategyError("apprentice: every and pool are 1 or more, rate is 0 or more")

    def begin(self, setting: Setting) -> None:
        super().begin(setting)
        # numpy takes a tenth of a second, which other strategies need not pay.
        from topicrawl.scoring.brain import Brain

        self._brain: Brain = Brain(setting.vsm, rate=self.rate, pool=self.pool)
        self._visits = 0
        self._looked = 0  # at the waiting links, after so many visits

    def prepare(self, material: Material) -> None:
        if not material.relevant:
            return
        named = ((material.relevant, 1.0), (material.irrelevant, 0.0))
        relevant, other = ([page for url in urls if (page := material.page(url))] for urls, _ in named)
        parents = ((link, reward) for urls, reward in named for url in urls for link in material.parents(url))
        self._brain.teach(relevant, other, parents)

    def reasons(self, link: Link) -> tuple[tuple[str, float], ...]:
        return self._brain.reasons(link)

    def learn(self, visit: Visit) -> None:
        self._visits += 1
        self._brain.learn(visit)

    def place(self, links: Sequence[Link], visit: Visit) -> list[Place | None]:
        return list(self._brain.places(links, visit))

    def revise(self) -> Mapping[str, float]:
        pool = self._brain.pool
        if self._visits - self._looked < max(self.every, (len(pool.owners) - pool.dead) // _ROWS):
            return {}
        self._looked = self._visits
        return self._brain.revised()

    def colleague(self) -> Colleague:
        from topicrawl.scoring.lessons import Lessons

        return Lessons(self._brain)

    def state(self) -> Carry:
        return {"visits": self._visits, "looked": self._looked, "brain": self._brain.state()}

    def restore(self, state: Carry) -> None:
        if isinstance(state, dict) and isinstance(state["brain"], dict):
            self._visits = int(str(state["visits"]))
            self._looked = int(str(state.get("looked", self._visits)))
            self._brain.restore(state["brain"])
