"""`topicrawl worker`: add a worker to a crawl whose frontier is in Redis."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path
from typing import Any

import click

from topicrawl.cli.crawl import CrawlOptions, run_crawl
from topicrawl.cli.event_loop import run_async
from topicrawl.cli.logs import LoggingSession
from topicrawl.cli.observability import add_observability_options, warn_about_password
from topicrawl.cli.setting_options import add_network_options, collect_network_settings, get_given_settings
from topicrawl.collection.directory import is_crawling


@click.command("worker")
@click.argument("address")
@click.argument("name")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The directory of the worker. [default: the first NAME-N without a running worker]",
)
@click.option("--concurrency", type=int, metavar="N", help="Concurrent fetches. [default: the setting of the crawl]")
@click.option("--seconds", type=float, metavar="X", help="Stop after this many seconds. [default: no limit]")
@click.option(
    "--min-free", type=int, metavar="N", help="Stop when the disk has less than this many MB free. [default: 100]"
)
@click.option("--json", "as_json", is_flag=True, help="Write events as JSON lines to standard output.")
@add_network_options
@add_observability_options
def worker_command(address: str, name: str, out: Path | None, as_json: bool, **given: Any) -> None:
    """Work on the crawl NAME in the Redis at ADDRESS. The topic, strategy and settings are read from Redis.

    The worker stores its pages in its own directory; `topicrawl gather` merges the directories of all workers. A
    worker that is started again in its directory resumes. The password is read from REDISCLI_AUTH, or from the file
    whose path is in TOPICRAWL_REDIS_PASSWORD_FILE.

    \b
    Examples:
      topicrawl crawl "dengue fever" --seed https://www.who.int/ --frontier redis://10.0.0.5:6379/0
      topicrawl worker redis://10.0.0.5:6379/0 dengue-fever          # on any number of other machines
      topicrawl worker rediss://crawler@redis.lan:6380/0?ssl_ca_certs=/etc/ca.pem dengue-fever --metrics 127.0.0.1:9400
    """
    import asyncio

    from topicrawl.cluster.worker_session import load_crawl_config

    metrics, log_format = given.pop("metrics"), given.pop("log_format")
    setting_options = {**collect_network_settings(given), **get_given_settings(given)}
    with LoggingSession(log_format) as logging_session:
        warn_about_password(address)
        topic, settings = asyncio.run(load_crawl_config(address, name, setting_options))
        directory = out or find_free_directory(name)
        options = CrawlOptions(
            words=None,
            topic_file=None,
            examples=None,
            seeds=(),
            seed_file=None,
            out=directory,
            config=None,
            as_json=as_json,
            metrics=metrics,
            log_format=log_format,
            on_completion="",
            webhook="",
            setting_options=setting_options,
        )
        sys.exit(run_async(run_crawl(options, (directory, topic, settings), None, logging_session)))


def find_free_directory(name: str) -> Path:
    """Return the first directory NAME-N in which no worker is running."""
    return next(path for number in count(1) if not is_crawling(path := Path(f"{name}-{number}")))
