"""Strategy of a recrawl: the strategy of the crawl, which learns only from changed pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from topicrawl.models import Link, Priority, Visit
from topicrawl.strategies.base import Strategy


class ChangedPagesStrategy(Strategy):
    """Wrapper of the strategy of the crawl that only passes on changed pages. The strategy already knows the others.

    `find_changed_visit` converts a revisit into the original visit of the crawl, or returns None if the page is
    unchanged.
    """

    name, family, paper = "onlooker", "", ""

    def __init__(self, inner: Strategy, find_changed_visit: Callable[[Visit], Visit | None]) -> None:
        self.inner, self.find_changed_visit = inner, find_changed_visit
        self.context = inner.context

    def learn(self, visit: Visit) -> None:
        """Learn from a changed page."""
        if (changed_visit := self.find_changed_visit(visit)) is not None:
            self.inner.learn(changed_visit)

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        """Score the links of a changed page. Links of an unchanged page are not followed."""
        changed_visit = self.find_changed_visit(visit)
        return [None] * len(links) if changed_visit is None else self.inner.score_links(links, changed_visit)

    def merge(self, old: Priority, new: Priority) -> Priority:
        """Merge two priorities of one link."""
        return self.inner.merge(old, new)

    def rescore(self) -> Mapping[str, float]:
        """Return new scores of waiting links."""
        return self.inner.rescore()

    @property
    def merges(self) -> bool:
        """Whether the strategy merges priorities."""
        return self.inner.merges
