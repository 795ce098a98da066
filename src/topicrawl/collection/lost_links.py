"""Compare a frontier with the store of a collection: find done links whose results the store has lost.

A page is stored before its link is done. A power failure can revert the order, because it may remove more of the last
writes from the store than from the frontier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from topicrawl.collection.store import NOT_FORGOTTEN
from topicrawl.database import Database, translate_errors
from topicrawl.fetch.backoff import TRANSIENT_FAILURES
from topicrawl.frontier.base import FETCHED, FrontierEntry
from topicrawl.frontier.sqlite.reader import to_json_list
from topicrawl.models import Failure
from topicrawl.urls import fingerprint

_FAILURES = frozenset(failure.value for failure in Failure)
#: Failures after which another fetch may succeed. `DUPLICATE` is one of them, because the stored original may have been
#: lost in the crash.
_REPEATABLE_FAILURES = TRANSIENT_FAILURES | {Failure.DUPLICATE}
_SELECT_VISITS = f"""
    SELECT v.id, coalesce(v.failure, '') FROM json_each(?) j JOIN visits v ON v.id = j.value WHERE {NOT_FORGOTTEN}
"""
_SELECT_PAGES = "SELECT p.id FROM json_each(?) j JOIN pages p ON p.id = j.value"


@dataclass
class LostLinkFinder:
    """Find the done links of a frontier whose results are missing from the store."""

    store: Database
    _lost: list[FrontierEntry] = field(default_factory=list)
    #: Links that were marked as done without a lease: redirect targets, and in older files the hops before them.
    _lost_targets: list[FrontierEntry] = field(default_factory=list)

    def add_links(self, entries: Sequence[FrontierEntry]) -> None:
        """Look up the visits and pages of done links. Each call looks up all of its links at once."""
        done = {fingerprint(entry.link.url): entry for entry in entries if _must_be_stored(entry)}
        with translate_errors(self.store.path):
            visits = dict(self.store.execute(_SELECT_VISITS, (to_json_list(done),)).fetchall())
            missing = {id_: entry for id_, entry in done.items() if not _is_result(visits.get(id_), entry)}
            # A redirect of another link may have led to the page, which is stored with the visit of that link.
            pages = {id_ for (id_,) in self.store.execute(_SELECT_PAGES, (to_json_list(missing),)).fetchall()}
        for id_, entry in missing.items():
            if id_ not in pages:
                (self._lost if entry.attempts else self._lost_targets).append(entry)

    def get_lost_links(self) -> list[FrontierEntry]:
        """Return the links whose results are lost, and the redirect targets that may have been lost with them."""
        # The visit of a redirect contains its target, so without a lost visit no target is lost.
        return [*self._lost, *self._lost_targets] if self._lost else []


def _must_be_stored(entry: FrontierEntry) -> bool:
    """Return whether the store has a visit of a link that is done for this reason."""
    return entry.state == "done" and (entry.reason == FETCHED or (entry.attempts > 0 and entry.reason in _FAILURES))


def _is_result(stored: str | None, entry: FrontierEntry) -> bool:
    """Return whether a stored visit is the result of the link: its failure, "" for a page, None if there is none.

    A temporary failure, or a duplicate, is not the result of a link that was fetched later.
    """
    return stored is not None and not (entry.reason == FETCHED and stored in _REPEATABLE_FAILURES)
