"""`topicrawl crawl`: the main job."""

from __future__ import annotations

import dataclasses
import logging
import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from topicrawl import topic as topics
from topicrawl.budget import Stop
from topicrawl.cli import INTERRUPTED
from topicrawl.cli.logs import Spoken, written
from topicrawl.cli.loop import on_signals, run
from topicrawl.cli.progress import Logged, Show, Tally, chosen
from topicrawl.cli.watching import warn_of_password, with_watching
from topicrawl.errors import SeedError, TopicError
from topicrawl.frontier.contract import Counts
from topicrawl.records import Failure
from topicrawl.seeds.found import Found
from topicrawl.settings import Settings, known_settings, read_settings, seed_urls
from topicrawl.topic import Topic

if TYPE_CHECKING:
    from topicrawl.crawl import Crawl

NOTHING_FETCHED = 5
# What to do where a crawl got nothing, by the first failure.
_ADVICE: dict[str, str] = {
    Failure.DNS: "check the spelling of the seeds' hosts; `topicrawl doctor` looks at the network",
    Failure.ADDRESS: "private addresses are refused; --allow-net opens a network of your own",
    Failure.ROBOTS: "their robots.txt forbids it; name other seeds",
}
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
            help=f"{known.sentence} [default: {'none' if known.default in ('', ()) else known.default}]",
        )
        function = decorate(function)
    return function


@click.command("crawl")
@click.argument("words", required=False)
@click.option("--topic", "topic_file", type=click.Path(path_type=Path), help="A topic.toml instead of words.")
@click.option("--examples", type=click.Path(path_type=Path), help="Example pages: lines of url⇥relevant|irrelevant.")
@click.option("--seed", "seeds", multiple=True, metavar="URL", help="Where to start; may be repeated.")
@click.option(
    "--seeds", "seed_file", type=click.Path(path_type=Path), help="One seed a line, or a file of `seeds --out`."
)
@click.option("--out", type=click.Path(path_type=Path), help="The crawl's directory. [default: named by the topic]")
@click.option("--config", type=click.Path(path_type=Path), help="Settings in a TOML file; options win over it.")
@click.option("--json", "as_json", is_flag=True, help="Events as JSON lines on standard output.")
@with_watching
@_with_settings
def command(**options: Any) -> None:
    """Crawl the web for a topic into a directory. A directory that exists is gone on with.

    Without --seed and --seeds, the search engines that are set up are asked where to start (`topicrawl seeds --help`).

    \b
    Examples:
      topicrawl crawl "dengue fever" --seed https://www.who.int/ --pages 1000 --contact you@example.org
      topicrawl crawl "dengue fever" --pages 5000            # go on with ./dengue-fever up to 5,000 pages
      topicrawl crawl --topic topic.toml --seeds seeds.txt --out tropical --strategy best_first:anchor=0.7
      topicrawl crawl dengue --seed https://www.who.int/ --strategy nb4_ordered --examples ex.tsv --learn-from old-crawl
    """
    names = {item.name for item in dataclasses.fields(Asked)}
    given = {name: value for name, value in options.items() if name not in names and value not in (None, ())}
    with Spoken(options["log_format"]) as spoken:
        asked = Asked(**{name: options[name] for name in names - {"given"}}, given=given)
        warn_of_password(asked.given.get("frontier", ""))
        agreed = _agreed(asked)
        sys.exit(run(crawled(asked, agreed, _found(asked, agreed), spoken)))


