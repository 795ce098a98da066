"""Intelligent crawling: Aggarwal, Al-Garawi and Yu 2001; Batsakis 2007, section 2.3.

The crawler learns during the crawl which properties known before a fetch indicate relevant pages. It needs no training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from math import exp
from typing import Any

from msgspec import Struct, convert

from topicrawl.errors import StrategyError
from topicrawl.models import JsonValue, Link, Priority, Visit
from topicrawl.strategies.base import Strategy
from topicrawl.strategies.interest_ratios import InterestRatios, SiblingGroup, tokenize_url

_MAX_PAGE_TERMS = 60  # number of terms that represent a page
_MIN_LOG_CHANGE = 0.05  # smaller changes of log I do not change scores in the frontier


class IntelligentState(Struct, frozen=True):
    """Stored state of the strategy."""

    seen: tuple[int, int]  # judged and relevant pages
    ratios: tuple[Any, Any, Any]  # states of the word, URL and parent ratios
    families: dict[str, Any]  # URL → state of its sibling group
    changed: list[str]


@dataclass
class IntelligentCrawler(Strategy):
    """Score a link by the words, URLs, parents and siblings that relevant pages had so far in the crawl.

        I(E) = P(C | E) / P(C)
        log I = w_c · log I_c + w_u · log I_u + w_l · log I_l + w_s · log I_s        priority = I / (1 + I)

    C: a page is relevant; E: an event that is known before the fetch; I(E): the interest ratio of E. I_c: the ratio of
    the words of the linking page; I_u: of the words in the URL; I_l: of whether the linking page is relevant; I_s: of
    the siblings, the number of relevant ones among those fetched against the number expected by chance. The w are
    parameters. A word counts only if its ratio is significant: at least two standard deviations from 1.

    Where the paper leaves a choice: I_c and I_u are geometric means over the words that count, because the many words
    of a page would outweigh all other events. Each probability is shrunk towards P(C) by one page. If several pages
    link to a URL, the best score counts. The 60 terms with the highest weights represent a page. Memory is bounded: the
    last `pages` pages with their links, 20,000 words and 20,000 URL words.

    Four pages were fetched and two of them are relevant, both with "owl" in the URL: P(C) = 1/2, and with one more page
    P(C | owl) = (2 + 1/2) / 3, so I = 5/3. See `topicrawl.strategies.interest_ratios`.

    >>> ratios = InterestRatios()
    >>> for words, relevant in ((["owl"], True), (["owl"], True), (["car"], False), (["car"], False)):
    ...     ratios.count_events(words, relevant)
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
    pages: int = 1000  # number of pages that are kept with their links
    _judged_count: int = field(default=0, init=False, repr=False)
    _relevant_count: int = field(default=0, init=False, repr=False)
    _word_ratios: InterestRatios = field(default_factory=InterestRatios, init=False, repr=False)
    _url_ratios: InterestRatios = field(default_factory=InterestRatios, init=False, repr=False)
    _parent_ratios: InterestRatios = field(default_factory=InterestRatios, init=False, repr=False)
    _sibling_groups: dict[str, SiblingGroup] = field(
        default_factory=dict, init=False, repr=False
    )  # page → its links, oldest first
    _changed_pages: list[str] = field(default_factory=list, init=False, repr=False)  # pages with a newly fetched link

    def __post_init__(self) -> None:
        if min(self.content, self.url, self.link, self.sibling) < 0 or self.pages < 1:
            raise StrategyError(f"{self.name}: weights are 0 or more, pages is 1 or more")

    def learn(self, visit: Visit) -> None:
        """Count the words, URL words, parent and siblings of a fetched page, and store its links."""
        relevant = self.context.is_relevant(visit)
        siblings = self._sibling_groups.get(visit.link.source)
        if siblings is not None:
            siblings.waiting_links.pop(visit.link.url, None)
        if visit.page is None or visit.failure is not None:
            return
        self._judged_count += 1
        self._relevant_count += relevant
        self._url_ratios.count_events(tokenize_url(visit.link.url), relevant)
        if siblings is not None:
            siblings.fetched_count += 1
            siblings.relevant_count += relevant
            self._word_ratios.count_events(siblings.words, relevant)
            self._parent_ratios.count_events([str(siblings.is_relevant)], relevant)
            self._changed_pages.append(visit.link.source)
        self._add_page(visit, relevant)

    def _add_page(self, visit: Visit, relevant: bool) -> None:
        """Store a page and its links, and drop the oldest pages above the limit."""
        page = visit.page
        assert page is not None
        weights = self.context.vsm.lexicon.compute_weights(page.words)
        words = nlargest(_MAX_PAGE_TERMS, weights, key=weights.__getitem__)
        family = SiblingGroup(words, relevant, waiting_links={link.url: 0.0 for link in page.links})
        # The source of a link is the page URL after redirects.
        self._sibling_groups.pop(visit.url, None)
        self._sibling_groups[visit.url] = family
        chance = self._base_rate
        for url in family.waiting_links:
            family.waiting_links[url] = self._url_ratios.mean_log_ratio(tokenize_url(url), chance)
        family.frontier_log = self._compute_page_log(family)
        while len(self._sibling_groups) > self.pages:
            del self._sibling_groups[next(iter(self._sibling_groups))]

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        """Return priorities from the interest ratios at the time of `learn`."""
        family = self._sibling_groups.get(visit.url)
        if family is None:
            return [Priority(0.5) for _ in links]
        priorities: list[Priority | None] = []
        for link in links:
            in_url = family.waiting_links.get(link.url, 0.0)
            priorities.append(
                Priority(
                    self._compute_score(family.frontier_log, in_url),
                    None,
                    (("page", family.frontier_log), ("url", in_url)),
                )
            )
        return priorities

    def rescore(self) -> Mapping[str, float]:
        """Return new scores for the waiting siblings of the pages fetched since the last call."""
        scores: dict[str, float] = {}
        for url in self._changed_pages:
            family = self._sibling_groups.get(url)
            if (
                family is not None
                and abs((base := self._compute_page_log(family)) - family.frontier_log) >= _MIN_LOG_CHANGE
            ):
                family.frontier_log = base
                scores.update(
                    (link, self._compute_score(base, in_url)) for link, in_url in family.waiting_links.items()
                )
        self._changed_pages.clear()
        return scores

    @property
    def _base_rate(self) -> float:
        """P(C): the share of the fetched pages that are relevant."""
        return self._relevant_count / self._judged_count if self._judged_count else 0.0

    def _compute_page_log(self, family: SiblingGroup) -> float:
        """Return the part of log I that all links of a page share."""
        chance = self._base_rate
        return (
            self.content * self._word_ratios.mean_log_ratio(family.words, chance)
            + self.link * self._parent_ratios.log_ratio(str(family.is_relevant), chance)
            + self.sibling * family.log_ratio(chance)
        )

    def _compute_score(self, base: float, in_url: float) -> float:
        """Return the priority for the shared and the URL part of log I."""
        return 1 / (1 + exp(-max(-50.0, min(50.0, base + self.url * in_url))))

    def get_state(self) -> JsonValue:
        """Return the learned state as plain values."""
        return {
            "seen": [self._judged_count, self._relevant_count],
            "ratios": [ratios.get_state() for ratios in (self._word_ratios, self._url_ratios, self._parent_ratios)],
            "families": {url: family.get_state() for url, family in self._sibling_groups.items()},
            "changed": list(self._changed_pages),
        }

    def restore_state(self, state: JsonValue) -> None:
        """Restore a state that `get_state` returned."""
        if state is None:
            return
        saved = convert(state, IntelligentState, strict=False)
        self._judged_count, self._relevant_count = saved.seen
        self._word_ratios, self._url_ratios, self._parent_ratios = map(InterestRatios.from_state, saved.ratios)
        self._sibling_groups = {url: SiblingGroup.from_state(packed) for url, packed in saved.families.items()}
        self._changed_pages = saved.changed
