"""The only place that puts the parts of a crawl together."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from topicrawl import parse, strategies
from topicrawl.access import access
from topicrawl.budget import Budget
from topicrawl.checkpoint import Checkpoint
from topicrawl.collection import report
from topicrawl.collection.directory import Collection, occupied, topic_of
from topicrawl.collection.duplicates import Duplicates
from topicrawl.collection.links import packed
from topicrawl.collection.shelf import Shelf
from topicrawl.collection.store import Store
from topicrawl.collection.told import Told
from topicrawl.company import Company
from topicrawl.crawl import Crawl, seed_links
from topicrawl.discoveries import Discoveries
from topicrawl.documents.kinds import DOCUMENTS, SUFFIXES
from topicrawl.documents.message import Limits as DocumentLimits
from topicrawl.documents.reading import Documents
from topicrawl.errors import SeedError, SettingError
from topicrawl.fetch.guard import networks
from topicrawl.fetch.http import Http, HttpSettings
from topicrawl.fetch.polite import Polite
from topicrawl.fetch.replay import Recording
from topicrawl.frontier.contract import Frontier
from topicrawl.frontier.limits import Limits
from topicrawl.frontier.monotony import Monotony
from topicrawl.frontier.redis_address import without_password
from topicrawl.gathering import Gathering
from topicrawl.guidance import Guidance
from topicrawl.inquiries import Inquiries
from topicrawl.lab.material import Recorded
from topicrawl.membership import Membership, met
from topicrawl.opening import own_frontier, reopen_failed, reopen_lost
from topicrawl.parse.main_text import read_main
from topicrawl.parts import Found, Parts
from topicrawl.placing import Fences
from topicrawl.records import Carry, Link, Response
from topicrawl.relevance import guest
from topicrawl.relevance.taught import Taught
from topicrawl.relevance.tongues import Tongues
from topicrawl.seeds.asking import answers
from topicrawl.seeds.choice import readers
from topicrawl.seeds.found import Found as Election
from topicrawl.seeds.provider import Answer, Provider
from topicrawl.seeds.questions import FIRST
from topicrawl.sessions import labelled_sessions
from topicrawl.settings import Settings, known_settings, seed_urls, within
from topicrawl.steering import steered
from topicrawl.strategies.material import Material, Nothing
from topicrawl.strategies.strategy import Setting, Strategy
from topicrawl.topic import Topic
from topicrawl.urls import join, origin

log = logging.getLogger("topicrawl")

_NOTED = 20_000  # origins whose sitemaps are known to be stored

#: Media types that are asked for: what the parsers can read.
READABLE = ("text/html", "application/xhtml+xml", "text/plain")


@dataclass
class Keeping:
    """Hands visits to the collection in the collection's own terms."""

    collection: Collection
    polite: Polite
    noted: dict[str, None] = field(default_factory=dict)  # origins that were looked at, the oldest first
    checkpoint: Checkpoint | None = None  # writes down what was learned
    inquiries: Inquiries | None = None  # asks search engines about what was found
    company: Company | None = None  # tells other workers what was learned

    def step_of(self, link: Link) -> int | None:
        return self.collection.step_of(link)

    def keep(self, found: Sequence[Found]) -> None:
        self.collection.keep((visit, response, packed(links) if links else None) for visit, response, links in found)
        for visit, _, links in found:
            if self.inquiries is not None:
                self.inquiries.visited(visit, links)
            if self.company is not None:
                self.company.seen(visit)
            if (site := origin(visit.url)) not in self.noted:
                self._note(site)
            if visit.failure is not None:
                told = {"event": "failed", "url": visit.link.url, "failure": visit.failure, "detail": visit.detail}
                log.info("failed %s: %s %s", visit.link.url, visit.failure, visit.detail, extra=told)

    def settled(self) -> None:
        if self.checkpoint is not None and self.checkpoint.due():
            self.checkpoint.save()

    def _note(self, site: str) -> None:
        """Store the sitemaps of an origin that was not seen lately."""
        self.noted[site] = None
        if len(self.noted) > _NOTED:
            del self.noted[next(iter(self.noted))]
        # A sitemap is to be named by its whole address, but many sites forget that.
        sitemaps = [url for name in self.polite.sitemaps_of(site) if (url := join(f"{site}/", name))]
        if sitemaps:
            self.collection.store.add_host(site, self.polite.delay_of(site.partition("://")[2]), sitemaps)

    def retry(self, link: Link, response: Response, attempt: int) -> None:
        self.collection.store.add_attempt(link.url, response, attempt)
        url, failure, detail = link.url, response.failure, response.detail
        told = {"event": "retry", "url": url, "failure": failure, "detail": detail, "attempt": attempt}
        log.info("attempt %d failed, will be made again %s: %s %s", attempt, url, failure, detail, extra=told)


