"""The same crawl on one machine and on four workers: what both found, and how much of it is the same.

python bench/cluster_same.py [strategy …] [--pages 800] [--workers 4] [--runs 2] [--strict]

A made-up web on this machine is crawled for one topic until the goal is reached, several times alone and several times
shared, because what is in flight differs from run to run: two runs on one machine say how much is noise. As many links
are in flight in both. The goal of a shared crawl is one for all; `gather` makes one collection of it, to be compared.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.redis_server import RedisServer

from topicrawl import parse
from topicrawl.collection.directory import Collection, topic_of
from topicrawl.collection.merge import Merge, checked
from topicrawl.collection.store import Store
from topicrawl.lab.sample import SampleWeb
from topicrawl.lab.serve import served
from topicrawl.plan import open_crawl
from topicrawl.settings import Settings
from topicrawl.topic import Topic

TOPIC = "dengue fever"
LESS = 0.05  # of the pages fetched, by which runs may differ in how many are about the topic
OTHERS = 0.25  # of the pages, beyond what two runs alone differ by: what is in flight, and what repeats others


class Task(NamedTuple):
    """What a process must know of the crawl."""

    hosts: tuple[str, ...]
    seeds: list[str]
    words: str
    strategy: str
    pages: int
    hands: int = 16


def task(web: SampleWeb, strategy: str, pages: int) -> Task:
    return Task(tuple(web.hosts), list(web.seeds(TOPIC)), " ".join(web.topics[TOPIC][:6]), strategy, pages)


def crawled(directory: Path, task: Task, frontier: str = "") -> None:
    """One process: a crawl of its own, or a worker's part."""
    settings = Settings(
        strategy=task.strategy, pages=task.pages, delay=0.02, concurrency=task.hands, timeout=5.0, attempts=1,
        patience=5.0, min_free=0,
        allow_net=("127.0.0.0/8",), resolve=tuple(f"{host}=127.0.0.1" for host in task.hosts), frontier=frontier,
    )  # fmt: skip
    topic = Topic(TOPIC, Topic.of(task.words).words, origin="a topic of the made-up web")

    async def run() -> None:
        async with open_crawl(directory, topic, task.seeds, settings) as crawl:
            async for _ in crawl.visits():
                pass

    asyncio.run(run())


def found(directory: Path) -> set[str]:
    """The addresses of the pages that a collection holds."""
    store = Store(directory / "topicrawl.sqlite", readonly=True)
    try:
        return {str(url) for (url,) in store.rows("SELECT url FROM pages")}
    finally:
        store.close()


def shared(folder: Path, task: Task, workers: int) -> Path:
    """A crawl by several workers, gathered."""
    redis = RedisServer(folder / "redis")
    redis.start()
    try:
        parts = [folder / f"worker-{n}" for n in range(workers)]
        context = get_context("spawn")
        address, part_of = f"{redis.address}#same", task._replace(hands=task.hands // workers)
        running = [context.Process(target=crawled, args=(part, part_of, address)) for part in parts]
        for process in running:
            process.start()
        for process in running:
            process.join()
    finally:
        redis.kill()
    whole = folder / "all"
    with Collection(whole, topic_of(parts[0]), checked(whole, parts)) as collection:
        for _ in Merge(collection, parts, partial(parse.read, context=False)).run():
            pass
    return whole


def compared(strategy: str, web: SampleWeb, folder: Path, options: argparse.Namespace) -> bool:
    """Whether the shared crawl has found as much, and mostly the same."""
    targets = {url for url, topics in web.labels().items() if TOPIC in topics}
    sets: dict[str, list[set[str]]] = {"alone": [], "shared": []}
    for run in range(options.runs):
        for way in sets:
            begun, here = time.monotonic(), folder / f"{strategy}-{way}-{run}"
            if way == "alone":
                crawled(here, task(web, strategy, options.pages))
            else:
                here = shared(here, task(web, strategy, options.pages), options.workers)
            pages = found(here)
            sets[way].append(pages)
            print(
                f"{strategy}, {way}: {len(pages)} pages, {len(pages & targets)} of {len(targets)} about {TOPIC} "
                f"({len(pages & targets) / len(pages):.1%}), {time.monotonic() - begun:.0f} s",
                flush=True,
            )
    noise = alike(sets["alone"][0], sets["alone"][-1])
    both = [alike(one, other) for one in sets["alone"] for other in sets["shared"]]
    print(f"{strategy}: pages in common, of two runs alone {noise:.1%}, of one alone and one shared ", end="")
    print(f"{min(both):.1%} to {max(both):.1%}", flush=True)
    alone, together = (fmean(len(one & targets) / len(one) for one in sets[way]) for way in sets)
    return together >= alone - LESS and min(both) >= noise - OTHERS


def alike(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(len(one), len(other), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("strategies", nargs="*", default=["best_first"])
    parser.add_argument("--pages", type=int, default=800)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--strict", action="store_true", help="fail where a shared crawl finds less, or other pages")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder, served(SampleWeb()) as web:
        same = [compared(strategy, web, Path(folder), options) for strategy in options.strategies]
    if options.strict and not all(same):
        sys.exit("a shared crawl has found less, or other pages")


if __name__ == "__main__":
    main()
