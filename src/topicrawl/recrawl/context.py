"""Components of a recrawl."""

from __future__ import annotations

from dataclasses import dataclass, replace

from topicrawl.engine.context import CrawlContext
from topicrawl.engine.crawl import Crawl
from topicrawl.engine.limits import CrawlLimits
from topicrawl.models import FetchFunction
from topicrawl.recrawl.queue import RecrawlQueue
from topicrawl.recrawl.sink import RecrawlSink
from topicrawl.recrawl.strategy import ChangedPagesStrategy
from topicrawl.settings import Settings


@dataclass(frozen=True, slots=True)
class Recrawl:
    """Components of one recrawl. `build_crawl` combines them with those of the crawl whose pages are revisited."""

    queue: RecrawlQueue
    sink: RecrawlSink
    fetch: FetchFunction
    crawl_context: CrawlContext  # components of the crawl
    settings: Settings

    def build_crawl(self, revisits: int, seconds: float = 0.0) -> Crawl:
        """Return a crawl that makes the given number of revisits, in at most `seconds` seconds (0: no limit)."""
        limits = CrawlLimits(
            fetches=revisits,
            seconds=seconds,
            concurrency=self.settings.concurrency,
            attempts=self.settings.attempts,
            patience=self.settings.patience,
            focus=0.0,
        )
        context = replace(
            self.crawl_context,
            frontier=self.queue,
            sink=self.sink,
            fetch=self.fetch,
            clock=self.sink.clock,
            strategy=ChangedPagesStrategy(self.crawl_context.strategy, self.sink.pages.find_changed_visit),
            # Without trap detection and deduplication: unchanged pages look like traps and like their own duplicates.
            link_filter=replace(self.crawl_context.link_filter, trap_detector=None, domain_monitor=None),
            find_duplicate=None,
            recall_monitor=None,
            wait_for_more_links=None,
        )
        return Crawl(context, limits)
