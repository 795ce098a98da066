"""Typed settings, and the only place that puts the parts of a crawl together."""

from __future__ import annotations

import dataclasses
import difflib
import logging
import time
import tomllib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from random import Random
from typing import Annotated, NamedTuple, cast, get_args, get_origin, get_type_hints

from topicrawl import parse, strategies
from topicrawl.budget import Budget
from topicrawl.collection import report
from topicrawl.collection.directory import Collection, topic_of
from topicrawl.collection.links import packed
from topicrawl.collection.store import Store
from topicrawl.crawl import Crawl, Parts, seed_links
from topicrawl.errors import CollectionError, SeedError, SettingError
from topicrawl.fetch.guard import networks
from topicrawl.fetch.http import Http, HttpSettings
from topicrawl.fetch.polite import Polite
from topicrawl.fetch.retry import TRANSIENT
from topicrawl.frontier.contract import Offer, Rules
from topicrawl.frontier.limits import Limits
from topicrawl.frontier.monotony import Monotony, MonotonyState
from topicrawl.frontier.sqlite import Sqlite
from topicrawl.placing import Fences, Outlink
from topicrawl.records import Carry, Link, Response, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.strategy import Setting
from topicrawl.topic import Topic
from topicrawl.urls import canonical, fingerprint, host, join, origin

log = logging.getLogger("topicrawl")

_NOTED = 20_000  # origins whose sitemaps are known to be stored

#: Media types that are asked for: what the parsers can read.
READABLE = ("text/html", "application/xhtml+xml", "text/plain")


@dataclass(frozen=True)
class Settings:
    """Everything about a crawl that can be set, by option or in a TOML file; each with its sentence."""

    strategy: Annotated[str, "Which crawler orders the links: name or name:parameter=value,…"] = "best_first"
    pages: Annotated[int, "Stop when this many pages are kept, earlier runs included; 0: no limit."] = 1000
    seconds: Annotated[float, "Stop after this many seconds; 0: no limit."] = 0.0
    delay: Annotated[float, "Seconds between two requests to one host; a longer Crawl-delay is honoured."] = 1.0
    concurrency: Annotated[int, "Fetches under way at once, each on another host."] = 64
    focus: Annotated[float, "Links worth less than this share of the best ones lately get few of the fetches."] = 0.5
    only: Annotated[tuple[str, ...], "Stay on this host and the hosts below it."] = ()
    host_pages: Annotated[int, "Pages from one host at the most; 0: no limit."] = 5000
    depth: Annotated[int, "Links from a seed at the most."] = 64
    url_length: Annotated[int, "Longer addresses are not followed."] = 2000
    timeout: Annotated[float, "Seconds for one request."] = 30.0
    max_bytes: Annotated[int, "Larger pages are refused (bytes, decompressed)."] = 10 * 1024 * 1024
    attempts: Annotated[int, "Attempts at a page whose host fails in a way that may pass."] = 3
    patience: Annotated[float, "Seconds to wait for unreachable hosts when nothing else is left."] = 600.0
    contact: Annotated[str, "Your e-mail address or web page, told to every host in the user agent."] = ""
    robots: Annotated[bool, "Obey robots.txt; switch off only on hosts of your own."] = True
    proxy: Annotated[str, "An HTTP proxy for all requests, as a URL."] = ""
    allow_net: Annotated[tuple[str, ...], "A private network that may be asked, such as 127.0.0.0/8."] = ()
    resolve: Annotated[tuple[str, ...], "A fixed address for a host name, as name=address."] = ()
    min_free: Annotated[int, "Stop when less than this many MB are free on the disk."] = 100

    def __post_init__(self) -> None:
        for setting in dataclasses.fields(self):
            value = getattr(self, setting.name)
            if isinstance(value, int | float) and not 0 <= value < float("inf"):
                raise SettingError(f"{setting.name} is {value}: it must be 0 or more")
        if self.focus > 1:
            raise SettingError(f"focus is {self.focus}: it is a share, from 0 to 1")
        for name in self.only:
            if canonical(f"http://{name}/") != f"http://{name}/" or ":" in name:
                raise SettingError(f"only takes a host name such as example.org, not {name!r}")
        if self.concurrency < 1 or self.attempts < 1:
            raise SettingError("concurrency and attempts must be 1 or more")
        networks(self.allow_net)
        self.addresses()
        strategies.make(self.strategy)
        if not self.contact.isprintable() or not self.contact.isascii():
            raise SettingError(f"contact is {self.contact!r}: it goes into a header, so write plain ASCII on one line")
        if self.proxy and canonical(self.proxy) is None:
            raise SettingError(f"proxy is {self.proxy!r}: write it as a URL, such as http://proxy.example:3128")

    def addresses(self) -> dict[str, str]:
        """Host names with the fixed addresses that were given for them."""
        found = {}
        for item in self.resolve:
            name, _, address = item.partition("=")
            try:
                found[name] = str(ip_address(address))
            except ValueError as error:
                raise SettingError(f"resolve takes name=address with an IP address, not {item!r}") from error
        return found


