"""How fast the frontiers are at 50,000 hosts and 1,000,000 waiting links, and what a URL costs.

python bench/frontier_speed.py [memory|sqlite|both] [--links 1000000] [--hosts 50000]
"""

from __future__ import annotations

import argparse
import asyncio
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from topicrawl.frontier.contract import Frontier, Offer, Rules
from topicrawl.frontier.memory import Memory
from topicrawl.frontier.sqlite import Sqlite
from topicrawl.records import Link, Place

clock = time.thread_time  # other programs on this machine must not count; the disk's own time does not either
PAGES = 3000  # measured leases


def rss() -> int:
    """Bytes in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def page(start: int, count: int, hosts: int, draw: random.Random, source: str = "") -> list[Offer]:
    """The links of a page: four of five stay on its host, the others lead anywhere; 70 characters on average."""
    home = source.split("/")[2] if source else name(int(hosts * draw.random() ** 3))  # few hosts have most pages
    offers = []
    for number in range(start, start + count):
        host = home if draw.random() < 0.8 else name(int(hosts * draw.random()))
        url = f"https://{host}/section-{number % 97}/some-page-title-{number}.html"
        offers.append(Offer(Link(url, source, f"anchor text {number % 1000}", depth=3), Place(draw.random())))
    return offers


def name(host: int) -> str:
    return f"www.site-{host:05}.example.org"


async def fill(frontier: Frontier, links: int, hosts: int, draw: random.Random) -> float:
    """Put the links in, a page's worth at a time. Returns seconds."""
    seconds = 0.0
    for start in range(0, links, 100):
        offers = page(start, min(100, links - start), hosts, draw)
        before = clock()
        await frontier.add(offers)
        seconds += clock() - before
    return seconds


class Measured:
    """Times of one kind of call, in microseconds."""

    def __init__(self, name: str) -> None:
        self.name, self.times = name, list[float]()

    def print(self) -> None:
        ordered = sorted(self.times)
        p99, worst = ordered[len(ordered) * 99 // 100], ordered[-1]
        mean, median = statistics.fmean(ordered), statistics.median(ordered)
        print(f"  {self.name:34} {median:8.0f} median {mean:8.0f} mean {p99:8.0f} p99 {worst:8.0f} worst  µs")


async def walk(frontier: Frontier, links: int, hosts: int, now: list[float]) -> None:
    """Lease and complete as a crawl does: mostly known links, sometimes a page of new ones."""
    draw = random.Random(7)
    lease_time, known_time, new_time = (
        Measured("lease(1)"),
        Measured("complete, 95 of 100 known"),
        Measured("complete, 100 new"),
    )
    places_time = Measured("places of 100 that wait")
    fresh = links
    menu = page(links, 95, hosts, draw)
    await frontier.add(menu)
    fresh += 95
    for step in range(PAGES):
        now[0] += 0.001
        before = clock()
        (lease,) = await frontier.lease(1)
        lease_time.times.append((clock() - before) * 1e6)
        count, known, measured = (100, [], new_time) if step % 4 == 0 else (5, menu, known_time)
        source = lease.link.url
        offers = known + page(fresh, count, hosts, draw, source)
        fresh += count
        before = clock()
        await frontier.complete(lease, "fetched", offers)
        measured.times.append((clock() - before) * 1e6)
        if step % 50 == 0:
            urls = [offer.link.url for offer in offers]
            before = clock()
            await frontier.places(urls)
            places_time.times.append((clock() - before) * 1e6)
    for measured in (lease_time, known_time, new_time, places_time):
        measured.print()


async def measure(name: str, open_: Callable[[], Frontier], arguments: argparse.Namespace, now: list[float]) -> int:
    draw, links, hosts = random.Random(1), arguments.links, arguments.hosts
    before = rss()
    frontier = open_()
    seconds = await fill(frontier, links, hosts, draw)
    counts = await frontier.counts()
    print(f"{name}: {counts.waiting:,} waiting links on {counts.hosts:,} hosts")
    print(f"  {'add, 100 new at a time':34} {links / seconds:8,.0f} links/s, {seconds / links * 1e8:.0f} µs a page")
    print(f"  {'memory a URL':34} {(rss() - before) / links:8.0f} bytes, {(rss() - before) / counts.hosts:.0f} a host")
    await walk(frontier, links, hosts, now)
    started = clock()
    await frontier.best(10)
    print(f"  {'best(10)':34} {(clock() - started) * 1e3:8.1f} ms")
    started = clock()
    await frontier.close()
    print(f"  {'close':34} {(clock() - started) * 1e3:8.1f} ms")
    return counts.waiting


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", nargs="?", default="both", choices=("memory", "sqlite", "both"))
    parser.add_argument("--links", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, default=50_000)
    arguments = parser.parse_args()
    now, rules = [1e9], Rules(delay=1.0, lease_seconds=1e9)
    if arguments.kind != "memory":
        with tempfile.TemporaryDirectory(dir=".") as folder:
            path = Path(folder) / "frontier.db"
            waiting = await measure("sqlite", lambda: Sqlite(path, rules, lambda: now[0]), arguments, now)
            print(f"  {'disk a URL':34} {path.stat().st_size / waiting:8.0f} bytes")
            started = clock()
            frontier = Sqlite(path, rules, lambda: now[0])
            print(f"  {'open':34} {(clock() - started) * 1e3:8.1f} ms")
            await frontier.close()
    if arguments.kind != "sqlite":
        await measure("memory", lambda: Memory(rules, lambda: now[0]), arguments, now)


if __name__ == "__main__":
    asyncio.run(main())
