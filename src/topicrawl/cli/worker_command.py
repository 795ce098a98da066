"""`topicrawl worker`: one more worker for a crawl that lives in Redis."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path
from typing import Any

import click

from topicrawl.cli.crawl_command import Asked, crawled
from topicrawl.cli.logs import Spoken
from topicrawl.cli.loop import run
from topicrawl.cli.watching import warn_of_password, with_watching
from topicrawl.collection.directory import crawling


@click.command("worker")
@click.argument("address")
@click.argument("name")
@click.option("--out", type=click.Path(path_type=Path), help="Its own directory. [default: NAME-1, the first free one]")
@click.option("--concurrency", type=int, metavar="N", help="Fetches under way at once. [default: as the crawl has it]")
@click.option("--seconds", type=float, metavar="X", help="Stop after this many seconds. [default: no limit]")
@click.option("--proxy", metavar="TEXT", help="An HTTP proxy for all requests, as a URL. [default: none]")
@click.option("--min-free", type=int, metavar="N", help="Stop when less than this many MB are free. [default: 100]")
@click.option("--json", "as_json", is_flag=True, help="Events as JSON lines on standard output.")
@with_watching
def command(address: str, name: str, out: Path | None, as_json: bool, **given: Any) -> None:
    """Work on the crawl NAME of the Redis at ADDRESS; topic, strategy and settings are read there.

    What the worker fetches goes into a directory of its own; `topicrawl gather` makes one collection of them all. A
    worker that is started again in its directory goes on. The password is read from REDISCLI_AUTH, or from the file
    that TOPICRAWL_REDIS_PASSWORD_FILE names.

    \b
    Examples:
      topicrawl crawl "dengue fever" --seed https://www.who.int/ --frontier redis://10.0.0.5:6379/0
      topicrawl worker redis://10.0.0.5:6379/0 dengue-fever          # on another machine, as often as you like
      topicrawl worker rediss://crawler@redis.lan:6380/0?ssl_ca_certs=/etc/ca.pem dengue-fever --metrics 127.0.0.1:9400
    """
    import asyncio

    from topicrawl.membership import invited

    metrics, log_format = given.pop("metrics"), given.pop("log_format")
    chosen = {option: value for option, value in given.items() if value is not None}
    with Spoken(log_format) as spoken:
        warn_of_password(address)
        topic, settings = asyncio.run(invited(address, name, chosen))
        directory = out or free(name)
        asked = Asked(
            words=None, topic_file=None, examples=None, seeds=(), seed_file=None, out=directory, config=None,
            as_json=as_json, metrics=metrics, log_format=log_format, given=chosen,
        )  # fmt: skip
        sys.exit(run(crawled(asked, (directory, topic, settings), None, spoken)))


def free(name: str) -> Path:
    """The first directory of that name that no worker is at work in."""
    return next(path for number in count(1) if not crawling(path := Path(f"{name}-{number}")))
