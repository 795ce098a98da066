"""Compare HTTP clients: which malformed responses they deliver, and the CPU time per request.

    python -m bench.http_clients                     malformed responses
    python -m bench.http_clients --requests 3000     CPU time per request

The clients are Topicrawl, and those of curl, Chromium (chromium-headless-shell), aiohttp, requests, httpx and pycurl
that are installed. CPU time is that of the client process, in interleaved rounds against a server in another process.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec

from tests.helpers.malformed_http import CASES, WORDS

from topicrawl.fetch.guard import parse_networks
from topicrawl.fetch.http import HttpClient, HttpSettings

_SECONDS = 5.0
_BODY = b"<html><p>" + WORDS * 12
_SERVER = """
import asyncio, sys
reply = sys.stdin.buffer.read()
class Server(asyncio.Protocol):
    def connection_made(self, transport): self.transport = transport
    def data_received(self, data):
        if data.endswith(b"\\r\\n\\r\\n"): self.transport.write(reply)
async def main():
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""

Fetch = Callable[[str], Awaitable[bytes]]


@contextmanager
def serve_cases() -> Iterator[int]:
    """Serve the malformed responses in a thread: /N is case N. Yield the port."""
    answers = [case.data for case in CASES.values()]
    loop = asyncio.new_event_loop()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1][1:]
            writer.write(answers[int(path)] if path.isdigit() else b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(asyncio.start_server(handle, "127.0.0.1", 0), loop).result()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


async def run_program(*command: str) -> bytes:
    """Return the output of a program."""
    process = await asyncio.create_subprocess_exec(
        *command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
    )
    try:
        return (await asyncio.wait_for(process.communicate(), 4 * _SECONDS))[0]
    except TimeoutError:
        process.kill()
        return b""


async def fetch_topicrawl(url: str) -> bytes:
    """Fetch with the client of Topicrawl."""
    settings = HttpSettings(allowed_networks=parse_networks(["127.0.0.0/8"]), total_timeout=_SECONDS)
    async with HttpClient(settings) as http:
        return (await http.get(url)).body


async def fetch_curl(url: str) -> bytes:
    """Fetch with the program curl."""
    return await run_program("curl", "-s", "--compressed", "-m", str(_SECONDS), url)


async def fetch_chromium(url: str) -> bytes:
    """Display with Chromium, and return the document."""
    options = ("--no-sandbox", "--disable-gpu", "--timeout=4000", "--dump-dom")
    return await run_program("chromium-headless-shell", *options, url)


async def fetch_aiohttp(url: str) -> bytes:
    """Fetch with aiohttp."""
    import aiohttp

    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_SECONDS)) as session,
        session.get(url) as reply,
    ):
        return await reply.read()


async def fetch_requests(url: str) -> bytes:
    """Fetch with requests."""
    import requests

    return await asyncio.to_thread(lambda: requests.get(url, timeout=_SECONDS).content)


async def fetch_httpx(url: str) -> bytes:
    """Fetch with httpx."""
    import httpx

    async with httpx.AsyncClient(timeout=_SECONDS) as client:
        return (await client.get(url)).content


async def fetch_pycurl(url: str) -> bytes:
    """Fetch with pycurl; a partial body counts."""
    import pycurl

    def run() -> bytes:
        parts: list[bytes] = []
        handle = pycurl.Curl()
        handle.setopt(pycurl.URL, url)
        handle.setopt(pycurl.ACCEPT_ENCODING, "")
        handle.setopt(pycurl.TIMEOUT, int(_SECONDS))
        handle.setopt(pycurl.WRITEFUNCTION, parts.append)
        with suppress(pycurl.error):
            handle.perform()
        return b"".join(parts)

    return await asyncio.to_thread(run)


def list_clients() -> dict[str, Fetch]:
    """Return the clients that are installed."""
    clients: dict[str, Fetch] = {"Topicrawl": fetch_topicrawl}
    programs = {"chromium-headless-shell": ("Chromium", fetch_chromium), "curl": ("curl", fetch_curl)}
    clients |= {name: fetch for program, (name, fetch) in programs.items() if shutil.which(program)}
    libraries = {"pycurl": fetch_pycurl, "aiohttp": fetch_aiohttp, "requests": fetch_requests, "httpx": fetch_httpx}
    return clients | {name: fetch for name, fetch in libraries.items() if find_spec(name)}


