"""`topicrawl seeds`: from a phrase to the pages where a crawl may start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from topicrawl.cli.seed_finding import PER_ENGINE, Wanted, find, show
from topicrawl.database import errors_of
from topicrawl.errors import SeedError
from topicrawl.seeds.found import Found
from topicrawl.seeds.voting import METHODS
from topicrawl.settings import Settings


@click.command("seeds")
@click.argument("words")
@click.option("--engine", "engines", multiple=True, metavar="NAME", help="Whom to ask; may be repeated, see above.")
@click.option("--searxng", default="", metavar="URL", help="A SearXNG server. [default: SEARXNG_URL]")
@click.option("--number", type=click.IntRange(1, 100), default=PER_ENGINE, show_default=True, help="Results an engine.")
@click.option("--votes", type=click.IntRange(1), help="Engines that must have a page. [default: 2, 1 if one answers]")
@click.option("--negative", default="", metavar="TEXT", help="A query for irrelevant pages; -: the words with a minus.")
@click.option("--important", type=click.Choice(METHODS), help="Read the pages; those that others link to come first.")
@click.option("--out", type=click.Path(path_type=Path), help="A file for `crawl --seeds`; with all details as .json.")
@click.option("--examples", type=click.Path(path_type=Path), help="A file for `crawl --examples`: lines of url⇥label.")
@click.option("--json", "as_json", is_flag=True, help="All details as JSON on standard output.")
@click.option("--timeout", type=click.FloatRange(0.1, 600), default=20.0, show_default=True, help="Seconds a question.")
@click.option(
    "--delay", type=click.FloatRange(0), default=1.0, show_default=True, help="Seconds between pages of a host."
)
@click.option("--contact", default="", metavar="TEXT", help="Your address, told to every host in the user agent.")
@click.option("--proxy", default="", metavar="URL", help="An HTTP proxy for all requests.")
@click.option("--allow-net", multiple=True, metavar="TEXT", help="A private network that may be asked.")
def command(**options: Any) -> None:
    """Ask search engines for pages about a topic, and let them vote.

    What at least two engines find is relevant; what all of three or more find is most relevant. Engines that fail, are
    late or answer nonsense are named, and the others vote without them.

    \b
    Engines, all that are set up unless you name some:
      ddgs, ddgs:mojeek         the library ddgs: pip install 'topicrawl[search]'
      searxng, searxng:google   the engines of a SearXNG server that gives JSON
      brave                     Brave's API; its key is read from BRAVE_API_KEY
      commoncrawl:who.int       addresses on a domain that have the words in them
      recorded:found.json       answers of an earlier --out found.json
      mine:Provider             a class of your own, in mine.py

    \b
    Examples:
      topicrawl seeds "dengue fever" --out seeds.txt
      topicrawl seeds "dengue fever" --searxng https://searx.example.org --engine searxng:google --engine searxng:bing
      topicrawl seeds "dengue fever" --negative - --examples examples.tsv --out seeds.json
    """
    wanted = _wanted(options)
    found = find(wanted)
    show(found)
    if options["out"] is not None:
        _write(options["out"], _text(found, options["out"]))
    if options["examples"] is not None:
        _write(options["examples"], found.examples())
    if options["as_json"]:
        click.echo(json.dumps(found.table(), ensure_ascii=False, indent=1))
    elif options["out"] is None:
        for seed in found.taken:
            click.echo(seed.url)
    if not found.taken:
        raise SeedError(f"no page has {found.votes} votes: ask for fewer with --votes, or for more results: --number")


def _wanted(options: dict[str, Any]) -> Wanted:
    if not options["words"].strip():
        raise SeedError('what is the topic? for example: topicrawl seeds "dengue fever"')
    if not options["words"].isprintable() or not options["negative"].isprintable():
        raise SeedError("the words are not valid text: write them in UTF-8 and on one line")
    if options["negative"] and not options["negative"].strip():
        raise SeedError("the negative query has no words: write some, or - for the topic's with a minus")
    if options["out"] is not None and options["out"] == options["examples"]:
        raise SeedError("--out and --examples name the same file: give each its own")
    # The same mistakes are refused as in a crawl.
    Settings(contact=options["contact"], proxy=options["proxy"], allow_net=options["allow_net"])
    return Wanted(
        words=" ".join(options["words"].split()),
        engines=options["engines"],
        searxng=options["searxng"],
        number=options["number"],
        votes=options["votes"],
        negative=options["negative"].strip(),
        important=options["important"] or "",
        timeout=options["timeout"],
        contact=options["contact"],
        allow_net=options["allow_net"],
        proxy=options["proxy"],
        delay=options["delay"],
    )


def _text(found: Found, path: Path) -> str:
    if path.suffix.lower() == ".json":
        return json.dumps(found.table(), ensure_ascii=False, indent=1) + "\n"
    return found.text()


def _write(path: Path, text: str) -> None:
    with errors_of(path):
        path.write_text(text, "utf-8")
    click.echo(f"written to {path}", err=True)
