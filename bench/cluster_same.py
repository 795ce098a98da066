"""Compare a crawl by one process with the same crawl by four workers: pages found and overlap.

python bench/cluster_same.py [strategy …] [--pages 800] [--workers 4] [--runs 2] [--strict]

The sample web on this machine is crawled for one topic up to a number of pages, several times by one process and
several times by workers. Runs differ because concurrent fetches complete in different orders; two runs by one process
show the size of this noise. The total concurrency is the same in both cases. The workers of a shared crawl have a
common page limit, and `gather` merges their pages into one collection.
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

from tests.helpers.redis_server import RedisServer

from topicrawl import parse
from topicrawl.builder.crawls import open_crawl
from topicrawl.cluster.gather import CollectionMerger, check_sources
from topicrawl.collection.directory import Collection, load_crawl_topic
from topicrawl.collection.store import CollectionStore
from topicrawl.sample_web.server import serve_in_subprocess
from topicrawl.sample_web.web import SampleWeb
from topicrawl.settings import Settings
from topicrawl.topic import Topic

TOPIC = "dengue fever"
LESS = 0.05  # tolerated difference in the share of pages on the topic
OTHERS = 0.25  # tolerated difference in the share of common pages beyond the noise of two runs by one process
#: The same for strategies that learn. Workers that learn from different pages at the same time find less than one
#: process: 4 to 9 percentage points in crawls of a few seconds. See docs/explanation/shared-frontier.md.
LEARNING_LESS, LEARNING_OTHERS = 0.15, 0.35
LEARNING_STRATEGIES = ("apprentice",)


class CrawlTask(NamedTuple):
    """Configuration of the crawl in a process."""

    hosts: tuple[str, ...]
    seeds: list[str]
    words: str
    strategy: str
    pages: int
    concurrency: int = 16


def build_task(web: SampleWeb, strategy: str, pages: int) -> CrawlTask:
    """Return the crawl task of a strategy."""
    return CrawlTask(tuple(web.hosts), list(web.get_seeds(TOPIC)), " ".join(web.topics[TOPIC][:6]), strategy, pages)


def run_crawl(directory: Path, task: CrawlTask, frontier: str = "") -> None:
    """Run a crawl in this process: alone, or as a worker of a shared frontier."""
    settings = Settings(
        strategy=task.strategy,
        pages=task.pages,
        delay=0.02,
        concurrency=task.concurrency,
        timeout=5.0,
        attempts=1,
        patience=5.0,
        min_free=0,
        allow_net=("127.0.0.0/8",),
        resolve=tuple(f"{host}=127.0.0.1" for host in task.hosts),
        frontier=frontier,
    )
    topic = Topic(TOPIC, Topic.of(task.words).words, origin="a topic of the sample web")

    async def run() -> None:
        async with open_crawl(directory, topic, task.seeds, settings) as crawl:
            async for _ in crawl.visits():
                pass

    asyncio.run(run())


def read_urls(directory: Path) -> set[str]:
    """Return the URLs of the pages in a collection."""
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    try:
        return {str(url) for (url,) in store.query_rows("SELECT url FROM pages")}
    finally:
        store.close()


def run_shared_crawl(folder: Path, task: CrawlTask, workers: int) -> Path:
    """Run a crawl by several workers, merge their pages and return the directory."""
    redis = RedisServer(folder / "redis")
    redis.start()
    try:
        parts = [folder / f"worker-{n}" for n in range(workers)]
        context = get_context("spawn")
        address, worker_task = f"{redis.address}#same", task._replace(concurrency=task.concurrency // workers)
        running = [context.Process(target=run_crawl, args=(part, worker_task, address)) for part in parts]
        for process in running:
            process.start()
        for process in running:
            process.join()
    finally:
        redis.kill()
    merged = folder / "all"
    with Collection(merged, load_crawl_topic(parts[0]), check_sources(merged, parts)) as collection:
        for _ in CollectionMerger(collection, parts, partial(parse.parse_response, context=False)).run():
            pass
    return merged


def compare_crawls(strategy: str, web: SampleWeb, folder: Path, options: argparse.Namespace) -> bool:
    """Return whether the shared crawl finds as many pages on the topic and mostly the same pages."""
    targets = {url for url, topics in web.get_labels().items() if TOPIC in topics}
    sets: dict[str, list[set[str]]] = {"alone": [], "shared": []}
    for run in range(options.runs):
        for way in sets:
            started, directory = time.monotonic(), folder / f"{strategy}-{way}-{run}"
            if way == "alone":
                run_crawl(directory, build_task(web, strategy, options.pages))
            else:
                directory = run_shared_crawl(directory, build_task(web, strategy, options.pages), options.workers)
            pages = read_urls(directory)
            sets[way].append(pages)
            print(
                f"{strategy}, {way}: {len(pages)} pages, {len(pages & targets)} of {len(targets)} about {TOPIC} "
                f"({len(pages & targets) / len(pages):.1%}), {time.monotonic() - started:.0f} s",
                flush=True,
            )
    noise = overlap(sets["alone"][0], sets["alone"][-1])
    overlaps = [overlap(one, other) for one in sets["alone"] for other in sets["shared"]]
    print(f"{strategy}: common pages of two runs alone {noise:.1%}, of one run alone and one shared ", end="")
    print(f"{min(overlaps):.1%} to {max(overlaps):.1%}", flush=True)
    alone_share, shared_share = (fmean(len(one & targets) / len(one) for one in sets[way]) for way in sets)
    less, others = (LEARNING_LESS, LEARNING_OTHERS) if strategy in LEARNING_STRATEGIES else (LESS, OTHERS)
    return shared_share >= alone_share - less and min(overlaps) >= noise - others


def overlap(one: set[str], other: set[str]) -> float:
    """Return the share of common elements, relative to the larger set."""
    return len(one & other) / max(len(one), len(other), 1)


def main() -> None:
    """Compare the strategies named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("strategies", nargs="*", default=["best_first"])
    parser.add_argument("--pages", type=int, default=800)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--strict", action="store_true", help="fail if a shared crawl finds fewer or other pages")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder, serve_in_subprocess(SampleWeb()) as web:
        same = [compare_crawls(strategy, web, Path(folder), options) for strategy in options.strategies]
    if options.strict and not all(same):
        sys.exit("a shared crawl found fewer or other pages")


if __name__ == "__main__":
    main()
