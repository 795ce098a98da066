"""Components of a crawl and the protocols that they implement."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from topicrawl.collection.reviewer_log import ReviewerLog
from topicrawl.engine.link_filter import LinkFilter
from topicrawl.engine.recall_estimate import RecallMonitor
from topicrawl.engine.sinks import VisitSink
from topicrawl.frontier.base import Frontier
from topicrawl.models import (
    DuplicateMatch,
    FetchFunction,
    Link,
    Page,
    ParsedResponse,
    ParseFunction,
    Response,
    UnpackedResponse,
)
from topicrawl.relevance.base import Relevance
from topicrawl.strategies.base import Strategy

#: Function that finds the stored page that a page repeats, and registers the page.
FindDuplicateFunction: TypeAlias = Callable[[Page], DuplicateMatch | None]


class DocumentReader(Protocol):
    """Convert documents (PDF, EPUB, archives, …) to a format that the page parser can read."""

    def is_document(self, response: Response) -> bool:
        """Return whether a response is a document. This is called for every response and must be fast."""

    async def unpack_document(self, response: Response, link: Link) -> UnpackedResponse:
        """Convert a document outside the event loop. Return the response with its text, and any archive members."""


class OffLoopParser(Protocol):
    """Parse pages that would block the event loop for too long."""

    def is_costly(self, response: Response) -> bool:
        """Return whether a response must be parsed here. This is called for every response and must be fast."""

    async def parse_page(self, response: Response, link: Link) -> ParsedResponse:
        """Parse a response outside the event loop. Return its page, or the response with a failure."""


@dataclass(frozen=True, slots=True)
class CrawlContext:
    """Components of one crawl."""

    frontier: Frontier
    fetch: FetchFunction
    parse: ParseFunction
    relevance: Relevance
    strategy: Strategy
    sink: VisitSink
    clock: Callable[[], float]  # seconds since 1970
    link_filter: LinkFilter = field(default_factory=LinkFilter)  # decides which links may be followed
    get_crawl_delay: Callable[[str], float] | None = None  # crawl delay of a host in seconds
    document_reader: DocumentReader | None = None  # None: documents are refused
    off_loop_parser: OffLoopParser | None = None  # None: `parse` parses all pages
    # Waits briefly for links from other sources when the frontier is empty. Returns False if none can come.
    wait_for_more_links: Callable[[], Awaitable[bool]] | None = None
    find_duplicate: FindDuplicateFunction | None = None  # None: duplicates are stored
    # Sends new scores of waiting links to the frontier; None: the crawl calls the frontier directly.
    submit_scores: Callable[[Mapping[str, float]], Awaitable[None]] | None = None
    stores_score_parts: bool = True  # whether the components of the scores are stored for `why`
    recall_monitor: RecallMonitor | None = None  # estimates the recall; None: disabled
    reviewer_log: ReviewerLog | None = None  # calls of the language-model reviewer; None: no reviewer
