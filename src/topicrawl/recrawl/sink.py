"""Recrawl sink: record the results of revisits in the collection.

A changed page replaces the stored one, which becomes an older version. New links of the page are added to the frontier
of the crawl. All results of a batch are written in one transaction, after the links have been added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import replace

from topicrawl.collection import history
from topicrawl.collection.directory import Collection
from topicrawl.collection.history import Revisit, RevisitOutcome
from topicrawl.collection.page_relevance import is_relevant
from topicrawl.collection.store import FORGOTTEN_DETAIL, SqlStatement, StoredVisit, VisitRecord
from topicrawl.engine.context import FindDuplicateFunction
from topicrawl.engine.link_filter import LinkFilter
from topicrawl.engine.sinks import NullSink, ProcessedVisit, record_retry
from topicrawl.fetch.rendering.script_pages import needs_scripts
from topicrawl.frontier.base import Frontier, Offer
from topicrawl.models import STORAGE_DIRECTIVES, Failure, Link, Response, Visit
from topicrawl.recrawl.pages import RevisitPages
from topicrawl.urls import fingerprint

_NOT_MODIFIED = 304


class RevisitResult(NamedTuple):
    """Result of one revisit, for display."""

    url: str
    outcome: str
    relevance: float | None
    links: int  # out-links that are new, or that may be fetched again


@dataclass(kw_only=True)
class RecrawlSink(NullSink):
    """Visit sink of a recrawl, and the recorder of the recrawl queue.

    `store_visits` keeps the visits of a batch. `record_visits`, which the queue calls with the offers of their links,
    adds the links to the frontier of the crawl and then writes the results to the collection.
    """

    collection: Collection
    pages: RevisitPages
    crawl_frontier: Frontier
    link_filter: LinkFilter
    clock: Callable[[], float]
    threshold: float  # minimum relevance of a page on topic
    forget_after: float = 0.0  # seconds after which failed or irrelevant pages may be fetched again; 0: never
    find_duplicate: FindDuplicateFunction | None = None  # registers the content of changed pages
    outcomes: Counter[str] = field(default_factory=Counter)
    new_links: int = 0  # new links so far
    results: dict[str, RevisitResult] = field(default_factory=dict)  # URL → result, until the caller removes it
    _processed_visits: list[ProcessedVisit] = field(default_factory=list)

    # Interface of the crawl loop

    def store_visits(self, processed: Sequence[ProcessedVisit]) -> None:
        """Keep the visits of a batch for `record_visits`. They replace those of the previous batch."""
        self._processed_visits = list(processed)

    def record_retry(self, link: Link, response: Response, attempt: int) -> None:
        """Record a failed attempt in the collection."""
        record_retry(self.collection, link, response, attempt)

    # Interface of the recrawl queue

    async def record_visits(self, offers: Mapping[str, Sequence[Offer]]) -> None:
        """Offer the links of changed pages to the frontier of the crawl, then store the results in one transaction.

        `offers` maps the URLs of the pages to the offers of their links. Visits of other URLs are discarded. Raise
        `SpaceError` if too little disk space is free.
        """
        statements: list[SqlStatement] = []
        changed_pages = []
        for processed in self._processed_visits:
            url = processed.visit.link.url
            # Members of an archive file are recorded with their archive, not on their own.
            if url in offers and (row := await self._record_visit(processed, offers[url], statements)) is not None:
                changed_pages.append(row)
        self._processed_visits = []
        if changed_pages:
            # The links of a stored page are not offered again, so they must not be lost after it is stored.
            await self.crawl_frontier.sync_to_disk()
        self.collection.store.add_visits(changed_pages, statements_before=statements)
        self.collection.mark_archive_end()
        self.collection.check_space()

    async def record_redirect(self, url: str, targets: Sequence[str]) -> None:
        """Record that a page redirects to other URLs, and add those that the link filter permits to the crawl."""
        statements: list[SqlStatement] = []
        await self._record_redirect(self.pages.get_row(url), targets, statements)
        self.collection.store.add_visits((), statements_before=statements)

    # Results

    async def _record_visit(
        self, processed: ProcessedVisit, offers: Sequence[Offer], statements: list[SqlStatement]
    ) -> VisitRecord | None:
        """Add the result of a revisit to `statements`. Archive and return the page if its content has changed."""
        visit, response, _ = processed
        row = self.pages.get_row(visit.link.url)
        page = fingerprint(row.url)
        # The target may be a stored page that this recrawl visits too: a duplicate, or not modified.
        has_page = visit.failure in (None, Failure.DUPLICATE) or response.status == _NOT_MODIFIED
        if has_page and visit.url != row.url:
            await self._record_redirect(row, [visit.url], statements)
            return None
        outcome = self._classify_outcome(visit, response)
        links = await self._offer_links(offers, statements) if outcome == RevisitOutcome.CHANGED else 0
        self._record_result(
            row, outcome, row.relevance if outcome == RevisitOutcome.UNCHANGED else visit.relevance, links
        )
        statements.append(history.make_revisit_statement(Revisit(page, self.clock(), outcome, visit.status)))
        if visit.failure in STORAGE_DIRECTIVES:
            statements += history.make_withdraw_statements(
                page, visit.failure, f"the page now has a {visit.failure} directive"
            )
        if outcome == RevisitOutcome.UNCHANGED:
            self.collection.archive_revisit(row, response)
        if outcome != RevisitOutcome.CHANGED:
            return None
        statements.append(history.make_version_statement(page))
        # This call registers the new content, so that later pages are compared with it.
        if self.find_duplicate is not None and visit.page is not None:
            self.find_duplicate(visit.page)
        original = replace(visit, step=row.step, link=row.link, priority=row.priority)
        return self.collection.archive_version(original, response, processed.pack_links())

    def _classify_outcome(self, visit: Visit, response: Response) -> str:
        """Return the outcome of a revisit: unchanged, changed or gone, or the name of the failure."""
        if response.status == _NOT_MODIFIED:
            return RevisitOutcome.UNCHANGED
        if visit.failure is not None:
            return RevisitOutcome.GONE if visit.failure is Failure.NOT_FOUND else visit.failure
        if self.pages.is_rendered(visit.link.url) and response.readable is None and needs_scripts(response.body):
            return Failure.RENDERING  # without its scripts, for example because the limit of rendered pages is reached
        return RevisitOutcome.UNCHANGED if self.pages.find_changed_visit(visit) is None else RevisitOutcome.CHANGED

    async def _offer_links(self, offers: Sequence[Offer], statements: list[SqlStatement]) -> int:
        """Add the new links of a changed page to the frontier of the crawl, reopen stale ones, and count both."""
        stale = [(offer, visit) for offer in offers if (visit := self._find_stale_visit(offer.link.url)) is not None]
        if stale:
            await self.crawl_frontier.reopen([offer for offer, _ in stale])
            statements += [statement for _, visit in stale for statement in history.make_forget_statements(visit)]
        return await self.crawl_frontier.add(offers) + len(stale)

    def _find_stale_visit(self, url: str) -> StoredVisit | None:
        """Return an old visit of the URL that failed or was irrelevant, if it may be repeated now, else None."""
        if not self.forget_after:
            return None
        visit = next(self.collection.store.iterate_visits("id = ?", (fingerprint(url),)), None)
        if visit is None or visit.detail == FORGOTTEN_DETAIL or visit.at > self.clock() - self.forget_after:
            return None
        if visit.failure is None and is_relevant(self.collection.store, visit, self.threshold):
            return None
        return visit

    async def _record_redirect(self, row: StoredVisit, targets: Sequence[str], statements: list[SqlStatement]) -> None:
        """Add the result "moved" to `statements`, and the permitted redirect targets to the frontier of the crawl."""
        links = [replace(row.link, url=url, depth=row.depth + 1) for url in targets]
        offers = [Offer(link, row.priority) for link in links if self.link_filter.get_refusal(link) is None]
        new = await self.crawl_frontier.add(offers)
        self._record_result(row, RevisitOutcome.MOVED, None, new)
        statements.append(
            history.make_revisit_statement(Revisit(fingerprint(row.url), self.clock(), RevisitOutcome.MOVED, 0))
        )

    def _record_result(self, row: StoredVisit, outcome: str, relevance: float | None, links: int) -> None:
        """Count an outcome and keep its result for display."""
        self.outcomes[outcome] += 1
        self.new_links += links
        self.results[row.url] = RevisitResult(row.url, outcome, relevance, links)
