"""Options of commands that run for long: how others watch them, and how they speak."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import click

from topicrawl.frontier.redis_address import has_password

log = logging.getLogger("topicrawl")

Function = TypeVar("Function", bound=Callable[..., Any])


def with_watching(function: Function) -> Function:
    """The options of a command that may be watched. Each has a name in the environment, for units and containers."""
    metrics = click.option(
        "--metrics", metavar="ADDRESS", default="", envvar="TOPICRAWL_METRICS",
        help="Serve metrics for Prometheus there, such as 127.0.0.1:9400. [default: nowhere]",
    )  # fmt: skip
    log_format = click.option(
        "--log-format", type=click.Choice(["text", "json"]), default="text", envvar="TOPICRAWL_LOG_FORMAT",
        help="How crawl.log is written; json: standard error too, an object a line. [default: text]",
    )  # fmt: skip
    return metrics(log_format(function))


def warn_of_password(address: str) -> None:
    """A password on the command line can be read by everyone on the machine."""
    if address and has_password(address):
        log.warning(
            "the password stands in the address, where everyone on this machine can read it: put it into REDISCLI_AUTH "
            "or into the file that TOPICRAWL_REDIS_PASSWORD_FILE names",
            extra={"event": "password"},
        )
