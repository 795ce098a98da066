"""`topicrawl serve`: web interface of collections."""

from __future__ import annotations

import importlib.util
import os
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicrawl.cli.event_loop import run_async
from topicrawl.cli.setting_options import add_network_options, format_options, get_given_settings, load_config
from topicrawl.errors import UsageError

if TYPE_CHECKING:
    from topicrawl.search import SearchServer
    from topicrawl.settings import Settings

_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")
#: Environment variable with the token of this server.
_TOKEN_VARIABLE = "TOPICRAWL_SERVE_TOKEN"
_MIN_TOKEN_LENGTH = 16
_REQUIRED_LIBRARIES = ("starlette", "uvicorn", "jinja2")


@click.command("serve")
@click.argument("places", nargs=-1, type=click.Path(path_type=Path), metavar="DIR…")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8321, show_default=True, type=click.IntRange(0, 65535), help="0: any free port.")
@click.option("--name", "names", multiple=True, help="A host name that clients may use; may be repeated.")
@click.option(
    "--token/--no-token",
    default=None,
    help="Require a token, a new one or that in TOPICRAWL_SERVE_TOKEN. [default: if other machines can reach the "
    "server, or the variable is set]",
)
@click.option("--peer", "peers", multiple=True, metavar="URL", help="Another server to search; may be repeated.")
@click.option("--peer-token", default="", envvar="TOPICRAWL_TOKEN", help="The token for peers that require one.")
@add_network_options
def serve_command(places: tuple[Path, ...], host: str, port: int, names: tuple[str, ...], **options: Any) -> None:
    """Start the web interface: watch and steer crawls, review pages, record browsing sessions, search.

    DIR is the directory of a crawl, or a directory that contains crawls. New crawls are created in the first
    directory of the second kind. The default is the current directory. Crawls that are started here use the settings
    file and the network options of this command.

    \b
    Examples:
      topicrawl serve dengue-fever
      topicrawl serve collections/ --port 9000
      topicrawl serve collections/ --host 0.0.0.0 --name crawler.example.org   # prints an address with a token
    """
    config: Path | None = options["config"]
    for library in _REQUIRED_LIBRARIES:
        if importlib.util.find_spec(library) is None:
            raise UsageError(f"serve needs the library {library}: pip install 'topicrawl[web]'")
    from topicrawl.settings import Settings
    from topicrawl.web.app import create_app, secure_app
    from topicrawl.web.security import is_loopback
    from topicrawl.web.server import run_server

    given = get_given_settings(options)
    settings = Settings(**{**load_config(config), **given})  # reports errors in the file now
    given_token = _get_given_token()
    needs_token = bool(given_token) or not is_loopback(host) if options["token"] is None else bool(options["token"])
    token = (given_token or secrets.token_urlsafe(24)) if needs_token else ""
    config_path = config and config.resolve()
    app = create_app(
        places or (Path(),),
        config=config_path,
        crawl_options=format_options(given),
        peers=_build_peers(options, settings),
        use_subprocess=True,
    )
    host_names = [*(_LOOPBACK_NAMES if is_loopback(host) else (host,)), *(name.lower() for name in names)]
    try:
        run_server(
            secure_app(app, host_names=host_names, token=token),
            host,
            port,
            _make_announcer(host, names, "" if given_token else token),
            run=run_async,
        )
    finally:
        app.state.site.close()


def _get_given_token() -> str:
    """Return the token from the environment, "" if it is not set. Raise `UsageError` for one that is easy to guess."""
    token = os.environ.get(_TOKEN_VARIABLE, "")
    if token and (len(token) < _MIN_TOKEN_LENGTH or re.fullmatch(r"[A-Za-z0-9._~-]+", token) is None):
        raise UsageError(
            f"{_TOKEN_VARIABLE} must have at least {_MIN_TOKEN_LENGTH} letters, digits or characters of -._~; "
            "create one with `openssl rand -hex 24`"
        )
    return token


def _build_peers(options: dict[str, Any], settings: Settings) -> list[SearchServer]:
    """Return the peers. Requests to them go through the address guard."""
    from topicrawl.engine.http_setup import build_http_settings
    from topicrawl.search import RemoteServer

    http = build_http_settings(settings)
    return [RemoteServer(address, http, token=options["peer_token"]) for address in options["peers"]]


def _make_announcer(host: str, names: tuple[str, ...], token: str) -> Callable[[int], None]:
    """Return a function that prints the URL of the server, with a new token, when its port is known."""

    def announce(port: int) -> None:
        name = names[0] if names else f"[{host}]" if ":" in host else host
        click.echo(f"http://{name}:{port}/{f'?token={token}' if token else ''}", err=True)
        click.echo("Ctrl-C stops the server and the crawls that it started.", err=True)

    return announce
