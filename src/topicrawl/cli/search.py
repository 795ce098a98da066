"""`topicrawl search`: search collections on this machine and on other servers."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import to_builtins

from topicrawl.cli.event_loop import run_async
from topicrawl.cli.setting_options import add_network_options, build_network_settings
from topicrawl.errors import UsageError

if TYPE_CHECKING:
    from topicrawl.search import Feedback, LocalServer, SearchResults, SearchServer

_SERVER_SCHEMES = ("http://", "https://")  # beginnings of the URLs of other servers
_PROGRESS_INTERVAL = 1.0  # seconds between two lines of progress


@click.command("search")
@click.argument("query")
@click.argument("sources", nargs=-1)
@click.option("-n", "--count", type=click.IntRange(1, 100), default=10, show_default=True, help="Number of hits.")
@click.option("--offset", type=click.IntRange(0, 1000), default=0, help="Skip this many hits.")
@click.option("--like", metavar="URL", help="Find pages similar to this page of a collection; omit QUERY.")
@click.option("--relevant", multiple=True, metavar="URL", help="Feedback: this hit is relevant; may be repeated.")
@click.option("--irrelevant", multiple=True, metavar="URL", help="Feedback: this hit is irrelevant; may be repeated.")
@click.option(
    "--topic",
    "topic_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a topic that includes the feedback to this file, for a crawl.",
)
@click.option("--most", type=click.IntRange(1), help="Query at most this many collections.")
@click.option("--all-collections", is_flag=True, help="Query all collections, also those that are unlikely to match.")
@click.option("--facets", is_flag=True, help="Count the matching pages by host, language, type and other properties.")
@click.option("--summaries", is_flag=True, help="Show the main sentences of each page instead of the matching text.")
@click.option(
    "--undo-feedback", metavar="ID", default="", help="Undo earlier feedback, whose id the command has printed."
)
@click.option("--overlap", is_flag=True, help="Show the overlap of the collections.")
@click.option(
    "--all-pages/--relevant-pages",
    default=None,
    help="Index all pages of the directories, or only the relevant ones again; stored in the index.",
)
@click.option("--token", default="", envvar="TOPICRAWL_TOKEN", help="The token for servers that require one.")
@add_network_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def search_command(query: str, sources: tuple[str, ...], **options: Any) -> None:
    """Search the pages of crawls. SOURCES are directories of crawls and URLs of other servers.

    Relevant pages that are new are indexed first, also while the crawl is running. The last verdict on a page decides
    whether it is relevant. A query is a sentence or an abstract, or contains words, "phrases", +required, -excluded,
    prefix*, and fields: title: text: url: host: language: type: tag: relevance: verdict: since: before:. Collections
    that are unlikely to match are not queried. All queried collections store the feedback.

    \b
    Examples:
      topicrawl search "dengue vaccine" dengue-fever
      topicrawl search 'title:dengue "yellow fever" host:who.int since:2026-01-01' dengue-fever malaria
      topicrawl search "dengue vaccine" dengue-fever https://search.example.org --json
      topicrawl search "dengue vaccine" dengue-fever --relevant https://example.org/good --topic better.toml
      topicrawl search --like https://example.org/good dengue-fever
    """
    if options["like"]:
        query, sources = "", (query, *sources)
    if not sources:
        raise UsageError('give the collections after the query: topicrawl search "dengue fever" DIRECTORY')
    results, feedback = run_async(_run_search(query, sources, options))
    if options["topic_file"] is not None:
        _write_topic(options["topic_file"], sources, feedback)
    if options["as_json"]:
        click.echo(json.dumps(to_builtins(results), ensure_ascii=False))
        return
    _print_results(results)


async def _run_search(
    query: str, sources: Sequence[str], options: dict[str, Any]
) -> tuple[SearchResults, Feedback | None]:
    """Index new pages, store the feedback and run the query. Return the results, and the feedback or None."""
    from topicrawl import search
    from topicrawl.search.index_file import select_all_pages

    local, servers = _open_servers(sources, options)
    if options["all_pages"] is not None:
        for directory in (Path(name) for name in sources if not name.startswith(_SERVER_SCHEMES)):
            select_all_pages(directory, all_pages=options["all_pages"])
    try:
        await local.update_indexes(_IndexingProgress().update)
        feedback = None
        if options["relevant"] or options["irrelevant"]:
            judged = options["relevant"], options["irrelevant"]
            feedback = await search.submit_feedback(servers, query, *judged, at=time.time())
            click.echo(
                f"feedback {feedback.id} changes this query and similar ones; --undo-feedback undoes it", err=True
            )
        if options["undo_feedback"]:
            await search.undo_feedback(servers, options["undo_feedback"])
        scope = search.SearchScope((), options["all_collections"], options["most"])
        if options["like"]:
            return await search.find_similar_pages(
                servers, options["like"], count=options["count"], scope=scope
            ), feedback
        parsed = search.Query(
            query,
            options["count"],
            options["offset"],
            facets=options["facets"],
            summaries=options["summaries"],
        )
        return await search.search_servers(servers, parsed, scope=scope, overlap=options["overlap"]), feedback
    finally:
        await local.close()


def _open_servers(sources: Sequence[str], options: dict[str, Any]) -> tuple[LocalServer, list[SearchServer]]:
    """Return the server of the local collections, and the list of all servers."""
    from topicrawl.engine.http_setup import build_http_settings
    from topicrawl.search import LocalServer, RemoteServer

    settings = build_http_settings(build_network_settings(options))
    peers = [name for name in sources if name.startswith(_SERVER_SCHEMES)]
    local = LocalServer([Path(name) for name in sources if name not in peers])
    return local, [local, *(RemoteServer(address, settings, token=options["token"]) for address in peers)]


def _write_topic(path: Path, sources: Sequence[str], feedback: Feedback | None) -> None:
    """Write the topic of the first local collection, extended by the feedback, to a file.

    Raise `UsageError` if no local collection or no feedback is given.
    """
    from topicrawl.collection.directory import load_crawl_topic
    from topicrawl.database import translate_errors, write_text_file
    from topicrawl.search import apply_feedback

    directories = [Path(name) for name in sources if not name.startswith(("http://", "https://"))]
    if feedback is None or not directories:
        raise UsageError("--topic needs the directory of a crawl and feedback: give --relevant or --irrelevant")
    with translate_errors(path):
        write_text_file(path, apply_feedback(load_crawl_topic(directories[0]), feedback).to_toml())
    click.echo(f"topic with feedback written to {path}", err=True)


def _print_results(results: SearchResults) -> None:
    bold = sys.stdout.isatty()
    for number, hit in enumerate(results.hits, results.query.offset + 1):
        title = _replace_control_characters(hit.title) or hit.url
        click.echo(f"{number:3}. {click.style(title, bold=True) if bold else title}")
        facts = [f"score {hit.score:.2f}", f"relevance {hit.relevance:.2f}", hit.verdict, ", ".join(hit.collections)]
        click.echo(f"     {hit.url}  ({'; '.join(filter(None, facts))})")
        snippet = ""
        for text, is_match in hit.snippet:
            snippet += (
                click.style(_replace_control_characters(text), bold=True)
                if is_match and bold
                else _replace_control_characters(text)
            )
        if snippet and not hit.summary:
            click.echo(f"     {snippet}")
        for sentence in hit.summary:
            click.echo(f"     {_replace_control_characters(sentence)}")
        for copy in hit.copies:
            click.echo(f"     also at {copy}")
    queried = [collection for collection in results.asked if collection.chosen]
    summary = f"{results.found} pages match in {len(queried)} of {len(results.asked)} collections"
    click.echo(f"{summary}, {results.seconds * 1000:.0f} ms", err=True)
    if skipped := sum(not collection.chosen and not collection.trouble for collection in results.asked):
        noun = "1 collection is" if skipped == 1 else f"{skipped} collections are"
        click.echo(f"{noun} unlikely to match; --all-collections searches all", err=True)
    for facet, counts in results.facets.items():
        values = ", ".join(f"{_replace_control_characters(value)} {count}" for value, count in list(counts.items())[:8])
        if values:
            click.echo(f"{facet}: {values}", err=True)
    for collection in results.asked:
        if collection.trouble:
            click.echo(f"no answer: {collection.name}: {collection.trouble}", err=True)
    for overlap in results.overlaps:
        smaller = f"the smaller of {overlap.one} and {overlap.other}"
        click.echo(f"{overlap.share:.0%} of the pages of {smaller} are in both", err=True)


def _replace_control_characters(text: str) -> str:
    """Replace control characters, which could change the state of the terminal, by spaces."""
    return "".join(character if character.isprintable() else " " for character in text)


class _IndexingProgress:
    """Print a line every second while pages are indexed."""

    def __init__(self) -> None:
        self._next_update = time.monotonic() + _PROGRESS_INTERVAL

    def update(self, name: str, pages: int) -> None:
        """Print the number of indexed pages if the last line is old enough."""
        if (now := time.monotonic()) >= self._next_update:
            self._next_update = now + _PROGRESS_INTERVAL
            click.echo(f"indexed {pages} new pages, currently in {name}", err=True)
