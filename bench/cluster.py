"""Benchmark of the Redis frontier: pages per second, bytes per URL, restart time and scaling with workers.

python bench/cluster.py [speed|bytes|restart|paper|scaling|same|chaos …] [--links 1000000]

Everything runs on this machine: a separate redis-server in a temporary directory, clients and workers. On two cores,
four workers share these two cores.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing import Barrier, Process, Queue
from multiprocessing.synchronize import Barrier as Start
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.helpers.redis_server import RedisServer

from topicrawl.cli.event_loop import run_async
from topicrawl.frontier.base import Completion, FrontierRules, Offer
from topicrawl.frontier.redis.frontier import RedisFrontier
from topicrawl.frontier.redis.overflow import OverflowStore
from topicrawl.frontier.redis.server import HASH_TAG, RedisConnection, parse_info
from topicrawl.frontier.redis.shared_crawl import build_initial_facts
from topicrawl.models import Link, Priority

BASE = f"{HASH_TAG}:bench"
OUT_LINKS = 10
HOSTS = 50_000
_MOST = 4000  # pages per second for which links are generated in advance
PARTS = ("speed", "bytes", "restart", "paper", "scaling", "same", "chaos")


class ClientConfig(NamedTuple):
    """Configuration of a client process."""

    address: str
    epoch: str
    start: Start  # barrier at which all processes wait for each other


def build_url(number: int) -> str:
    """Return the URL with this number."""
    return f"https://www.site-{number * 7919 % HOSTS:05}.example.org/section-{number % 97}/some-page-{number}.html"


def build_offers(start: int, count: int, source: str = "") -> list[Offer]:
    """Return offers of `count` links with consecutive numbers."""
    return [
        Offer(
            Link(build_url(n), source, f"anchor text {n % 1000}", depth=3), Priority((n * 2654435761 % 1_000_003) / 1e6)
        )
        for n in range(start, start + count)
    ]


async def open_frontier(address: str, epoch: str = "", rules: FrontierRules | None = None) -> RedisFrontier:
    """Open the frontier of a new crawl, or of the crawl with this epoch."""
    server = RedisConnection(address)
    if not epoch:
        # The defaults of a crawl, with host rate limits shared with other crawls.
        facts = build_initial_facts(rules or FrontierRules(lease_seconds=60.0)) | {"pace": f"{HASH_TAG}:pace"}
        epoch = facts["epoch"]
        await server.execute("HSET", f"{BASE}:c", *(text for pair in facts.items() for text in pair))
    return RedisFrontier(server, BASE, epoch, f"w{os.getpid()}")


async def process_pages(address: str, epoch: str, seconds: float, found: Iterator[list[Offer]]) -> int:
    """Lease and complete 16 pages at a time with new links, like a worker. Return the number of pages."""
    frontier = await open_frontier(address, epoch)
    done, deadline = 0, time.monotonic() + seconds
    while time.monotonic() < deadline:
        leases = await frontier.lease(16)
        done += sum(await frontier.complete_all([Completion(lease, "fetched", next(found)) for lease in leases]))
    await frontier.connection.close()
    return done


def generate_links(number: int, count: int) -> Iterator[list[Offer]]:
    """Yield new links for one page after the other. The links of `count` pages are generated in advance."""
    numbers = itertools.count(10_000_000 * (number + 1), OUT_LINKS)
    ready = [build_offers(start, OUT_LINKS, build_url(start // 7)) for start in itertools.islice(numbers, count)]
    return itertools.chain(ready, (build_offers(start, OUT_LINKS, build_url(start // 7)) for start in numbers))


def run_client(config: ClientConfig, number: int, seconds: float, answers: Queue[tuple[int, float]]) -> None:
    """Process pages in a client process and report their number and the CPU seconds."""
    links = generate_links(number, int(_MOST * seconds / (config.start.parties - 1)))
    # All processes start together, after all links are generated.
    config.start.wait()
    before = time.process_time()
    # The event loop of a worker.
    done = run_async(process_pages(config.address, config.epoch, seconds, links))
    answers.put((done, time.process_time() - before))


def measure_speed(redis: RedisServer, seconds: float = 10.0) -> float:
    """Return the pages per second that one core of the server can process, from its CPU time per page.

    The links are generated before the measurement, because on two cores this would take time from the frontier.
    """
    rate = 0.0

    async def start_crawl() -> str:
        frontier = await open_frontier(redis.address)
        await frontier.connection.execute("FLUSHALL")
        frontier = await open_frontier(redis.address)
        await frontier.add(build_offers(0, 5000))
        await frontier.connection.close()
        return frontier.epoch

    for clients in (1, 2, 4):
        epoch = asyncio.run(start_crawl())
        answers: Queue[tuple[int, float]] = Queue()
        config = ClientConfig(redis.address, epoch, Barrier(clients + 1))
        running = [Process(target=run_client, args=(config, n, seconds, answers)) for n in range(clients)]
        for process in running:
            process.start()
        config.start.wait()
        before = server_cpu_seconds(redis)
        results = [answers.get() for _ in running]
        for process in running:
            process.join()
        total, client_cpu = sum(done for done, _ in results), sum(used for _, used in results)
        server_cpu = (server_cpu_seconds(redis) - before) / max(total, 1)
        print(
            f"frontier, {clients} client(s): {total / seconds:.0f} pages/s with {OUT_LINKS} new out-links each; "
            f"CPU per page {server_cpu * 1e6:.0f} µs in the server and {client_cpu / max(total, 1) * 1e6:.0f} µs in "
            f"the clients, {1 / server_cpu:.0f} pages/s per server core"
        )
        rate = max(rate, 1 / server_cpu)
    return rate


def server_cpu_seconds(redis: RedisServer) -> float:
    """Return the CPU seconds of the server's main thread."""
    assert redis.process is not None
    # schedstat counts nanoseconds; clock ticks would include the time of other processes.
    return int(Path(f"/proc/{redis.process.pid}/schedstat").read_text().split()[0]) / 1e9


