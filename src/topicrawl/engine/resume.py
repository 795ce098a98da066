"""Open the frontier of a crawl, and reopen links whose pages were lost or failed temporarily."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from msgspec.structs import replace

from topicrawl.collection import queries
from topicrawl.collection.directory import UNREADABLE_STEPS, Collection
from topicrawl.collection.lost_links import LostLinkFinder
from topicrawl.collection.store import NOT_FORGOTTEN, CollectionStore, StoredVisit
from topicrawl.engine.http_setup import get_host_delays
from topicrawl.engine.limits import CrawlLimits
from topicrawl.errors import CollectionError
from topicrawl.fetch.backoff import TRANSIENT_FAILURES
from topicrawl.frontier.base import FETCHED, Frontier, FrontierRules, Offer
from topicrawl.frontier.sqlite.frontier import SqliteFrontier
from topicrawl.settings import Settings
from topicrawl.urls import fingerprint, get_archive_url

log = logging.getLogger("topicrawl")

_COMPLETE_SESSION = "frontier_session"  # fact: the last session of the frontier whose results are all in the store
_STEPS_PER_RANGE = 1000  # steps that are compared with the frontier at once


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
        host_delays=get_host_delays(settings),
        host_page_limits={name: host.pages for name, host in settings.hosts.items() if host.pages is not None},
        lease_seconds=2 * CrawlLimits().fetch_timeout,
        # The crawl counts regular attempts; this limit is only for a page that kills the process each time.
        attempts=settings.attempts + 20,
    )
    return SqliteFrontier(path, rules, time.time)


async def recover_crawl(collection: Collection, frontier: Frontier) -> None:
    """Make the archive, the store and the frontier of a crawl consistent after a kill or a power failure.

    A page is archived, then stored, then completed in the frontier. A power failure may remove the last writes of each,
    by different amounts:

    - The links of unreadable pages are reopened, and the visits of these pages are deleted.
    - Done links without a visit are reopened.
    - Stored pages that the frontier has not completed are queued, so that their links are offered again.

    The second and the third comparison are skipped if the last session of a local frontier ended normally.
    """
    await _reopen_unreadable_pages(collection, frontier)
    if not _is_session_complete(collection, frontier):
        await _reopen_unstored_links(collection, frontier)
        await _requeue_incomplete_pages(collection, frontier)


def mark_session_complete(collection: Collection, frontier: Frontier) -> None:
    """Sync the archive and the store, and record that they contain the results of all links that are done.

    The crawl has ended, so no further link becomes done in this session of the frontier.
    """
    collection.sync_to_disk()
    if isinstance(frontier, SqliteFrontier):
        collection.store.set_facts({_COMPLETE_SESSION: frontier.session})


def _is_session_complete(collection: Collection, frontier: Frontier) -> bool:
    """Return whether the store contains the results of all sessions before the current one."""
    if not isinstance(frontier, SqliteFrontier):
        return False
    return collection.store.get_fact(_COMPLETE_SESSION) == frontier.session - 1


async def _reopen_unreadable_pages(collection: Collection, frontier: Frontier) -> None:
    """Reopen the links of pages that the archive has lost, and delete the visits of these pages."""
    lost = collection.recover_archive()
    if lost:
        log.warning("%d stored pages are unreadable and will be fetched again", len(lost))
        # The final URL of a redirect was marked as done together with the link, so both must be reopened.
        opened = [_find_requested_visit(collection.store, row) for row in lost]
        ends = [Offer(replace(row.link, url=row.url), row.priority) for row in opened if row.url != row.requested]
        await frontier.reopen([*(Offer(row.link, row.priority) for row in opened), *ends])
        collection.store.delete_visits(lost)
    if collection.store.get_fact(UNREADABLE_STEPS) is not None:
        collection.store.set_facts({UNREADABLE_STEPS: None})


async def _reopen_unstored_links(collection: Collection, frontier: Frontier) -> None:
    """Reopen the done links whose results the store does not have."""
    finder = LostLinkFinder(collection.store.db)
    async for entries in frontier.iterate_done():
        finder.add_links(entries)
    if lost := finder.get_lost_links():
        log.warning("%d fetched links are missing from the store and will be fetched again", len(lost))
        await frontier.reopen([Offer(entry.link, entry.priority) for entry in lost])


async def _requeue_incomplete_pages(collection: Collection, frontier: Frontier) -> None:
    """Queue the stored pages that the frontier has not completed, or does not know, to be read from the archive.

    The frontier lost the end of its changes, so the search goes backwards and ends when all pages of a range of steps
    are complete.
    """
    last, _ = queries.get_progress(collection.store)
    count = 0
    while last > 0:
        where = f"failure IS NULL AND {NOT_FORGOTTEN} AND step > ? AND step <= ?"
        rows = list(collection.store.iterate_visits(where, (last - _STEPS_PER_RANGE, last)))
        # Members of an archive are not in the frontier: they are complete when the archive is.
        links = [row for row in rows if not get_archive_url(row.requested)]
        entries = [(row, await frontier.get_entry(row.requested)) for row in links]
        incomplete = [row for row, entry in entries if entry is None or entry.state in ("waiting", "leased")]
        await frontier.add([Offer(row.link, row.priority) for row, entry in entries if entry is None])
        # The pages are stored with the redirects to them, so they need not be fetched on their own.
        await frontier.mark_done([row.url for row in links if row.url != row.requested], FETCHED)
        collection.add_incomplete_visits(incomplete)
        count += len(incomplete)
        if rows and not incomplete:
            break
        last -= _STEPS_PER_RANGE
    if count:
        log.info("%d stored pages are not complete in the frontier and will be read from the archive", count)


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
