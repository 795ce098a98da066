"""`topicrawl crawl`: the main job."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from topicrawl import topic as topics
from topicrawl.cli import INTERRUPTED
from topicrawl.cli.progress import Show, Tally, chosen
from topicrawl.collection.directory import Collection, occupied, topic_of
from topicrawl.collection.store import Store
from topicrawl.crawl import Crawl, Stop, seed_links
from topicrawl.errors import SeedError, SettingError, SpaceError, TopicError
from topicrawl.plan import Settings, identity, known_settings, live, read_settings, seed_urls
from topicrawl.topic import Topic

NOTHING_FETCHED = 5
_TICK = 0.25  # seconds between two looks at the figures

Function = TypeVar("Function", bound=Callable[..., Any])


def _with_settings(function: Function) -> Function:
    """Every setting as an option of the command; an option that is not given is None."""
    for name, known in reversed(known_settings().items()):
        option = "--" + name.replace("_", "-")
        if known.kind is bool:
            option = f"{option}/--no-{name}"
        decorate = click.option(
            option,
            name,
            type=None if known.kind in (bool, tuple) else known.kind,
            multiple=known.kind is tuple,
            default=None,
            metavar={int: "N", float: "X", str: "TEXT", tuple: "TEXT"}.get(known.kind),
            help=f"{known.sentence} [default: {known.default if known.default != () else 'none'}]",
        )
        function = decorate(function)
    return function


@click.command("crawl")
@click.argument("words", required=False)
@click.option("--topic", "topic_file", type=click.Path(path_type=Path), help="A topic.toml instead of words.")
@click.option("--seed", "seeds", multiple=True, metavar="URL", help="Where to start; may be repeated.")
@click.option("--seeds", "seed_file", type=click.Path(path_type=Path), help="A file with one seed a line.")
@click.option("--out", type=click.Path(path_type=Path), help="The crawl's directory. [default: named by the topic]")
@click.option("--config", type=click.Path(path_type=Path), help="Settings in a TOML file; options win over it.")
@click.option("--json", "as_json", is_flag=True, help="Events as JSON lines on standard output.")
@_with_settings
def command(**options: Any) -> None:
    """Crawl the web for a topic into a directory. A directory that exists is gone on with.

    \b
    Examples:
      topicrawl crawl "dengue fever" --seed https://www.who.int/ --pages 1000 --contact you@example.org
      topicrawl crawl "dengue fever" --pages 5000            # go on with ./dengue-fever up to 5,000 pages
      topicrawl crawl --topic topic.toml --seeds seeds.txt --out tropical --strategy best_first:anchor=0.7
    """
    names = {item.name for item in dataclasses.fields(Asked)}
    given = {name: value for name, value in options.items() if name not in names and value not in (None, ())}
    asked = Asked(**{name: options[name] for name in names - {"given"}}, given=given)
    sys.exit(asyncio.run(_crawled(asked)))


@dataclass(frozen=True)
class Asked:
    """What the user wrote."""

    words: str | None
    topic_file: Path | None
    seeds: tuple[str, ...]
    seed_file: Path | None
    out: Path | None
    config: Path | None
    as_json: bool
    given: Mapping[str, Any]  # settings that were given as options

    def topic(self) -> Topic | None:
        if self.topic_file is not None and self.words is not None:
            raise TopicError("give the topic in words or as --topic FILE, not both")
        if self.topic_file is not None:
            return topics.load(self.topic_file)
        return Topic.of(self.words) if self.words is not None else None

    def directory(self, topic: Topic | None) -> Path:
        if self.out is not None:
            return self.out
        if topic is None:
            raise TopicError('what is the topic? for example: topicrawl crawl "dengue fever" --seed https://…')
        return Path(slug(topic.name))

    def seed_urls(self) -> list[str]:
        texts = list(self.seeds)
        if self.seed_file is not None:
            try:
                lines = self.seed_file.read_text("utf-8").splitlines()
            except (OSError, UnicodeDecodeError) as error:
                raise SeedError(f"{self.seed_file}: cannot be read: {error}") from error
            texts += [line for line in lines if line.strip() and not line.startswith("#")]
        return seed_urls(texts)


def slug(name: str) -> str:
    """A directory's name for a topic.

    >>> slug("Dengue fever: causes & cures"), slug("東京")
    ('dengue-fever-causes-cures', '東京')
    """
    return re.sub(r"\W+", "-", name.lower()).strip("-")[:60] or "crawl"


def _agreed(asked: Asked, directory: Path) -> tuple[Topic, Settings]:
    """Topic and settings, from the options or from the crawl that is gone on with, which they must not contradict."""
    from_file = read_settings(asked.config) if asked.config else {}
    given = {**from_file, **asked.given}
    topic = asked.topic()
    if not occupied(directory):
        if topic is None:
            raise TopicError(f"there is no crawl in {directory} yet: name the topic in words or with --topic FILE")
        return topic, Settings(**given)
    store = Store(directory / "topicrawl.sqlite", readonly=True)
    try:
        stored, facts = store.fact("settings"), store.fact("identity")
    finally:
        store.close()
    assert isinstance(stored, dict)
    kept = {name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()}
    known = topic_of(directory)
    settings = Settings(**{**kept, **given})
    wanted = identity(topic or known, settings)
    if isinstance(facts, dict):
        for name, value in wanted.items():
            if name in facts and facts[name] != value:
                raise SettingError(
                    f"{directory} holds a crawl with another {name}: {_short(facts[name])}, not {_short(value)}; "
                    "name another directory with --out"
                )
    return known, settings


def _short(value: object) -> str:
    return " ".join(value) if isinstance(value, dict) else str(value)


async def _crawled(asked: Asked) -> int:
    """Run the crawl and return the exit code."""
    directory = asked.directory(asked.topic())
    topic, settings = _agreed(asked, directory)
    seeds = asked.seed_urls()
    if not seeds and not occupied(directory):
        raise SeedError("where shall it start? name one or more pages with --seed URL or --seeds FILE")
    facts = {"identity": identity(topic, settings), "settings": dataclasses.asdict(settings), "seeds": list(seeds)}
    with Collection(directory, topic, facts, min_free=settings.min_free << 20) as collection:
        collection.store.set_facts({"settings": facts["settings"]})
        collection.check_space()
        with _logging(directory / "crawl.log"):
            async with live(collection, topic, settings) as crawl:
                await crawl.seed(seed_links(seeds))
                tally = _tally(topic, settings, collection.store)
                stop = await _shown(crawl, tally, chosen(asked.as_json), collection)
    _closing_words(asked, directory, stop, tally)
    if stop == Stop.INTERRUPTED:
        return INTERRUPTED
    return 0 if tally.pages else NOTHING_FETCHED


async def _shown(crawl: Crawl, tally: Tally, show: Show, collection: Collection) -> Stop:
    """Consume the visits and show them."""
    log = logging.getLogger("topicrawl")
    frontier = crawl.parts.frontier
    restore = _on_signals(crawl)
    show.start(str(collection.directory), collection.resumed)
    log.info("start: %d pages so far", tally.pages)
    ticker = asyncio.create_task(_ticks(crawl, tally, show))
    try:
        async for visit in crawl.visits():
            tally.count(visit, time.monotonic())
            show.visit(visit)
    finally:
        ticker.cancel()
        restore()
        reason = crawl.stopped or Stop.INTERRUPTED
        try:
            collection.store.set_facts({"stopped": reason})
        except SpaceError:
            log.error("stop: no space for a last word")
        log.info("stop: %s, %s", reason, tally.line(await frontier.counts()))
        show.stop(tally, await frontier.counts(), reason)
    return reason


async def _ticks(crawl: Crawl, tally: Tally, show: Show) -> None:
    """The figures keep moving while hosts keep us waiting."""
    while True:
        show.tick(tally, await crawl.parts.frontier.counts(), crawl)
        await asyncio.sleep(_TICK)


def _on_signals(crawl: Crawl) -> Callable[[], None]:
    """The first Ctrl-C (or SIGTERM) finishes what is in flight; a second one ends at once, which loses nothing."""
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)

    def restore() -> None:
        for number in signals:
            loop.remove_signal_handler(number)

    def interrupted() -> None:
        restore()
        click.echo("\nfinishing what is in flight; Ctrl-C again to end at once (nothing is lost)", err=True)
        crawl.interrupt()

    for number in signals:
        loop.add_signal_handler(number, interrupted)
    return restore


def _tally(topic: Topic, settings: Settings, store: Store) -> Tally:
    """The figures of earlier runs, to count on from."""
    tally = Tally(topic, settings.pages)
    ((pages, relevant),) = store.query(
        "SELECT count(*), count(*) FILTER (WHERE relevance >= ?) FROM visits WHERE failure IS NULL", (topic.threshold,)
    )
    tally.pages, tally.relevant = int(str(pages)), int(str(relevant))
    tally.failed.update(store.failures())
    return tally


def _closing_words(asked: Asked, directory: Path, stop: Stop, tally: Tally) -> None:
    if asked.as_json:
        return
    click.echo(f"{stop}: {tally.pages} pages, {tally.relevant} relevant ({tally.harvest:.0%}) in {directory}", err=True)
    if not tally.pages:
        reasons = ", ".join(f"{name} {count}" for name, count in tally.failed.most_common(3)) or "no seed answered"
        click.echo(f"no page could be fetched ({reasons}): check the seeds; `topicrawl why {directory} URL` tells", err=True)
    elif tally.last is not None and stop != Stop.INTERRUPTED:
        click.echo(f"next: topicrawl status {directory}   topicrawl why {directory} {tally.last.url}", err=True)
    if stop in (Stop.INTERRUPTED, Stop.UNREACHABLE):
        click.echo("the same command goes on where it was", err=True)


@contextmanager
def _logging(path: Path) -> Iterator[None]:
    """The crawl's log file, for as long as the crawl runs."""
    log = logging.getLogger("topicrawl")
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        handler.close()
