"""Load test of the search: 100 clients, one query per second each, while a crawl writes to the same collection.

    .venv/bin/python bench/search_load.py                   60 seconds
    .venv/bin/python bench/search_load.py --seconds 20 --clients 50 --pages 10000

The test runs `topicrawl serve` and `topicrawl crawl` as processes, with a website on loopback for the crawl and queries
over HTTP. The collection of 50,000 pages is generated once (a few minutes) in out/bench-search and copied for each run.
A query has one to four words of a vocabulary of 6,000 with Zipf's law; some queries contain phrases, fields or filters.
If a client is still waiting for a response when its next query is due, the time of that query counts from its due time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import aiohttp

from topicrawl.collection.directory import Collection
from topicrawl.collection.store import CollectionStore
from topicrawl.models import Link, Page, Priority, Response, Visit
from topicrawl.search.index import SearchIndex, update_index
from topicrawl.topic import Topic
from website import SEED, Prose

HERE = Path(__file__).parent
WORDS = " ".join(Prose(Random(SEED)).frequent(6))
PAGE_WORDS = 400
SITE_PAGES = 150  # pages of the website per second of the test
TOPICRAWL = [sys.executable, "-m", "topicrawl"]


def prepare_collection(pages: int) -> Path:
    """Return the directory of the collection. It is generated if it does not exist."""
    directory = Path("out") / "bench-search" / f"pages-{pages}"
    if not (directory / "done").exists():
        print(f"generating a collection of {pages} pages in {directory}; this takes some minutes once", flush=True)
        shutil.rmtree(directory, ignore_errors=True)
        # A crawl with an unreachable seed creates a directory that a later crawl can resume.
        start_crawl(directory, "http://127.0.0.1:9/", 1.0).wait()
        fill_collection(directory, pages)
        update_index(directory)
        (directory / "done").touch()
    return directory


def fill_collection(directory: Path, pages: int) -> None:
    """Write generated pages to the collection."""
    random = Random(SEED)
    prose = Prose(random)
    with Collection(directory, Topic.of(WORDS), {}) as collection:
        for start in range(0, pages, 500):
            collection.store_visits(
                [build_visit(number, prose) for number in range(start + 2, min(pages, start + 500) + 2)]
            )


def build_visit(step: int, prose: Prose) -> tuple[Visit, Response, None]:
    """Return the visit of a generated page."""
    url, title, at = f"http://site{step % 500}.example/{step}", prose.name(4).title(), 1e9 + step
    text = " ".join(prose.words(PAGE_WORDS))
    body = f"<html><title>{title}</title><body><p>{text}</p></body></html>".encode()
    response = Response(url, url, 200, {"content-type": "text/html"}, body, at)
    page = Page(url, title, text=text, language="en", digest=f"{step:032x}")
    return Visit(step, Link(url), Priority(0.5), url, page, 0.5, None, at, 200), response, None


def start_crawl(directory: Path, seed: str, seconds: float, delay: float = 0.0) -> subprocess.Popen[bytes]:
    """Start `topicrawl crawl` as a process."""
    options = f"--out {directory} --seed {seed} --seconds {seconds} --delay {delay} --pages 0 --host-pages 0"
    # A strategy that learns would first learn from the generated pages.
    options += " --allow-net 127.0.0.0/8 --concurrency 8 --no-distinct --attempts 1 --strategy best_first"
    command = [*TOPICRAWL, "crawl", WORDS, *options.split()]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextmanager
def start_process(command: list[str], pattern: str) -> Iterator[tuple[str, int]]:
    """Start a server process. The context manager returns the address that it prints, and its process id."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        output = []
        for line in process.stdout:
            output.append(line)
            if match := re.search(pattern, line):
                break
        else:
            raise SystemExit(f"{command} did not start:\n{''.join(output)}")
        yield match[0], process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def generate_queries() -> Iterator[str]:
    """Yield random queries."""
    # The same seed as for the pages gives the same vocabulary.
    random = Random(SEED)
    prose = Prose(random)
    random.seed("queries")
    while True:
        words = prose.name(random.choice((1, 2, 2, 3, 3, 4)))
        kind = random.random()
        if kind < 0.1:
            words = f'"{" ".join(prose.words(2))}" {words}'
        elif kind < 0.2:
            words = f"title:{words}"
        elif kind < 0.3:
            words = f"{words} host:site{random.randrange(500)}.example"
        yield words


