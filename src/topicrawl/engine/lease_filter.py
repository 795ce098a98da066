"""Lease filter: hold demoted links back while other links wait, and check each leased link before its fetch.

The frontier orders links by the scores that they had when they were offered. A trap or a spam domain may have been
recognised since, so each leased link is checked again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from topicrawl.engine.context import CrawlContext
from topicrawl.frontier.base import Lease, LeaseLimits
from topicrawl.models import Refusal

#: Focus by which every link is poor as long as a link with a positive score waits, is expected or is being fetched.
_NO_OTHER_LINK = 1e9
_TURN_SECONDS = 0.25  # seconds between two turns of the hosts of a domain that has enough concurrent fetches
_MAX_TURN_SECONDS = 60.0
_MAX_DOMAINS = 1000  # domains whose next turns are stored


@dataclass
class LeaseFilter:
    """Lease links from the frontier under the rules for traps and domains."""

    _next_turns: dict[str, float] = field(default_factory=dict)  # domain → last turn given to one of its hosts

    async def lease_links(self, context: CrawlContext, count: int, *, limits: LeaseLimits) -> list[Lease]:
        """Lease up to `count` links. Lease demoted links only if no other link waits, is expected or is being fetched.

        Links whose hosts failed and wait for long do not count as others.
        """
        frontier = context.frontier
        if not _holds_links_back(context, limits):
            return await frontier.lease(count, limits)
        leases = await frontier.lease(count, replace(limits, min_score=0.0))
        return leases or await frontier.lease(count, LeaseLimits(limits.min_score, _NO_OTHER_LINK))

    async def seconds_until_ready(self, context: CrawlContext, limits: LeaseLimits) -> float | None:
        """Return the seconds until `lease_links` can return a link, or None if it never can."""
        frontier = context.frontier
        if not _holds_links_back(context, limits):
            return await frontier.seconds_until_ready(limits)
        waits = [
            await frontier.seconds_until_ready(replace(limits, min_score=0.0)),
            await frontier.seconds_until_ready(LeaseLimits(limits.min_score, _NO_OTHER_LINK)),
        ]
        return min((wait for wait in waits if wait is not None), default=None)

    async def accept_lease(self, context: CrawlContext, lease: Lease, *, running: Collection[Lease]) -> bool:
        """Return whether a leased link may be fetched now. Return any other link to the frontier.

        A link that is now known to lead to a trap or to spam is demoted, and a link to a domain that has used up its
        page budget is completed. A link to a domain with too many of the `running` fetches waits for its turn.
        """
        frontier, link_filter, link = context.frontier, context.link_filter, lease.link
        if link_filter.is_domain_budget_spent(link):
            await frontier.complete(lease, Refusal.DOMAIN_BUDGET, unused=True)
            return False
        # Seeds have no source. They are fetched, because the user asked for them.
        if link.source and lease.priority.score >= 0 and link_filter.demotes_links and link_filter.is_demoted(link):
            await frontier.release(lease, count_attempt=False, unused=True)
            changes = link_filter.list_adjustments(link, lease.priority.score)
            await frontier.rescore({link.url: lease.priority.score + sum(value for _, value in changes)})
            return False
        if (wait := self._find_turn(context, link.url, running)) > 0:
            await frontier.release(lease, wait=wait, count_attempt=False, unused=True)
            return False
        return True

    def _find_turn(self, context: CrawlContext, url: str, running: Collection[Lease]) -> float:
        """Return the seconds until the host of a URL has its turn among the hosts of its domain; 0: now."""
        monitor = context.link_filter.domain_monitor
        if monitor is None or not running:
            return 0.0
        domain = monitor.get_domain(url)
        fetching = sum(monitor.get_domain(lease.link.url) == domain for lease in running)
        if monitor.may_fetch(url, fetching):
            return 0.0
        now = context.clock()
        turn = max(now, self._next_turns.pop(domain, now)) + _TURN_SECONDS
        self._next_turns[domain] = min(turn, now + _MAX_TURN_SECONDS)
        if len(self._next_turns) > _MAX_DOMAINS:
            del self._next_turns[next(iter(self._next_turns))]
        return turn - now


def _holds_links_back(context: CrawlContext, limits: LeaseLimits) -> bool:
    """Return whether demoted links must be told from the others."""
    return context.link_filter.demotes_links and limits.min_score < 0
