"""The components that a crawl and a recrawl share: learners, storage, link filter, detection of duplicates."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from topicrawl import parse
from topicrawl.builder.learners import CrawlLearners
from topicrawl.builder.storage import CrawlStorage
from topicrawl.collection.deduplication import DuplicateDetector
from topicrawl.collection.directory import Collection
from topicrawl.collection.page_loader import PageLoader
from topicrawl.engine.context import FindDuplicateFunction
from topicrawl.engine.link_filter import LinkFilter
from topicrawl.engine.user_feedback import UserFeedback
from topicrawl.fetch.guard import AddressGuard, parse_networks
from topicrawl.fetch.polite import PoliteFetcher
from topicrawl.frontier.domain_monitor import DomainMonitor
from topicrawl.frontier.trap_detector import TrapDetector
from topicrawl.frontier.url_limits import UrlLimits
from topicrawl.models import Link
from topicrawl.settings import Settings
from topicrawl.topic import Topic


@dataclass(frozen=True, slots=True)
class BaseComponents:
    """Components that a crawl and a recrawl share."""

    settings: Settings
    learners: CrawlLearners
    storage: CrawlStorage
    link_filter: LinkFilter
    find_duplicate: FindDuplicateFunction | None

    def limit_addresses(self, fetcher: PoliteFetcher) -> BaseComponents:
        """Return the components with a link filter that refuses links to the exhausted addresses of the fetcher."""
        link_filter = dataclasses.replace(self.link_filter, address_budget=fetcher.address_budget)
        return dataclasses.replace(self, link_filter=link_filter)


def build_base_components(settings: Settings, learners: CrawlLearners, storage: CrawlStorage) -> BaseComponents:
    """Build the link filter and the detection of duplicates."""
    find_duplicate = _build_duplicate_search(storage.collection) if settings.distinct else None
    return BaseComponents(settings, learners, storage, _build_link_filter(settings, learners.topic), find_duplicate)


def build_scope(settings: Settings) -> Callable[[Link], bool] | None:
    """Return the function that decides whether a link is in scope, or None if all links are."""
    scope = settings.build_scope()
    return None if scope.is_unlimited else scope.contains


def _build_link_filter(settings: Settings, topic: Topic) -> LinkFilter:
    return LinkFilter(
        UrlLimits(depth=settings.depth, length=settings.url_length),
        TrapDetector(),
        scope=build_scope(settings),
        user_feedback=UserFeedback(topic.lexicon, topic.tokens),
        guard=AddressGuard(parse_networks(settings.allow_net)),
        domain_monitor=DomainMonitor(topic.tokens - topic.lexicon.stop_words, max_pages=settings.domain_pages),
    )


def _build_duplicate_search(collection: Collection) -> FindDuplicateFunction:
    """Let the collection detect duplicates. Return the function that finds the duplicate of a page."""
    parse_page = partial(parse.parse_response, context=False)
    detector = DuplicateDetector(PageLoader(collection.store, collection.archive, parse_page))
    collection.duplicate_detector = detector
    return detector.find_duplicate
