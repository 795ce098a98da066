"""The crawl loop with its parsers, its limits and the counters of earlier runs."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from topicrawl.builder.base_components import BaseComponents
from topicrawl.builder.inputs import CrawlInputs
from topicrawl.builder.learners import open_document_reader
from topicrawl.builder.reviewing import build_reviewer_log
from topicrawl.collection import queries
from topicrawl.engine.backlink_lookup import BacklinkLookup
from topicrawl.engine.context import CrawlContext, OffLoopParser
from topicrawl.engine.crawl import Crawl
from topicrawl.engine.http_setup import open_rendering_fetch
from topicrawl.engine.limits import CrawlLimits, StopReason
from topicrawl.engine.link_sources import LinkSourceParser, OffLoopLinkSourceParser
from topicrawl.engine.recall_estimate import RecallMonitor
from topicrawl.engine.sinks import CollectionSink
from topicrawl.fetch.polite import PoliteFetcher
from topicrawl.models import FetchFunction, ParseFunction
from topicrawl.parse.child_process import ParseOptions
from topicrawl.parse.parser_cache import ParserCache
from topicrawl.parse.parser_pool import PageParser, create_page_parser
from topicrawl.settings import Settings

SubmitScoresFunction = Callable[[Mapping[str, float]], Awaitable[None]]


@asynccontextmanager
async def open_crawl_loop(
    base: BaseComponents,
    inputs: CrawlInputs,
    sink: CollectionSink,
    *,
    fetch: FetchFunction,
    submit_scores: SubmitScoresFunction | None,
) -> AsyncIterator[Crawl]:
    """Open the crawl loop, which stores its visits in `sink`.

    `submit_scores` sends new scores to the frontier of a shared crawl.
    """
    settings, learners, store = base.settings, base.learners, base.storage.collection.store
    recall_monitor = RecallMonitor(learners.topic.threshold, settings.stop_when_found)
    recall_monitor.replay_visits(queries.iterate_discoveries(store, recall_monitor.threshold))
    async with AsyncExitStack() as stack:
        page_parser = _create_page_parser(base)
        stack.callback(page_parser.close)
        lookup = _build_backlink_lookup(base) if learners.engines else None
        if lookup is not None:
            sink.observers.append(await stack.enter_async_context(lookup))
        document_reader = stack.enter_context(open_document_reader(settings))
        parse_page, off_loop_parser = _build_parsers(base, page_parser, sink.fetcher)
        context = CrawlContext(
            frontier=base.storage.frontier,
            fetch=base.storage.collection.wrap_fetch(fetch),
            parse=parse_page,
            relevance=learners.judge,
            strategy=learners.strategy,
            sink=sink,
            clock=time.time,
            link_filter=base.link_filter,
            get_crawl_delay=sink.fetcher.get_delay if inputs.recording is None else None,
            document_reader=document_reader,
            off_loop_parser=off_loop_parser,
            wait_for_more_links=lookup.wait_for_answer if lookup is not None else None,
            find_duplicate=base.find_duplicate,
            submit_scores=submit_scores,
            recall_monitor=recall_monitor,
            reviewer_log=build_reviewer_log(settings, store) if settings.reviewer else None,
        )
        step, pages = queries.get_progress(store)
        _, relevant = queries.count_relevant_pages(store, recall_monitor.threshold)
        stop_reason = _get_stop_reason(base) if inputs.recrawl_options is not None else None
        yield Crawl(
            context, _build_limits(settings), step=step, pages=pages, relevant=relevant, stop_reason=stop_reason
        )


def _create_page_parser(base: BaseComponents) -> PageParser:
    """Create the parser that parses costly pages in child processes."""
    settings, strategy = base.settings, base.learners.strategy
    options = ParseOptions(base.learners.needs_styles, strategy.link_context, settings.main_text)
    return create_page_parser(settings.processes, strategy.context.vsm.vocabularies, options)


@asynccontextmanager
async def open_fetch_function(inputs: CrawlInputs, fetcher: PoliteFetcher) -> AsyncIterator[FetchFunction]:
    """Yield the function that fetches pages: from the recording, or from the web, with or without a browser."""
    if inputs.recording is not None:
        yield inputs.recording
        return
    async with open_rendering_fetch(inputs.settings, fetcher) as fetch:
        yield fetch


def _build_backlink_lookup(base: BaseComponents) -> BacklinkLookup:
    """Build the lookup that queries search engines about visited pages and waiting links."""
    return BacklinkLookup(
        base.learners.engines,
        base.learners.engine_cache,
        base.storage.frontier,
        strategy=base.learners.strategy,
        link_filter=base.link_filter,
        max_backlinks=base.settings.back_links,
        max_descriptions=base.settings.descriptions,
        timeout=base.settings.timeout,
    )


def _build_parsers(
    base: BaseComponents, page_parser: PageParser, fetcher: PoliteFetcher
) -> tuple[ParseFunction, OffLoopParser]:
    """Return the parser of most pages and that of costly pages. Both add links from sitemaps if the settings say so."""
    vocabularies = base.learners.strategy.context.vsm.vocabularies
    parse_page = page_parser.options.create_parser(ParserCache(vocabularies=vocabularies))
    if not base.settings.sitemaps:
        return parse_page, page_parser
    link_sources = LinkSourceParser(parse_page, fetcher.get_sitemaps, base.storage.collection.store)
    return link_sources, OffLoopLinkSourceParser(page_parser, link_sources)


def _build_limits(settings: Settings) -> CrawlLimits:
    return CrawlLimits(
        pages=settings.pages,
        seconds=settings.seconds,
        concurrency=settings.concurrency,
        attempts=settings.attempts,
        patience=settings.patience,
        relevant=settings.relevant,
        min_score=settings.min_score,
        focus=settings.focus,
        poor_share=settings.poor_share,
    )


def _get_stop_reason(base: BaseComponents) -> StopReason | None:
    """Return the stored reason why the crawl stopped, or None."""
    stored = base.storage.collection.store.get_fact("stopped")
    return StopReason(stored) if stored in list(StopReason) else None