def identity(topic: Topic, settings: Settings) -> dict[str, Carry]:
    """What makes a crawl the crawl it is; a directory is resumed only with the same."""
    words: dict[str, Carry] = {"words": dict(topic.words)}
    for language, its in topic.translations.items():
        words[f"words in {language}"] = dict(its)
    judge: dict[str, Carry] = {"judge": settings.judge} if settings.judge else {}
    return {**words, "strategy": settings.strategy, **judge}


@asynccontextmanager
async def open_crawl(
    directory: Path,
    topic: Topic,
    seeds: Sequence[str] = (),
    settings: Settings | None = None,
    found: Election | None = None,
) -> AsyncIterator[Crawl]:
    """A crawl of the live web into a directory, ready to run: new, or going on where an earlier run stopped.

    Everything is closed afterwards. A directory that holds a crawl for another topic or with another strategy is
    refused. `found` is what engines said when they were asked for the seeds; it is kept.
    """
    settings = settings or Settings()
    urls = _within(seeds, settings)
    strategy = strategies.make(settings.strategy)
    told, engines = Told(directory, found), _engines(settings, strategy)
    strategy.begin(Setting(topic, _vsm(topic, settings), Random(0), told.description))

    async def train() -> None:
        strategy.prepare(await _material(topic, settings, told, engines, styles=strategy.styles))

    facts: dict[str, Carry] = {"identity": identity(topic, settings), "seeds": list(urls)}
    async with AsyncExitStack() as stack:
        member = await stack.enter_async_context(met(directory, settings, urls))
        if trained := not occupied(directory) and (member is None or member.is_new):
            # Before anything is made: a strategy that lacks its input leaves no directory behind.
            await train()
        collection = stack.enter_context(_collection(directory, topic, settings, facts))
        told.keep_seeds()
        frontier = own_frontier(collection, settings) if member is None else await member.join(collection)
        stack.push_async_callback(frontier.close)
        await reopen_lost(collection, frontier)
        http = await stack.enter_async_context(Http(_http_settings(settings)))
        polite = _polite(http, settings, frontier, member)
        keeping = Keeping(collection, polite, inquiries=_inquiries(engines, told, settings))
        crawl = _crawl(keeping, strategy, settings, frontier, stack.enter_context(_documents(settings)))
        if keeping.inquiries is not None:
            await stack.enter_async_context(keeping.inquiries.about(crawl))
        keeping.checkpoint = Checkpoint(collection, crawl)
        await _taken_up(keeping.checkpoint, train, member, trained=trained)
        if member is not None:
            keeping.company = await stack.enter_async_context(member.company(crawl))
        collection.store.set_facts({"settings": _plain(settings), "stopped": None})
        await reopen_failed(frontier, collection.store, urls)
        await crawl.seed(seed_links(urls))
        await stack.enter_async_context(_attended(member, collection, crawl))
        try:
            yield crawl
        finally:
            await crawl.close()
            # What was learned is worth keeping also when the crawl ended in an error.
            keeping.checkpoint.save()


@asynccontextmanager
async def _attended(member: Membership | None, collection: Collection, crawl: Crawl) -> AsyncIterator[None]:
    """Listens to those who steer the crawl; where it is shared, tells the others that this worker lives."""
    if member is None:
        async with steered(collection, crawl):
            yield
    else:
        async with member.steered(collection, crawl), member.alive(crawl):
            yield