class Known(NamedTuple):
    """What is known of a setting."""

    kind: type
    default: object
    sentence: str


def known_settings() -> dict[str, Known]:
    """Every setting by its name, for options, files and the reference.

    >>> known_settings()["pages"].default
    1000
    """
    hints = get_type_hints(Settings, include_extras=True)
    found = {}
    for item in dataclasses.fields(Settings):
        kind, sentence = get_args(hints[item.name])
        found[item.name] = Known(get_origin(kind) or kind, item.default, sentence)
    return found


def read_settings(path: Path) -> dict[str, object]:
    """The settings of a TOML file; a mistake is one line that says where."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SettingError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingError(f"{path}: not valid TOML: {error}") from error
    expected = known_settings()
    for name, value in table.items():
        if name not in expected:
            near = difflib.get_close_matches(name, expected, 1)
            hint = f"did you mean {near[0]!r}?" if near else "`topicrawl crawl --help` lists them"
            raise SettingError(f"{path}: unknown setting {name!r}; {hint}")
        kind = expected[name].kind
        if kind is tuple and isinstance(value, list) and all(isinstance(item, str) for item in value):
            table[name] = tuple(value)
        elif kind is float and isinstance(value, int) and not isinstance(value, bool):
            table[name] = float(value)
        elif type(value) is not kind:
            raise SettingError(f"{path}: {name} must be {kind.__name__}, not {value!r}")
    return table


def within(names: Sequence[str], url: str) -> bool:
    """Whether a URL is on one of the hosts or on a host below one.

    >>> [within(("example.org",), f"http://{name}/") for name in ("example.org", "a.example.org:81", "notexample.org")]
    [True, True, False]
    """
    name = host(url).partition(":")[0]
    return any(name == it or name.endswith(f".{it}") for it in names)


def seed_urls(texts: Sequence[str]) -> list[str]:
    """Seeds in canonical form; the first that is not a web address is refused."""
    urls = []
    for text in texts:
        url = canonical(text.strip())
        if url is None:
            hint = f"; did you mean https://{text.strip()}?" if canonical(f"https://{text.strip()}") else ""
            raise SeedError(f"the seed {text!r} is not a web address (http or https){hint}")
        urls.append(url)
    return urls


@dataclass
class Keeping:
    """Hands visits to the collection in the collection's own terms."""

    collection: Collection
    polite: Polite
    noted: dict[str, None] = field(default_factory=dict)  # origins that were looked at, the oldest first

    def step_of(self, link: Link) -> int | None:
        return self.collection.step_of(link)

    def keep(self, visit: Visit, response: Response, outlinks: Sequence[Outlink]) -> None:
        self.collection.keep(visit, response, packed(outlinks) if outlinks else None)
        if (site := origin(visit.url)) not in self.noted:
            self._note(site)
        if visit.failure is not None:
            log.info("failed %s: %s %s", visit.link.url, visit.failure, visit.detail)

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
        log.info(
            "attempt %d failed, will be made again %s: %s %s", attempt, link.url, response.failure, response.detail
        )


def identity(topic: Topic, settings: Settings) -> dict[str, Carry]:
    """What makes a crawl the crawl it is; a directory is resumed only with the same."""
    return {"words": dict(topic.words), "strategy": settings.strategy}


@asynccontextmanager
async def open_crawl(
    directory: Path, topic: Topic, seeds: Sequence[str] = (), settings: Settings | None = None
) -> AsyncIterator[Crawl]:
    """A crawl of the live web into a directory, ready to run: new, or going on where an earlier run stopped.

    Everything is closed afterwards. A directory that holds a crawl for another topic or with another strategy is
    refused.
    """
    settings = settings or Settings()
    urls = seed_urls(seeds)
    for url in urls:
        if settings.only and not within(settings.only, url):
            raise SeedError(f"the seed {url} is not on {' or '.join(settings.only)}, where the crawl is to stay")
    vsm = Vsm(topic)
    facts: dict[str, Carry] = {"identity": identity(topic, settings), "seeds": list(urls)}
    with Collection(directory, topic, facts, min_free=settings.min_free << 20) as collection:
        same(directory, collection.store.fact("identity"), facts["identity"])
        collection.check_space()
        async with AsyncExitStack() as stack:
            frontier = await _frontier(collection, settings)
            stack.push_async_callback(frontier.close)
            http = await stack.enter_async_context(Http(_http_settings(settings)))
            polite = Polite(http, delay=settings.delay, robots=settings.robots)
            polite.told = frontier.set_delay
            crawl = _crawl(collection, vsm, settings, frontier, polite)
            _restore(collection.store, crawl.parts)
            collection.store.set_facts({"settings": _plain(settings), "stopped": None})
            await _retried(crawl, collection.store, urls)
            await crawl.seed(seed_links(urls))
            try:
                yield crawl
            finally:
                await crawl.close()
                # What was learned is worth keeping also when the crawl ended in an error.
                _save(collection.store, crawl)


