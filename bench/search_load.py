"""A hundred people search 50,000 pages, one query a second each, while a crawl writes to the same collection.

    .venv/bin/python bench/search_load.py                   60 seconds
    .venv/bin/python bench/search_load.py --seconds 20 --clients 50 --pages 10000

All is real: `topicrawl serve` and `topicrawl crawl` as processes, a website on loopback for the crawl, queries by HTTP.
The collection is made once (a few minutes) under out/bench-search and copied for each run. Queries differ: one to four
words of a vocabulary of 6,000 by Zipf's law, some as phrases, with fields or with filters. A query that cannot be sent
in time because the last one is still being answered counts from the moment when it was due.
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
from topicrawl.collection.store import Store
from topicrawl.records import Link, Page, Place, Response, Visit
from topicrawl.search.index import Index, catch_up
from topicrawl.topic import Topic
from website import SEED, Prose

HERE = Path(__file__).parent
WORDS = " ".join(Prose(Random(SEED)).frequent(6))
PAGE_WORDS = 400
SITE_PAGES = 150  # for each second
TOPICRAWL = [sys.executable, "-m", "topicrawl"]


def collection(pages: int) -> Path:
    """The collection that is searched; made if it is not there."""
    directory = Path("out") / "bench-search" / f"pages-{pages}"
    if not (directory / "done").exists():
        print(f"making a collection of {pages} pages in {directory}: once, some minutes", flush=True)
        shutil.rmtree(directory, ignore_errors=True)
        # A crawl that finds nobody at its seed leaves a directory that can be gone on with.
        crawl(directory, "http://127.0.0.1:9/", 1.0).wait()
        fill(directory, pages)
        catch_up(directory)
        (directory / "done").touch()
    return directory


def fill(directory: Path, pages: int) -> None:
    random = Random(SEED)
    prose = Prose(random)
    with Collection(directory, Topic.of(WORDS), {}) as crawled:
        for start in range(0, pages, 500):
            crawled.keep([made(number, prose) for number in range(start + 2, min(pages, start + 500) + 2)])


def made(step: int, prose: Prose) -> tuple[Visit, Response, None]:
    url, title, at = f"http://site{step % 500}.example/{step}", prose.name(4).title(), 1e9 + step
    text = " ".join(prose.words(PAGE_WORDS))
    body = f"<html><title>{title}</title><body><p>{text}</p></body></html>".encode()
    response = Response(url, url, 200, {"content-type": "text/html"}, body, at)
    page = Page(url, title, text=text, language="en", digest=f"{step:032x}")
    return Visit(step, Link(url), Place(0.5), url, page, 0.5, None, at, 200), response, None


def crawl(directory: Path, seed: str, seconds: float, delay: float = 0.0) -> subprocess.Popen[bytes]:
    options = f"--out {directory} --seed {seed} --seconds {seconds} --delay {delay} --pages 0 --host-pages 0"
    # One that learns would first learn from the pages that were put there.
    options += " --allow-net 127.0.0.0/8 --concurrency 8 --no-distinct --attempts 1 --strategy best_first"
    command = [*TOPICRAWL, "crawl", WORDS, *options.split()]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextmanager
def started(command: list[str], pattern: str) -> Iterator[tuple[str, int]]:
    """A process that says where it listens, and its number."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if found := re.search(pattern, line):
                break
        else:
            raise SystemExit(f"{command} did not start:\n{''.join(said)}")
        yield found[0], process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def queries() -> Iterator[str]:
    # The first numbers make the vocabulary, which is that of the pages.
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
    """What they saw."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.errors: list[str] = []
        self.empty = 0
        self.share = 0.0  # of one processor
        self._asked = queries()

    async def ask(self, session: aiohttp.ClientSession, address: str, number: int, rounds: int) -> None:
        begun = time.monotonic() + Random(number).random()
        for at in range(rounds):
            due = begun + at
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            try:
                async with session.get(f"{address}api/search", params={"q": next(self._asked)}) as response:
                    told = await response.json()
                    troubles = [it["trouble"] for it in told.get("asked", ()) if it["trouble"]]
                    if response.status != 200 or troubles:
                        self.errors.append(f"{response.status}: {told.get('error', troubles)}")
                    self.empty += not told.get("hits")
            except (aiohttp.ClientError, TimeoutError, json.JSONDecodeError) as error:
                self.errors.append(repr(error))
            self.seconds.append(time.monotonic() - due)

    async def run(self, address: str, clients: int, rounds: int) -> None:
        begun, used = time.monotonic(), time.process_time()
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            await asyncio.gather(*(self.ask(session, address, number, rounds) for number in range(clients)))
        self.share = (time.process_time() - used) / (time.monotonic() - begun)

    def report(self) -> None:
        times = sorted(self.seconds)
        shares = ", ".join(f"{share} % {1000 * times[len(times) * share // 100]:.0f} ms" for share in (50, 95, 99))
        print(f"{len(times)} queries: {shares}, longest {1000 * times[-1]:.0f} ms; {self.empty} found nothing")
        print(f"errors: {len(self.errors)} {self.errors[:3]}")


def pages_of(directory: Path) -> set[str]:
    store = Store(directory / "topicrawl.sqlite", readonly=True)
    rows = store.rows("SELECT pages.url FROM pages JOIN visits USING (step) WHERE failure IS NULL")
    store.close()
    return {str(url) for (url,) in rows}


def lost(directory: Path) -> tuple[int, int]:
    """Pages of the collection, and how many of them the index does not have, once it has caught up."""
    catch_up(directory)
    index = Index(directory)
    indexed = {str(url) for (url,) in index._database.execute("SELECT url FROM pages WHERE state = 1")}
    index.close()
    there = pages_of(directory)
    return len(there), len(there - indexed)


def computed(pid: int) -> float:
    """Seconds of computing that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def load() -> str:
    return f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, load {os.getloadavg()[0]:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--delay", type=float, default=0.0, help="of the crawl, between two requests to a host")
    options = parser.parse_args()
    base = collection(options.pages)
    clients = Clients()
    with TemporaryDirectory() as room, ExitStack() as stack:
        directory = Path(shutil.copytree(base, Path(room) / "crawl"))
        before = len(pages_of(directory))
        # More than a crawl can fetch meanwhile: it has to write until the end.
        site = [sys.executable, str(HERE / "website.py"), "--pages", str(SITE_PAGES * options.seconds)]
        first, _ = stack.enter_context(started(site, r"http://\S+"))
        serve = [*TOPICRAWL, "serve", str(directory), "--port", "0"]
        address, server = stack.enter_context(started(serve, r"http://\S+"))
        print(f"{load()}: {options.clients} clients, {before} pages, {os.cpu_count()} processors", flush=True)
        crawling = crawl(directory, first, options.seconds + 5.0, options.delay)
        begun, used = time.monotonic(), computed(server)
        asyncio.run(clients.run(address, options.clients, options.seconds))
        shares = [(computed(pid) - at) / (time.monotonic() - begun) for pid, at in ((server, used), (crawling.pid, 0))]
        wrote = "to the end" if crawling.poll() is None else "and ended before"
        crawling.send_signal(signal.SIGINT)
        print(f"{load()}: the crawl wrote {wrote}, and ended with {crawling.wait()}")
        print("of one processor: server {:.0%}, crawl {:.0%}, clients {:.0%}".format(*shares, clients.share))
        stack.close()
        there, missing = lost(directory)
    clients.report()
    rate = (there - before) / options.seconds
    print(f"the crawl added {there - before} pages, {rate:.0f} a second; {missing} of {there} are not found")


if __name__ == "__main__":
    main()
