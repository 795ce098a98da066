"""Topicrawl on the benchmark web: a complete focused crawl into a directory.

    .venv/bin/python bench/own.py http://127.0.0.1:8080/ --pages 1500

The crawl has the defaults of `topicrawl crawl` with the strategy best_first, except for 16 concurrent requests, no
delay and permission to fetch loopback addresses. It does the same work as the other crawlers (title, text, links,
robots.txt). In addition it judges every page, scores every link, and writes pages to WARC, and visits and the frontier
to SQLite.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from random import Random

from meter import Meter
from topicrawl import Settings, Topic, __version__, open_crawl
from topicrawl.cli.event_loop import run_async
from website import SEED, Prose


async def crawl(first: str, pages: int, directory: Path, *, strategy: str, judge: str) -> Meter:
    """Crawl the benchmark web and return the measurement."""
    settings = Settings(
        strategy=strategy,
        judge=judge,
        pages=pages,
        delay=0.0,
        concurrency=16,
        allow_net=("127.0.0.0/8",),
        patience=5.0,
    )
    topic = Topic.of(" ".join(Prose(Random(SEED)).frequent(6)))
    meter = Meter()
    async with open_crawl(directory, topic, [first], settings) as running:
        meter.start()
        async for visit in running.visits():
            if visit.page is not None:
                meter.page(visit.page.title, visit.page.text)
    return meter


def main() -> None:
    """Run the crawl and print the measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first", help="URL of the first page")
    parser.add_argument("--pages", type=int, default=1500)
    parser.add_argument("--strategy", default="best_first")
    parser.add_argument("--judge", default=Settings.judge)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        meter = run_async(
            crawl(options.first, options.pages, Path(directory), strategy=options.strategy, judge=options.judge)
        )
    meter.report("Topicrawl", __version__)


if __name__ == "__main__":
    main()
