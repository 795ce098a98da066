"""The frontier that a crawl begins with: links of earlier runs, and what must be asked for again."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace

from topicrawl.budget import Budget
from topicrawl.collection import report
from topicrawl.collection.directory import Collection
from topicrawl.collection.store import Store, Stored
from topicrawl.errors import CollectionError
from topicrawl.fetch.retry import TRANSIENT
from topicrawl.frontier.contract import Frontier, Offer, Rules
from topicrawl.frontier.sqlite import Sqlite
from topicrawl.settings import Settings
from topicrawl.urls import container, fingerprint

log = logging.getLogger("topicrawl")


def own_frontier(collection: Collection, settings: Settings) -> Sqlite:
    """The frontier in the collection's directory."""
    path = collection.directory / "frontier.sqlite"
    step, _ = report.counts(collection.store)
    if step and not path.exists():
        raise CollectionError(f"{path} is gone, and with it what was still to be fetched: bring it back from a backup")
    rules = Rules(
        delay=settings.delay,
        host_pages=settings.host_pages,
        lease_seconds=2 * Budget().deadline,
        # Beyond our own attempts, only a page that kills the process each time uses them up.
        attempts=settings.attempts + 20,
    )
    return Sqlite(path, rules, time.time)


async def reopen_lost(collection: Collection, frontier: Frontier) -> None:
    """Put all that the collection lost back into the frontier."""
    lost = collection.recover()
    if lost:
        log.warning("%d pages no longer read back and will be fetched again", len(lost))
        # Where a redirect ended was settled with it, and must be opened with it.
        opened = [_asked(collection.store, row) for row in lost]
        ends = [Offer(replace(row.link, url=row.url), row.place) for row in opened if row.url != row.requested]
        await frontier.reopen([*(Offer(row.link, row.place) for row in opened), *ends])
        collection.store.forget(lost)


def _asked(store: Store, row: Stored) -> Stored:
    """The visit to make again for a lost one: for a file of an archive, the archive's."""
    is_file = row.source and container(row.requested) == row.source
    return (store.visit_of(row.source) if is_file else None) or row


async def reopen_failed(frontier: Frontier, store: Store, seeds: Sequence[str]) -> None:
    """Open again what failed in passing: seeds that are named again, and all of it when nothing else is left."""
    names = ",".join(f"'{failure}'" for failure in sorted(TRANSIENT))
    where = f"failure IN ({names})"
    if (await frontier.counts()).waiting:
        failed = [row for url in seeds for row in store.visits(f"{where} AND id=?", (fingerprint(url),))]
    else:
        failed = list(store.visits(where))
    if failed:
        await frontier.reopen([Offer(row.link, row.place) for row in failed])
