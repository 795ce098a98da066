"""The collection and the frontier of a crawl."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass

from topicrawl.builder.inputs import CrawlInputs
from topicrawl.builder.learners import CrawlLearners
from topicrawl.cluster.worker_session import WorkerSession, connect
from topicrawl.collection.directory import Collection, contains_crawl
from topicrawl.engine.http_setup import build_warcinfo_fields
from topicrawl.engine.identity import build_identity, check_identity
from topicrawl.engine.resume import open_local_frontier, recover_crawl
from topicrawl.frontier.base import Frontier
from topicrawl.models import JsonValue


@dataclass(frozen=True, slots=True)
class CrawlStorage:
    """The collection and the frontier of a crawl. `session` is the membership in a shared crawl."""

    collection: Collection
    frontier: Frontier
    session: WorkerSession | None
    is_new: bool  # the learners were trained, because neither the directory nor the server contained the crawl


@asynccontextmanager
async def open_storage(inputs: CrawlInputs, learners: CrawlLearners) -> AsyncIterator[CrawlStorage]:
    """Open the collection and the frontier, and repair them after a crash. A shared crawl has its frontier on a server.

    A new crawl trains the learners first: if the strategy lacks an input, nothing is left on disk.
    """
    settings = inputs.settings
    facts: dict[str, JsonValue] = {"identity": build_identity(inputs.topic, settings), "seeds": list(inputs.seeds)}
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(connect(inputs.directory, settings, inputs.seeds))
        if is_new := not contains_crawl(inputs.directory) and (session is None or session.is_new):
            await learners.train()
        collection = stack.enter_context(_open_collection(inputs, facts))
        learners.engine_cache.save_election()
        frontier = open_local_frontier(collection, settings) if session is None else await session.join(collection)
        stack.push_async_callback(frontier.close)
        await recover_crawl(collection, frontier)
        yield CrawlStorage(collection, frontier, session, is_new)


@contextmanager
def _open_collection(inputs: CrawlInputs, facts: Mapping[str, JsonValue]) -> Iterator[Collection]:
    """Open the collection after checking its identity and the free disk space."""
    directory, settings = inputs.directory, inputs.settings
    with Collection(
        directory, inputs.topic, facts, min_free=settings.min_free << 20, about=build_warcinfo_fields(settings)
    ) as collection:
        check_identity(directory, collection.store.get_fact("identity"), facts["identity"])
        collection.check_space()
        yield collection
