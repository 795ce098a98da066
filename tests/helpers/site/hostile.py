"""A web server that sends malformed responses of every kind, each kind from a separate host.

    with hostile_web() as web:
        web.first               # http://127.3.0.1:<port>/, a regular page that links to all others
        web.hosts               # address of a host → name of its attack

Every attack has two hosts: one sends it for pages, the other for robots.txt. An attack is the raw response: bytes, or
an async iterator of bytes, after which the server closes the connection. `EARLY` attacks are sent before the request,
and `TLS` attacks on a second port where clients expect TLS. Each costly page of `amplification.py` has one host.
"""

from __future__ import annotations

import asyncio
import gzip
import threading
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

import brotli
import zstandard
from tests.helpers.site.amplification import SOURCES, build_page

Attack: TypeAlias = Callable[[str], "bytes | AsyncIterator[bytes]"]  # path → raw response

OK = b"HTTP/1.1 200 OK\r\n"
HTML = OK + b"Content-Type: text/html\r\n"
MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
ZEROS = 16 << 20
HONEST = 5  # pages of the regular host


def make_response(body: bytes, kind: bytes = b"text/html") -> bytes:
    """Return a valid response."""
    head = OK + b"Content-Type: %b\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (kind, len(body))
    return head + body


def make_encoded_response(encoding: bytes, body: bytes) -> bytes:
    """Return a response with a content encoding."""
    return HTML + b"Content-Encoding: %b\r\nContent-Length: %d\r\n\r\n" % (encoding, len(body)) + body


def make_redirect(to: bytes) -> bytes:
    """Return a redirect."""
    return b"HTTP/1.1 302 Found\r\nLocation: %b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % to


async def drip_forever(start: bytes, piece: bytes, seconds: float = 0.0) -> AsyncIterator[bytes]:
    """Yield the start, then the same piece forever."""
    yield start
    while True:
        yield piece
        await asyncio.sleep(seconds)


@cache
def gzip_bomb() -> bytes:
    """Return a small gzip stream that decompresses to 16 MB of zeros."""
    packer = zlib.compressobj(1, wbits=31)
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(ZEROS >> 20)) + packer.flush()


