"""`topicrawl lab web` and `topicrawl lab serve`: the made-up web, as a recording and as servers on this machine."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING

import click

from topicrawl.errors import SpaceError, UsageError

if TYPE_CHECKING:
    from topicrawl.lab.sample import SampleWeb


@click.command("web")
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--pages", default=4000, show_default=True, type=click.IntRange(400, 100_000), help="Pages.")
@click.option("--hosts", default=60, show_default=True, type=click.IntRange(20, 5000), help="Sites.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0), help="Another number, another web.")
def web(out: Path, pages: int, hosts: int, seed: int) -> None:
    """Write a made-up web into the new directory OUT, as a recorded web with labels and tasks.

    \b
    Example:
      topicrawl lab web sample-web
      topicrawl lab compare sample-web --strategies best_first,shark_search --budget 400 --out compared
    """
    from topicrawl.lab.sample import SampleWeb

    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} exists; name another directory or take it away")
    made = SampleWeb(seed=seed, pages=pages, hosts=hosts)
    try:
        out.mkdir(parents=True, exist_ok=True)
        made.write(out)
    except OSError as error:
        kind = SpaceError if error.errno in (errno.ENOSPC, errno.EDQUOT) else UsageError
        raise kind(f"{out} cannot be written: {error.strerror}") from error
    click.echo(f"{out}: a made-up web of {made.pages} pages and {len(made.topics)} topics", err=True)


@click.command("serve")
@click.option("--port", default=8200, show_default=True, type=click.IntRange(0, 65535), help="0: any that is free.")
@click.option("--settings", type=click.Path(path_type=Path), help="Write the settings that a crawl of it needs here.")
@click.option("--pages", default=4000, show_default=True, type=click.IntRange(400, 100_000), help="Pages.")
@click.option("--hosts", default=60, show_default=True, type=click.IntRange(20, 5000), help="Sites.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0), help="Another number, another web.")
def serve(port: int, settings: Path | None, pages: int, hosts: int, seed: int) -> None:
    """Serve a made-up web to crawls on this machine, until Ctrl-C.

    Its host names exist nowhere else, so a crawl needs to be told where they are: that is what --settings writes.

    \b
    Example:
      topicrawl lab serve --port 8200 --settings local.toml
    """
    import asyncio

    from topicrawl.lab.sample import SampleWeb

    made = SampleWeb(seed=seed, pages=pages, hosts=hosts)
    if settings is not None:
        _written(settings, _reach(made))
    try:
        asyncio.run(_served(made, port, settings))
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        raise UsageError(f"port {port} cannot be opened: {error.strerror}; name another with --port") from error


def _reach(made: SampleWeb) -> str:
    """Settings for a crawl of it."""
    names = "\n".join(f'    "{name}=127.0.0.1",' for name in made.hosts)
    return f'# The made-up web of `topicrawl lab serve`.\nallow_net = ["127.0.0.0/8"]\nresolve = [\n{names}\n]\n'


def _written(path: Path, text: str) -> None:
    try:
        if path.exists() and path.read_text("utf-8", "replace") != text:
            raise UsageError(f"{path} exists and says something else; name another file with --settings")
        path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


async def _served(made: SampleWeb, port: int, settings: Path | None) -> None:
    import asyncio

    from topicrawl.cli.loop import on_signals
    from topicrawl.lab.serve import Server

    stop = asyncio.Event()
    async with Server(made, port=port) as server:
        restore = on_signals(stop.set, quiet=True)
        topic = next(iter(made.topics))
        seeds = " ".join(f"--seed {url}" for url in server.web.seeds(topic)[:2])
        config = f"--config {settings} " if settings else ""
        click.echo(f"a made-up web of {made.pages} pages is here, on port {server.port}. Ctrl-C ends it.")
        click.echo(f'try: topicrawl crawl "{topic}" {config}--delay 0.2 --pages 60 {seeds}')
        try:
            await stop.wait()
        finally:
            restore()
