"""The HTTP server (uvicorn) of the web application."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import uvicorn

from topicrawl.errors import UsageError
from topicrawl.web.connections import IDLE_SECONDS, MAX_CONNECTIONS, TimedHttpProtocol
from topicrawl.web.security import AsgiApp

LoopRunner = Callable[[Coroutine[Any, Any, None]], None]


def run_server(
    app: AsgiApp, host: str, port: int, on_listening: Callable[[int], None], *, run: LoopRunner = asyncio.run
) -> None:
    """Serve the application until Ctrl-C or SIGTERM.

    Calls `on_listening` with the port when the server accepts connections. `run` runs the event loop.
    """
    listener = bind_socket(host, port)
    server = _NotifyingServer(create_server_config(app), lambda: on_listening(listener.getsockname()[1]))
    with contextlib.suppress(KeyboardInterrupt):
        run(server.serve(sockets=[listener]))


def create_server_config(app: AsgiApp) -> uvicorn.Config:
    """Return the settings of the server, with its limits and timeouts."""
    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        lifespan="on",
        limit_concurrency=MAX_CONNECTIONS,
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=3,
        h11_max_incomplete_event_size=32768,
        http=TimedHttpProtocol,
        ws="none",
        proxy_headers=False,
    )


class _NotifyingServer(uvicorn.Server):
    """A uvicorn server that calls a function when it is ready."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the server and report that it is ready."""
        await super().startup(sockets)
        self._on_ready()


def bind_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket; raise `UsageError` if the address cannot be bound."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family, backlog=256)
    except OSError as error:
        hint = "; choose another port with --port" if "in use" in str(error) else ""
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror or error}{hint}") from error
    listener.set_inheritable(False)
    return listener