class Clients:
    """Concurrent search clients and their results."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.errors: list[str] = []
        self.empty = 0
        self.share = 0.0  # CPU use, relative to one processor
        self._queries = generate_queries()

    async def run_client(self, session: aiohttp.ClientSession, address: str, number: int, rounds: int) -> None:
        """Send one query per second for `rounds` seconds."""
        started = time.monotonic() + Random(number).random()
        for round_number in range(rounds):
            due = started + round_number
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            try:
                async with session.get(f"{address}api/search", params={"q": next(self._queries)}) as response:
                    answer = await response.json()
                    troubles = [entry["trouble"] for entry in answer.get("asked", ()) if entry["trouble"]]
                    if response.status != 200 or troubles:
                        self.errors.append(f"{response.status}: {answer.get('error', troubles)}")
                    self.empty += not answer.get("hits")
            except (aiohttp.ClientError, TimeoutError, json.JSONDecodeError) as error:
                self.errors.append(repr(error))
            self.seconds.append(time.monotonic() - due)

    async def run(self, address: str, clients: int, rounds: int) -> None:
        """Run all clients concurrently."""
        started, cpu_before = time.monotonic(), time.process_time()
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            await asyncio.gather(*(self.run_client(session, address, number, rounds) for number in range(clients)))
        self.share = (time.process_time() - cpu_before) / (time.monotonic() - started)

    def report(self) -> None:
        """Print the latencies and errors."""
        times = sorted(self.seconds)
        shares = ", ".join(f"{share} % {1000 * times[len(times) * share // 100]:.0f} ms" for share in (50, 95, 99))
        print(f"{len(times)} queries: {shares}, maximum {1000 * times[-1]:.0f} ms; {self.empty} without results")
        print(f"errors: {len(self.errors)} {self.errors[:3]}")


def read_urls(directory: Path) -> set[str]:
    """Return the URLs of the pages in a collection."""
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    rows = store.query_rows("SELECT pages.url FROM pages JOIN visits USING (step) WHERE failure IS NULL")
    store.close()
    return {str(url) for (url,) in rows}


def count_missing(directory: Path) -> tuple[int, int]:
    """Update the index. Return the number of pages and the number of pages missing from the index."""
    update_index(directory)
    index = SearchIndex(directory)
    indexed = {str(url) for (url,) in index._database.execute("SELECT url FROM pages WHERE state = 1")}
    index.close()
    urls = read_urls(directory)
    return len(urls), len(urls - indexed)


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def read_peak_memory(pid: int) -> float:
    """Return the peak resident memory of a process in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1024


def describe_load() -> str:
    """Return the time and the load average."""
    return f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, load {os.getloadavg()[0]:.1f}"


def main() -> None:
    """Run the load test and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--delay", type=float, default=0.0, help="crawl delay between two requests to a host")
    options = parser.parse_args()
    base = prepare_collection(options.pages)
    clients = Clients()
    with TemporaryDirectory() as temporary, ExitStack() as stack:
        directory = Path(shutil.copytree(base, Path(temporary) / "crawl"))
        before = len(read_urls(directory))
        # More pages than the crawl can fetch in that time, so that it writes until the end.
        site = [sys.executable, str(HERE / "website.py"), "--pages", str(SITE_PAGES * options.seconds)]
        first, _ = stack.enter_context(start_process(site, r"http://\S+"))
        serve = [*TOPICRAWL, "serve", str(directory), "--port", "0"]
        address, server = stack.enter_context(start_process(serve, r"http://\S+"))
        print(f"{describe_load()}: {options.clients} clients, {before} pages, {os.cpu_count()} processors", flush=True)
        crawling = start_crawl(directory, first, options.seconds + 5.0, options.delay)
        started, cpu_before = time.monotonic(), cpu_seconds(server)
        asyncio.run(clients.run(address, options.clients, options.seconds))
        shares = [
            (cpu_seconds(pid) - cpu_start) / (time.monotonic() - started)
            for pid, cpu_start in ((server, cpu_before), (crawling.pid, 0))
        ]
        memory = read_peak_memory(server)
        state = "ran until the end" if crawling.poll() is None else "ended early"
        crawling.send_signal(signal.SIGINT)
        print(f"{describe_load()}: the crawl {state}, exit code {crawling.wait()}")
        print(
            "CPU relative to one processor: server {:.0%}, crawl {:.0%}, clients {:.0%}".format(*shares, clients.share)
        )
        print(f"peak memory of the server: {memory:.0f} MB")
        stack.close()
        total, missing = count_missing(directory)
    clients.report()
    rate = (total - before) / options.seconds
    print(f"the crawl added {total - before} pages, {rate:.0f} per second; {missing} of {total} are not in the index")


if __name__ == "__main__":
    main()
