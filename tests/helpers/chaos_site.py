"""Static web server on many loopback addresses, in its own process, with a log of all requests.

    python chaos_site.py PAGES HOSTS LOG [REDIRECTS]      prints its port when it is ready

Page n is on host n mod HOSTS (127.0.1.1 and up) and links to pages 2n+1, 2n+2 and a few others, so that all pages are
connected. With REDIRECTS, the links to every REDIRECTS-th page lead to it by two redirects.

A line of the log contains seconds, host and path. The time is the arrival of the request in the kernel, to the
resolution of its clock, because this process may have been suspended when the request arrived.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import sys
import time


def page_url(page: int, hosts: int, port: int) -> str:
    """Return the URL of a page."""
    return f"http://127.0.1.{page % hosts + 1}:{port}/p/{page}"


class Site(asyncio.Protocol):
    """HTTP connection of the site."""

    def __init__(self, pages: int, hosts: int, log: int, *, redirects: int = 0) -> None:
        self.pages, self.hosts, self.log, self.redirects = pages, hosts, log, redirects
        self.data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.port = transport.get_extra_info("sockname")[1]

    def data_received(self, data: bytes) -> None:
        at = time.time() - self.seconds_in_kernel()
        self.data += data
        while b"\r\n\r\n" in self.data:
            request, _, self.data = self.data.partition(b"\r\n\r\n")
            path = request.split(b" ", 2)[1].decode()
            host = self.transport.get_extra_info("sockname")[0]
            os.write(self.log, f"{at:.6f}\t{host}\t{path}\n".encode())
            self.send_page(path)

    def seconds_in_kernel(self) -> float:
        """Return the seconds since the kernel received the last data, or 0 where the platform does not record it."""
        if not hasattr(socket, "TCP_INFO") or sys.platform != "linux":
            return 0.0
        line = self.transport.get_extra_info("socket")
        (milliseconds,) = struct.unpack_from("<I", line.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 64), 52)
        return float(milliseconds) / 1000

    def send_page(self, path: str) -> None:
        """Send the page of a path, or an error 404."""
        status, kind, body = b"200 OK", b"text/html", b""
        if path.startswith(("/old/", "/older/")):
            target = path.replace("/old/", "/p/") if path.startswith("/old/") else path.replace("/older/", "/old/")
            status = b"301 Moved Permanently\r\nLocation: %b" % target.encode()
        elif path.startswith("/p/"):
            n = int(path[3:])
            others = {2 * n + 1, 2 * n + 2, n // 2, (n * 7 + 3) % self.pages, (n * 13 + 5) % self.pages}
            links = [m for m in sorted(others) if m < self.pages]
            text = "".join(f'<p><a href="{self.link_url(m)}">page {m}</a></p>' for m in links)
            body = f"<title>{n}</title><p>Page {n} about dengue fever.</p>{text}".encode()
        else:
            status, kind, body = b"404 Not Found", b"text/plain", b"no"
        head = b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n" % (status, kind, len(body))
        self.transport.write(head + body)

    def link_url(self, page: int) -> str:
        """Return the URL of the links to a page."""
        url = page_url(page, self.hosts, self.port)
        is_redirected = page > 0 and self.redirects > 0 and page % self.redirects == 0
        return url.replace("/p/", "/older/") if is_redirected else url


async def main(pages: int, hosts: int, path: str, redirects: int = 0) -> None:
    """Serve until stdin is closed."""
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    loop = asyncio.get_running_loop()
    port = 0
    servers = []

    for n in range(hosts):
        server = await loop.create_server(
            lambda: Site(pages, hosts, log, redirects=redirects), f"127.0.1.{n + 1}", port, reuse_address=True
        )
        port = server.sockets[0].getsockname()[1]
        servers.append(server)
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:])))