def _vsm(topic: Topic, settings: Settings) -> Tongues:
    """The topic's similarity; pages are judged by the user's own judge, if there is one."""
    vsm = Tongues(topic)
    if settings.judge:
        vsm.judge = guest.make(settings.judge, topic)
    return vsm


@contextmanager
def _collection(directory: Path, topic: Topic, settings: Settings, facts: Mapping[str, Carry]) -> Iterator[Collection]:
    """The directory of the crawl, if it may hold this one."""
    with Collection(directory, topic, facts, min_free=settings.min_free << 20, about=_about(settings)) as collection:
        same(directory, collection.store.fact("identity"), facts["identity"])
        collection.check_space()
        yield collection


def _polite(http: Http, settings: Settings, frontier: Frontier, member: Membership | None) -> Polite:
    polite = Polite(http, delay=settings.delay, robots=settings.robots)
    polite.told = frontier.set_delay
    polite.scope = partial(within, settings.only) if settings.only else None
    if member is not None:
        polite.share(member.frontier.turns)
    return polite


async def _taken_up(
    checkpoint: Checkpoint, train: Callable[[], Awaitable[None]], member: Membership | None, *, trained: bool
) -> None:
    """Go on from what an earlier run has learned, or begin; `trained` says whether that was done already."""
    if await checkpoint.restore():
        return
    strategy = checkpoint.crawl.parts.strategy
    if not trained and (member is None or not await member.trained(strategy)):
        await train()
        trained = True
    if trained and member is not None:
        await member.tell_trained(strategy)
    # The next run has this instead of the material.
    await checkpoint.begin()


def _within(seeds: Sequence[str], settings: Settings) -> list[str]:
    """The seeds in canonical form; one outside the hosts that the user named is refused."""
    urls = seed_urls(seeds)
    for url in urls:
        if settings.only and not within(settings.only, url):
            raise SeedError(f"the seed {url} is not on {' or '.join(settings.only)}, where the crawl is to stay")
    return urls


def _engines(settings: Settings, strategy: Strategy) -> list[Provider]:
    """The search engines that are asked about pages; none unless the user wants that."""
    if settings.descriptions and not hasattr(strategy, "described"):
        raise SettingError(f"descriptions are of no use to {strategy.name}: take them away, or the strategy hati")
    if not settings.back_links and not settings.descriptions:
        return []
    return readers(settings.engine, access(_http_settings(settings), settings.searxng))


def _inquiries(engines: Sequence[Provider], told: Told, settings: Settings) -> Inquiries | None:
    if not engines:
        return None
    return Inquiries(engines, told, settings.back_links, settings.descriptions, settings.timeout)


def _about(settings: Settings) -> dict[str, str]:
    """Who crawls, and how, for whoever reads the archive."""
    told = {
        "robots": "obey" if settings.robots else "ignore",
        "http-header-user-agent": _http_settings(settings).user_agent,
        "operator": settings.contact,
    }
    return {name: text for name, text in told.items() if text}


async def _material(
    topic: Topic, settings: Settings, told: Told, engines: Sequence[Provider], *, styles: bool
) -> Material:
    """What a new crawl may learn from before its first page."""
    walks: Sequence[Sequence[str]] = ()
    if settings.sessions:
        found = labelled_sessions(Path(settings.sessions))
        walks, topic = found.walks, topic.with_examples(found.relevant, found.irrelevant)
    place: str | Path | None = settings.learn_from
    if not place and settings.back_links and (topic.relevant or topic.irrelevant):
        place = await _gathered(topic, settings, told, engines)
    if not place:
        return Nothing(topic.relevant, topic.irrelevant, walks)
    return Recorded(Recording(place), topic, walks, styles=styles)


async def _gathered(topic: Topic, settings: Settings, told: Told, engines: Sequence[Provider]) -> Path | None:
    """Example pages of the live web and the pages that link to them, where engines are asked who does."""

    async def ask(query: str) -> Sequence[Answer]:
        return await answers(engines, query, FIRST, settings.timeout)

    async with Http(_http_settings(settings)) as http:
        polite = Polite(http, delay=settings.delay, robots=settings.robots)
        with _documents(settings) as documents:
            gathering = Gathering(told.directory, polite, ask, told, settings.back_links, documents)
            return await gathering.read(topic.relevant, topic.irrelevant)


