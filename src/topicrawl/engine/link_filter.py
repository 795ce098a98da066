"""Link filter: decide which links may be followed.

Links that a rule forbids never reach the strategy; each gets a named refusal. Links into a suspected trap are not
refused but ranked below all others, because a finite site with uniform pages looks like a trap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from topicrawl.engine.user_feedback import UserFeedback
from topicrawl.fetch.guard import AddressGuard
from topicrawl.frontier.trap_detector import TrapDetector
from topicrawl.frontier.url_limits import UrlLimits, check_link
from topicrawl.models import Link, Refusal

# Subtracted from the scores of suspected traps. It makes them negative, unlike the scores of other links.
TRAP_PENALTY = 2.0


@dataclass(frozen=True, slots=True)
class LinkFilter:
    """Rules that decide which links may be followed: scope, nofollow, ports, URL limits, traps."""

    url_limits: UrlLimits | None = None  # None: no URL limits, as for a recorded web
    trap_detector: TrapDetector | None = None
    scope: Callable[[str], bool] | None = None  # returns whether a URL is in scope
    user_feedback: UserFeedback | None = None  # adjusts scores by the annotations and commands of the user
    obeys_directives: bool = True  # whether noindex and nofollow are obeyed; a recorded web sends no requests
    guard: AddressGuard | None = None  # refuses blocked ports; None: all ports are allowed, as for a recorded web

    def get_refusal(self, link: Link) -> Refusal | None:
        """Return the reason why a link must not be followed, or None if it may be followed."""
        if link.rel and self.obeys_directives and "nofollow" in link.rel.split():
            return Refusal.NOFOLLOW
        if self.scope is not None and not self.scope(link.url):
            return Refusal.OUT_OF_SCOPE
        if self.guard is not None and self.guard.find_refused_port(link.url) is not None:
            return Refusal.BLOCKED_PORT
        if self.url_limits is not None and (reason := check_link(link, self.url_limits)) is not None:
            return reason
        if (
            self.trap_detector is not None
            and self.trap_detector.has_exhausted_patterns
            and self.trap_detector.is_endless(link.url, link.source)
        ):
            return Refusal.TRAP
        return None

    def demote_traps(self, scores: Mapping[str, float]) -> Mapping[str, float]:
        """Return new scores of waiting links, adjusted by the user feedback and with the penalty of suspected traps."""
        if self.user_feedback:
            scores = self.user_feedback.adjust_rescored(scores)
        if self.trap_detector is None or not self.trap_detector.has_exhausted_patterns:
            return scores
        return {
            url: score - TRAP_PENALTY if self.trap_detector.is_exhausted(url) else score
            for url, score in scores.items()
        }

    def is_suspected_trap(self, link: Link) -> bool:
        """Return whether the URL of a link belongs to an exhausted pattern. Such a link is demoted, not refused."""
        return (
            self.trap_detector is not None
            and self.trap_detector.has_exhausted_patterns
            and self.trap_detector.is_exhausted(link.url)
        )
