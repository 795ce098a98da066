"""What a frontier in Redis can do: pages a second, bytes a URL, the time a restart takes, and how workers add up.

python bench/cluster.py [speed|bytes|restart|paper|scaling|same|chaos …] [--links 1000000]

Everything runs on this machine: a redis-server of its own in a temporary directory, clients and workers beside it, so
with two cores the figures of four workers say how they share two cores.
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

from tests.redis_server import RedisServer

from topicrawl.cli.loop import run
from topicrawl.frontier.contract import End, Offer, Rules
from topicrawl.frontier.redis import Redis
from topicrawl.frontier.redis_attic import Attic
from topicrawl.frontier.redis_crawl import first_facts
from topicrawl.frontier.redis_server import TAG, Server, info
from topicrawl.records import Link, Place

BASE = f"{TAG}:bench"
OUT_LINKS = 10
HOSTS = 50_000
_MOST = 4000  # pages a second for which links are made up beforehand
PARTS = ("speed", "bytes", "restart", "paper", "scaling", "same", "chaos")


class Told(NamedTuple):
    """What a client must know."""

    address: str
    epoch: str
    start: Start  # where all wait for each other


def url(number: int) -> str:
    return f"https://www.site-{number * 7919 % HOSTS:05}.example.org/section-{number % 97}/some-page-{number}.html"


def offers(start: int, count: int, source: str = "") -> list[Offer]:
    return [
        Offer(Link(url(n), source, f"anchor text {n % 1000}", depth=3), Place((n * 2654435761 % 1_000_003) / 1e6))
        for n in range(start, start + count)
    ]


async def opened(address: str, epoch: str = "", rules: Rules | None = None) -> Redis:
    """A new crawl, or the one of an epoch."""
    server = Server(address)
    if not epoch:
        # What a crawl has without options, and the pace of hosts shared with other crawls.
        facts = first_facts(rules or Rules(lease_seconds=60.0)) | {"pace": f"{TAG}:pace"}
        epoch = facts["epoch"]
        await server.ask("HSET", f"{BASE}:c", *(text for pair in facts.items() for text in pair))
    return Redis(server, BASE, epoch, f"w{os.getpid()}")


async def pages(address: str, epoch: str, seconds: float, found: Iterator[list[Offer]]) -> int:
    """Lease and complete with the links that were found on each page, 16 pages at a time, as a worker does."""
    frontier = await opened(address, epoch)
    done, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        leases = await frontier.lease(16)
        done += sum(await frontier.complete_all([End(lease, "fetched", next(found)) for lease in leases]))
    await frontier.server.close()
    return done


def found_links(number: int, count: int) -> Iterator[list[Offer]]:
    """New links for page after page; those for so many pages are made up beforehand."""
    numbers = itertools.count(10_000_000 * (number + 1), OUT_LINKS)
    made = [offers(start, OUT_LINKS, url(start // 7)) for start in itertools.islice(numbers, count)]
    return itertools.chain(made, (offers(start, OUT_LINKS, url(start // 7)) for start in numbers))


def client(told: Told, number: int, seconds: float, answers: Queue[tuple[int, float]]) -> None:
    found = found_links(number, int(_MOST * seconds / (told.start.parties - 1)))
    # What other processes make up must not be looked at while the clock runs, nor may one of them run alone.
    told.start.wait()
    before = time.process_time()
    # In the loop of a worker.
    done = run(pages(told.address, told.epoch, seconds, found))
    answers.put((done, time.process_time() - before))


def speed(redis: RedisServer, seconds: float = 10.0) -> float:
    """Pages a second that one core of the server would do, by what they cost it.

    The links are made up before the clock starts: on two cores that would take time from the frontier.
    """
    rate = 0.0

    async def begun() -> str:
        frontier = await opened(redis.address)
        await frontier.server.ask("FLUSHALL")
        frontier = await opened(redis.address)
        await frontier.add(offers(0, 5000))
        await frontier.server.close()
        return frontier.epoch

    for clients in (1, 2, 4):
        epoch = asyncio.run(begun())
        answers: Queue[tuple[int, float]] = Queue()
        told = Told(redis.address, epoch, Barrier(clients + 1))
        running = [Process(target=client, args=(told, n, seconds, answers)) for n in range(clients)]
        for process in running:
            process.start()
        told.start.wait()
        before = cpu(redis)
        found = [answers.get() for _ in running]
        for process in running:
            process.join()
        total, own = sum(done for done, _ in found), sum(used for _, used in found)
        used = (cpu(redis) - before) / max(total, 1)
        print(
            f"frontier, {clients} client(s): {total / seconds:.0f} pages/s with {OUT_LINKS} new out-links each; "
            f"of CPU {used * 1e6:.0f} µs a page in the server and {own / max(total, 1) * 1e6:.0f} in the clients, "
            f"so {1 / used:.0f} pages/s with a core for the server"
        )
        rate = max(rate, 1 / used)
    return rate


def cpu(redis: RedisServer) -> float:
    """Seconds that the server has computed."""
    assert redis.process is not None
    # Of its main thread, to the nanosecond: ticks would blame it for what others do.
    return int(Path(f"/proc/{redis.process.pid}/schedstat").read_text().split()[0]) / 1e9


async def memory(frontier: Redis) -> int:
    return int(info(await frontier.server.ask("INFO", "memory"))["used_memory"])


class Bytes(NamedTuple):
    """What a link costs."""

    waiting: float
    away: float
    done: float


async def filled(redis: RedisServer, links: int) -> tuple[str, Bytes]:
    """So many links that wait, half of them put away, and as many that are done; bytes for each of the kinds."""
    frontier = await opened(redis.address)
    await frontier.server.ask("FLUSHALL")
    frontier = await opened(redis.address)
    # Hosts have a price of their own, and it is not that of links.
    none = await memory(frontier)
    for start in range(0, HOSTS, 1000):
        await frontier.settle([url(-n) for n in range(start, start + 1000)], "fetched")
    empty = await memory(frontier)
    print(f"{(empty - none) / HOSTS:.0f} bytes for a host")
    for start in range(0, links, 1000):
        await frontier.settle([url(n) for n in range(start, start + 1000)], "fetched")
    done = (await memory(frontier) - empty) / links
    before = await memory(frontier)
    for start in range(links, 2 * links, 500):
        await frontier.add(offers(start, 500, url(start)))
    waiting = (await memory(frontier) - before) / links
    away = waiting - await put_away(frontier, links // 2)
    await frontier.server.close()
    return frontier.epoch, Bytes(waiting, away, done)


async def put_away(frontier: Redis, room: int) -> float:
    """Put links away until there are so many left; returns bytes that each of them has freed."""
    await frontier.server.ask("HSET", f"{frontier.base}:c", "room", room)
    begun, before, moved = time.monotonic(), await memory(frontier), 0
    while step := await Attic(frontier).tidy():
        moved -= step
    print(f"{moved} links put away, {moved / (time.monotonic() - begun):.0f} a second")
    return (before - await memory(frontier)) / moved


def restart(redis: RedisServer, epoch: str, links: int) -> None:
    async def counted() -> Any:
        frontier = await opened(redis.address, epoch)
        try:
            return await frontier.counts()
        finally:
            await frontier.server.close()

    before = asyncio.run(counted())
    redis.kill()
    begun = time.monotonic()
    redis.start()
    while asyncio.run(counted()) != before:
        time.sleep(0.1)
    print(f"restart after kill -9 with {2 * links} known links: {time.monotonic() - begun:.1f} s; all there: {before}")


def scaling(folder: Path) -> None:
    """Whole crawls of a site on this machine by 1, 2 and 4 workers; CPU is what they share."""
    from tests.chaos.cluster import Attacked, Plan

    for workers in (1, 2, 4):
        plan = Plan(pages=3000, hosts=100, workers=workers, kills=0, delay=0.0, lease=30.0)
        here = folder / f"scaling-{workers}"
        here.mkdir()
        redis = RedisServer(here / "redis")
        redis.start()
        script = Path(__file__).parent.parent / "tests" / "chaos" / "site.py"
        command = [sys.executable, str(script), str(plan.pages), str(plan.hosts), str(here / "requests.log")]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as site:
            assert site.stdout is not None
            crawl = Attacked(here, redis, int(site.stdout.readline()), plan)
            crawl.first()
            crawl.wait_for(2)
            for _ in range(workers - 1):
                crawl.worker()
            crawl.ended()
            times = [at for at, _, path in crawl.requests() if path.startswith("/p/")]
            middle = sorted(times)[len(times) // 4 : -len(times) // 10 or None]
            rate = len(middle) / (middle[-1] - middle[0])
            print(f"{workers} worker(s) on {os.cpu_count()} cores: {rate:.0f} pages/s, {len(set(crawl.kept()))} pages")
            site.kill()
        redis.kill()


def paper(cost: Bytes, rate: float) -> None:
    """What a thousand million URLs need, by these figures."""
    fetched, queued, away = 1e8, 5e7, 8.5e8
    sizes = {"done": fetched * cost.done, "in queues": queued * cost.waiting, "put away": away * cost.away}
    print("10⁹ URLs by these figures, 10⁸ of them fetched, 5·10⁷ in the queues (--capacity), the rest put away:")
    print(f"  memory of the server {sum(sizes.values()) / 1e9:.0f} GB:", end=" ")
    print(", ".join(f"{name} {size / 1e9:.1f} GB" for name, size in sizes.items()))
    print(f"  10⁸ pages at {rate:.0f} pages/s: {fetched / rate / 3600:.0f} h of one core of the server")
    print(f"  at 100 pages/s a core, {rate / 100:.0f} cores of workers keep it busy;", end=" ")
    print(f"10 cores take {fetched / 1000 / 86400:.1f} days")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=PARTS, choices=[[], *PARTS])
    parser.add_argument("--links", type=int, default=1_000_000)
    options = parser.parse_args()
    print(f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the start")
    with tempfile.TemporaryDirectory() as folder:
        # As in deploy/redis.conf.
        settings = ("--appendfsync", "everysec", "--auto-aof-rewrite-min-size", "256mb")
        redis = RedisServer(Path(folder) / "redis", *settings)
        redis.start()
        try:
            rate = speed(redis) if {"speed", "paper"} & set(options.parts) else 0.0
            if {"bytes", "restart", "paper"} & set(options.parts):
                epoch, cost = asyncio.run(filled(redis, options.links))
                print(
                    f"{options.links} links: {cost.waiting:.0f} bytes for one that waits, {cost.away:.0f} for one that "
                    f"is put away, {cost.done:.1f} for one that is done"
                )
                if "restart" in options.parts:
                    restart(redis, epoch, options.links)
                if "paper" in options.parts:
                    paper(cost, rate)
        finally:
            redis.kill()
        if "scaling" in options.parts:
            scaling(Path(folder))
    if "same" in options.parts:
        subprocess.run([sys.executable, str(Path(__file__).parent / "cluster_same.py")], check=True)
    if "chaos" in options.parts:
        command = [sys.executable, "-m", "pytest", "-n0", "-s", "tests/chaos/test_cluster.py"]
        subprocess.run(command, check=True, env={**os.environ, "TOPICRAWL_LONG": "1", "TOPICRAWL_CHAOS": "full"})


if __name__ == "__main__":
    main()
