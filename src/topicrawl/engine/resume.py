"""Open the frontier of a crawl, and reopen links whose pages were lost or failed temporarily."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from msgspec.structs import replace

from topicrawl.collection import queries
from topicrawl.collection.directory import Collection
from topicrawl.collection.store import CollectionStore, StoredVisit
from topicrawl.engine.limits import CrawlLimits
from topicrawl.errors import CollectionError
from topicrawl.fetch.backoff import TRANSIENT_FAILURES
from topicrawl.frontier.base import Frontier, FrontierRules, Offer
from topicrawl.frontier.sqlite.frontier import SqliteFrontier
from topicrawl.settings import Settings
from topicrawl.urls import fingerprint, get_archive_url

log = logging.getLogger("topicrawl")


def open_local_frontier(collection: Collection, settings: Settings) -> SqliteFrontier:
    """Open the SQLite frontier in the directory of the collection, and create it for a new crawl.

    Raise `CollectionError` if the file is missing although the crawl has visits.
    """
    path = collection.directory / "frontier.sqlite"
    step, _ = queries.get_progress(collection.store)
    if step and not path.exists():
        raise CollectionError(f"{path} is missing, and with it the links that were still waiting: restore a backup")
    rules = FrontierRules(
        delay=settings.delay,
        host_pages=settings.host_pages,
        lease_seconds=2 * CrawlLimits().fetch_timeout,
        # The crawl counts regular attempts; this limit is only for a page that kills the process each time.
        attempts=settings.attempts + 20,
    )
    return SqliteFrontier(path, rules, time.time)


async def reopen_lost_pages(collection: Collection, frontier: Frontier) -> None:
    """Reopen the links of pages that the archive has lost, and delete the visits of these pages."""
    lost = collection.recover_archive()
    if lost:
        log.warning("%d stored pages are unreadable and will be fetched again", len(lost))
        # The final URL of a redirect was marked as done together with the link, so both must be reopened.
        opened = [_find_requested_visit(collection.store, row) for row in lost]
        ends = [Offer(replace(row.link, url=row.url), row.priority) for row in opened if row.url != row.requested]
        await frontier.reopen([*(Offer(row.link, row.priority) for row in opened), *ends])
        collection.store.delete_visits(lost)


def _find_requested_visit(store: CollectionStore, row: StoredVisit) -> StoredVisit:
    """Return the visit to repeat for a lost one: the visit of the archive if the page is a member of an archive."""
    is_file = row.source and get_archive_url(row.requested) == row.source
    return (store.find_visit(row.source) if is_file else None) or row


async def reopen_failed_links(frontier: Frontier, store: CollectionStore, seeds: Sequence[str]) -> None:
    """Reopen links whose last attempt failed temporarily: the given seeds, or all such links if no links wait."""
    names = ",".join(f"'{failure}'" for failure in sorted(TRANSIENT_FAILURES))
    where = f"failure IN ({names})"
    if (await frontier.get_counts()).waiting:
        failed = [row for url in seeds for row in store.iterate_visits(f"{where} AND id=?", (fingerprint(url),))]
    else:
        failed = list(store.iterate_visits(where))
    if failed:
        await frontier.reopen([Offer(row.link, row.priority) for row in failed])
