"""A static site on many loopback addresses, in a process of its own, that logs every request as it arrives.

    python site.py PAGES HOSTS LOG          prints its port when it is ready

Page n stands on host n mod HOSTS (127.0.1.1 and up) and links to pages 2n+1, 2n+2 and a few others,
so that all pages hang together. A line of the log is: seconds, host, path, and by how many seconds it may be late
because the machine was busy with others: a judge has to know when he slept.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time


def address(page: int, hosts: int, port: int) -> str:
    return f"http://127.0.1.{page % hosts + 1}:{port}/p/{page}"


class Awake:
    """When the server last had a moment."""

    def __init__(self) -> None:
        self.at = time.time()

    async def keep(self) -> None:
        while True:
            self.at = time.time()
            await asyncio.sleep(0.004)


class Site(asyncio.Protocol):
    def __init__(self, pages: int, hosts: int, log: int, awake: Awake) -> None:
        self.pages, self.hosts, self.log, self.awake = pages, hosts, log, awake
        self.data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.port = transport.get_extra_info("sockname")[1]

    def data_received(self, data: bytes) -> None:
        at = time.time()
        self.data += data
        while b"\r\n\r\n" in self.data:
            request, _, self.data = self.data.partition(b"\r\n\r\n")
            path = request.split(b" ", 2)[1].decode()
            host = self.transport.get_extra_info("sockname")[0]
            late = max(0.0, at - self.awake.at)
            os.write(self.log, f"{at:.6f}\t{host}\t{path}\t{late:.6f}\n".encode())
            self.answer(path)

    def answer(self, path: str) -> None:
        status, kind, body = b"200 OK", b"text/html", b""
        if path.startswith("/p/"):
            n = int(path[3:])
            others = {2 * n + 1, 2 * n + 2, n // 2, (n * 7 + 3) % self.pages, (n * 13 + 5) % self.pages}
            links = [m for m in sorted(others) if m < self.pages]
            text = "".join(f'<p><a href="{address(m, self.hosts, self.port)}">page {m}</a></p>' for m in links)
            body = f"<title>{n}</title><p>Page {n} about dengue fever.</p>{text}".encode()
        else:
            status, kind, body = b"404 Not Found", b"text/plain", b"no"
        head = b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n" % (status, kind, len(body))
        self.transport.write(head + body)


def stand_apart() -> None:
    """Share no group of the scheduler with the workers: whoever judges by the clock must not wait for the judged."""
    try:
        os.setsid()
    except OSError as error:
        sys.stderr.write(f"the log may be late by a moment: {error}\n")


async def main(pages: int, hosts: int, path: str) -> None:
    stand_apart()
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    loop = asyncio.get_running_loop()
    port = 0
    servers = []
    awake = Awake()
    keeping = asyncio.create_task(awake.keep())

    def made() -> Site:
        return Site(pages, hosts, log, awake)

    for n in range(hosts):
        server = await loop.create_server(
            lambda: Site(pages, hosts, log, awake), f"127.0.1.{n + 1}", port, reuse_address=True
        )
        port = server.sockets[0].getsockname()[1]
        servers.append(server)
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    keeping.cancel()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
