"""The option `--embedding` of the commands that judge pages without a crawl."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from topicrawl.text.embedding import BUILT_IN, check_embedding

Command = TypeVar("Command", bound=Callable[..., Any])


def add_embedding_option(command: Command) -> Command:
    """Add the option `--embedding`. Its value is checked when the options are parsed."""
    return click.option(
        "--embedding",
        default=BUILT_IN,
        show_default=True,
        metavar="TEXT",
        callback=_check_value,
        help="Word vectors: built-in (English), none, model2vec:DIRECTORY, or your own as module:Class.",
    )(command)


def _check_value(context: click.Context, parameter: click.Parameter, value: str) -> str:
    check_embedding(value)
    return value
