"""Speed and memory use of the frontiers with 50,000 hosts and 1,000,000 waiting links.

python bench/frontier_speed.py [memory|sqlite|both] [--links 1000000] [--hosts 50000]

With `--links 10000000`, the SQLite frontier takes some minutes and 2 GB of disk space in the working directory.
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
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from topicrawl.frontier.base import Frontier, FrontierRules, Offer
from topicrawl.frontier.memory import MemoryFrontier
from topicrawl.frontier.sqlite.frontier import SqliteFrontier
from topicrawl.models import Link, Priority

clock = time.thread_time  # CPU time, so that other programs and disk waits do not count
PAGES = 3000  # measured leases


def current_rss() -> int:
    """Return the resident memory in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def generate_links(start: int, count: int, hosts: int, draw: random.Random, source: str = "") -> list[Offer]:
    """Return the links of a page. Four of five stay on its host. A URL has 70 characters on average."""
    home = source.split("/")[2] if source else host_name(int(hosts * draw.random() ** 3))  # few hosts have most pages
    offers = []
    for number in range(start, start + count):
        host = home if draw.random() < 0.8 else host_name(int(hosts * draw.random()))
        url = f"https://{host}/section-{number % 97}/some-page-title-{number}.html"
        offers.append(Offer(Link(url, source, f"anchor text {number % 1000}", depth=3), Priority(draw.random())))
    return offers


def host_name(host: int) -> str:
    """Return the name of the host with this number."""
    return f"www.site-{host:05}.example.org"


async def fill_frontier(frontier: Frontier, links: int, hosts: int, draw: random.Random) -> float:
    """Add links in batches of 100. Return the seconds."""
    seconds = 0.0
    for start in range(0, links, 100):
        offers = generate_links(start, min(100, links - start), hosts, draw)
        before = clock()
        await frontier.add(offers)
        seconds += clock() - before
    return seconds


class CallTimes:
    """Times of one kind of call in microseconds."""

    def __init__(self, name: str) -> None:
        self.name, self.times = name, list[float]()

    def print(self) -> None:
        """Print median, mean, 99th percentile and maximum."""
        ordered = sorted(self.times)
        p99, worst = ordered[len(ordered) * 99 // 100], ordered[-1]
        mean, median = statistics.fmean(ordered), statistics.median(ordered)
        print(f"  {self.name:34} {median:8.0f} median {mean:8.0f} mean {p99:8.0f} p99 {worst:8.0f} worst  µs")


async def measure_calls(frontier: Frontier, links: int, hosts: int, now: list[float]) -> None:
    """Lease and complete pages like a crawl, mostly with known links, and print the times of the calls."""
    draw = random.Random(7)
    lease_time, known_time, new_time = (
        CallTimes("lease(1)"),
        CallTimes("complete, 95 of 100 known"),
        CallTimes("complete, 100 new"),
    )
    priorities_time = CallTimes("priorities of 100 waiting links")
    next_number = links
    menu = generate_links(links, 95, hosts, draw)
    await frontier.add(menu)
    next_number += 95
    for step in range(PAGES):
        now[0] += 0.001
        before = clock()
        (lease,) = await frontier.lease(1)
        lease_time.times.append((clock() - before) * 1e6)
        count, known, call_times = (100, [], new_time) if step % 4 == 0 else (5, menu, known_time)
        source = lease.link.url
        offers = known + generate_links(next_number, count, hosts, draw, source)
        next_number += count
        before = clock()
        await frontier.complete(lease, "fetched", offers)
        call_times.times.append((clock() - before) * 1e6)
        if step % 50 == 0:
            urls = [offer.link.url for offer in offers]
            before = clock()
            await frontier.get_priorities(urls)
            priorities_time.times.append((clock() - before) * 1e6)
    for call_times in (lease_time, known_time, new_time, priorities_time):
        call_times.print()


async def measure_frontier(
    name: str, open_: Callable[[], Frontier], arguments: argparse.Namespace, now: list[float]
) -> int:
    """Measure one frontier, print the results and return the number of waiting links."""
    draw, links, hosts = random.Random(1), arguments.links, arguments.hosts
    before = current_rss()
    frontier = open_()
    seconds = await fill_frontier(frontier, links, hosts, draw)
    counts = await frontier.get_counts()
    print(f"{name}: {counts.waiting:,} waiting links on {counts.hosts:,} hosts")
    print(f"  {'add, 100 new at a time':34} {links / seconds:8,.0f} links/s, {seconds / links * 1e8:.0f} µs per page")
    used = current_rss() - before
    print(f"  {'memory':34} {used / 2**20:8.0f} MiB")
    print(f"  {'memory per URL':34} {used / links:8.0f} bytes, {used / counts.hosts:.0f} per host")
    await measure_calls(frontier, links, hosts, now)
    started = clock()
    await frontier.get_best_entries(10)
    print(f"  {'best(10)':34} {(clock() - started) * 1e3:8.1f} ms")
    started = clock()
    await frontier.close()
    print(f"  {'close':34} {(clock() - started) * 1e3:8.1f} ms")
    return counts.waiting


def measure_restart(path: Path, rules: FrontierRules, now: float) -> tuple[float, int]:
    """Open an SQLite frontier and lease a link. Return the elapsed seconds and the memory in bytes."""
    before, started = current_rss(), time.perf_counter()
    frontier = SqliteFrontier(path, rules, lambda: now)
    asyncio.run(frontier.lease(1))
    result = time.perf_counter() - started, current_rss() - before
    asyncio.run(frontier.close())
    return result


async def main() -> None:
    """Measure the frontiers named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", nargs="?", default="both", choices=("memory", "sqlite", "both"))
    parser.add_argument("--links", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, default=50_000)
    arguments = parser.parse_args()
    now, rules = [1e9], FrontierRules(delay=1.0, lease_seconds=1e9)
    if arguments.kind != "memory":
        with tempfile.TemporaryDirectory(dir=".") as folder:
            path = Path(folder) / "frontier.db"
            waiting = await measure_frontier(
                "sqlite", lambda: SqliteFrontier(path, rules, lambda: now[0]), arguments, now
            )
            print(f"  {'disk per URL':34} {path.stat().st_size / waiting:8.0f} bytes")
            with ProcessPoolExecutor(1, get_context("spawn")) as fresh_process:
                seconds, used = fresh_process.submit(measure_restart, path, rules, now[0]).result()
            print(f"  {'open in a new process':34} {seconds:8.2f} s, {used / 2**20:.0f} MiB")
    if arguments.kind != "sqlite":
        await measure_frontier("memory", lambda: MemoryFrontier(rules, lambda: now[0]), arguments, now)


if __name__ == "__main__":
    asyncio.run(main())
