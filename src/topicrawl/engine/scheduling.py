"""Scheduling of out-links: filter and score the links of a visited page, and turn them into offers for the frontier."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from math import isfinite
from typing import NamedTuple, overload

from topicrawl.engine.link_filter import DEMOTION, LinkFilter
from topicrawl.engine.user_feedback import UserFeedback
from topicrawl.errors import StrategyError
from topicrawl.frontier.base import Frontier, Offer
from topicrawl.models import Link, Priority, Refusal, Visit
from topicrawl.strategies.base import Strategy

#: Names of the score components that come from other rules than the strategy.
ADJUSTMENTS = ("feedback", "trap", "domain")


class OutlinkDecision(NamedTuple):
    """An out-link of a visited page with its priority, or with the reason for its refusal.

    A link to a URL that is done has neither if the strategy does not need it.
    """

    link: Link
    priority: Priority | None
    refusal: Refusal | None = None


@dataclass(slots=True)
class Outlinks(Sequence[OutlinkDecision]):
    """Distinct out-links of a visited page, with the decisions on them as columns.

    Columns are cheaper than one record per link, and the store and the frontier read them as they are. As a sequence,
    it contains the decisions.

    >>> outlinks = Outlinks([Link("http://a/"), Link("http://b/")], [Priority(0.5), None], {1: Refusal.TRAP})
    >>> [(out.link.url, out.priority is None, out.refusal) for out in outlinks]
    [('http://a/', False, None), ('http://b/', True, <Refusal.TRAP: 'trap'>)]
    """

    links: list[Link] = field(default_factory=list)
    priorities: list[Priority | None] = field(default_factory=list)  # in the order of the links
    refusals: dict[int, Refusal] = field(default_factory=dict)  # index of a link → reason

    @classmethod
    def join(cls, parts: Iterable[Outlinks]) -> Outlinks:
        """Return the links of several pages, such as the members of an archive."""
        joined = cls()
        for part in parts:
            start = len(joined.links)
            joined.links += part.links
            joined.priorities += part.priorities
            joined.refusals |= {start + index: reason for index, reason in part.refusals.items()}
        return joined

    def __len__(self) -> int:
        return len(self.links)

    @overload
    def __getitem__(self, at: int) -> OutlinkDecision: ...
    @overload
    def __getitem__(self, at: slice) -> list[OutlinkDecision]: ...
    def __getitem__(self, at: int | slice) -> OutlinkDecision | list[OutlinkDecision]:
        if isinstance(at, slice):
            return [self[index] for index in range(*at.indices(len(self)))]
        return OutlinkDecision(self.links[at], self.priorities[at], self.refusals.get(at))


def score_outlinks(
    visit: Visit,
    strategy: Strategy,
    link_filter: LinkFilter,
    *,
    find_closed: Callable[[Sequence[str]], Container[str]] | None = None,
) -> Outlinks:
    """Return every distinct link of the page of a visit with its priority or its refusal; none without a page.

    Of several links to one URL, the one with the best priority counts. Priorities are adjusted by the user feedback and
    the rules for traps and domains. If the strategy does not need the links to done URLs, those that `find_closed`
    returns are not scored. Raise `StrategyError` if the strategy returns too few priorities or a score that is not
    finite.
    """
    page = visit.page
    if page is None or not page.links:
        return Outlinks()
    links: Sequence[Link] = page.links
    refusals = link_filter.find_refusals(page)
    refused = [(links[index], reason) for index, reason in refusals.items()]
    if refused:
        links = [link for index, link in enumerate(links) if index not in refusals]
    closed_links: list[Link] = []
    if find_closed is not None and not strategy.needs_all_links:
        closed = find_closed([link.url for link in links])
        closed_links = [link for link in links if link.url in closed]
        if closed_links:
            links = [link for link in links if link.url not in closed]
    outlinks = _select_best_links(links, _score_links(links, visit, strategy))
    if link_filter.user_feedback or link_filter.demotes_links:
        outlinks.priorities = list(map(_adjust_priority, outlinks.links, outlinks.priorities, repeat(link_filter)))
    outlinks.refusals = {
        index: Refusal.STRATEGY for index, priority in enumerate(outlinks.priorities) if priority is None
    }
    _append_unscored(outlinks, closed_links, refused)
    return outlinks


def _score_links(links: Sequence[Link], visit: Visit, strategy: Strategy) -> list[Priority | None]:
    """Return the priorities that the strategy gives the links, and check them."""
    priorities = strategy.score_links(links, visit)
    if len(priorities) != len(links):
        raise StrategyError(f"{strategy.name} returned {len(priorities)} priorities for {len(links)} links")
    for link, priority in zip(links, priorities, strict=True):
        if priority is not None and not isfinite(priority.score):
            raise StrategyError(f"{strategy.name} gave {link.url} the score {priority.score}: scores must be finite")
    return priorities


def _select_best_links(links: Sequence[Link], priorities: list[Priority | None]) -> Outlinks:
    """Return one link for each URL: the one with the best priority. URLs stay in the order of their first links."""
    if len({link.url for link in links}) == len(links):
        return Outlinks(list(links), priorities)
    best: dict[str, tuple[Link, Priority | None]] = {}
    for link, priority in zip(links, priorities, strict=True):
        _, known = best.setdefault(link.url, (link, priority))
        if priority is not None and (known is None or priority.score > known.score):
            best[link.url] = link, priority
    return Outlinks([link for link, _ in best.values()], [priority for _, priority in best.values()])


def _append_unscored(outlinks: Outlinks, closed_links: Sequence[Link], refused: Sequence[tuple[Link, Refusal]]) -> None:
    """Append the links that were not scored, each URL once."""
    known = {link.url for link in outlinks.links}
    closed: dict[str, Link] = {}  # the scored links lead to other URLs
    for link in closed_links:
        closed.setdefault(link.url, link)
    outlinks.links += closed.values()
    for link, reason in refused:
        if link.url not in known and link.url not in closed:
            known.add(link.url)
            outlinks.refusals[len(outlinks.links)] = reason
            outlinks.links.append(link)
    outlinks.priorities += [None] * (len(outlinks.links) - len(outlinks.priorities))


def _adjust_priority(link: Link, priority: Priority | None, link_filter: LinkFilter) -> Priority | None:
    """Adjust the priority of a link by the user feedback and the rules for traps and domains."""
    if priority is not None and link_filter.user_feedback:
        priority = _apply_feedback(link, priority, link_filter.user_feedback)
    if priority is not None and (adjustments := link_filter.list_adjustments(link, priority.score)):
        score = priority.score + sum(value for _, value in adjustments)
        priority = Priority(score, priority.payload, (*priority.parts, *adjustments))
    return priority


def _apply_feedback(link: Link, priority: Priority, user_feedback: UserFeedback) -> Priority:
    score = user_feedback.adjust_score(link, priority.score)
    if score == priority.score:
        return priority
    return Priority(score, priority.payload, (*priority.parts, ("feedback", score - priority.score)))


def list_score_parts(
    link: Link, priority: Priority, reasons: Sequence[tuple[str, float]], link_filter: LinkFilter
) -> tuple[tuple[str, float], ...]:
    """Return the named components of the score of a link: those of the strategy, and the adjustments of other rules.

    `reasons` are the components that the strategy gives now. Without them, those from the time when the link was found
    are returned. The demotion of a link that was demoted later is added.
    """
    parts = dict(reasons or priority.parts)
    for name, value in priority.parts:
        if name in ADJUSTMENTS:
            parts.setdefault(name, value)
    if priority.score < 0 and min(parts.values(), default=0.0) > -DEMOTION:
        for name, value in link_filter.list_adjustments(link, priority.score):
            parts[name] = parts.get(name, 0.0) + value
    return tuple(parts.items())


async def build_offers(outlinks: Outlinks, strategy: Strategy, frontier: Frontier) -> list[Offer]:
    """Build the frontier offers of the links that have a priority.

    If the strategy merges priorities, the offer of a waiting link has the merged priority and replaces the old one.
    """
    columns = zip(outlinks.links, outlinks.priorities, strict=True)
    offers = [Offer(link, priority) for link, priority in columns if priority is not None]
    if strategy.merges and offers:
        waiting = await frontier.get_priorities([offer.link.url for offer in offers])
        for index, offer in enumerate(offers):
            if (old := waiting.get(offer.link.url)) is not None:
                offers[index] = Offer(offer.link, strategy.merge(old, offer.priority), replace=True)
    return offers
