"""Finds the first pages of a crawl by asking search engines, for `seeds` and for a `crawl` without seeds."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass, replace

import click

from topicrawl.cli.loop import run
from topicrawl.errors import SeedError
from topicrawl.seeds.asking import answers
from topicrawl.seeds.choice import providers
from topicrawl.seeds.found import Found, read_found, summary
from topicrawl.seeds.voting import USUAL, Group, elected, rejected, voters
from topicrawl.settings import Settings, within
from topicrawl.topic import Topic

PER_ENGINE = 20  # results, unless the user says otherwise
_PAUSE = 1.1  # seconds between two questions to the same engines: some allow one a second
_READ = 60  # pages whose links are looked at, at the most
MINUS = "-"  # stands for the words with a minus in front


@dataclass(frozen=True)
class Wanted:
    """What is asked of whom."""

    words: str
    engines: tuple[str, ...] = ()
    searxng: str = ""
    number: int = PER_ENGINE
    votes: int | None = None  # None: two, or one when a single engine answers
    negative: str = ""
    important: str = ""  # hits or pagerank
    timeout: float = 20.0
    contact: str = ""
    allow_net: tuple[str, ...] = ()
    proxy: str = ""
    delay: float = 1.0  # seconds between two pages of a host, where pages are read


def find(wanted: Wanted) -> Found:
    """Ask, count the votes, and look at the pages' links if that was asked for."""
    found = run(_asked(wanted))
    if not found.voters:
        troubles = "; ".join(f"{engine}: {trouble[:120]}" for engine, trouble in found.troubles.items())
        raise SeedError(
            f"no engine answered ({troubles}): try again later, ask others with --engine, or name the first pages "
            "yourself: topicrawl crawl --seed URL"
        )
    if wanted.votes is not None and wanted.votes > len(found.voters):
        raise SeedError(
            f"{wanted.votes} votes cannot be had from {len(found.voters)} engines ({', '.join(found.voters)}): "
            "ask for fewer with --votes, or more engines with --engine"
        )
    return _by_importance(found, wanted) if wanted.important else found


async def _asked(wanted: Wanted) -> Found:
    # The HTTP client and all: the help text needs none of it.
    from topicrawl.access import access
    from topicrawl.fetch.guard import networks
    from topicrawl.fetch.settings import HttpSettings

    settings = HttpSettings(
        contact=wanted.contact,
        total_timeout=wanted.timeout,
        proxy=wanted.proxy,
        allow=networks(wanted.allow_net),
    )
    chosen = providers(wanted.engines, access(settings, wanted.searxng))
    click.echo(f"asking {', '.join(provider.name for provider in chosen)}", err=True)
    told = await answers(chosen, wanted.words, wanted.number, wanted.timeout)
    votes = wanted.votes or max(1, min(USUAL, len(voters(told))))
    seeds = elected(told, votes)
    asked = [(wanted.words, answer) for answer in told]
    if negative := _negative(wanted):
        await asyncio.sleep(_PAUSE)
        denied = await answers(chosen, negative, wanted.number, wanted.timeout)
        seeds += rejected(denied, seeds, min(votes, max(1, len(voters(denied)))))
        asked += [(negative, answer) for answer in denied]
    return Found(wanted.words, tuple(seeds), tuple(asked), votes)


def _negative(wanted: Wanted) -> str:
    return f"-{wanted.words}" if wanted.negative == MINUS else wanted.negative


def _by_importance(found: Found, wanted: Wanted) -> Found:
    """Read the pages with all manners and put those first that the others link to."""
    from topicrawl.cli.topic_pages import Pages, Reach
    from topicrawl.seeds.importance import ordered

    names = [seed.url for seed in found.seeds if seed.group != Group.IRRELEVANT][:_READ]
    read = Pages(None, Reach(wanted.contact, wanted.delay, wanted.allow_net, wanted.proxy)).read(names)
    links = {url: [link.url for link in page.links] for url, page in read.items()}
    return replace(found, seeds=tuple(ordered(found.seeds, links, wanted.important)))


def show(found: Found) -> None:
    """The seeds and their votes for people, on standard error."""
    for engine, trouble in found.troubles.items():
        click.echo(f"{engine} has no vote: {trouble}", err=True)
    for engine, trouble in found.silences.items():
        click.echo(f"{engine} did not answer the negative query: {trouble}", err=True)
    if len(found.voters) < USUAL:
        click.echo(f"only {found.voters[0]} answered: its results are taken at its word", err=True)
    for seed in found.taken:
        click.echo(f"  {seed.url}\n      {summary(seed)}", err=True)
    rest = sum(seed.group == Group.ALONE for seed in found.seeds)
    counts = f"{len(found.taken)} seeds by {', '.join(found.voters)}; {rest} pages with too few votes"
    click.echo(counts + (f"; {len(found.irrelevant)} irrelevant" if found.irrelevant else ""), err=True)


def for_crawl(topic: Topic, settings: Settings, *, as_json: bool) -> Found:
    """The seeds of a crawl for which none was named; the user sees them."""
    found = find(
        Wanted(
            topic.name,
            settings.engine,
            settings.searxng,
            timeout=settings.timeout,
            contact=settings.contact,
            allow_net=settings.allow_net,
            proxy=settings.proxy,
        )
    )
    if settings.only:
        found = replace(found, seeds=tuple(seed for seed in found.seeds if within(settings.only, seed.url)))
    if as_json:
        seeds = [{"url": seed.url, "group": seed.group, "ranks": dict(seed.ranks)} for seed in found.taken]
        event = {"event": "seeds", "seeds": seeds, "voters": found.voters, "troubles": found.troubles}
        sys.stdout.write(json.dumps(event, ensure_ascii=False) + "\n")
    else:
        show(found)
    return _some(found, "the engines")


def told_again(text: str, where: str) -> Found:
    """The seeds of an earlier election, from the text of its file."""
    return _some(read_found(text, where), where)


def _some(found: Found, where: str) -> Found:
    if not found.taken:
        raise SeedError(
            f"{where} found no page with {found.votes} votes: ask with other words by `topicrawl seeds`, "
            "or name pages with --seed URL"
        )
    return found
