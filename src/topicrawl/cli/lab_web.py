"""How commands of the lab open a recorded web: its cache, and what is to be said about it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from topicrawl.lab.web import ParsedWeb

Command = TypeVar("Command", bound=Callable[..., Any])


def cache_options(command: Command) -> Command:
    """The options `--cache` and `--no-cache`."""
    where = "Folder for parsed pages. [default: ~/.cache/topicrawl]"
    command = click.option("--no-cache", is_flag=True, help="Neither read nor keep parsed pages.")(command)
    return click.option("--cache", type=click.Path(path_type=Path), help=where)(command)


def opened_web(path: Path, cache: Path | None, *, cached: bool) -> ParsedWeb:
    """The web; what is wrong with it or with its cache is said in one line each, and is no reason to stop."""
    from topicrawl.lab.web import ParsedWeb

    web = ParsedWeb(path, cache=cache, cached=cached)
    for note in filter(None, (web.recording.torn, web.note)):
        click.echo(f"topicrawl: {note}", err=True)
    return web
