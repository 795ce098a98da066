"""Assemble the components of a crawl. No other module does this."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

from topicrawl import parse, strategies
from topicrawl.cluster.remote_url_sharing import RemoteUrlSharing
from topicrawl.cluster.worker_session import WorkerSession, connect
from topicrawl.collection import queries
from topicrawl.collection.deduplication import DuplicateDetector
from topicrawl.collection.directory import Collection, contains_crawl, load_crawl_topic
from topicrawl.collection.page_loader import PageLoader
from topicrawl.collection.reviewer_log import CallPrices, ReviewerLog
from topicrawl.collection.store import CollectionStore
from topicrawl.documents.messages import ConversionLimits as DocumentLimits
from topicrawl.documents.reader import SubprocessDocumentReader
from topicrawl.engine.backlink_lookup import BacklinkLookup
from topicrawl.engine.checkpoint import Checkpoint
from topicrawl.engine.context import CrawlContext, FindDuplicateFunction, OffLoopParser
from topicrawl.engine.crawl import Crawl, build_seed_links
from topicrawl.engine.http_setup import (
    build_http_settings,
    build_warcinfo_fields,
    check_browser,
    get_host_delays,
    open_fetcher,
    open_rendering_fetch,
)
from topicrawl.engine.identity import build_identity, check_identity
from topicrawl.engine.import_crawl import ImportCrawl
from topicrawl.engine.limits import CrawlLimits, StopReason
from topicrawl.engine.link_filter import LinkFilter
from topicrawl.engine.link_sources import LinkSourceParser, OffLoopLinkSourceParser
from topicrawl.engine.recall_estimate import RecallMonitor
from topicrawl.engine.recorded_training_data import RecordedTrainingData
from topicrawl.engine.resume import mark_session_complete, open_local_frontier, recover_crawl, reopen_failed_links
from topicrawl.engine.review_prompt import MAX_REPLY_TOKENS
from topicrawl.engine.reviewer import Reviewer
from topicrawl.engine.sinks import CollectionSink
from topicrawl.engine.steering import Steering, create_steering
from topicrawl.engine.user_feedback import UserFeedback
from topicrawl.errors import SettingError
from topicrawl.fetch.chat_client import ChatClient, is_local_host
from topicrawl.fetch.guard import AddressGuard, parse_networks
from topicrawl.fetch.host_groups import GroupDelays
from topicrawl.fetch.polite import PoliteFetcher
from topicrawl.fetch.replay import Recording
from topicrawl.frontier.base import Frontier, FrontierRules
from topicrawl.frontier.domain_monitor import DomainMonitor
from topicrawl.frontier.redis.address import strip_password
from topicrawl.frontier.trap_detector import TrapDetector
from topicrawl.frontier.url_limits import UrlLimits
from topicrawl.models import FetchFunction, JsonValue, Link
from topicrawl.parse.child_process import ParseOptions
from topicrawl.parse.parser_cache import ParserCache
from topicrawl.parse.parser_pool import PageParser, create_page_parser
from topicrawl.recrawl.context import Recrawl
from topicrawl.recrawl.pages import RevisitPages
from topicrawl.recrawl.queue import RecrawlQueue
from topicrawl.recrawl.sink import RecrawlSink
from topicrawl.relevance.base import LearnsFromPages, Relevance
from topicrawl.relevance.judges import create_judge, needs_styles
from topicrawl.relevance.multilingual import MultilingualVsm
from topicrawl.seeds.clients import build_engine_access
from topicrawl.seeds.election import ElectionResult as Election
from topicrawl.seeds.engine_queries import collect_answers
from topicrawl.seeds.engine_selection import build_text_providers
from topicrawl.seeds.example_fetcher import ExampleFetcher
from topicrawl.seeds.page_queries import MAX_BACKLINKS
from topicrawl.seeds.provider import EngineAnswer, SearchProvider
from topicrawl.seeds.search_engine_cache import SearchEngineCache
from topicrawl.sessions import read_labelled_sessions
from topicrawl.settings import Settings, check_seeds, parse_stored_settings
from topicrawl.strategies.base import Strategy, StrategyContext
from topicrawl.strategies.training.training_data import TrainingData, UrlsOnlyTrainingData, get_example_pages
from topicrawl.text.embedding import load_vector_source
from topicrawl.topic import Topic
from topicrawl.urls import canonicalize_url

log = logging.getLogger("topicrawl")

#: Settings that limit the number of pages or queries; a recorded web has no such limits.
_LIMIT_SETTINGS = ("pages", "relevant", "host_pages", "domain_pages", "address_pages", "back_links", "descriptions")
_REVIEWER_TIMEOUT = 120.0  # seconds of one call to the reviewer; a model on the same machine may be slow


@asynccontextmanager
async def open_crawl(
    directory: Path,
    topic: Topic,
    seeds: Sequence[str] = (),
    settings: Settings | None = None,
    election: Election | None = None,
) -> AsyncIterator[Crawl]:
    """Open a crawl of the live web: create it in `directory`, or resume the crawl that the directory contains.

    The context manager closes all components at the end. It raises `SettingError` if the directory contains a crawl
    for another topic or with another strategy. `election` holds the search engine results that led to the seeds; they
    are stored in the directory.
    """
    async with _open_components(directory, topic, seeds, settings or Settings(), election=election) as components:
        yield components.crawl


@asynccontextmanager
async def open_recrawl(
    directory: Path,
    overrides: Mapping[str, object] | None = None,
    *,
    forget_after: float = 0.0,
    clock: Callable[[], float] = time.time,
) -> AsyncIterator[Recrawl]:
    """Open the crawl in a directory to revisit its pages. Settings in `overrides` replace the stored ones.

    Links that failed or led to irrelevant pages may be fetched again after `forget_after` seconds (0: never). The
    stored reason why the crawl stopped does not change.
    """
    topic, settings = load_topic_and_settings(directory, overrides or {})
    options = _RecrawlOptions(clock, forget_after)
    async with _open_components(directory, topic, (), settings, recrawl_options=options) as components:
        assert components.recrawl is not None
        queue, sink = components.recrawl
        # A crawl may have sent requests to the same hosts just before, or may send some just after the recrawl.
        await asyncio.sleep(settings.delay)
        yield Recrawl(queue, sink, components.fetcher, components.crawl.context, settings)
        await asyncio.sleep(settings.delay)


@asynccontextmanager
async def open_import(
    directory: Path, topic: Topic, recording: Recording, settings: Settings
) -> AsyncIterator[ImportCrawl]:
    """Open a crawl that visits the pages of a recording instead of the web. Create or extend it in `directory`.

    Links to other pages wait in the frontier for a later crawl with the same settings.
    """
    # All pages are judged, without waiting between two pages of a host.
    changes = {"delay": 0.0, "focus": 0.0, "min_score": 0.0, "sitemaps": False, "reviewer": "", "stop_when_found": 0.0}
    limits = dict.fromkeys(_LIMIT_SETTINGS, 0)
    offline = dataclasses.replace(settings, **changes, **limits, seconds=0.0)  # type: ignore[arg-type]
    async with _open_components(
        directory, topic, (), offline, recording=recording, stored_settings=settings
    ) as components:
        yield ImportCrawl(components.crawl, recording)


class _RecrawlOptions(NamedTuple):
    """Options of a recrawl."""

    clock: Callable[[], float]
    forget_after: float


class _Components(NamedTuple):
    """An open crawl, and the components that a recrawl needs."""

    crawl: Crawl
    fetcher: PoliteFetcher
    recrawl: tuple[RecrawlQueue, RecrawlSink] | None


@asynccontextmanager
async def _open_components(
    directory: Path,
    topic: Topic,
    seeds: Sequence[str],
    settings: Settings,
    *,
    election: Election | None = None,
    recrawl_options: _RecrawlOptions | None = None,
    recording: Recording | None = None,
    stored_settings: Settings | None = None,
) -> AsyncIterator[_Components]:
    """Open all components of a crawl, and those of a recrawl if its options are given.

    A `recording` replaces the web. `stored_settings` are the settings of the next run, if they differ from `settings`.
    """
    urls = check_seeds(seeds, settings)
    if recording is None:
        check_browser(settings)
    reviewer_key = _get_reviewer_key() if settings.reviewer else ""
    strategy = strategies.create_strategy(settings.strategy)
    engine_cache, engines = SearchEngineCache(directory, election), _select_engines(settings, strategy)
    vsm = MultilingualVsm(topic, vector_source=load_vector_source(settings.embedding))
    judge = create_judge(settings.judge, vsm)
    styles = strategy.needs_styles or needs_styles(settings.judge)
    strategy.bind(
        StrategyContext(
            topic,
            vsm,
            Random(0),
            engine_cache.get_description,
            judge=None if settings.has_similarity_judge else judge,
            has_cosine_judge=settings.has_cosine_judge,
        )
    )

    async def train_models() -> None:
        training = await _load_training_data(topic, settings, engine_cache, engines, styles=styles)
        strategy.fit(training)
        if isinstance(judge, LearnsFromPages):
            judge.learn_examples(*get_example_pages(training))

    facts: dict[str, JsonValue] = {"identity": build_identity(topic, settings), "seeds": list(urls)}
    async with AsyncExitStack() as stack:
        member = await stack.enter_async_context(connect(directory, settings, urls))
        if trained := not contains_crawl(directory) and (member is None or member.is_new):
            # Train before creating the directory: if the strategy lacks an input, nothing is left on disk.
            await train_models()
        collection = stack.enter_context(_open_collection(directory, topic, settings, facts))
        engine_cache.save_election()
        frontier = open_local_frontier(collection, settings) if member is None else await member.join(collection)
        stack.push_async_callback(frontier.close)
        await recover_crawl(collection, frontier)
        base = _build_base_components(settings, strategy, judge, collection, frontier)
        recrawl = _build_recrawl(base, recrawl_options) if recrawl_options is not None else None
        queue = frontier if recrawl is None else recrawl[0]
        polite = await stack.enter_async_context(_open_crawl_fetcher(settings, member, queue, recrawl))
        link_filter = dataclasses.replace(base.link_filter, address_budget=polite.address_budget)
        base = dataclasses.replace(base, link_filter=link_filter)
        options = ParseOptions(styles, strategy.link_context, settings.main_text)
        page_parser = create_page_parser(settings.processes, strategy.context.vsm.vocabularies, options)
        stack.callback(page_parser.close)
        fetch: FetchFunction | None = recording
        if fetch is None:
            fetch = await stack.enter_async_context(open_rendering_fetch(settings, polite))
        sink = CollectionSink(collection, polite)
        lookup = _build_backlink_lookup(base, engines, engine_cache) if engines else None
        if lookup is not None:
            sink.observers.append(await stack.enter_async_context(lookup))
        score_submitter = member.create_score_submitter(base.link_filter) if member is not None else None
        stored_reason = collection.store.get_fact("stopped") if recrawl is not None else None
        crawl = _build_crawl(
            base,
            sink,
            stack.enter_context(_open_document_reader(settings)),
            off_loop_parser=page_parser,
            wait_for_more_links=lookup.wait_for_answer if lookup is not None else None,
            submit_scores=score_submitter.submit_scores if score_submitter is not None else None,
            stop_reason=StopReason(stored_reason) if stored_reason in list(StopReason) else None,
            fetch=fetch,
            is_live=recording is None,
        )
        checkpoint = Checkpoint(collection, crawl)
        sink.observers.append(checkpoint)
        await _restore_or_train(checkpoint, train_models, member, is_trained=trained)
        if member is not None and score_submitter is not None:
            worker_tasks = member.create_worker_tasks(crawl, score_submitter)
            sink.observers.append(await stack.enter_async_context(worker_tasks))
        if settings.share_with and settings.cooperate and recrawl is None:
            sink.observers.append(await stack.enter_async_context(_build_url_sharing(crawl, settings)))
        collection.store.set_facts({"settings": _serialize_settings(stored_settings or settings), "stopped": None})
        await reopen_failed_links(frontier, collection.store, urls)
        await crawl.add_seeds(build_seed_links(urls))
        steering = await stack.enter_async_context(_run_steering(member, collection, crawl))
        if settings.reviewer and recrawl is None:
            reviewer = _build_reviewer(base, crawl, steering, key=reviewer_key)
            sink.observers.append(await stack.enter_async_context(reviewer))
        try:
            yield _Components(crawl, polite, recrawl)
        finally:
            await crawl.close()
            checkpoint.save()  # also when the crawl ends with an error
            mark_session_complete(collection, frontier)


@asynccontextmanager
async def _run_steering(session: WorkerSession | None, collection: Collection, crawl: Crawl) -> AsyncIterator[Steering]:
    """Apply steering commands while the block runs. In a shared crawl, also send heartbeats."""
    if session is None:
        async with create_steering(collection, crawl) as steering:
            yield steering
    else:
        async with session.create_steering(collection, crawl) as shared_steering, session.keep_alive(crawl):
            yield shared_steering


def _build_reviewer(base: _BaseComponents, crawl: Crawl, steering: Steering, *, key: str) -> Reviewer:
    """Build the language-model reviewer. `key` is its API key."""
    settings, context = base.settings, crawl.context
    url = canonicalize_url(settings.reviewer)
    assert context.reviewer_log is not None
    assert url is not None  # `Settings` rejects other values
    if key and url.startswith("http:") and not is_local_host(url):
        log.warning("the reviewer has no TLS: its API key and the texts of pages are sent to it unencrypted")
    chat = ChatClient(
        url,
        settings.reviewer_model,
        key=key,
        max_tokens=MAX_REPLY_TOKENS,
        settings=dataclasses.replace(build_http_settings(settings), total_timeout=_REVIEWER_TIMEOUT),
    )
    return Reviewer(
        chat,
        context.reviewer_log,
        base.collection,
        base.strategy.context.topic,
        context.relevance,
        context.parse,
        added_words=steering.user_feedback.words,
        on_annotation=steering.request_update,
    )


def _build_url_sharing(crawl: Crawl, settings: Settings) -> RemoteUrlSharing:
    """Build the URL sharing with crawls on other servers."""
    token = os.environ.get("TOPICRAWL_TOKEN", "")
    name = crawl.context.strategy.context.topic.name
    return RemoteUrlSharing(crawl, settings.share_with, build_http_settings(settings), name=name, token=token)


def _get_reviewer_key() -> str:
    """Return the API key of the reviewer from the environment; empty if the endpoint needs none.

    The key is never stored. Raise `SettingError` for an invalid key.
    """
    key = os.environ.get("TOPICRAWL_REVIEWER_KEY", "").strip()
    if not key.isascii() or not key.isprintable():
        raise SettingError("TOPICRAWL_REVIEWER_KEY is not a key: it is sent in a header, so use one line of ASCII text")
    return key


@contextmanager
def _open_collection(
    directory: Path, topic: Topic, settings: Settings, facts: Mapping[str, JsonValue]
) -> Iterator[Collection]:
    """Open the collection after checking its identity and the free disk space."""
    with Collection(
        directory, topic, facts, min_free=settings.min_free << 20, about=build_warcinfo_fields(settings)
    ) as collection:
        check_identity(directory, collection.store.get_fact("identity"), facts["identity"])
        collection.check_space()
        yield collection


@asynccontextmanager
async def _open_crawl_fetcher(
    settings: Settings,
    session: WorkerSession | None,
    frontier: Frontier,
    recrawl: tuple[RecrawlQueue, RecrawlSink] | None,
) -> AsyncIterator[PoliteFetcher]:
    """Open the fetcher. It reports the crawl delays of hosts to the frontier. A recrawl sends conditional requests."""
    sink = recrawl[1] if recrawl is not None else None
    async with open_fetcher(
        settings,
        clock=sink.clock if sink is not None else None,
        conditional_headers=sink.pages.get_validators if sink is not None else None,
        on_crawl_delay=frontier.set_host_delay,
        is_in_scope=_build_scope(settings),
        group_delays=GroupDelays(settings.delay / 4, domain=settings.domain_delay, address=settings.address_delay),
        address_pages=settings.address_pages if recrawl is None else 0,
    ) as polite:
        if session is not None:
            polite.share_host_slots(session.frontier.host_leases)
        yield polite


def _build_scope(settings: Settings) -> Callable[[Link], bool] | None:
    """Return the function that decides whether a link is in scope, or None if all links are."""
    scope = settings.build_scope()
    return None if scope.is_unlimited else scope.contains


@dataclass(frozen=True, slots=True)
class _BaseComponents:
    """Components that a crawl and a recrawl share."""

    settings: Settings
    strategy: Strategy
    judge: Relevance
    collection: Collection
    frontier: Frontier
    link_filter: LinkFilter
    find_duplicate: FindDuplicateFunction | None


def _build_base_components(
    settings: Settings, strategy: Strategy, judge: Relevance, collection: Collection, frontier: Frontier
) -> _BaseComponents:
    """Build the link filter and the detection of duplicates."""
    topic = strategy.context.topic
    link_filter = LinkFilter(
        UrlLimits(depth=settings.depth, length=settings.url_length),
        TrapDetector(),
        scope=_build_scope(settings),
        user_feedback=UserFeedback(topic.lexicon, topic.tokens),
        guard=AddressGuard(parse_networks(settings.allow_net)),
        domain_monitor=DomainMonitor(topic.tokens - topic.lexicon.stop_words, max_pages=settings.domain_pages),
    )
    find_duplicate = None
    if settings.distinct:
        parse_page = partial(parse.parse_response, context=False)
        duplicates = DuplicateDetector(PageLoader(collection.store, collection.archive, parse_page))
        collection.duplicate_detector, find_duplicate = duplicates, duplicates.find_duplicate
    return _BaseComponents(settings, strategy, judge, collection, frontier, link_filter, find_duplicate)


def _build_recrawl(base: _BaseComponents, options: _RecrawlOptions) -> tuple[RecrawlQueue, RecrawlSink]:
    """Build the frontier and the sink of a recrawl."""
    sink = RecrawlSink(
        collection=base.collection,
        pages=RevisitPages(base.collection),
        crawl_frontier=base.frontier,
        link_filter=base.link_filter,
        clock=options.clock,
        threshold=base.strategy.context.topic.threshold,
        forget_after=options.forget_after,
        find_duplicate=base.find_duplicate,
    )
    rules = FrontierRules(
        delay=base.settings.delay,
        lease_seconds=2 * CrawlLimits().fetch_timeout,
        attempts=base.settings.attempts + 20,
        host_delays=get_host_delays(base.settings),
    )
    return RecrawlQueue(base.frontier, sink, rules, options.clock), sink


def _build_backlink_lookup(
    base: _BaseComponents, engines: Sequence[SearchProvider], engine_cache: SearchEngineCache
) -> BacklinkLookup:
    return BacklinkLookup(
        engines,
        engine_cache,
        base.frontier,
        strategy=base.strategy,
        link_filter=base.link_filter,
        max_backlinks=base.settings.back_links,
        max_descriptions=base.settings.descriptions,
        timeout=base.settings.timeout,
    )


async def _restore_or_train(
    checkpoint: Checkpoint,
    train_strategy: Callable[[], Awaitable[None]],
    session: WorkerSession | None,
    *,
    is_trained: bool,
) -> None:
    """Restore the learned state of an earlier run, or train the strategy and save the first checkpoint.

    `is_trained` says whether the strategy has already been trained in this run. In a shared crawl, the state of the
    first worker is restored instead of training, and the first worker publishes it.
    """
    if await checkpoint.restore():
        return
    strategy = checkpoint.crawl.context.strategy
    if not is_trained and (session is None or not await session.restore_trained_state(strategy)):
        await train_strategy()
        is_trained = True
    if is_trained and session is not None:
        await session.publish_trained_state(strategy)
    # The next run restores this checkpoint instead of training again.
    await checkpoint.save_initial()


def _select_engines(settings: Settings, strategy: Strategy) -> list[SearchProvider]:
    """Return the search engines for backlink and description queries; empty unless the settings ask for them."""
    if settings.descriptions and not hasattr(strategy, "rescore_with_description"):
        raise SettingError(f"{strategy.name} does not use descriptions: remove --descriptions, or use --strategy hati")
    if not settings.back_links and not settings.descriptions:
        return []
    return build_text_providers(settings.engine, build_engine_access(build_http_settings(settings), settings.searxng))


async def _load_training_data(
    topic: Topic,
    settings: Settings,
    engine_cache: SearchEngineCache,
    engines: Sequence[SearchProvider],
    *,
    styles: bool,
) -> TrainingData:
    """Return the training data of a new crawl: examples, browsing sessions and a recorded web."""
    walks: Sequence[Sequence[str]] = ()
    if settings.sessions:
        labelled = read_labelled_sessions(Path(settings.sessions))
        walks, topic = labelled.click_paths, topic.with_examples(labelled.relevant, labelled.irrelevant)
    source: str | Path | None = settings.learn_from
    if not source and settings.back_links and (topic.relevant or topic.irrelevant):
        source = await _fetch_examples(topic, settings, engine_cache, engines)
    if not source:
        return UrlsOnlyTrainingData(topic.relevant, topic.irrelevant, walks)
    return RecordedTrainingData(Recording(source), topic, walks, styles=styles)


async def _fetch_examples(
    topic: Topic, settings: Settings, engine_cache: SearchEngineCache, engines: Sequence[SearchProvider]
) -> Path | None:
    """Fetch the example pages and the pages that link to them into a recording; return its path."""

    async def query_engines(query: str) -> Sequence[EngineAnswer]:
        return await collect_answers(engines, query, MAX_BACKLINKS, settings.timeout)

    async with open_fetcher(settings) as polite:
        with _open_document_reader(settings) as documents:
            gathering = ExampleFetcher(
                engine_cache.directory, polite, query_engines, engine_cache, settings.back_links, documents
            )
            return await gathering.fetch_examples(topic.relevant, topic.irrelevant)


def _serialize_settings(settings: Settings) -> dict[str, JsonValue]:
    """Return the settings as JSON values, with passwords removed from the URLs."""
    values = {item.name: getattr(settings, item.name) for item in dataclasses.fields(settings)}
    # Other users may read the stored settings.
    values |= {name: strip_password(values[name]) for name in ("frontier", "proxy", "searxng")}
    values["hosts"] = settings.export_hosts()
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def load_topic_and_settings(directory: Path, overrides: Mapping[str, object]) -> tuple[Topic, Settings]:
    """Load the topic and the settings of the crawl in a directory. Settings in `overrides` take precedence."""
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    try:
        stored = store.get_fact("settings")
    finally:
        store.close()
    return load_crawl_topic(directory), parse_stored_settings(stored if isinstance(stored, dict) else {}, overrides)


def _build_reviewer_log(settings: Settings, store: CollectionStore) -> ReviewerLog:
    prices = CallPrices(settings.reviewer_price_in, settings.reviewer_price_out)
    return ReviewerLog(store, limit=settings.reviewer_calls, prices=prices)


def _open_document_reader(settings: Settings) -> AbstractContextManager[SubprocessDocumentReader | None]:
    limits = DocumentLimits(settings.max_bytes, settings.document_seconds)
    return SubprocessDocumentReader(limits) if settings.documents else nullcontext()


def _build_crawl(
    base: _BaseComponents,
    sink: CollectionSink,
    document_reader: SubprocessDocumentReader | None,
    *,
    off_loop_parser: PageParser,
    wait_for_more_links: Callable[[], Awaitable[bool]] | None,
    submit_scores: Callable[[Mapping[str, float]], Awaitable[None]] | None,
    stop_reason: StopReason | None,
    fetch: FetchFunction,
    is_live: bool,
) -> Crawl:
    """Build the crawl from its components and the counters of earlier runs."""
    settings, strategy, store = base.settings, base.strategy, base.collection.store
    recall_monitor = RecallMonitor(strategy.context.topic.threshold, settings.stop_when_found)
    recall_monitor.replay_visits(queries.iterate_discoveries(store, recall_monitor.threshold))
    parse_page = off_loop_parser.options.create_parser(ParserCache(vocabularies=strategy.context.vsm.vocabularies))
    costly_parser: OffLoopParser = off_loop_parser
    if settings.sitemaps:
        parse_page = link_sources = LinkSourceParser(parse_page, sink.fetcher.get_sitemaps, store)
        costly_parser = OffLoopLinkSourceParser(off_loop_parser, link_sources)
    context = CrawlContext(
        frontier=base.frontier,
        fetch=base.collection.wrap_fetch(fetch),
        parse=parse_page,
        relevance=base.judge,
        strategy=strategy,
        sink=sink,
        clock=time.time,
        link_filter=base.link_filter,
        get_crawl_delay=sink.fetcher.get_delay if is_live else None,
        document_reader=document_reader,
        off_loop_parser=costly_parser,
        wait_for_more_links=wait_for_more_links,
        find_duplicate=base.find_duplicate,
        submit_scores=submit_scores,
        recall_monitor=recall_monitor,
        reviewer_log=_build_reviewer_log(settings, store) if settings.reviewer else None,
    )
    limits = CrawlLimits(
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
    step, pages = queries.get_progress(store)
    _, relevant = queries.count_relevant_pages(store, recall_monitor.threshold)
    return Crawl(context, limits, step=step, pages=pages, relevant=relevant, stop_reason=stop_reason)
