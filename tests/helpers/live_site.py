"""A small live site for tests: an HTTP server in a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SiteAnswer = Callable[[str], tuple[int, Mapping[str, str], bytes]]


@contextmanager
def live_site(answer: SiteAnswer) -> Iterator[tuple[str, list[str]]]:
    """Start the server. Yield its base URL and the list of requested paths, in order."""
    requested_paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16  # buffer a whole response: without a buffer, the system delays small packets

        def do_GET(self) -> None:
            requested_paths.append(self.path)
            status, headers, body = answer(self.path)
            self.send_response(status)
            for name, value in {"Content-Type": "text/html", **headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *values: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requested_paths
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def make_chain_site(length: int) -> SiteAnswer:
    """Return a site of pages /0, /1, … in which each page links to the next."""

    def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
        if path == "/robots.txt":
            return 200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /secret\n"
        number = path[1:]
        if not number.isdecimal() or int(number) >= length:
            return 404, {}, b"no such page"
        # Each page has words of its own: the crawler refuses an endless chain of pages without new words as a trap.
        own = "".join("abcdefghij"[int(digit)] for digit in number)
        words = f"dengue fever {own[-1] * 5} and mosquitoes, page {number} {own}um {own}or {own}en"
        links = f'<p><a href="/{int(number) + 1}">dengue {int(number) + 1}</a> <a href="/secret">x</a></p>'
        return 200, {}, f"<title>Page {number}</title><p>{words}</p>{links}".encode()

    return answer