def _plain(settings: Settings) -> dict[str, Carry]:
    values = dataclasses.asdict(settings)
    # What is written down is read by others.
    values |= {name: without_password(values[name]) for name in ("frontier", "proxy", "searxng")}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def same(directory: Path, known: Carry, wanted: Carry) -> None:
    """Refuse to go on with a crawl that was started as another."""
    if not isinstance(known, dict) or not isinstance(wanted, dict):
        return
    for name in dict.fromkeys((*wanted, *known)):
        if known.get(name) != wanted.get(name):
            before, now = (_shown(table.get(name)) for table in (known, wanted))
            raise SettingError(
                f"{directory} holds a crawl with another {name}: {before}, not {now}; name another directory with --out"
            )


def _shown(value: Carry) -> str:
    """A part of a crawl's identity for people; weights only where they differ from 1."""
    if not isinstance(value, dict):
        return "none" if value is None else str(value)
    return " ".join(word if weight == 1.0 else f"{word}={weight}" for word, weight in value.items())


def resumed(directory: Path, given: Mapping[str, object]) -> tuple[Topic, Settings]:
    """Topic and settings of the crawl in a directory; what is given now wins over what was set then."""
    store = Store(directory / "topicrawl.sqlite", readonly=True)
    try:
        stored = store.fact("settings")
    finally:
        store.close()
    kept = stored if isinstance(stored, dict) else {}
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()}
    # A setting that an older version had and this one has not is of no use any more.
    known = known_settings()
    values = {name: value for name, value in values.items() if name in known}
    return topic_of(directory), Settings(**{**values, **given})  # type: ignore[arg-type]


def _http_settings(settings: Settings) -> HttpSettings:
    return HttpSettings(
        contact=settings.contact,
        total_timeout=settings.timeout,
        max_bytes=settings.max_bytes,
        proxy=settings.proxy,
        accept=READABLE,
        documents=DOCUMENTS if settings.documents else frozenset(),
        suffixes=SUFFIXES if settings.documents else (),
        connections=settings.concurrency * 2,
        allow=networks(settings.allow_net),
        resolve=settings.addresses(),
    )


def _documents(settings: Settings) -> AbstractContextManager[Documents | None]:
    limits = DocumentLimits(settings.max_bytes, settings.document_seconds)
    return Documents(limits) if settings.documents else nullcontext()


def _crawl(
    keeping: Keeping, strategy: Strategy, settings: Settings, frontier: Frontier, documents: Documents | None
) -> Crawl:
    topic = strategy.setting.topic
    discoveries = Discoveries(topic.threshold, settings.stop_when_found)
    discoveries.again(report.discoveries(keeping.collection.store, discoveries.threshold))
    collection = keeping.collection
    duplicates = Duplicates(Shelf(collection.store, collection.archive, partial(parse.read, context=False)))
    collection.duplicates = duplicates if settings.distinct else None
    parts = Parts(
        frontier=frontier,
        fetch=collection.through(keeping.polite),
        parse=partial(
            read_main if settings.main_text else parse.read, styles=strategy.styles, context=strategy.context
        ),
        relevance=strategy.setting.vsm.judge or Taught(strategy.setting.vsm),
        strategy=strategy,
        keep=keeping,
        clock=time.time,
        fences=Fences(
            Limits(depth=settings.depth, length=settings.url_length),
            Monotony(),
            scope=keeping.polite.scope,
            guidance=Guidance(topic.lexicon, topic.own),
        ),
        delay_of=keeping.polite.delay_of,
        documents=documents,
        more=keeping.inquiries.more if keeping.inquiries is not None else None,
        twin_of=duplicates.twin if settings.distinct else None,
        discoveries=discoveries,
    )
    budget = Budget(
        pages=settings.pages, seconds=settings.seconds, concurrency=settings.concurrency,
        attempts=settings.attempts, patience=settings.patience, focus=settings.focus,
    )  # fmt: skip
    step, pages = report.counts(keeping.collection.store)
    return Crawl(parts, budget, step=step, pages=pages)
