"""Figures of a running process for Prometheus: its text format, and a small server that answers with them.

The format is a few lines of text, so no library stands between: a family is its help, its kind and its samples. The
server reads one request a connection, answers at once from what is known, and waits for nobody.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from itertools import accumulate
from typing import NamedTuple

from topicrawl.errors import SettingError

BOUNDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds
_PATIENCE = 5.0  # seconds for somebody to say what they want
_TEXT = "text/plain; version=0.0.4; charset=utf-8"


class Sample(NamedTuple):
    """One figure of a family."""

    value: float
    labels: Mapping[str, str] = {}
    suffix: str = ""


class Family(NamedTuple):
    """Figures of one name."""

    name: str
    kind: str  # counter, gauge or histogram
    help: str
    samples: Iterable[Sample]


class Histogram:
    """How many values lie below each bound."""

    def __init__(self, bounds: tuple[float, ...] = BOUNDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def count(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def samples(self) -> Iterable[Sample]:
        """Buckets hold all that lies below their bound, so each holds those before it.

        >>> seconds = Histogram((1.0,))
        >>> seconds.count(0.5)
        >>> seconds.count(3.0)
        >>> [(sample.suffix, dict(sample.labels), sample.value) for sample in seconds.samples()][:2]
        [('_bucket', {'le': '1'}, 1), ('_bucket', {'le': '+Inf'}, 2)]
        """
        names = [*(f"{bound:g}" for bound in self.bounds), "+Inf"]
        for name, number in zip(names, accumulate(self.counts), strict=True):
            yield Sample(number, {"le": name}, "_bucket")
        yield Sample(self.sum, suffix="_sum")
        yield Sample(sum(self.counts), suffix="_count")


def counter(name: str, help: str, value: float) -> Family:
    return Family(name, "counter", help, [Sample(value)])


def gauge(name: str, help: str, value: float) -> Family:
    return Family(name, "gauge", help, [Sample(value)])


def text(families: Iterable[Family], labels: Mapping[str, str]) -> str:
    r"""Families in Prometheus' text format; each sample has the given labels too.

    >>> print(text([Family("pages", "counter", "Pages.", [Sample(3)])], {"crawl": 'owls "2"'}))
    # HELP pages Pages.
    # TYPE pages counter
    pages{crawl="owls \"2\""} 3
    <BLANKLINE>
    """
    lines = []
    for name, kind, help, samples in families:
        lines += [f"# HELP {name} {help}", f"# TYPE {name} {kind}"]
        for sample in samples:
            every = {**labels, **sample.labels}
            inner = ",".join(f'{label}="{_escaped(value)}"' for label, value in every.items())
            number = (
                f"{sample.value:g}" if isinstance(sample.value, int) and abs(sample.value) < 10**6 else sample.value
            )
            lines.append(f"{name}{sample.suffix}{{{inner}}} {number}")
    return "\n".join(lines) + "\n"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def place(address: str) -> tuple[str, int]:
    """Host and port of an address.

    >>> place("127.0.0.1:9400"), place("[::1]:9400"), place(":9400")
    (('127.0.0.1', 9400), ('::1', 9400), ('', 9400))
    """
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535 or (":" in host and not host.startswith("[")):
        raise SettingError(f"metrics takes an address and a port, such as 127.0.0.1:9400, not {address!r}")
    return host.strip("[]"), int(port)


@asynccontextmanager
async def served(address: str, figures: Callable[[], str]) -> AsyncIterator[str]:
    """Answer `GET /metrics` and `GET /health` for as long as the block lasts; gives where that is."""
    host, port = place(address)
    try:
        server = await asyncio.start_server(partial(_answer, figures), host or None, port, limit=8192)
    except OSError as error:
        raise SettingError(f"metrics cannot be served at {address}: {error.strerror or error}; name another") from error
    shown = f"[{host}]" if ":" in host else host or "0.0.0.0"
    async with server:
        yield f"http://{shown}:{server.sockets[0].getsockname()[1]}/metrics"


async def _answer(figures: Callable[[], str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        async with asyncio.timeout(_PATIENCE):
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(_response(head, figures))
            await writer.drain()
    except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        writer.transport.abort()  # somebody who is slow, gone, or does not speak HTTP
    finally:
        writer.close()


def _response(head: bytes, figures: Callable[[], str]) -> bytes:
    method, path, *_ = (*head.split(b" ", 2), b"", b"")
    status, body = "404 Not Found", "there is /metrics and /health\n"
    if method not in (b"GET", b"HEAD"):
        status, body = "405 Method Not Allowed", "only GET\n"
    elif path.partition(b"?")[0] == b"/metrics":
        status, body = "200 OK", figures()
    elif path == b"/health":
        status, body = "200 OK", "ok\n"
    data = body.encode()
    lines = (f"HTTP/1.1 {status}", f"Content-Type: {_TEXT}", f"Content-Length: {len(data)}", "Connection: close")
    return "\r\n".join((*lines, "", "")).encode() + (b"" if method == b"HEAD" else data)
