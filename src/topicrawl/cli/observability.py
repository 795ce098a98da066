"""Metrics and logging options of long-running commands."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from topicrawl.frontier.redis.address import has_password

if TYPE_CHECKING:
    from topicrawl.cli.progress import CrawlProgress
    from topicrawl.engine.crawl import Crawl

log = logging.getLogger("topicrawl")

Function = TypeVar("Function", bound=Callable[..., Any])


def add_observability_options(function: Function) -> Function:
    """Add `--metrics` and `--log-format`. Environment variables set them too, for systemd units and containers."""
    metrics = click.option(
        "--metrics",
        metavar="ADDRESS",
        default="",
        envvar="TOPICRAWL_METRICS",
        help="Serve Prometheus metrics at this address, such as 127.0.0.1:9400. [default: none]",
    )
    log_format = click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        envvar="TOPICRAWL_LOG_FORMAT",
        help="Format of crawl.log. With json, standard error is JSON lines too. [default: text]",
    )
    return metrics(log_format(function))


def warn_about_password(address: str) -> None:
    """Log a warning if a Redis address contains a password: other users of the machine can see the command line."""
    if address and has_password(address):
        log.warning(
            "the address contains a password, which all users of this machine can see: set REDISCLI_AUTH instead, "
            "or set TOPICRAWL_REDIS_PASSWORD_FILE to the path of a file with the password",
            extra={"event": "password"},
        )


def get_crawl_labels(crawl: Crawl, directory: Path) -> dict[str, str]:
    """Return the labels of all metrics: the crawl, and the worker in a shared crawl."""
    from topicrawl.frontier.redis.frontier import RedisFrontier  # not needed for `--help`

    frontier = crawl.context.frontier
    if not isinstance(frontier, RedisFrontier):
        return {"crawl": directory.absolute().name}
    return {"crawl": frontier.key_prefix.rpartition(":")[2], "worker": frontier.worker}


def check_metrics_address(address: str) -> None:
    """Raise `SettingError` if an address for metrics is not valid. An empty address is valid."""
    if address:
        from topicrawl.metrics import parse_address  # loads the metrics library

        parse_address(address)


@asynccontextmanager
async def expose_crawl_metrics(
    address: str, crawl: Crawl, progress: CrawlProgress, *, directory: Path
) -> AsyncIterator[str]:
    """Serve the metrics of a crawl at an address while the block runs, and yield their URL.

    With an empty address, serve nothing, do not load the metrics library, and yield an empty string.
    """
    if not address:
        yield ""
        return
    from topicrawl.cli.crawl_metrics import CrawlMetrics, serve_crawl_metrics

    metrics = CrawlMetrics(crawl, progress, directory, get_crawl_labels(crawl, directory))
    async with serve_crawl_metrics(address, metrics) as url:
        yield url