async def _frontier(collection: Collection, settings: Settings) -> Sqlite:
    """The frontier of a collection, with all that the collection lost put back into it."""
    path = collection.directory / "frontier.sqlite"
    step, _ = report.counts(collection.store)
    if step and not path.exists():
        raise CollectionError(f"{path} is gone, and with it what was still to be fetched: bring it back from a backup")
    rules = Rules(
        delay=settings.delay,
        host_pages=settings.host_pages,
        lease_seconds=2 * Budget().deadline,
        # Beyond our own attempts, only a page that kills the process each time uses them up.
        attempts=settings.attempts + 20,
    )
    frontier = Sqlite(path, rules, time.time)
    lost = collection.recover()
    if lost:
        log.warning("%d pages no longer read back and will be fetched again", len(lost))
        # Where a redirect ended was settled with it, and must be opened with it.
        ends = [Offer(replace(row.link, url=row.url), row.place) for row in lost if row.url != row.requested]
        await frontier.reopen([*(Offer(row.link, row.place) for row in lost), *ends])
        collection.store.forget(lost)
    return frontier


async def _retried(crawl: Crawl, store: Store, seeds: Sequence[str]) -> None:
    """Open again what failed in passing: seeds that are named again, and all of it when nothing else is left."""
    frontier = crawl.parts.frontier
    names = ",".join(f"'{failure}'" for failure in sorted(TRANSIENT))
    where = f"failure IN ({names})"
    if (await frontier.counts()).waiting:
        failed = [row for url in seeds for row in store.visits(f"{where} AND id=?", (fingerprint(url),))]
    else:
        failed = list(store.visits(where))
    if failed:
        await frontier.reopen([Offer(row.link, row.place) for row in failed])


def _save(store: Store, crawl: Crawl) -> None:
    """What the strategy and the trap finder have learned, and why the crawl stopped."""
    learned: dict[str, Carry] = {"strategy": crawl.parts.strategy.state()}
    if crawl.parts.fences.monotony is not None:
        learned["monotony"] = cast(Carry, crawl.parts.fences.monotony.state())
    store.set_facts({"learned": learned, "stopped": crawl.stopped})


def _restore(store: Store, parts: Parts) -> None:
    learned = store.fact("learned")
    if isinstance(learned, dict):
        parts.strategy.restore(learned.get("strategy"))
        if parts.fences.monotony is not None and learned.get("monotony"):
            parts.fences.monotony.restore(cast(MonotonyState, learned["monotony"]))


def _plain(settings: Settings) -> dict[str, Carry]:
    values = dataclasses.asdict(settings)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def same(directory: Path, known: Carry, wanted: Carry) -> None:
    """Refuse to go on with a crawl that was started as another."""
    if not isinstance(known, dict) or not isinstance(wanted, dict):
        return
    for name, value in wanted.items():
        if known.get(name) != value:
            before, now = (_shown(it) for it in (known.get(name), value))
            raise SettingError(
                f"{directory} holds a crawl with another {name}: {before}, not {now}; name another directory with --out"
            )


def _shown(value: Carry) -> str:
    """A part of a crawl's identity for people; weights only where they differ from 1."""
    if not isinstance(value, dict):
        return str(value)
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
    values = {name: value for name, value in values.items() if name in known_settings()}
    return topic_of(directory), Settings(**{**values, **given})  # type: ignore[arg-type]


def _http_settings(settings: Settings) -> HttpSettings:
    return HttpSettings(
        contact=settings.contact,
        total_timeout=settings.timeout,
        max_bytes=settings.max_bytes,
        proxy=settings.proxy,
        accept=READABLE,
        connections=settings.concurrency * 2,
        allow=networks(settings.allow_net),
        resolve=settings.addresses(),
    )


def _crawl(collection: Collection, vsm: Vsm, settings: Settings, frontier: Sqlite, polite: Polite) -> Crawl:
    strategy = strategies.make(settings.strategy)
    strategy.begin(Setting(vsm.topic, vsm, Random(0)))
    parts = Parts(
        frontier=frontier,
        fetch=collection.through(polite),
        parse=partial(parse.read, styles=strategy.styles, context=strategy.context),
        relevance=vsm,
        strategy=strategy,
        keep=Keeping(collection, polite),
        clock=time.time,
        fences=Fences(
            Limits(depth=settings.depth, length=settings.url_length),
            Monotony(),
            scope=partial(within, settings.only) if settings.only else None,
        ),
        delay_of=polite.delay_of,
    )
    budget = Budget(
        pages=settings.pages, seconds=settings.seconds, concurrency=settings.concurrency,
        attempts=settings.attempts, patience=settings.patience, focus=settings.focus,
    )  # fmt: skip
    step, pages = report.counts(collection.store)
    return Crawl(parts, budget, step=step, pages=pages)