async def compare_tolerance() -> None:
    """Print a table: a client passes a case if it delivers at least the beginning of the page."""
    clients = list_clients()
    counts = dict.fromkeys(clients, 0)
    print("| case | " + " | ".join(clients) + " |")
    print("|---|" + "---|" * len(clients))
    with serve_cases() as port:
        for number, name in enumerate(CASES):
            cells = []
            for client, fetch in clients.items():
                try:
                    is_delivered = WORDS[:60] in await asyncio.wait_for(fetch(f"http://127.0.0.1:{port}/{number}"), 30)
                except Exception as error:  # noqa: BLE001  # each library has its own
                    is_delivered = False
                    print(f"{client}: {name}: {type(error).__name__}", file=sys.stderr)
                counts[client] += is_delivered
                cells.append("yes" if is_delivered else "no")
            print(f"| {name} | " + " | ".join(cells) + " |")
    print(f"| **of {len(CASES)}** | " + " | ".join(f"**{count}**" for count in counts.values()) + " |")


def measure_cost(requests: int, rounds: int = 5) -> None:
    """Print the CPU time per request over one open connection, with a response of a median page."""
    head = b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-Header-%d: some value\r\n" % n for n in range(8))
    reply = head + b"Content-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(_BODY) + _BODY
    process = subprocess.Popen([sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(reply)
    process.stdin.close()
    url = f"http://127.0.0.1:{int(process.stdout.readline())}/"
    times: dict[str, list[float]] = {}
    try:
        for _ in range(rounds):
            for name, fetch_many in MEASURED.items():
                if name == "Topicrawl" or find_spec(name):
                    times.setdefault(name, []).append(asyncio.run(fetch_many(url, requests)) / requests * 1e6)
    finally:
        process.kill()
    for name, found in times.items():
        print(f"{name}: {statistics.median(found):.0f} µs per request (lowest {min(found):.0f})")


async def _measure_topicrawl(url: str, requests: int) -> float:
    settings = HttpSettings(allowed_networks=parse_networks(["127.0.0.0/8"]))
    async with HttpClient(settings) as http:
        await http.get(url)
        started = time.process_time()
        for _ in range(requests):
            assert len((await http.get(url)).body) == len(_BODY)
        return time.process_time() - started


async def _measure_aiohttp(url: str, requests: int) -> float:
    import aiohttp

    async with aiohttp.ClientSession(auto_decompress=False) as session:
        started = time.process_time()
        for _ in range(requests):
            async with session.get(url) as reply:
                assert len(await reply.read()) == len(_BODY)
        return time.process_time() - started


async def _measure_pycurl(url: str, requests: int) -> float:
    """Measure libcurl's multi interface on the event loop, with one handle that is used again."""
    import pycurl

    loop = asyncio.get_running_loop()
    multi = pycurl.CurlMulti()
    done: asyncio.Future[None] | None = None
    timer: asyncio.TimerHandle | None = None

    def act(descriptor: int, mask: int) -> None:
        multi.socket_action(descriptor, mask)
        _, finished, failed = multi.info_read()
        for handle in (*finished, *(row[0] for row in failed)):
            multi.remove_handle(handle)
            assert done is not None
            done.set_result(None)

    def on_socket(event: int, descriptor: int, _multi: object, _data: object) -> None:
        loop.remove_reader(descriptor)
        loop.remove_writer(descriptor)
        if event in (pycurl.POLL_IN, pycurl.POLL_INOUT):
            loop.add_reader(descriptor, act, descriptor, pycurl.CSELECT_IN)
        if event in (pycurl.POLL_OUT, pycurl.POLL_INOUT):
            loop.add_writer(descriptor, act, descriptor, pycurl.CSELECT_OUT)

    def on_timer(milliseconds: int) -> None:
        nonlocal timer
        if timer is not None:
            timer.cancel()
        timer = loop.call_later(milliseconds / 1000, act, pycurl.SOCKET_TIMEOUT, 0) if milliseconds >= 0 else None

    multi.setopt(pycurl.M_SOCKETFUNCTION, on_socket)
    multi.setopt(pycurl.M_TIMERFUNCTION, on_timer)
    handle = pycurl.Curl()
    started = time.process_time()
    for _ in range(requests):
        parts: list[bytes] = []
        lines: list[bytes] = []
        handle.setopt(pycurl.URL, url)
        handle.setopt(pycurl.HEADERFUNCTION, lines.append)
        handle.setopt(pycurl.WRITEFUNCTION, parts.append)
        done = loop.create_future()
        multi.add_handle(handle)
        await done
        assert len(b"".join(parts)) == len(_BODY)
    return time.process_time() - started


MEASURED: dict[str, Callable[[str, int], Coroutine[None, None, float]]] = {
    "Topicrawl": _measure_topicrawl,
    "aiohttp": _measure_aiohttp,
    "pycurl": _measure_pycurl,
}


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=0, help="measure the CPU time of this many requests per round")
    requests = parser.parse_args().requests
    if requests:
        measure_cost(requests)
    else:
        asyncio.run(compare_tolerance())


if __name__ == "__main__":
    main()
