"""Timeouts and limits for the connections of the web server.

uvicorn closes idle connections only. A client that opens a connection and sends nothing, or half a request, would keep
it forever, and many such clients would use up the connections of the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from enum import Enum
from typing import ClassVar

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

MAX_CONNECTIONS = 400  # concurrent connections; the server refuses more requests with status 503
MAX_WAITING_CONNECTIONS = 200  # connections whose client is to send or read; the server closes the oldest of more
IDLE_SECONDS = 30  # time between two requests of a connection
_MIN_BYTES_PER_SECOND = 4096  # transfer rate of a request body that extends its timeout


class ClientWait(Enum):
    """What a connection waits for."""

    REQUEST = "request"  # the request line and all headers
    BODY = "body"  # the request body
    READING = "reading"  # the client reads the response
    IDLE = "idle"  # the next request


class TimedHttpProtocol(H11Protocol):
    """HTTP connection that is closed if its client does not send or read in time.

    If too many connections wait for their clients, the server closes the one that has waited longest. Complete requests
    are not affected, so a client is served even if all other connections come from the same address.
    """

    timeouts: ClassVar[Mapping[ClientWait, float]] = {  # seconds
        ClientWait.REQUEST: 10,
        ClientWait.BODY: 20,  # longer if the body arrives at the minimum rate
        ClientWait.READING: 20,
        ClientWait.IDLE: IDLE_SECONDS,
    }

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._wait: ClientWait | None = None  # None: the server works on a request
        self._wait_began = 0.0
        self._bytes_received = 0  # since the wait began
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout of the first request."""
        super().connection_made(transport)
        self._update_wait()
        self._close_oldest_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the timeout."""
        self._set_wait(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Process a part of a request."""
        self._bytes_received += len(data)
        super().data_received(data)
        self._update_wait()

    def on_response_complete(self) -> None:
        """Start the timeout of the next request."""
        super().on_response_complete()
        self._update_wait()

    def pause_writing(self) -> None:
        """Start the timeout of a client that does not read its response."""
        super().pause_writing()
        self._update_wait()

    def resume_writing(self) -> None:
        """End the timeout of a client that does not read its response."""
        super().resume_writing()
        self._update_wait()

    def _update_wait(self) -> None:
        """Restart the timeout if the connection waits for something else than before."""
        wait = self._find_wait()
        if wait is not self._wait:
            self._set_wait(wait)

    def _find_wait(self) -> ClientWait | None:
        """Return what the connection waits for, or None if the server works on a request."""
        if self.flow.write_paused or self.transport.is_closing():
            return ClientWait.READING  # a closed connection waits until the client has read the response
        if self.conn.their_state is h11.SEND_BODY:
            return ClientWait.BODY
        if self.cycle is not None and not self.cycle.response_complete:
            return None
        return ClientWait.IDLE if self.cycle is not None and not self.conn.trailing_data[0] else ClientWait.REQUEST

    def _set_wait(self, wait: ClientWait | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._wait, self._wait_began, self._bytes_received = wait, self.loop.time(), 0
        self._timer = None if wait is None else self.loop.call_later(self.timeouts[wait], self._handle_timeout)

    def _handle_timeout(self) -> None:
        """Close the connection, unless it receives a request body at the minimum rate."""
        if self._wait is ClientWait.BODY:
            deadline = self._wait_began + self.timeouts[self._wait] + self._bytes_received / _MIN_BYTES_PER_SECOND
            if deadline > self.loop.time() or self.flow.read_paused:
                self._timer = self.loop.call_later(self.timeouts[self._wait], self._handle_timeout)
                return
        self._abort()

    def _abort(self) -> None:
        self._set_wait(None)
        self.connections.discard(self)  # now, so that the connection no longer counts
        self.transport.abort()  # close() would wait until the client reads the response

    def _close_oldest_waiting(self) -> None:
        """Close the connection that has waited longest if too many connections wait for their clients."""
        waiting = [
            connection
            for connection in self.connections
            if isinstance(connection, TimedHttpProtocol) and connection._wait is not None
        ]
        if len(waiting) > MAX_WAITING_CONNECTIONS:
            min(waiting, key=lambda connection: connection._wait_began)._abort()