@dataclass(frozen=True)
class Asked:
    """What the user wrote."""

    words: str | None
    topic_file: Path | None
    examples: Path | None
    seeds: tuple[str, ...]
    seed_file: Path | None
    out: Path | None
    config: Path | None
    as_json: bool
    metrics: str  # where they are served, "" for nowhere
    log_format: str
    given: Mapping[str, Any]  # settings that were given as options

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is said in plain words."""
        return self.as_json or self.log_format == "json"

    def topic(self) -> Topic | None:
        if self.topic_file is not None and self.words is not None:
            raise TopicError("give the topic in words or as --topic FILE, not both")
        topic = Topic.of(self.words) if self.words is not None else None
        if self.topic_file is not None:
            topic = topics.load(self.topic_file)
        if topic is not None and self.examples is not None:
            topic = topic.with_examples(*topics.examples(self.examples))
        return topic

    def directory(self, topic: Topic | None) -> Path:
        if self.out is not None:
            return self.out
        if topic is None:
            raise TopicError('what is the topic? for example: topicrawl crawl "dengue fever" --seed https://…')
        return Path(slug(topic.name))

    def seed_text(self) -> str:
        """What stands in the file of seeds; "" when none was given."""
        try:
            return self.seed_file.read_text("utf-8-sig") if self.seed_file is not None else ""
        except (OSError, UnicodeDecodeError) as error:
            raise SeedError(f"{self.seed_file}: cannot be read: {error}") from error

    def seed_urls(self) -> list[str]:
        text = self.seed_text()
        lines = [] if text.lstrip().startswith("{") else text.splitlines()
        named = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
        if self.seed_file is not None and lines and not named and not self.seeds:
            raise SeedError(f"{self.seed_file} names no seed: write one web address a line")
        return seed_urls([*self.seeds, *named])


def slug(name: str) -> str:
    """A directory's name for a topic.

    >>> slug("Dengue fever: causes & cures"), slug("東京")
    ('dengue-fever-causes-cures', '東京')
    """
    return re.sub(r"\W+", "-", name.lower()).strip("-")[:60] or "crawl"


def _agreed(asked: Asked) -> tuple[Path, Topic, Settings]:
    """Directory, topic and settings, from the options or from the crawl that is gone on with."""
    from topicrawl.plan import identity, resumed, same

    topic = asked.topic()
    directory = asked.directory(topic)
    given = {**(read_settings(asked.config) if asked.config else {}), **asked.given}
    if occupied(directory):
        known, settings = resumed(directory, given)
        if topic is not None:
            same(directory, identity(known, settings), identity(topic, settings))
        return directory, known, settings
    if topic is None:
        raise TopicError(f"there is no crawl in {directory} yet: name the topic in words or with --topic FILE")
    return directory, topic, Settings(**given)


def _found(asked: Asked, agreed: tuple[Path, Topic, Settings]) -> Found | None:
    """What engines found, in an earlier election or in one that is held now because no seed was named."""
    from topicrawl.cli.seed_finding import for_crawl, told_again

    directory, topic, settings = agreed
    text = asked.seed_text()
    if text.lstrip().startswith("{"):
        return told_again(text, str(asked.seed_file))
    if asked.seeds or asked.seed_file or occupied(directory) or settings.frontier:
        return None
    return for_crawl(topic, settings, as_json=asked.is_quiet)


async def crawled(asked: Asked, agreed: tuple[Path, Topic, Settings], found: Found | None, spoken: Spoken) -> int:
    """Run the crawl and return the exit code."""
    # The HTTP client and all: the help text needs none of it.
    from topicrawl.cli.crawl_metrics import Watch, watched
    from topicrawl.metrics import place
    from topicrawl.plan import open_crawl

    directory, topic, settings = agreed
    if asked.metrics:
        place(asked.metrics)  # a mistake leaves no directory behind
    goes_on = occupied(directory)
    seeds = [*asked.seed_urls(), *(seed.url for seed in (found.taken if found is not None else ()))]
    if settings.back_links and topic.relevant and not goes_on and not asked.is_quiet:
        click.echo("reading the examples and who links to them; this may take some minutes", err=True)
    async with open_crawl(directory, topic, seeds, settings, found) as crawl:
        tally = _tally(directory, topic, settings)
        show = Logged() if spoken.is_json and not asked.as_json else chosen(asked.as_json)
        watch = Watch(crawl, tally, directory)
        spoken.call(watch.labels.get("worker", ""))
        with written(directory / "crawl.log", spoken.formatter):
            show.start(str(directory), goes_on)
            if not settings.contact and not asked.is_quiet:
                click.echo("no --contact is given: hosts cannot tell you when something goes wrong", err=True)
            async with watched(asked.metrics, watch) as where:
                if where and not asked.is_quiet:
                    click.echo(f"metrics at {where}", err=True)
                stop = await _shown(crawl, tally, show)
    _closing_words(asked, directory, stop, tally)
    if stop == Stop.INTERRUPTED:
        return INTERRUPTED
    # Where many work on one crawl, others may have fetched it all.
    return 0 if tally.pages or settings.frontier else NOTHING_FETCHED


def occupied(directory: Path) -> bool:
    """Whether there is a crawl in the directory."""
    from topicrawl.collection import directory as directories  # not for `--help`

    return directories.occupied(directory)


async def _shown(crawl: Crawl, tally: Tally, show: Show) -> Stop:
    """Consume the visits and show them."""
    log = logging.getLogger("topicrawl")
    restore = on_signals(crawl.interrupt, quiet=isinstance(show, Logged))
    log.info("start: %d pages so far", tally.pages, extra={"event": "start", "pages": tally.pages})
    import asyncio  # not for `--help`

    ticker = asyncio.create_task(_ticks(crawl, tally, show))
    try:
        async for visit in crawl.visits():
            tally.count(visit, time.monotonic())
            show.visit(visit)
    finally:
        ticker.cancel()
        restore()
        reason = crawl.stopped or Stop.INTERRUPTED
        counts = await _counts(crawl, tally)
        log.info("stop: %s, %s", reason, tally.line(counts), extra={"event": "stop", "reason": str(reason)})
        show.stop(tally, counts, reason)
    return reason


async def _ticks(crawl: Crawl, tally: Tally, show: Show) -> None:
    """The figures keep moving while hosts keep us waiting."""
    import asyncio

    while True:
        show.tick(tally, await _counts(crawl, tally), crawl)
        await asyncio.sleep(_TICK)


async def _counts(crawl: Crawl, tally: Tally) -> Counts:
    """How many links wait; the tally learns what they may be good for."""
    counts = await crawl.parts.frontier.counts()
    if crawl.parts.discoveries is not None:
        tally.outlook = crawl.parts.discoveries.outlook(counts.waiting + counts.leased)
    return counts


def _tally(directory: Path, topic: Topic, settings: Settings) -> Tally:
    """The figures of earlier runs, to count on from."""
    from topicrawl.collection import report
    from topicrawl.collection.store import Store

    tally = Tally(topic, settings.pages)
    store = Store(directory / "topicrawl.sqlite", readonly=True)
    try:
        tally.pages, tally.relevant = report.harvest(store, topic.threshold)
        tally.failed.update(report.failures(store))
        tally.hosts.update(report.hosts(store))
    finally:
        store.close()
    return tally


def _closing_words(asked: Asked, directory: Path, stop: Stop, tally: Tally) -> None:
    if asked.is_quiet:
        return
    if tally.last is None and stop == Stop.PAGES:
        click.echo(f"nothing to do: {tally.pages} pages are kept; ask for more with --pages N", err=True)
        return
    if tally.last is None and stop == Stop.FOUND:
        click.echo(f"{stop}: {tally.pages} pages are kept; to go on all the same: --stop-when-found 0", err=True)
        return
    told = f", {tally.outlook.words}" if tally.outlook is not None and not tally.outlook.doubt else ""
    click.echo(
        f"{stop}: {tally.pages} pages, {tally.relevant} relevant ({tally.harvest:.0%}){told} in {directory}", err=True
    )
    if not tally.pages:
        failed = tally.failed.most_common(3)
        reasons = ", ".join(f"{name} {count}" for name, count in failed) or "no seed answered"
        advice = _ADVICE.get(failed[0][0] if failed else "", f"check the seeds and {directory}/crawl.log")
        click.echo(f"no page could be fetched ({reasons}): {advice}", err=True)
    elif tally.best and stop != Stop.INTERRUPTED:
        click.echo(f"next: topicrawl status {directory}   topicrawl why {directory} {tally.best}", err=True)
    if stop in (Stop.INTERRUPTED, Stop.UNREACHABLE):
        click.echo("the same command goes on where it was", err=True)
