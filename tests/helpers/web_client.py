"""Crawl a site with hostile pages, serve the collection in a thread, and send HTTP requests to the server."""

from __future__ import annotations

import asyncio
import http.client
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import uvicorn
from tests.helpers.live_site import live_site

from topicrawl import Settings, Topic, open_crawl
from topicrawl.search import SearchServer
from topicrawl.web.app import create_app, secure_app
from topicrawl.web.server import bind_socket, create_server_config
from topicrawl.web.site import Site

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'>"
ESCAPED = EVIL.replace("<", "&lt;").replace(">", "&gt;")
PAGES = 8


def respond_hostile(path: str) -> tuple[int, Mapping[str, str], bytes]:
    """Return the response of the hostile site for a path."""
    if path == "/robots.txt":
        return 404, {}, b""
    if path == "/":
        links = "".join(f'<p><a href="/owls/{n}">owls {n} {ESCAPED}</a></p>' for n in range(1, PAGES))
        links += "".join(f'<p><a href="/trains/{n}">steam {n} {ESCAPED}</a></p>' for n in range(1, 6))
        links += """<a href='/q?x="><script>alert(3)</script>'>owls</a> <a href="javascript:alert(4)">owls</a>"""
        return 200, {}, f"<title>hub {ESCAPED}</title><p>owls by night {ESCAPED}</p>{links}".encode()
    kind = path.split("/")[1][:6]
    return 200, {}, f"<title>{kind} {ESCAPED} {path[-1]}</title><p>All of {kind} {path[-1]} {ESCAPED}</p>".encode()


async def _crawl_site(directory: Path, site: str) -> None:
    # A fixed strategy, so that hostile links remain in the frontier whatever the default strategy is.
    settings = Settings(
        pages=PAGES, strategy="best_first", delay=0.0, allow_net=("127.0.0.0/8",), distinct=False, documents=False
    )
    async with open_crawl(directory, Topic.of("owls"), [f"{site}/"], settings) as crawl:
        async for _ in crawl.visits():
            pass


def crawl_hostile_site(directory: Path) -> str:
    """Crawl the hostile site into a directory and return its address; the site is stopped after the crawl."""
    with live_site(respond_hostile) as (site, _):
        asyncio.run(_crawl_site(directory, site))
    return site


@dataclass(frozen=True)
class ClientResponse:
    """An HTTP response."""

    status: int
    headers: Mapping[str, str]
    text: str


@dataclass
class WebClient:
    """HTTP client of one server; `post` sends requests like a page of the server in a browser."""

    port: int
    site: Site
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        """Origin of the server."""
        return f"http://127.0.0.1:{self.port}"

    def send_request(
        self, method: str, path: str, body: bytes | Iterator[bytes] | None = None, **headers: str
    ) -> ClientResponse:
        """Send a request; underscores in the names of `headers` stand for hyphens."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            sent = {**self.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
            is_chunked = body is not None and not isinstance(body, bytes)
            connection.request(method, path, body, sent, encode_chunked=is_chunked)
            response = connection.getresponse()
            response_headers = {name.lower(): value for name, value in response.getheaders()}
            return ClientResponse(response.status, response_headers, response.read().decode())
        finally:
            connection.close()

    def get(self, path: str, **fields: object) -> ClientResponse:
        """Send a GET request with the fields as the query string."""
        return self.send_request("GET", path + (f"?{urlencode(fields)}" if fields else ""))

    def post(self, path: str, **fields: object) -> ClientResponse:
        """Send the fields as a form of a page of the server."""
        content_type = "application/x-www-form-urlencoded"
        return self.send_request(
            "POST", path, urlencode(fields).encode(), origin=self.origin, content_type=content_type
        )


@contextmanager
def serve_collections(
    directories: list[Path], *, token: str = "", config: Path | None = None, peers: Sequence[SearchServer] = ()
) -> Iterator[WebClient]:
    """Run a server in a thread and yield a client for it."""
    app = create_app(directories, config=config, peers=peers)
    listener = bind_socket("127.0.0.1", 0)
    secured = secure_app(app, host_names=["127.0.0.1", "localhost"], token=token)
    server = uvicorn.Server(create_server_config(secured))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), daemon=True)
    thread.start()
    try:
        yield WebClient(listener.getsockname()[1], app.state.site)
    finally:
        server.should_exit = True
        thread.join(20)
        app.state.site.close()
