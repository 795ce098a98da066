"""`topicrawl seeds`: find the seed pages of a topic with search engines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from topicrawl.cli.seed_search import RESULTS_PER_ENGINE, SEARCH_TIMEOUT, SeedQuery, find_seeds, print_seeds
from topicrawl.cli.setting_options import add_network_options, build_network_settings
from topicrawl.database import translate_errors, write_text_file
from topicrawl.errors import SeedError
from topicrawl.seeds.election import ElectionResult
from topicrawl.seeds.voting import RANKING_METHODS


@click.command("seeds")
@click.argument("words")
@click.option("--engine", "engines", multiple=True, metavar="NAME", help="A search engine, see above; may be repeated.")
@click.option("--searxng", default="", metavar="URL", help="The URL of a SearXNG server. [default: SEARXNG_URL]")
@click.option(
    "--number", type=click.IntRange(1, 100), default=RESULTS_PER_ENGINE, show_default=True, help="Results per engine."
)
@click.option(
    "--votes", type=click.IntRange(1), help="Engines that must find a page. [default: 2, or 1 if only one answers]"
)
@click.option(
    "--negative", default="", metavar="TEXT", help="A query for irrelevant pages; -: WORDS with a minus sign."
)
@click.option(
    "--important", type=click.Choice(RANKING_METHODS), help="Fetch the pages and rank them by the links among them."
)
@click.option("--out", type=click.Path(path_type=Path), help="A file for `crawl --seeds`; .json: with all details.")
@click.option(
    "--examples", type=click.Path(path_type=Path), help="A file for `crawl --examples`, one page per line: url⇥label."
)
@click.option("--json", "as_json", is_flag=True, help="Print all details as JSON.")
@add_network_options
def seeds_command(**options: Any) -> None:
    """Query search engines for pages about a topic, and choose the seeds by a vote of the engines.

    An engine votes for the pages among its first --number results. A page with at least --votes votes is relevant and
    becomes a seed; by default it needs two votes, or one if only one engine answers. A page that all answering engines
    find, three or more, is most relevant. Engines that fail, time out or return invalid results are reported and have
    no vote.

    \b
    Engines (default: all configured engines):
      ddgs, ddgs:mojeek         the library ddgs: pip install 'topicrawl[search]'
      searxng, searxng:google   the engines of a SearXNG server with JSON output
      brave                     the Brave Search API; the key is read from BRAVE_API_KEY
      commoncrawl:who.int       URLs of a domain that contain the words
      recorded:found.json       recorded results of an earlier --out found.json
      mine:Provider             your own class Provider in mine.py

    \b
    Examples:
      topicrawl seeds "dengue fever" --out seeds.txt
      topicrawl seeds "dengue fever" --searxng https://searx.example.org --engine searxng:google --engine searxng:bing
      topicrawl seeds "dengue fever" --negative - --examples examples.tsv --out seeds.json
    """
    found = find_seeds(_build_query(options))
    print_seeds(found)
    if options["out"] is not None:
        _write_file(options["out"], _format_seeds(found, options["out"]))
    if options["examples"] is not None:
        _write_file(options["examples"], found.to_example_lines())
    if options["as_json"]:
        click.echo(json.dumps(found.to_dict(), ensure_ascii=False, indent=1))
    elif options["out"] is None:
        for seed in found.selected_seeds:
            click.echo(seed.url)
    if not found.selected_seeds:
        raise SeedError(f"no page has {found.votes} votes: lower --votes, or raise --number for more results")


def _build_query(options: dict[str, Any]) -> SeedQuery:
    """Check the options and convert them to a query."""
    if not options["words"].strip():
        raise SeedError('no topic given, for example: topicrawl seeds "dengue fever"')
    if not options["words"].isprintable() or not options["negative"].isprintable():
        raise SeedError("the words are not valid text: write them on one line, in UTF-8")
    if options["negative"] and not options["negative"].strip():
        raise SeedError("the negative query is empty: write some words, or - for the words of the topic with a minus")
    if options["out"] is not None and options["out"] == options["examples"]:
        raise SeedError("--out and --examples are the same file: give two different files")
    return SeedQuery(
        words=" ".join(options["words"].split()),
        engines=options["engines"],
        searxng=options["searxng"],
        number=options["number"],
        votes=options["votes"],
        negative=options["negative"].strip(),
        important=options["important"] or "",
        settings=build_network_settings(options, timeout=SEARCH_TIMEOUT),
    )


def _format_seeds(found: ElectionResult, path: Path) -> str:
    if path.suffix.lower() == ".json":
        return json.dumps(found.to_dict(), ensure_ascii=False, indent=1) + "\n"
    return found.to_seed_lines()


def _write_file(path: Path, text: str) -> None:
    with translate_errors(path):
        write_text_file(path, text)
    click.echo(f"written to {path}", err=True)