async def server_memory(frontier: RedisFrontier) -> int:
    """Return the memory use of the server in bytes."""
    return int(parse_info(await frontier.connection.execute("INFO", "memory"))["used_memory"])


class LinkBytes(NamedTuple):
    """Memory per link in bytes, by state."""

    waiting: float
    overflow: float
    done: float


async def measure_bytes(redis: RedisServer, links: int) -> tuple[str, LinkBytes]:
    """Fill the frontier with waiting links, half of them in the overflow, and as many done links.

    Return the epoch of the crawl and the memory per link.
    """
    frontier = await open_frontier(redis.address)
    await frontier.connection.execute("FLUSHALL")
    frontier = await open_frontier(redis.address)
    # The memory of hosts is measured separately from that of links.
    initial = await server_memory(frontier)
    for start in range(0, HOSTS, 1000):
        await frontier.mark_done([build_url(-n) for n in range(start, start + 1000)], "fetched")
    with_hosts = await server_memory(frontier)
    print(f"{(with_hosts - initial) / HOSTS:.0f} bytes per host")
    for start in range(0, links, 1000):
        await frontier.mark_done([build_url(n) for n in range(start, start + 1000)], "fetched")
    done = (await server_memory(frontier) - with_hosts) / links
    before = await server_memory(frontier)
    for start in range(links, 2 * links, 500):
        await frontier.add(build_offers(start, 500, build_url(start)))
    waiting = (await server_memory(frontier) - before) / links
    overflow = waiting - await move_to_overflow(frontier, links // 2)
    await frontier.connection.close()
    return frontier.epoch, LinkBytes(waiting, overflow, done)


async def move_to_overflow(frontier: RedisFrontier, room: int) -> float:
    """Move links to the overflow until `room` links are left. Return the bytes freed per link."""
    await frontier.connection.execute("HSET", f"{frontier.key_prefix}:c", "room", room)
    started, before, moved = time.monotonic(), await server_memory(frontier), 0
    while step := await OverflowStore(frontier).rebalance():
        moved -= step
    print(f"{moved} links moved to the overflow, {moved / (time.monotonic() - started):.0f} per second")
    return (before - await server_memory(frontier)) / moved


def measure_restart(redis: RedisServer, epoch: str, links: int) -> None:
    """Kill the server, restart it and print the time until all links are back."""

    async def count_links() -> Any:
        frontier = await open_frontier(redis.address, epoch)
        try:
            return await frontier.get_counts()
        finally:
            await frontier.connection.close()

    before = asyncio.run(count_links())
    redis.kill()
    started = time.monotonic()
    redis.start()
    while asyncio.run(count_links()) != before:
        time.sleep(0.1)
    print(f"restart after kill -9 with {2 * links} links: {time.monotonic() - started:.1f} s; recovered: {before}")


def measure_scaling(folder: Path) -> None:
    """Crawl a site on this machine with 1, 2 and 4 workers, which share the CPU, and print the rates."""
    from tests.helpers.chaos_cluster import ChaosCluster, Plan

    for workers in (1, 2, 4):
        plan = Plan(pages=3000, hosts=100, workers=workers, kills=0, delay=0.0, lease=30.0)
        crawl_folder = folder / f"scaling-{workers}"
        crawl_folder.mkdir()
        redis = RedisServer(crawl_folder / "redis")
        redis.start()
        script = Path(__file__).parent.parent / "tests" / "helpers" / "chaos_site.py"
        command = [sys.executable, str(script), str(plan.pages), str(plan.hosts), str(crawl_folder / "requests.log")]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as site:
            assert site.stdout is not None
            crawl = ChaosCluster(crawl_folder, redis, int(site.stdout.readline()), plan)
            crawl.start_crawl()
            crawl.wait_for(2)
            for _ in range(workers - 1):
                crawl.start_worker()
            crawl.wait_for_exit()
            times = [started for started, _, path in crawl.read_requests() if path.startswith("/p/")]
            steady = sorted(times)[len(times) // 4 : -len(times) // 10 or None]
            rate = len(steady) / (steady[-1] - steady[0])
            print(
                f"{workers} worker(s) on {os.cpu_count()} cores: {rate:.0f} pages/s, "
                f"{len(set(crawl.stored_pages()))} pages"
            )
            site.kill()
        redis.kill()


def print_projection(cost: LinkBytes, rate: float) -> None:
    """Print the projected resources for 10⁹ URLs."""
    fetched, queued, overflow = 1e8, 5e7, 8.5e8
    sizes = {"done": fetched * cost.done, "in queues": queued * cost.waiting, "overflow": overflow * cost.overflow}
    print("projection for 10⁹ URLs, 10⁸ fetched, 5·10⁷ in the queues (--capacity), the rest in the overflow:")
    print(f"  memory of the server {sum(sizes.values()) / 1e9:.0f} GB:", end=" ")
    print(", ".join(f"{name} {size / 1e9:.1f} GB" for name, size in sizes.items()))
    print(f"  10⁸ pages at {rate:.0f} pages/s: {fetched / rate / 3600:.0f} h of one server core")
    print(f"  at 100 pages/s per core, {rate / 100:.0f} worker cores saturate it;", end=" ")
    print(f"10 cores take {fetched / 1000 / 86400:.1f} days")


def main() -> None:
    """Run the selected parts of the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=PARTS, choices=[[], *PARTS])
    parser.add_argument("--links", type=int, default=1_000_000)
    options = parser.parse_args()
    print(f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the start")
    with tempfile.TemporaryDirectory() as folder:
        # The settings of deploy/redis.conf.
        settings = ("--appendfsync", "everysec", "--auto-aof-rewrite-min-size", "256mb")
        redis = RedisServer(Path(folder) / "redis", *settings)
        redis.start()
        try:
            rate = measure_speed(redis) if {"speed", "paper"} & set(options.parts) else 0.0
            if {"bytes", "restart", "paper"} & set(options.parts):
                epoch, cost = asyncio.run(measure_bytes(redis, options.links))
                print(
                    f"{options.links} links: {cost.waiting:.0f} bytes per waiting link, {cost.overflow:.0f} per link "
                    f"in the overflow, {cost.done:.1f} per done link"
                )
                if "restart" in options.parts:
                    measure_restart(redis, epoch, options.links)
                if "paper" in options.parts:
                    print_projection(cost, rate)
        finally:
            redis.kill()
        if "scaling" in options.parts:
            measure_scaling(Path(folder))
    if "same" in options.parts:
        subprocess.run([sys.executable, str(Path(__file__).parent / "cluster_same.py")], check=True)
    if "chaos" in options.parts:
        command = [sys.executable, "-m", "pytest", "-n0", "-s", "tests/chaos/test_cluster.py"]
        subprocess.run(command, check=True, env={**os.environ, "TOPICRAWL_LONG": "1", "TOPICRAWL_CHAOS": "full"})


if __name__ == "__main__":
    main()
