"""The queue and the sink of a recrawl."""

from __future__ import annotations

from dataclasses import dataclass

from topicrawl.builder.base_components import BaseComponents
from topicrawl.builder.inputs import RecrawlOptions
from topicrawl.engine.http_setup import get_host_delays
from topicrawl.engine.limits import CrawlLimits
from topicrawl.frontier.base import FrontierRules
from topicrawl.recrawl.pages import RevisitPages
from topicrawl.recrawl.queue import RecrawlQueue
from topicrawl.recrawl.sink import RecrawlSink


@dataclass(frozen=True, slots=True)
class RecrawlComponents:
    """The components that a recrawl has in place of those of the crawl."""

    queue: RecrawlQueue
    sink: RecrawlSink


def build_recrawl(base: BaseComponents, options: RecrawlOptions) -> RecrawlComponents:
    """Build the frontier and the sink of a recrawl."""
    settings, storage = base.settings, base.storage
    sink = RecrawlSink(
        collection=storage.collection,
        pages=RevisitPages(storage.collection),
        crawl_frontier=storage.frontier,
        link_filter=base.link_filter,
        clock=options.clock,
        threshold=base.learners.topic.threshold,
        forget_after=options.forget_after,
        find_duplicate=base.find_duplicate,
    )
    rules = FrontierRules(
        delay=settings.delay,
        lease_seconds=2 * CrawlLimits().fetch_timeout,
        attempts=settings.attempts + 20,
        host_delays=get_host_delays(settings),
    )
    return RecrawlComponents(RecrawlQueue(storage.frontier, sink, rules, options.clock), sink)
