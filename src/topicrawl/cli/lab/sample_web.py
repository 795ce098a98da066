"""`topicrawl lab web` and `topicrawl lab serve`: write a synthetic web as a recording, or serve it on this machine."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING

import click

from topicrawl.database import write_text_file
from topicrawl.errors import SpaceError, UsageError

if TYPE_CHECKING:
    from topicrawl.sample_web.web import SampleWeb


@click.command("web")
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--pages", default=4000, show_default=True, type=click.IntRange(400, 100_000), help="Number of pages.")
@click.option("--hosts", default=60, show_default=True, type=click.IntRange(20, 5000), help="Number of hosts.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0), help="Seed of the random generator.")
def web_command(out: Path, pages: int, hosts: int, seed: int) -> None:
    """Write a synthetic web to the new directory OUT, as a recorded web with labels and tasks.

    \b
    Examples:
      topicrawl lab web sample-web
      topicrawl lab compare sample-web --strategies best_first,shark_search --budget 400 --out compared
    """
    from topicrawl.sample_web.web import SampleWeb

    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} exists; give another directory or remove it")
    sample_web = SampleWeb(seed=seed, pages=pages, hosts=hosts)
    try:
        out.mkdir(parents=True, exist_ok=True)
        sample_web.write(out)
    except OSError as error:
        kind = SpaceError if error.errno in (errno.ENOSPC, errno.EDQUOT) else UsageError
        raise kind(f"{out} cannot be written: {error.strerror}") from error
    click.echo(f"{out}: a synthetic web of {sample_web.pages} pages and {len(sample_web.topics)} topics", err=True)


@click.command("serve")
@click.option("--port", default=8200, show_default=True, type=click.IntRange(0, 65535), help="0: any free port.")
@click.option("--settings", type=click.Path(path_type=Path), help="Write the settings for a crawl to this file.")
@click.option("--pages", default=4000, show_default=True, type=click.IntRange(400, 100_000), help="Number of pages.")
@click.option("--hosts", default=60, show_default=True, type=click.IntRange(20, 5000), help="Number of hosts.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0), help="Seed of the random generator.")
def serve_command(port: int, settings: Path | None, pages: int, hosts: int, seed: int) -> None:
    """Serve a synthetic web to crawls on this machine, until Ctrl-C.

    Its host names are not in the DNS. A crawl needs the settings that --settings writes to resolve them.

    \b
    Example:
      topicrawl lab serve --port 8200 --settings local.toml
    """
    import asyncio

    from topicrawl.sample_web.web import SampleWeb

    sample_web = SampleWeb(seed=seed, pages=pages, hosts=hosts)
    if settings is not None:
        _write_settings(settings, _build_settings(sample_web))
    try:
        asyncio.run(_serve_until_interrupted(sample_web, port, settings))
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        raise UsageError(f"port {port} cannot be opened: {error.strerror}; give another port with --port") from error


def _build_settings(sample_web: SampleWeb) -> str:
    """Return the settings for a crawl of the synthetic web, as TOML."""
    names = "\n".join(f'    "{name}=127.0.0.1",' for name in sample_web.hosts)
    comment = "# The synthetic web of `topicrawl lab serve`."
    return f'{comment}\nallow_net = ["127.0.0.0/8"]\nresolve = [\n{names}\n]\n'


def _write_settings(path: Path, text: str) -> None:
    """Write the settings file. Refuse to overwrite a file with other content."""
    try:
        if path.exists() and path.read_text("utf-8", "replace") != text:
            raise UsageError(f"{path} exists and has other content; give another file with --settings")
        write_text_file(path, text)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


async def _serve_until_interrupted(sample_web: SampleWeb, port: int, settings: Path | None) -> None:
    """Serve the synthetic web until a signal arrives. Print a crawl command to try, which needs a file `settings`."""
    import asyncio

    from topicrawl.cli.event_loop import install_signal_handlers
    from topicrawl.sample_web.server import SampleServer

    stop = asyncio.Event()
    async with SampleServer(sample_web, port=port) as server:
        restore = install_signal_handlers(stop.set)
        topic = next(iter(sample_web.topics))
        seeds = " ".join(f"--seed {url}" for url in server.web.get_seeds(topic)[:2])
        click.echo(
            f"serving a synthetic web of {sample_web.pages} pages on port {server.port}. Ctrl-C stops the server."
        )
        if settings is not None:
            click.echo(f'try: topicrawl crawl "{topic}" --config {settings} --delay 0.2 --pages 60 {seeds}')
        else:
            click.echo("a crawl needs a settings file with its host names: topicrawl lab serve --settings local.toml")
        try:
            await stop.wait()
        finally:
            restore()
