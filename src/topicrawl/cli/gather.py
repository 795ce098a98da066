"""`topicrawl gather`: merge the directories of several workers into one collection."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click


@click.command("gather")
@click.argument("out", type=click.Path(path_type=Path))
@click.argument("workers", nargs=-1, required=True)
@click.option("--distinct/--no-distinct", default=True, help="Remove duplicate pages. [default: --distinct]")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def gather_command(out: Path, workers: tuple[str, ...], *, distinct: bool, as_json: bool) -> None:
    """Merge the directories of WORKERS into one collection OUT, as if one machine had run the crawl.

    The directories of the workers are not changed. They may be copies from other machines, or the URL of the object
    store that the crawl used as --store. The waiting links of crawls without --frontier are merged too, so `topicrawl
    crawl --out OUT` can continue the crawl.

    \b
    Examples:
      topicrawl gather dengue-fever-all dengue-fever dengue-fever-1 dengue-fever-2
      topicrawl gather dengue-fever-all s3://bucket/dengue-fever
    """
    from tempfile import TemporaryDirectory

    from topicrawl.cluster.object_store import resolve_directories

    with TemporaryDirectory() as folder:
        _merge_workers(out, resolve_directories(workers, Path(folder)), distinct=distinct, as_json=as_json)


def _merge_workers(out: Path, workers: Sequence[Path], *, distinct: bool, as_json: bool) -> None:
    """Merge the collections into the new directory `out`, merge their frontiers, and print a summary."""
    import asyncio

    from topicrawl import parse
    from topicrawl.cluster.gather import CollectionMerger, check_sources, merge_frontiers
    from topicrawl.collection.directory import Collection, load_crawl_topic
    from topicrawl.parse.parser_cache import ParserCache

    facts, is_terminal = check_sources(out, workers), sys.stderr.isatty()
    with Collection(out, load_crawl_topic(workers[0]), facts) as collection:
        parse_page = partial(parse.parse_response, context=False, cache=ParserCache())
        merge = CollectionMerger(collection, workers, parse_page, distinct=distinct)
        for number in merge.run():
            if is_terminal:
                click.echo(f"\r{number} visits", nl=False, err=True)
        waiting = asyncio.run(merge_frontiers(collection, workers))
    done, start = merge.result, "\r" if is_terminal else ""
    if as_json:
        click.echo(json.dumps({"event": "gather", "directory": str(out), **asdict(done), "waiting": waiting}))
        return
    click.echo(
        f"{start}{done.pages} pages in {out}; {done.failed} failures, {done.repeated} repeated visits, "
        f"{done.duplicates} duplicate pages, {waiting} waiting links",
        err=True,
    )
