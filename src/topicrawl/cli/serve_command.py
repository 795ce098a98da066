"""`topicrawl serve`: collections in a browser."""

from __future__ import annotations

import importlib.util
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicrawl.cli.loop import run
from topicrawl.errors import UsageError

if TYPE_CHECKING:
    from topicrawl.search import Server
    from topicrawl.settings import Settings

_LOCAL = ("127.0.0.1", "localhost", "::1")
_NEEDED = ("starlette", "uvicorn", "jinja2")


@click.command("serve")
@click.argument("places", nargs=-1, type=click.Path(path_type=Path), metavar="DIR…")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8321, show_default=True, type=click.IntRange(0, 65535), help="0: any that is free.")
@click.option("--name", "names", multiple=True, help="A host name that the server may be called by; may be repeated.")
@click.option("--token/--no-token", default=None, help="Ask for a token. [default: when other machines can reach it]")
@click.option("--config", type=click.Path(path_type=Path), help="Settings (TOML) of the crawls that are started here.")
@click.option("--peer", "peers", multiple=True, metavar="URL", help="Another server to search too; may be repeated.")
@click.option("--peer-token", default="", envvar="TOPICRAWL_TOKEN", help="For peers that want one.")
def command(places: tuple[Path, ...], host: str, port: int, names: tuple[str, ...], **options: Any) -> None:
    """Collections in a browser: watch and steer crawls, review pages, teach by browsing, search.

    DIR is the directory of a crawl, or one that holds several; new crawls go into the first such.
    Without DIR it is the current directory.

    \b
    Examples:
      topicrawl serve dengue-fever
      topicrawl serve collections/ --port 9000
      topicrawl serve collections/ --host 0.0.0.0 --name crawler.example.org   # prints an address with a token
    """
    config: Path | None = options["config"]
    for library in _NEEDED:
        if importlib.util.find_spec(library) is None:
            raise UsageError(f"serve needs {library}, which is not installed: pip install 'topicrawl[web]'")
    from topicrawl.settings import Settings, read_settings
    from topicrawl.web.app import application, guarded
    from topicrawl.web.running import serve
    from topicrawl.web.safety import is_loopback

    settings = Settings()
    if config is not None:
        settings = Settings(**read_settings(config))  # type: ignore[arg-type]  # a mistake in it shows now
    asks = not is_loopback(host) if options["token"] is None else bool(options["token"])
    token = secrets.token_urlsafe(24) if asks else ""
    whole = config and config.resolve()
    app = application(places or (Path(),), config=whole, peers=_peers(options, settings), beside=True)
    known = [*(_LOCAL if is_loopback(host) else (host,)), *(name.lower() for name in names)]
    try:
        serve(guarded(app, names=known, token=token), host, port, _told(host, names, token), run=run)
    finally:
        app.state.site.close()


def _peers(options: dict[str, Any], settings: Settings) -> list[Server]:
    """Other servers, asked through the address guard."""
    from topicrawl.fetch.guard import networks
    from topicrawl.fetch.settings import HttpSettings
    from topicrawl.search import Peer

    asked = HttpSettings(allow=networks(settings.allow_net), resolve=settings.addresses(), proxy=settings.proxy)
    return [Peer(address, asked, token=options["peer_token"]) for address in options["peers"]]


def _told(host: str, names: tuple[str, ...], token: str) -> Callable[[int], None]:
    def listening(port: int) -> None:
        shown = names[0] if names else f"[{host}]" if ":" in host else host
        click.echo(f"http://{shown}:{port}/{f'?token={token}' if token else ''}", err=True)
        click.echo("Ctrl-C ends it, and the crawls that were started from it.", err=True)

    return listening
