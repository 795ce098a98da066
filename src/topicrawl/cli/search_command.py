"""`topicrawl search`: ask collections, here and on other servers."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicrawl.cli.loop import run
from topicrawl.errors import UsageError

if TYPE_CHECKING:
    from topicrawl.search import Answer, Feedback, Here, Server

_EVERY = 1.0  # seconds between two signs of life


@click.command("search")
@click.argument("query")
@click.argument("sources", nargs=-1)
@click.option("-n", "--count", type=click.IntRange(1, 100), default=10, show_default=True, help="Hits to show.")
@click.option("--offset", type=click.IntRange(0, 1000), default=0, help="Hits to pass over.")
@click.option("--like", metavar="URL", help="Pages like this one of a collection; there is no QUERY then.")
@click.option("--relevant", multiple=True, metavar="URL", help="This hit is right: learn from it; may be repeated.")
@click.option("--irrelevant", multiple=True, metavar="URL", help="This hit is wrong: learn from it; may be repeated.")
@click.option(
    "--topic",
    "topic_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write what was learned, as a topic for a crawl, to this file.",
)
@click.option("--most", type=click.IntRange(1), help="Ask at most so many collections.")
@click.option("--overlap", is_flag=True, help="Say how much the collections have in common.")
@click.option("--token", default="", envvar="TOPICRAWL_TOKEN", help="For servers that want one.")
@click.option("--allow-net", multiple=True, metavar="TEXT", help="A private network that may be asked.")
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON, for programs.")
def command(query: str, sources: tuple[str, ...], **options: Any) -> None:
    """Search the pages of crawls: SOURCES are their directories, and addresses of other servers.

    New pages are indexed before, also while the crawl goes on. A query holds words, "phrases", +must, -must not,
    begin*, and fields: title: text: url: host: language: relevance: verdict: since: before:. Collections that
    hardly have what is looked for are not asked. Feedback is remembered by all that were.

    \b
    Examples:
      topicrawl search "dengue vaccine" dengue-fever
      topicrawl search 'title:dengue "yellow fever" host:who.int since:2026-01-01' dengue-fever malaria
      topicrawl search "dengue vaccine" dengue-fever https://search.example.org --json
      topicrawl search "dengue vaccine" dengue-fever --relevant https://example.org/good --topic better.toml
      topicrawl search --like https://example.org/good dengue-fever
    """  # fmt: skip
    if options["like"]:
        query, sources = "", (query, *sources)
    if not sources:
        raise UsageError('name the collections after the query: topicrawl search "dengue fever" DIRECTORY')
    found, feedback = run(_searched(query, sources, options))
    if options["topic_file"] is not None:
        _write_topic(options["topic_file"], sources, feedback)
    if options["as_json"]:
        click.echo(json.dumps(dataclasses.asdict(found), ensure_ascii=False))
        return
    _show(found)


async def _searched(query: str, sources: Sequence[str], options: dict[str, Any]) -> tuple[Answer, Feedback | None]:
    from topicrawl import search

    here, servers = _servers(sources, options)
    try:
        await here.catch_up(_Progress().tick)
        feedback = None
        if options["relevant"] or options["irrelevant"]:
            judged = options["relevant"], options["irrelevant"]
            feedback = await search.judge(servers, query, *judged, at=time.time())
        if options["like"]:
            return await search.more_like(servers, options["like"], count=options["count"]), feedback
        asked = search.Query(query, options["count"], options["offset"])
        return await search.answer(servers, asked, most=options["most"], overlap=options["overlap"]), feedback
    finally:
        await here.close()


def _servers(sources: Sequence[str], options: dict[str, Any]) -> tuple[Here, list[Server]]:
    from topicrawl.fetch.guard import networks
    from topicrawl.fetch.settings import HttpSettings
    from topicrawl.search import Here, Peer

    settings = HttpSettings(allow=networks(options["allow_net"]))
    peers = [name for name in sources if name.startswith(("http://", "https://"))]
    here = Here([Path(name) for name in sources if name not in peers])
    return here, [here, *(Peer(address, settings, token=options["token"]) for address in peers)]


def _write_topic(path: Path, sources: Sequence[str], feedback: Feedback | None) -> None:
    """The topic of the first collection here, with what it has learned."""
    from topicrawl.collection.directory import topic_of
    from topicrawl.database import errors_of
    from topicrawl.search import taught

    here = [Path(name) for name in sources if not name.startswith(("http://", "https://"))]
    if feedback is None or not here:
        raise UsageError("--topic needs a directory and something to learn from: --relevant or --irrelevant")
    with errors_of(path):
        path.write_text(taught(topic_of(here[0]), feedback).toml(), "utf-8")
    click.echo(f"what was learned is in {path}", err=True)


def _show(answer: Answer) -> None:
    bold = sys.stdout.isatty()
    for number, hit in enumerate(answer.hits, answer.query.offset + 1):
        title = _line(hit.title) or hit.url
        click.echo(f"{number:3}. {click.style(title, bold=True) if bold else title}")
        facts = [f"score {hit.score:.2f}", f"relevance {hit.relevance:.2f}", hit.verdict, ", ".join(hit.collections)]
        click.echo(f"     {hit.url}  ({'; '.join(filter(None, facts))})")
        pieces = [click.style(_line(it), bold=True) if marked and bold else _line(it) for it, marked in hit.snippet]
        if pieces:
            click.echo(f"     {''.join(pieces)}")
        for copy in hit.copies:
            click.echo(f"     also at {copy}")
    asked = [it for it in answer.asked if it.chosen]
    said = f"{answer.found} pages match in {len(asked)} of {len(answer.asked)} collections"
    click.echo(f"{said}, {answer.seconds * 1000:.0f} ms", err=True)
    for it in answer.asked:
        if it.trouble:
            click.echo(f"no answer: {it.name}: {it.trouble}", err=True)
    for both in answer.overlaps:
        click.echo(f"{both.share:.0%} of the smaller of {both.one} and {both.other} is in both", err=True)


def _line(text: str) -> str:
    """Text of a page, without what would steer a terminal."""
    return "".join(character if character.isprintable() else " " for character in text)


class _Progress:
    """A line now and then while pages are indexed."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _EVERY

    def tick(self, name: str, pages: int) -> None:
        if (now := time.monotonic()) >= self._next:
            self._next = now + _EVERY
            click.echo(f"indexed {pages} new pages, now of {name}", err=True)
