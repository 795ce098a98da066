"""Connection to a browser with the Chrome DevTools Protocol over a pipe: JSON messages that end with a zero byte.

A pipe opens no port on the machine, so neither web pages nor other users can reach it, and it needs no library.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any, TypeAlias

import msgspec

#: Handler of the events of one session: the name of the event and its parameters.
EventHandler: TypeAlias = Callable[[str, dict[str, Any]], None]

_GONE: dict[str, Any] = {}  # in place of a reply


class DevToolsError(Exception):
    """The browser refused a command."""


class BrowserGone(DevToolsError):
    """The browser has ended, or sent a message that is too large."""


class DevToolsConnection:
    """Commands to a browser, and the events of its sessions. `max_bytes` in `reader` limits the size of a message."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._numbers = count(1)
        self._replies: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.handlers: dict[str, EventHandler] = {}  # session → handler of its events
        self.is_closed = False

    async def run_command(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """Send a command to the browser, or to the page of a session. Return the result.

        Raise `DevToolsError` if the browser refuses the command, and `BrowserGone` if it has ended.
        """
        if self.is_closed:
            raise BrowserGone("the browser has ended")
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        reply = self._replies[number] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(msgspec.json.encode(message) + b"\0")
            await self._writer.drain()
            answer = await reply
        except OSError as error:
            raise BrowserGone("the browser has ended") from error
        finally:
            self._replies.pop(number, None)
        if answer is _GONE:
            raise BrowserGone("the browser has ended")
        if "error" in answer:
            raise DevToolsError(f"{method}: {answer['error'].get('message', 'refused')}"[:200])
        result: dict[str, Any] = answer.get("result", {})
        return result

    async def read_messages(self) -> None:
        """Read messages until the browser ends. Commands without a reply then raise `BrowserGone`."""
        try:
            while True:
                data = await self._reader.readuntil(b"\0")
                self._dispatch(msgspec.json.decode(data[:-1]))
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError, msgspec.DecodeError):
            pass  # the pipe is closed, or the message is too large
        finally:
            self.is_closed = True
            for reply in self._replies.values():
                if not reply.done():
                    reply.set_result(_GONE)
            for handler in list(self.handlers.values()):
                handler("", {})

    def _dispatch(self, message: dict[str, Any]) -> None:
        """Pass a message to the command that waits for it, or to the handler of its session."""
        if "id" in message:
            reply = self._replies.get(message["id"])
            if reply is not None and not reply.done():
                reply.set_result(message)
        elif handler := self.handlers.get(message.get("sessionId", "")):
            handler(message["method"], message.get("params", {}))
