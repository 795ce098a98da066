"""The HTTP server around the application."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import uvicorn

from topicrawl.errors import UsageError
from topicrawl.web.safety import Asgi

Run = Callable[[Coroutine[Any, Any, None]], None]
_AT_ONCE = 400  # connections; beyond, the answer is 503
_QUIET = 30  # seconds without a request, then a connection is closed


def serve(app: Asgi, host: str, port: int, listening: Callable[[int], None], *, run: Run = asyncio.run) -> None:
    """Serve until Ctrl-C or SIGTERM; `listening` is told the port, `run` has the event loop."""
    line = bound(host, port)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, lifespan="on", limit_concurrency=_AT_ONCE, server_header=False,
        timeout_keep_alive=_QUIET, timeout_graceful_shutdown=3, h11_max_incomplete_event_size=32768, http="h11",
        ws="none", proxy_headers=False,
    )  # fmt: skip
    server = _Server(config, lambda: listening(line.getsockname()[1]))
    with contextlib.suppress(KeyboardInterrupt):
        run(server.serve(sockets=[line]))


class _Server(uvicorn.Server):
    """One that says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens; what stands against it is told in one line."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        line = socket.create_server((host, port), family=family, backlog=256)
    except OSError as error:
        hint = "; name another with --port" if "in use" in str(error) else ""
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror or error}{hint}") from error
    line.set_inheritable(False)
    return line
