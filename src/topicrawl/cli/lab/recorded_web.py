"""Open a recorded web for the commands of `topicrawl lab`, with the options of its page cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from topicrawl.lab.parsed_web import ParsedWeb

Command = TypeVar("Command", bound=Callable[..., Any])


def add_cache_options(command: Command) -> Command:
    """Add the options `--cache` and `--no-cache`."""
    help_text = "The folder of the cache of parsed pages. [default: ~/.cache/topicrawl]"
    command = click.option("--no-cache", is_flag=True, help="Do not use the cache of parsed pages.")(command)
    return click.option("--cache", type=click.Path(path_type=Path), help=help_text)(command)


def open_parsed_web(path: Path, cache: Path | None, *, cached: bool) -> ParsedWeb:
    """Open a recorded web. Print a warning if the recording is incomplete or the cache cannot be used."""
    from topicrawl.lab.parsed_web import ParsedWeb

    web = ParsedWeb(path, cache=cache, cached=cached)
    for note in filter(None, (web.recording.damage, web.note)):
        click.echo(f"topicrawl: {note}", err=True)
    return web