STATUS = {
    "nothing at all": b"",
    "empty lines before the status": b"\r\n" * 50 + make_response(b"x"),
    "only the protocol": b"HTTP/1.1\r\n\r\n",
    "letters as a status": b"HTTP/1.1 2OO OK\r\n\r\n",
    "a negative status": b"HTTP/1.1 -1 x\r\n\r\n",
    "a status of twenty digits": b"HTTP/1.1 " + b"9" * 20 + b" x\r\n\r\n",
    "a protocol of the future": b"HTTP/9.9 200 OK\r\nContent-Length: 1\r\n\r\nx",
    "radio": b"ICY 200 OK\r\nicy-name: x\r\n\r\n" + b"\xff" * 500,
    "zero bytes": bytes(5000),
    "another language": b"\x16\x03\x01\x02\x00" + bytes(range(256)),
    "a status line without end": b"HTTP/1.1 200 " + b"x" * 400_000,
    "letters beyond ASCII": "HTTP/1.1 200 Ωκ\r\nContent-Type: text/html\r\n\r\n<p>fine".encode(),
}
HEADERS = {
    "a header without a colon": HTML + b"nonsense\r\n\r\nx",
    "a blank in a name": HTML + b"X Y: z\r\n\r\nx",
    "a header without a name": HTML + b": z\r\n\r\nx",
    "a zero byte in a value": HTML + b"X: a\0b\r\n\r\nx",
    "a folded header": OK + b"Content-Type:\r\n text/html\r\nX: a\r\n\tb\r\n\r\n<p>x",
    "lone carriage returns": HTML.replace(b"\r\n", b"\r") + b"\r\rx",
    "a flood of headers": HTML + b"X: y\r\n" * 100_000 + b"\r\nx",
    "huge cookies": HTML + b"".join(b"Set-Cookie: c%d=%b\r\n" % (n, b"v" * 4000) for n in range(300)) + b"\r\nx",
    "one huge cookie": HTML + b"Set-Cookie: c=" + b"v" * 1_000_000 + b"\r\n\r\nx",
    "two lengths": HTML + b"Content-Length: 3\r\nContent-Length: 5\r\n\r\nhello",
    "a negative length": HTML + b"Content-Length: -5\r\n\r\nhello",
    "a length in words": HTML + b"Content-Length: five\r\n\r\nhello",
    "a length of fifty digits": HTML + b"Content-Length: " + b"9" * 50 + b"\r\n\r\nhello",
    "a length and chunks": HTML + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "chunks of gzip": HTML + b"Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "an unknown transfer encoding": HTML + b"Transfer-Encoding: smoke\r\n\r\nhello",
    "a media type of wild bytes": OK + b"Content-Type: text/html; charset=\xff\xfe\x80\r\n\r\n<p>x",
    "a charset of blanks": OK + b"Content-Type: text/html; charset=" + b" " * 60_000 + b";\r\n\r\n<p>x",
    "a wait of a thousand digits": b"HTTP/1.1 503 x\r\nRetry-After: " + b"9" * 1000 + b"\r\n\r\n",
    "an upgrade": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: smoke\r\nConnection: upgrade\r\n\r\n\x81\x05hello",
    "a torn header": HTML + b"X-Half: ",
}
CHUNKED = HTML + b"Transfer-Encoding: chunked\r\n\r\n"
BODIES = {
    "a negative chunk": CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n",
    "a chunk of 2^72": CHUNKED + b"f" * 18 + b"\r\nhello",
    "a chunk size in words": CHUNKED + b"five\r\nhello\r\n0\r\n\r\n",
    "a chunk that is longer than it says": CHUNKED + b"2\r\nhello\r\n0\r\n\r\n",
    "a chunk without an end": CHUNKED + b"5\r\nhello",
    "a chunk size without end": CHUNKED + b"0" * 300_000,
    "an extension without end": CHUNKED + b"5;" + b"x" * 300_000,
    "a flood of trailers": CHUNKED + b"1\r\nx\r\n0\r\n" + b"X: y\r\n" * 50_000 + b"\r\n",
    "a shorter body than it says": HTML + b"Content-Length: 500\r\n\r\nhello",
    "a longer body than it says": HTML + b"Content-Length: 2\r\n\r\nhello" + b"HTTP/1.1 200 OK\r\n\r\nagain",
    "gzip that is none": make_encoded_response(b"gzip", b"hello" * 20),
    "torn gzip": make_encoded_response(b"gzip", gzip.compress(bytes(range(256)) * 50)[:-20]),
    "an unknown content encoding": make_encoded_response(b"smoke", b"hello"),
    "a tower of encodings": make_encoded_response(b"gzip, br, zstd, gzip, br", b"hello"),
    "many small gzip members": make_encoded_response(b"gzip", gzip.compress(b"x") * 2000),
    "UTF-16 that is none": make_response(b"<p>hello", b"text/html; charset=utf-16"),
    "a charset that is none": make_response(b"<p>hello \xff\xfe\x80", b"text/html; charset=klingon"),
    "zero bytes as a page": make_response(bytes(100_000)),
    "a million nested elements": make_response(b"<div>" * 150_000),
    "a page of brackets": make_response(b"<" * 300_000),
    "links of wild addresses": make_response(
        b"".join(b"<a href='%b'>x</a>" % bytes([n, n + 1, n]) for n in range(1, 255, 9))
        + b"<a href='http://['>x</a><a href='http://a:b:c/'>x</a><a href='http://%00/'>x</a><a href='//'>x</a>"
    ),
    "a PDF that is none": make_response(b"%PDF-1.7\n" + b"<" * 5000, b"application/pdf"),
    "a zip that is none": make_response(b"PK\3\4" + b"\xff" * 5000, b"application/zip"),
}
REDIRECTS = {
    "a redirect to itself": lambda path: make_redirect(path.encode()),
    "redirects without end": lambda path: make_redirect(b"/%d" % (int("0" + path[1:].replace("robots.txt", "")) + 1)),
    "a redirect into the machine": lambda path: make_redirect(b"http://169.254.169.254/latest/meta-data/"),
    "a redirect to a file": lambda path: make_redirect(b"file:///etc/passwd"),
    "a redirect to a program": lambda path: make_redirect(b"javascript:alert(1)"),
    "a redirect to nowhere": lambda path: make_redirect(b""),
    "a redirect of wild bytes": lambda path: make_redirect(b"http://\xff\xfe/\x80"),
    "a redirect of 60,000 letters": lambda path: make_redirect(b"/" + b"x" * 60_000),
}
PIECES = {
    "silence": lambda path: drip_forever(b"", b"", 60.0),
    "a slow status line": lambda path: drip_forever(b"HTTP/1.1 200 ", b"x", 0.2),
    "slow headers": lambda path: drip_forever(HTML, b"X: y\r\n", 0.2),
    "endless headers": lambda path: drip_forever(HTML, b"X-Long: yyyyyyyyyyyyyyyy\r\n" * 100),
    "a slow body": lambda path: drip_forever(HTML + b"\r\n", b"x", 0.2),
    "an endless body": lambda path: drip_forever(HTML + b"\r\n", b"<p>word " * 5000),
    "endless chunks": lambda path: drip_forever(CHUNKED, b"1\r\nx\r\n" * 2000),
    "a flood of 100 Continue": lambda path: drip_forever(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100, 0.05),
    "early hints for ever": lambda path: drip_forever(
        b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 20, 0.05
    ),
}
BOMBS = {
    "a bomb in gzip": lambda: make_encoded_response(b"gzip", gzip_bomb()),
    "a bomb in brotli": lambda: make_encoded_response(b"br", brotli.compress(bytes(ZEROS), quality=1)),
    "a bomb in zstd": lambda: make_encoded_response(b"zstd", zstandard.compress(bytes(ZEROS))),
    "a bomb in two layers": lambda: make_encoded_response(b"gzip, gzip", gzip.compress(gzip_bomb())),
    "a bomb as a document": lambda: make_response(gzip_bomb(), b"application/gzip"),
}
ROBOTS = {
    "a robots.txt of a page": make_response(b"<!DOCTYPE html><title>x</title>" + b"<p>User-agent: *" * 1000),
    "a robots.txt of stars": make_response(b"User-agent: *\nDisallow: /" + b"*a" * 3000 + b"$\n", b"text/plain"),
    "a robots.txt of many names": make_response(b"User-agent: x\n" * 20_000 + b"Disallow: /\n" * 20_000, b"text/plain"),
    "a delay that is no number": make_response(b"User-agent: *\nCrawl-delay: nan\n", b"text/plain"),
    "a delay below zero": make_response(b"User-agent: *\nCrawl-delay: -1e308\n", b"text/plain"),
    "a flood of sitemaps": make_response(b"Sitemap: http://127.3.0.1/s.xml?\xff\n" * 15_000, b"text/plain"),
}
EARLY = {
    "an answer before the question": make_response(b"<p>too early"),
    "rubbish before the question": b"\0\xff" * 2000,
    "a closed half": b"",  # closes its side at once and keeps reading
}
TLS = {
    "no TLS at all": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "a torn handshake": b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03" + bytes(20),
    "an alert": b"\x15\x03\x03\x00\x02\x02\x28",
    "rubbish as a handshake": b"\x16\x03\x03\x40\x00" + b"\xaa" * 16384,
    "silence": b"",
}


