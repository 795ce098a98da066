"""Open a crawl, a recrawl or an import: create all components in order, and close them at the end."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from topicrawl.builder.base_components import BaseComponents, build_base_components
from topicrawl.builder.cooperation import build_url_sharing, run_steering
from topicrawl.builder.crawl_loop import open_crawl_loop, open_fetch_function
from topicrawl.builder.fetching import open_crawl_fetcher
from topicrawl.builder.inputs import CrawlInputs, RecrawlOptions
from topicrawl.builder.learners import create_learners
from topicrawl.builder.recrawling import RecrawlComponents, build_recrawl
from topicrawl.builder.reviewing import build_reviewer, get_reviewer_key
from topicrawl.builder.storage import open_storage
from topicrawl.builder.stored_settings import load_topic_and_settings, serialize_settings
from topicrawl.engine.checkpoint import Checkpoint
from topicrawl.engine.crawl import Crawl, build_seed_links
from topicrawl.engine.http_setup import check_browser
from topicrawl.engine.import_crawl import ImportCrawl
from topicrawl.engine.resume import mark_session_complete, reopen_failed_links
from topicrawl.engine.sinks import CollectionSink
from topicrawl.fetch.replay import Recording
from topicrawl.models import FetchFunction
from topicrawl.recrawl.context import Recrawl
from topicrawl.seeds.election import ElectionResult
from topicrawl.settings import Settings, check_seeds
from topicrawl.topic import Topic

#: Settings that limit the number of pages or queries; a recorded web has no such limits.
_LIMIT_SETTINGS = ("pages", "relevant", "host_pages", "domain_pages", "address_pages", "back_links", "descriptions")


@asynccontextmanager
async def open_crawl(
    directory: Path,
    topic: Topic,
    seeds: Sequence[str] = (),
    settings: Settings | None = None,
    election: ElectionResult | None = None,
) -> AsyncIterator[Crawl]:
    """Open a crawl of the live web: create it in `directory`, or resume the crawl that the directory contains.

    The context manager closes all components at the end. It raises `SettingError` if the directory contains a crawl
    for another topic or with another strategy. `election` holds the search engine results that led to the seeds; they
    are stored in the directory.
    """
    settings = settings or Settings()
    inputs = CrawlInputs(directory, topic, settings, tuple(check_seeds(seeds, settings)), election)
    async with _open_components(inputs) as components:
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
    inputs = CrawlInputs(directory, topic, settings, recrawl_options=RecrawlOptions(clock, forget_after))
    async with _open_components(inputs) as components:
        recrawl = components.recrawl
        assert recrawl is not None
        # A crawl may have sent requests to the same hosts just before, or may send some just after the recrawl.
        await asyncio.sleep(settings.delay)
        yield Recrawl(recrawl.queue, recrawl.sink, components.fetch, components.crawl.context, settings)
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
    inputs = CrawlInputs(directory, topic, offline, recording=recording, stored_settings=settings)
    async with _open_components(inputs) as components:
        yield ImportCrawl(components.crawl, recording)


@dataclass(frozen=True, slots=True)
class _OpenComponents:
    """An open crawl, and the components that a recrawl needs."""

    crawl: Crawl
    fetch: FetchFunction
    recrawl: RecrawlComponents | None


@asynccontextmanager
async def _open_components(inputs: CrawlInputs) -> AsyncIterator[_OpenComponents]:
    """Open all components of a crawl, and those of a recrawl if its options are given."""
    settings, options = inputs.settings, inputs.recrawl_options
    if inputs.recording is None:
        check_browser(settings)
    reviewer_key = get_reviewer_key() if settings.reviewer else ""
    learners = create_learners(inputs)
    async with AsyncExitStack() as stack:
        storage = await stack.enter_async_context(open_storage(inputs, learners))
        base = build_base_components(settings, learners, storage)
        recrawl = build_recrawl(base, options) if options is not None else None
        fetcher = await stack.enter_async_context(open_crawl_fetcher(base, recrawl))
        base = base.limit_addresses(fetcher)
        sink = CollectionSink(storage.collection, fetcher)
        session = storage.session
        score_submitter = session.create_score_submitter(base.link_filter) if session is not None else None
        submit_scores = score_submitter.submit_scores if score_submitter is not None else None
        fetch = await stack.enter_async_context(open_fetch_function(inputs, fetcher))
        crawl = await stack.enter_async_context(
            open_crawl_loop(base, inputs, sink, fetch=fetch, submit_scores=submit_scores)
        )
        checkpoint = Checkpoint(storage.collection, crawl)
        sink.observers.append(checkpoint)
        await learners.restore_or_train(checkpoint, session, is_trained=storage.is_new)
        if session is not None and score_submitter is not None:
            worker_tasks = session.create_worker_tasks(crawl, score_submitter)
            sink.observers.append(await stack.enter_async_context(worker_tasks))
        if settings.share_with and settings.cooperate and recrawl is None:
            sink.observers.append(await stack.enter_async_context(build_url_sharing(crawl, settings)))
        await _add_seeds(inputs, base, crawl)
        steering = await stack.enter_async_context(run_steering(base, crawl))
        if settings.reviewer and recrawl is None:
            reviewer = build_reviewer(base, crawl, steering, key=reviewer_key)
            sink.observers.append(await stack.enter_async_context(reviewer))
        try:
            yield _OpenComponents(crawl, fetch, recrawl)
        finally:
            await crawl.close()
            checkpoint.save()  # also when the crawl ends with an error
            mark_session_complete(storage.collection, storage.frontier)


async def _add_seeds(inputs: CrawlInputs, base: BaseComponents, crawl: Crawl) -> None:
    """Store the settings of the next run, and offer the seeds and the failed links to the frontier."""
    store = base.storage.collection.store
    store.set_facts({"settings": serialize_settings(inputs.stored_settings or inputs.settings), "stopped": None})
    await reopen_failed_links(base.storage.frontier, store, inputs.seeds)
    await crawl.add_seeds(build_seed_links(inputs.seeds))
