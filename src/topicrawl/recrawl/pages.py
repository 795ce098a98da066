"""The stored pages that a recrawl visits: their rows, their conditional headers, and whether they have changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from topicrawl.collection.directory import Collection
from topicrawl.collection.store import StoredVisit
from topicrawl.errors import DamagedError
from topicrawl.fetch.rendering.page_renderer import PARTLY_RENDERED, RENDERED
from topicrawl.frontier.base import Offer
from topicrawl.models import Priority, Visit
from topicrawl.urls import fingerprint

_MAX_VALIDATOR_LENGTH = 1000
_CONDITIONAL_HEADERS = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}


@dataclass
class RevisitPages:
    """Stored pages that a recrawl visits, by URL."""

    collection: Collection
    _rows: dict[str, StoredVisit] = field(default_factory=dict)  # URL → stored visit

    def load_pages(self, due: Sequence[tuple[int, float]]) -> list[Offer]:
        """Load pages by id, and return their offers for the recrawl queue with how overdue they are as priority.

        Ids without a stored page are skipped.
        """
        offers = []
        for page, overdue in due:
            rows = self.collection.store.iterate_visits("step = (SELECT step FROM pages WHERE id = ?)", (page,))
            row = next(rows, None)
            if row is not None:
                self._rows[row.url] = row
                offers.append(Offer(replace(row.link, url=row.url), Priority(overdue)))
        return offers

    def get_row(self, url: str) -> StoredVisit:
        """Return the stored visit of a loaded page. Raise KeyError if `load_pages` has not loaded it."""
        return self._rows[url]

    def is_rendered(self, url: str) -> bool:
        """Return whether the stored page is a document that a browser has rendered."""
        row = self._rows.get(url)
        return row is not None and row.detail in (RENDERED, PARTLY_RENDERED)

    def get_validators(self, url: str) -> Mapping[str, str]:
        """Return the conditional request headers for a stored page; empty if it has none or cannot be read.

        A rendered page has none: its data may have changed although the page itself has not.
        """
        row = self._rows.get(url)
        if row is None or row.location is None or self.is_rendered(url):
            return {}
        try:
            headers = self.collection.archive.read_response(row.location).headers
        except DamagedError:
            return {}
        conditions = {condition: headers.get(name, "") for name, condition in _CONDITIONAL_HEADERS.items()}
        return {
            name: value
            for name, value in conditions.items()
            if value and value.isascii() and value.isprintable() and len(value) <= _MAX_VALIDATOR_LENGTH
        }

    def find_changed_visit(self, visit: Visit) -> Visit | None:
        """Return the visit as the original visit of the crawl if the content of its page has changed, else None.

        None also for a failed visit, and for a page that redirects to another URL.
        """
        row = self._rows.get(visit.link.url)
        if row is None or visit.failure is not None or visit.page is None or visit.url != row.url:
            return None
        ((digest,),) = self.collection.store.query_rows(
            "SELECT digest FROM pages WHERE id = ?", (fingerprint(row.url),)
        )
        if visit.page.digest == digest:
            return None
        return replace(visit, step=row.step, link=row.link, priority=row.priority)