@dataclass
class HostileWeb:
    """Addresses of the hosts and their attacks."""

    port: int = 0
    tls_port: int = 0
    hosts: dict[str, str] = field(default_factory=dict)  # address → kind and name of the attack

    @property
    def first(self) -> str:
        """URL of the first page of the regular host."""
        return f"http://127.3.0.1:{self.port}/"

    def list_urls(self) -> list[str]:
        """Return the URL of a page of every hostile host."""
        return [
            f"{'https' if address.startswith('127.4') else 'http'}://{address}:"
            f"{self.tls_port if address.startswith('127.4') else self.port}/"
            for address in self.hosts
        ]


def build_attacks() -> dict[str, Attack]:
    """Return the attacks by name."""
    made: dict[str, Attack] = {**REDIRECTS, **PIECES}
    for name, body in {**STATUS, **HEADERS, **BODIES, **{name: make() for name, make in BOMBS.items()}}.items():
        made[name] = lambda path, body=body: body  # type: ignore[misc]
    return made


class _HostileServer:
    def __init__(self, web: HostileWeb) -> None:
        self._web = web
        self._attacks = build_attacks()
        names = [f"page: {name}" for name in self._attacks] + [
            f"robots.txt: {name}" for name in (*self._attacks, *ROBOTS)
        ]
        names += [f"costly: {name}" for name in SOURCES]
        for number, name in enumerate([*names, *(f"early: {name}" for name in EARLY)], 2):
            web.hosts[f"127.3.{number // 250}.{number % 250 + 1}"] = name
        for number, name in enumerate(TLS, 1):
            web.hosts[f"127.4.0.{number}"] = f"tls: {name}"

    async def start(self) -> list[asyncio.Server]:
        web, servers = self._web, []
        for address in ("127.3.0.1", *web.hosts):
            tls = address.startswith("127.4")
            port = web.tls_port if tls else web.port
            server = await asyncio.start_server(self._serve, address, port, limit=1 << 20)
            found = server.sockets[0].getsockname()[1]
            web.port, web.tls_port = (web.port, found) if tls else (found, web.tls_port)
            servers.append(server)
        return servers

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        kind, _, name = self._web.hosts.get(writer.get_extra_info("sockname")[0], "honest: ").partition(": ")
        try:
            if kind in ("early", "tls"):
                await self._send_early(writer, {**EARLY, **TLS}[name])
            elif kind == "honest":
                await self._send_answer(writer, self._build_regular_page((await _read_path(reader)).strip("/")))
            else:
                path = await _read_path(reader)
                await self._send_answer(writer, self._build_answer(kind, name, path))
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            writer.close()

    async def _send_early(self, writer: asyncio.StreamWriter, body: bytes) -> None:
        writer.write(body)
        if not body:
            writer.write_eof()
            await asyncio.sleep(5)

    def _build_answer(self, kind: str, name: str, path: str) -> bytes | AsyncIterator[bytes]:
        if kind == "costly":
            if path != "/":
                return MISSING
            body, media_type = build_page(name)
            return make_response(body, media_type.encode())
        if kind == "page":
            return MISSING if path == "/robots.txt" else self._attacks[name](path)
        if path == "/robots.txt" or (name in REDIRECTS and path != "/"):
            return ROBOTS[name] if name in ROBOTS else self._attacks[name](path)
        return make_response(f"<title>{name}</title><p>dengue fever behind {name}</p>".encode())

    def _build_regular_page(self, path: str) -> bytes:
        if path == "robots.txt":
            return MISSING
        number = int(path or 0)
        links = self._web.list_urls() if not number else []
        links += [f"/{number + 1}"] if number + 1 < HONEST else []
        text = "".join(f'<p><a href="{url}">dengue fever</a></p>' for url in links)
        return make_response(f"<title>{number}</title><p>dengue fever, page {'abcdefg'[number] * 5}</p>{text}".encode())

    async def _send_answer(self, writer: asyncio.StreamWriter, answer: bytes | AsyncIterator[bytes]) -> None:
        if isinstance(answer, bytes):
            writer.write(answer)
            await writer.drain()
            return
        async for piece in answer:
            writer.write(piece)
            await writer.drain()
            if writer.is_closing():
                return


async def _read_path(reader: asyncio.StreamReader) -> str:
    head = await reader.readuntil(b"\r\n\r\n")
    return head.split(b" ", 2)[1].decode("latin-1")


@contextmanager
def hostile_web() -> Iterator[HostileWeb]:
    """Run the server in a thread."""
    web, ready, over = HostileWeb(), threading.Event(), asyncio.Event()

    async def serve() -> None:
        servers = await _HostileServer(web).start()
        ready.set()
        await over.wait()
        for server in servers:
            server.close()
        # Endless responses are still being sent.
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield web
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
