"""Scheduling of out-links: filter and score the links of a visited page, and turn them into offers for the frontier."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple

from topicrawl.engine.link_filter import DEMOTION, LinkFilter
from topicrawl.engine.user_feedback import UserFeedback
from topicrawl.errors import StrategyError
from topicrawl.frontier.base import Frontier, Offer
from topicrawl.models import Link, Priority, Refusal, Visit
from topicrawl.strategies.base import Strategy

#: Names of the score components that come from other rules than the strategy.
ADJUSTMENTS = ("feedback", "trap", "domain")


class OutlinkDecision(NamedTuple):
    """An out-link of a visited page with its priority, or with the reason for its refusal."""

    link: Link
    priority: Priority | None
    refusal: Refusal | None = None


def score_outlinks(visit: Visit, strategy: Strategy, link_filter: LinkFilter) -> list[OutlinkDecision]:
    """Return every distinct link of the page of a visit with its priority or its refusal; empty without a page.

    Of several links to one URL, the one with the best priority counts. Priorities are adjusted by the user feedback and
    the rules for traps and domains. Raise `StrategyError` if the strategy returns too few priorities or a score that is
    not finite.
    """
    page = visit.page
    if page is None or not page.links:
        return []
    links: list[Link] = []
    refused: dict[str, OutlinkDecision] = {}
    nofollow = link_filter.obeys_directives and "nofollow" in page.directives
    for link in page.links:
        reason = Refusal.NOFOLLOW if nofollow else link_filter.get_refusal(link)
        if reason is None:
            links.append(link)
        else:
            refused.setdefault(link.url, OutlinkDecision(link, None, reason))
    best: dict[str, OutlinkDecision] = {}
    priorities = strategy.score_links(links, visit)
    if len(priorities) != len(links):
        raise StrategyError(f"{strategy.name} returned {len(priorities)} priorities for {len(links)} links")
    for link, priority in zip(links, priorities, strict=True):
        if priority is not None and not isfinite(priority.score):
            raise StrategyError(f"{strategy.name} gave {link.url} the score {priority.score}: scores must be finite")
        known = best.get(link.url)
        if known is None or (
            priority is not None and (known.priority is None or priority.score > known.priority.score)
        ):
            best[link.url] = OutlinkDecision(link, priority, None if priority is not None else Refusal.STRATEGY)
    if link_filter.user_feedback or link_filter.demotes_links:
        best = {url: _adjust_priority(out, link_filter) for url, out in best.items()}
    return [*best.values(), *(out for url, out in refused.items() if url not in best)]


def _adjust_priority(decision: OutlinkDecision, link_filter: LinkFilter) -> OutlinkDecision:
    """Adjust the priority of a link by the user feedback and the rules for traps and domains."""
    priority = decision.priority
    if priority is not None and link_filter.user_feedback:
        priority = _apply_feedback(decision.link, priority, link_filter.user_feedback)
    if priority is not None and (adjustments := link_filter.list_adjustments(decision.link, priority.score)):
        score = priority.score + sum(value for _, value in adjustments)
        priority = Priority(score, priority.payload, (*priority.parts, *adjustments))
    return decision if priority is decision.priority else OutlinkDecision(decision.link, priority, decision.refusal)


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


async def build_offers(outlinks: Sequence[OutlinkDecision], strategy: Strategy, frontier: Frontier) -> list[Offer]:
    """Build the frontier offers of the links that have a priority.

    If the strategy merges priorities, the offer of a waiting link has the merged priority and replaces the old one.
    """
    offers = [Offer(out.link, out.priority) for out in outlinks if out.priority is not None]
    if strategy.merges and offers:
        waiting = await frontier.get_priorities([offer.link.url for offer in offers])
        for index, offer in enumerate(offers):
            if (old := waiting.get(offer.link.url)) is not None:
                offers[index] = Offer(offer.link, strategy.merge(old, offer.priority), replace=True)
    return offers
