"""HTTP server for Prometheus metrics: `/metrics` and `/health`.

Import this module only if metrics are served: `prometheus_client` takes a tenth of a second to load.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import ThreadingTCPServer
from threading import Thread
from typing import Any

from prometheus_client import CollectorRegistry, MetricsHandler

from topicrawl.errors import SettingError

log = logging.getLogger("topicrawl")

_REQUEST_TIMEOUT = 5.0  # seconds for which the server waits for the next bytes of a client
_POLL_INTERVAL = 0.1  # seconds after which the server notices that it must stop


def parse_address(address: str) -> tuple[str, int]:
    """Parse an address into host and port.

    >>> parse_address("127.0.0.1:9400"), parse_address("[::1]:9400"), parse_address(":9400")
    (('127.0.0.1', 9400), ('::1', 9400), ('', 9400))
    """
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535 or (":" in host and not host.startswith("[")):
        raise SettingError(f"metrics needs an address and a port, such as 127.0.0.1:9400, not {address!r}")
    return host.strip("[]"), int(port)


@contextmanager
def serve_metrics(address: str, registry: CollectorRegistry) -> Iterator[str]:
    """Serve `GET /metrics` and `GET /health` in a thread while the block runs. Yield the URL of the metrics."""
    host, port = parse_address(address)
    try:
        listener = _create_listener(host, port)
    except (OSError, UnicodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise SettingError(f"metrics cannot be served at {address}: {reason}; use another address") from error
    url_host = f"[{host}]" if ":" in host else host or "0.0.0.0"
    with _MetricsServer(listener, _MetricsRequestHandler.factory(registry)) as server:
        thread = Thread(target=server.serve_forever, args=(_POLL_INTERVAL,), name="metrics", daemon=True)
        thread.start()
        try:
            yield f"http://{url_host}:{listener.getsockname()[1]}/metrics"
        finally:
            server.shutdown()
            thread.join()


def _create_listener(host: str, port: int) -> socket.socket:
    """Return a listening socket. An empty host means all addresses of the machine."""
    if not host and socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    family, *_, address = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    return socket.create_server((str(address[0]), port), family=family)


class _MetricsServer(ThreadingTCPServer):
    """HTTP server on a given socket, with one thread per connection.

    `http.server.HTTPServer` is not used, because it looks up the name of its host in the DNS.
    """

    daemon_threads = True

    def __init__(self, listener: socket.socket, handler: type[MetricsHandler]) -> None:
        super().__init__(("", 0), handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log a failed request. The default implementation prints to standard error."""
        log.debug("the request for metrics from %s failed", client_address, exc_info=True)


class _MetricsRequestHandler(MetricsHandler):
    """Request handler for `/metrics` and `/health`."""

    timeout = _REQUEST_TIMEOUT

    def do_GET(self) -> None:
        """Send the metrics, or `ok` for `/health`."""
        path = self.path.partition("?")[0]
        if path == "/metrics":
            super().do_GET()
        elif path == "/health":
            self._send_header()
            self.wfile.write(b"ok\n")
        else:
            self.send_error(404, "not found: use /metrics or /health")

    def do_HEAD(self) -> None:
        """Answer a HEAD request with the headers of the GET response."""
        if self.path.partition("?")[0] in ("/metrics", "/health"):
            self._send_header()
        else:
            self.send_error(404, "not found: use /metrics or /health")

    def _send_header(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.end_headers()
