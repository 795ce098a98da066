"""A collection with hostile pages in it, and a server for it: real HTTP on loopback."""

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
from tests.cli.live import live_site

from topicrawl import Settings, Topic, open_crawl
from topicrawl.search import Server
from topicrawl.web.app import application, guarded
from topicrawl.web.running import bound
from topicrawl.web.site import Site

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'>"
ESCAPED = EVIL.replace("<", "&lt;").replace(">", "&gt;")
PAGES = 8


def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
    if path == "/robots.txt":
        return 404, {}, b""
    if path == "/":
        links = "".join(f'<p><a href="/owls/{n}">owls {n} {ESCAPED}</a></p>' for n in range(1, PAGES))
        links += "".join(f'<p><a href="/trains/{n}">steam {n} {ESCAPED}</a></p>' for n in range(1, 6))
        links += """<a href='/q?x="><script>alert(3)</script>'>owls</a> <a href="javascript:alert(4)">owls</a>"""
        return 200, {}, f"<title>hub {ESCAPED}</title><p>owls by night {ESCAPED}</p>{links}".encode()
    kind = path.split("/")[1][:6]
    return 200, {}, f"<title>{kind} {ESCAPED} {path[-1]}</title><p>All of {kind} {path[-1]} {ESCAPED}</p>".encode()


async def _crawled(directory: Path, site: str) -> None:
    # An order that does not depend on what the usual strategy is: hostile links must be left to wait.
    settings = Settings(
        pages=PAGES, strategy="best_first", delay=0.0, allow_net=("127.0.0.0/8",), distinct=False, documents=False
    )
    async with open_crawl(directory, Topic.of("owls"), [f"{site}/"], settings) as crawl:
        async for _ in crawl.visits():
            pass


def collected(directory: Path) -> str:
    """Crawl the hostile site into a directory; returns its address, where nobody answers any more."""
    with live_site(answer) as (site, _):
        asyncio.run(_crawled(directory, site))
    return site


@dataclass(frozen=True)
class Got:
    status: int
    headers: Mapping[str, str]
    text: str


@dataclass
class Client:
    """Asks as a browser would from a page of the server, unless told otherwise."""

    port: int
    site: Site
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def own(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, body: bytes | Iterator[bytes] | None = None, **headers: str) -> Got:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            sent = {**self.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
            line.request(method, path, body, sent, encode_chunked=body is not None and not isinstance(body, bytes))
            got = line.getresponse()
            return Got(got.status, {name.lower(): value for name, value in got.getheaders()}, got.read().decode())
        finally:
            line.close()

    def get(self, path: str, **fields: object) -> Got:
        return self.ask("GET", path + (f"?{urlencode(fields)}" if fields else ""))

    def post(self, path: str, **fields: object) -> Got:
        kind = "application/x-www-form-urlencoded"
        return self.ask("POST", path, urlencode(fields).encode(), origin=self.own, content_type=kind)


@contextmanager
def served(
    places: list[Path], *, token: str = "", config: Path | None = None, peers: Sequence[Server] = ()
) -> Iterator[Client]:
    """A server in a thread."""
    app = application(places, config=config, peers=peers)
    line = bound("127.0.0.1", 0)
    safe = guarded(app, names=["127.0.0.1", "localhost"], token=token)
    server = uvicorn.Server(uvicorn.Config(safe, log_level="error", lifespan="on", http="h11", ws="none"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[line])), daemon=True)
    thread.start()
    try:
        yield Client(line.getsockname()[1], app.state.site)
    finally:
        server.should_exit = True
        thread.join(20)
        app.state.site.close()
