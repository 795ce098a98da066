"""Intelligent crawling: Aggarwal, Al-Garawi and Yu 2001; Batsakis 2007, section 2.3.

The crawler learns while it crawls what pages on the topic have in common before they are fetched, without any training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from math import exp
from typing import cast

from topicrawl.errors import StrategyError
from topicrawl.records import Carry, Link, Place, Visit
from topicrawl.strategies.interest import Family, Ratios, url_tokens
from topicrawl.strategies.strategy import Strategy

_WORDS = 60  # words that stand for a page
_VISIBLE = 0.05  # a smaller change of the logarithm moves no link


@dataclass
class Intelligent(Strategy):
    """A link is worth what the pages fetched so far teach: which words, URLs, parents and siblings go with the topic.

        I(E) = P(C | E) / P(C)
        log I = w_c · log I_c + w_u · log I_u + w_l · log I_l + w_s · log I_s        priority = I / (1 + I)

    C: a page is relevant; E: something that is known before it is fetched; I(E): the interest ratio of E. I_c: of the
    words of the page that links to it; I_u: of the words in its URL; I_l: of whether the page that links to it is
    relevant; I_s: of its siblings, the relevant ones among those fetched against as many as chance would give. The w
    are parameters. Words count when their ratio is no accident: two standard deviations from 1 or more.

    Where the paper leaves it open: I_c and I_u are geometric means over the words that count, or a page's many words
    would drown everything else; each probability is drawn towards P(C) as if one more page had been seen; of several
    pages that link to a URL, the best counts. A page is known by its 60 weightiest words. What is remembered is
    bounded: the last `pages` pages with their links, 20,000 words, 20,000 words of URLs.

    Four pages were fetched, two of them relevant; so were both whose URL says "owl": P(C) = 1/2, and with one page more
    P(C | owl) = (2 + 1/2) / 3, so I = 5/3. See `topicrawl.strategies.interest`.

    >>> ratios = Ratios()
    >>> for words, relevant in ((["owl"], True), (["owl"], True), (["car"], False), (["car"], False)):
    ...     ratios.count(words, relevant)
    >>> round(exp(ratios.log_ratio("owl", 0.5)), 6)
    1.666667
    """

    name = "intelligent"
    family = "classic"
    paper = "Aggarwal et al. 2001; Batsakis 2007, 2.3"

    content: float = 1.0  # w_c
    url: float = 1.0  # w_u
    link: float = 1.0  # w_l
    sibling: float = 1.0  # w_s
    pages: int = 1000  # pages that are remembered with their links
    _judged: int = field(default=0, init=False, repr=False)
    _relevant: int = field(default=0, init=False, repr=False)
    _words: Ratios = field(default_factory=Ratios, init=False, repr=False)
    _tokens: Ratios = field(default_factory=Ratios, init=False, repr=False)
    _parents: Ratios = field(default_factory=Ratios, init=False, repr=False)
    _families: dict[str, Family] = field(default_factory=dict, init=False, repr=False)  # page → its links, oldest first
    _changed: list[str] = field(default_factory=list, init=False, repr=False)  # pages one of whose links was fetched

    def __post_init__(self) -> None:
        if min(self.content, self.url, self.link, self.sibling) < 0 or self.pages < 1:
            raise StrategyError(f"{self.name}: weights are 0 or more, pages is 1 or more")

    def learn(self, visit: Visit) -> None:
        relevant = bool(visit.relevance) and (visit.relevance or 0.0) >= self.setting.topic.threshold
        above = self._families.get(visit.link.source)
        if above is not None:
            above.links.pop(visit.link.url, None)
        if visit.page is None or visit.failure is not None:
            return
        self._judged += 1
        self._relevant += relevant
        self._tokens.count(url_tokens(visit.link.url), relevant)
        if above is not None:
            above.fetched += 1
            above.relevant += relevant
            self._words.count(above.words, relevant)
            self._parents.count([str(above.itself)], relevant)
            self._changed.append(visit.link.source)
        self._add(visit, relevant)

    def _add(self, visit: Visit, relevant: bool) -> None:
        page = visit.page
        assert page is not None
        weights = self.setting.vsm.lexicon.weights(page.words)
        words = nlargest(_WORDS, weights, key=weights.__getitem__)
        family = Family(words, relevant, links={link.url: 0.0 for link in page.links})
        # Links carry the URL after redirects as their source.
        self._families.pop(visit.url, None)
        self._families[visit.url] = family
        chance = self._chance
        for url in family.links:
            family.links[url] = self._tokens.mean_log(url_tokens(url), chance)
        family.told = self._base(family)
        while len(self._families) > self.pages:
            del self._families[next(iter(self._families))]

    def place(self, links: Sequence[Link], visit: Visit) -> list[Place | None]:
        family = self._families.get(visit.url)
        if family is None:
            return [Place(0.5) for _ in links]
        places: list[Place | None] = []
        for link in links:
            in_url = family.links.get(link.url, 0.0)
            places.append(Place(self._score(family.told, in_url), None, (("page", family.told), ("url", in_url))))
        return places

    def revise(self) -> Mapping[str, float]:
        told: dict[str, float] = {}
        for url in self._changed:
            family = self._families.get(url)
            if family is not None and abs((base := self._base(family)) - family.told) >= _VISIBLE:
                family.told = base
                told.update((link, self._score(base, in_url)) for link, in_url in family.links.items())
        self._changed.clear()
        return told

    @property
    def _chance(self) -> float:
        return self._relevant / self._judged if self._judged else 0.0

    def _base(self, family: Family) -> float:
        """The logarithm of what all links of a page have in common."""
        chance = self._chance
        return (
            self.content * self._words.mean_log(family.words, chance)
            + self.link * self._parents.log_ratio(str(family.itself), chance)
            + self.sibling * family.log_ratio(chance)
        )

    def _score(self, base: float, in_url: float) -> float:
        return 1 / (1 + exp(-max(-50.0, min(50.0, base + self.url * in_url))))

    def state(self) -> Carry:
        return {
            "seen": [self._judged, self._relevant],
            "ratios": [ratios.packed() for ratios in (self._words, self._tokens, self._parents)],
            "families": {url: family.packed() for url, family in self._families.items()},
            "changed": list(self._changed),
        }

    def restore(self, state: Carry) -> None:
        if not isinstance(state, dict):
            return
        self._judged, self._relevant = cast("list[int]", state["seen"])
        ratios = [Ratios.unpacked(packed) for packed in cast("list[Carry]", state["ratios"])]
        self._words, self._tokens, self._parents = ratios
        families = cast("dict[str, Carry]", state["families"])
        self._families = {url: Family.unpacked(packed) for url, packed in families.items()}
        self._changed = cast("list[str]", state["changed"])
