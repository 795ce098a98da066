"""`topicrawl gather`: one collection out of the directories of many workers."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click


@click.command("gather")
@click.argument("out", type=click.Path(path_type=Path))
@click.argument("workers", nargs=-1, required=True)
@click.option("--distinct/--no-distinct", default=True, help="Leave out pages that repeat others. [default: yes]")
def command(out: Path, workers: tuple[str, ...], distinct: bool) -> None:
    """Make one collection OUT of the directories of WORKERS, as if one machine had made the crawl.

    The workers' directories are only read. They may be copies, brought here from other machines, or the path in an
    object store that the crawl had for --store.

    \b
    Example:
      topicrawl gather dengue-fever-all dengue-fever dengue-fever-1 dengue-fever-2
      topicrawl gather dengue-fever-all s3://bucket/dengue-fever
    """
    from tempfile import TemporaryDirectory

    from topicrawl.depot import directories

    with TemporaryDirectory() as folder:
        _gathered(out, directories(workers, Path(folder)), distinct=distinct)


def _gathered(out: Path, workers: Sequence[Path], *, distinct: bool) -> None:
    import asyncio

    from topicrawl import parse
    from topicrawl.collection.directory import Collection, topic_of
    from topicrawl.collection.merge import Merge, checked

    facts, live = checked(out, workers), sys.stderr.isatty()
    with Collection(out, topic_of(workers[0]), facts) as collection:
        merge = Merge(collection, workers, partial(parse.read, context=False), distinct=distinct)
        for number in merge.run():
            if live:
                click.echo(f"\r{number} visits", nl=False, err=True)
        urls = [row.requested for row in collection.store.visits()]
        asyncio.run(_settled(out / "frontier.sqlite", urls))
    done, start = merge.done, "\r" if live else ""
    click.echo(
        f"{start}{done.pages} pages in {out}; {done.failed} failures, {done.again} visits made twice, "
        f"{done.twins} pages that repeat others",
        err=True,
    )


async def _settled(path: Path, urls: Sequence[str]) -> None:
    """A frontier in which all that was visited is done, for `status` and `why`."""
    from topicrawl.frontier.contract import Rules
    from topicrawl.frontier.sqlite import Sqlite

    frontier = Sqlite(path, Rules(), time.time)
    try:
        for start in range(0, len(urls), 1000):
            await frontier.settle(urls[start : start + 1000], "fetched")
    finally:
        await frontier.close()
