"""HTTP server on loopback for `trial.py`: every manual on its own host name, and a landing page that links to them."""

from __future__ import annotations

import mimetypes
import threading
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import quote, urlsplit

from trial_manuals import HTML_SUFFIXES, Manual, normalize_path, read_file

ADDRESS = "127.0.0.1"
DOMAIN = "manuals.test"
PORTAL = "portal"
PORT = 18377  # fixed, so that the URLs are the same in every trial


class ManualServer:
    """The server; `with` starts and stops it."""

    def __init__(self, manuals: Iterable[Manual], port: int = PORT) -> None:
        self.manuals = {manual.name: manual for manual in manuals}
        self._port = port

    def __enter__(self) -> Self:
        handler = partial(ManualRequestHandler, self)
        try:
            self._http = ThreadingHTTPServer((ADDRESS, self._port), handler)
        except OSError:
            self._http = ThreadingHTTPServer((ADDRESS, 0), handler)  # another trial uses the port
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        """Port of the running server, the same for all host names."""
        return self._http.server_port

    @property
    def host_names(self) -> list[str]:
        """Host names of the landing page and of the manuals."""
        return [f"{name}.{DOMAIN}" for name in (PORTAL, *self.manuals)]

    def make_url(self, name: str, path: str = "") -> str:
        """Return the URL of a path on the host of a manual, or on the host of the landing page."""
        return f"http://{name}.{DOMAIN}:{self.port}/{quote(path)}"

    def list_page_urls(self, page: str) -> list[str]:
        """Return the URLs of a page name, such as `sqlite/fts5.html`. An index page has two."""
        name, _, path = page.partition("/")
        paths = [path]
        if path.rpartition("/")[2] == "index.html":
            paths.insert(0, path.removesuffix("index.html"))
        return [self.make_url(name, path) for path in paths]

    def get_page_name(self, url: str) -> str:
        """Return the page name of a URL: the manual and the normalized path, without the query."""
        parts = urlsplit(url)
        return f"{(parts.hostname or '').partition('.')[0]}/{normalize_path(parts.path)}"

    def build_landing_page(self) -> str:
        """Return the HTML page that links to the first page of every manual."""
        items = "\n".join(
            f'<li><a href="{escape(self.make_url(manual.name, get_first_path(manual)))}">{escape(manual.title)}</a>: '
            f"{escape(manual.description)}</li>"
            for manual in sorted(self.manuals.values(), key=lambda manual: manual.title.lower())
        )
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Manuals</title></head>\n<body>\n'
            f"<h1>Manuals</h1>\n<ul>\n{items}\n</ul>\n</body>\n</html>\n"
        )


def get_first_path(manual: Manual) -> str:
    """Return the URL path of the first page: empty for index.html."""
    return "" if manual.first == "index.html" else manual.first


class ManualRequestHandler(BaseHTTPRequestHandler):
    """Answer GET requests by the host name and the path."""

    protocol_version = "HTTP/1.1"
    # Headers and body are sent in one packet; otherwise delayed acknowledgements add 40 ms to every request.
    wbufsize = 1 << 20
    disable_nagle_algorithm = True

    def __init__(self, manual_server: ManualServer, *arguments: Any) -> None:
        self._manual_server = manual_server
        super().__init__(*arguments)

    def handle(self) -> None:
        """Answer requests until the client closes or resets the connection."""
        with suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        """Send the landing page, a file of a manual, a redirect to a folder, or a 404."""
        name = self.headers.get("Host", "").partition(".")[0]
        path = urlsplit(self.path).path
        manual = self._manual_server.manuals.get(name)
        if name == PORTAL and path == "/":
            self._send(200, self._manual_server.build_landing_page().encode(), "text/html; charset=utf-8")
        elif manual is None:
            self._send(404, b"not found", "text/plain")
        elif (file := manual.find_file(path)) is not None:
            self._send(200, read_file(file), guess_type(normalize_path(path)))
        elif manual.find_file(f"{path}/") is not None:
            self._send(301, b"", "text/plain", location=f"{path}/")
        else:
            self._send(404, b"not found", "text/plain")

    def _send(self, status: int, body: bytes, kind: str, *, location: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if location:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print no line per request."""


def guess_type(path: str) -> str:
    """Return the media type of a file name. HTML pages declare their own encoding."""
    if path.endswith(HTML_SUFFIXES):
        return "text/html"
    kind, encoding = mimetypes.guess_type(path)
    return "application/gzip" if encoding == "gzip" else kind or "application/octet-stream"
