"""Visit sinks: the destinations of visits. A sink stores visits in a collection, in memory, or not at all."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from topicrawl.collection.link_rows import PackedLinks, pack_links
from topicrawl.engine.scheduling import OutlinkDecision, Outlinks
from topicrawl.models import Failure, Link, Response, Visit
from topicrawl.parse.feeds import list_named_sitemaps
from topicrawl.urls import get_origin, resolve_url

if TYPE_CHECKING:
    from topicrawl.collection.directory import Collection
    from topicrawl.fetch.polite import PoliteFetcher

log = logging.getLogger("topicrawl")

_MAX_KNOWN_ORIGINS = 20_000  # origins remembered as already checked for sitemaps


class ProcessedVisit(NamedTuple):
    """A visit with its response and the decisions on its out-links."""

    visit: Visit
    response: Response
    outlinks: Outlinks

    def pack_links(self) -> PackedLinks:
        """Return the links as a row of the database."""
        return pack_links(self.outlinks.links, self.outlinks.priorities, self.outlinks.refusals)


class VisitSink(Protocol):
    """Destination of visits: a collection, memory or nothing. Visits are stored before the frontier completes them."""

    def find_stored_step(self, link: Link) -> int | None:
        """Return the step of a visit that a killed run stored but did not complete. The visit keeps this step."""

    def owns_page(self, link: Link, url: str) -> bool:
        """Return whether a killed run stored the page of a URL with the visit of this link, and did not complete it."""

    def store_visits(self, processed: Sequence[ProcessedVisit]) -> None:
        """Store all of the visits, or none of them."""

    def on_batch_completed(self) -> None:
        """Handle the end of a batch: the stored visits are complete, so the learned state can be saved."""

    def record_retry(self, link: Link, response: Response, attempt: int) -> None:
        """Record an attempt that failed and that the crawler will repeat."""


class VisitObserver:
    """Component that follows the visits of a live crawl. Both methods do nothing unless a subclass overrides them."""

    def observe_visit(self, visit: Visit, outlinks: Sequence[OutlinkDecision]) -> None:
        """Handle a visit that has just been stored."""

    def on_batch_completed(self) -> None:
        """Handle the end of a batch: the frontier has completed the stored visits, of which there may be none."""


class NullSink:
    """Visit sink that discards all visits."""

    def find_stored_step(self, link: Link) -> int | None:
        """Return None: no earlier run has stored a visit."""
        return None

    def owns_page(self, link: Link, url: str) -> bool:
        """Return False: no earlier run has stored a page."""
        return False

    def store_visits(self, processed: Sequence[ProcessedVisit]) -> None:
        """Discard visits."""

    def on_batch_completed(self) -> None:
        """Do nothing."""

    def record_retry(self, link: Link, response: Response, attempt: int) -> None:
        """Do nothing."""


@dataclass
class MemorySink(NullSink):
    """Visit sink that keeps visits in memory, for simulations. Responses are discarded.

    >>> sink = MemorySink()
    >>> sink.store_visits([])
    >>> sink.record_retry(Link("http://a.example/"), Response("http://a.example/", "http://a.example/"), 1)
    >>> sink.visits, sink.retries
    ({}, [('http://a.example/', 1)])
    """

    visits: dict[int, Visit] = field(default_factory=dict)  # step → visit
    retries: list[tuple[str, int]] = field(default_factory=list)  # URL and number of each failed attempt

    def store_visits(self, processed: Sequence[ProcessedVisit]) -> None:
        """Keep the visits."""
        for visit, _, _ in processed:
            self.visits[visit.step] = visit

    def record_retry(self, link: Link, response: Response, attempt: int) -> None:
        """Keep the URL and the number of the attempt."""
        self.retries.append((link.url, attempt))


@dataclass
class CollectionSink:
    """Visit sink of a live crawl: stores visits in the collection and passes them to the observers.

    The builder adds the observers before the crawl starts. They are called in the order of the list.
    """

    collection: Collection
    fetcher: PoliteFetcher
    observers: list[VisitObserver] = field(default_factory=list)
    _known_origins: dict[str, None] = field(default_factory=dict)  # origins checked for sitemaps, oldest first

    def find_stored_step(self, link: Link) -> int | None:
        """Return the step under which a killed run stored this link, or None."""
        return self.collection.find_stored_step(link)

    def owns_page(self, link: Link, url: str) -> bool:
        """Return whether a killed run stored the page of a URL with the visit of this link, and did not complete it."""
        return self.collection.owns_page(link, url)

    def store_visits(self, processed: Sequence[ProcessedVisit]) -> None:
        """Store visits in the collection, then pass them to the observers. Log the failed visits.

        Also store the sitemaps of origins that are visited for the first time.
        """
        self.collection.store_visits(
            (each.visit, each.response, each.pack_links() if each.outlinks else None) for each in processed
        )
        self._store_link_lists(processed)
        for visit, _, links in processed:
            for observer in self.observers:
                observer.observe_visit(visit, links)
            if (site := get_origin(visit.url)) not in self._known_origins:
                self._store_sitemaps(site)
            if visit.failure is not None:
                event = {"event": "failed", "url": visit.link.url, "failure": visit.failure, "detail": visit.detail}
                log.info("failed %s: %s %s", visit.link.url, visit.failure, visit.detail, extra=event)

    def on_batch_completed(self) -> None:
        """Notify the observers of the end of a batch."""
        for observer in self.observers:
            observer.on_batch_completed()

    def record_retry(self, link: Link, response: Response, attempt: int) -> None:
        """Store and log an attempt that failed and that the crawler will repeat."""
        record_retry(self.collection, link, response, attempt)

    def _store_link_lists(self, processed: Sequence[ProcessedVisit]) -> None:
        """Store which links lead to sitemaps, and how many links a sitemap or feed has, for the next run."""
        named: dict[str, str] = {}
        read: dict[str, int] = {}
        for visit, _, outlinks in processed:
            named |= list_named_sitemaps(outlinks.links)
            if visit.failure is Failure.LINK_LIST:
                read[visit.link.url] = len(outlinks.links)
        if named or read:
            self.collection.store.add_link_lists(named, read)

    def _store_sitemaps(self, site_origin: str) -> None:
        """Store the crawl delay and the sitemaps of an origin, if its robots.txt lists sitemaps."""
        self._known_origins[site_origin] = None
        if len(self._known_origins) > _MAX_KNOWN_ORIGINS:
            del self._known_origins[next(iter(self._known_origins))]
        # The standard requires absolute URLs, but many sites list relative ones.
        sitemaps = [
            url for name in self.fetcher.get_sitemaps(site_origin) if (url := resolve_url(f"{site_origin}/", name))
        ]
        if sitemaps:
            delay = self.fetcher.get_delay(site_origin.partition("://")[2])
            self.collection.store.add_host(site_origin, delay, sitemaps)


def record_retry(collection: Collection, link: Link, response: Response, attempt: int) -> None:
    """Store a failed attempt that the crawler will repeat in the table `failures` of a collection, and log it."""
    collection.store.add_attempt(link.url, response, attempt)
    url, failure, detail = link.url, response.failure, response.detail
    event = {"event": "retry", "url": url, "failure": failure, "detail": detail, "attempt": attempt}
    log.info("attempt %d failed, will retry %s: %s %s", attempt, url, failure, detail, extra=event)
