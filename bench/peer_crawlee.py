"""Crawlee on the benchmark web: follow every link, extract title and text of every page.

    .venv-bench/bin/python bench/peer_crawlee.py http://127.0.0.1:8080/

The crawler is typical user code: the Parsel crawler (the BeautifulSoup crawler takes more time per page), CSS selectors
for the title and the text outside of scripts and styles, `push_data` and `enqueue_links`. The settings are Crawlee's
defaults, except for 16 concurrent requests, links to all hosts, robots.txt enabled, in-memory storage and no log.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from importlib.metadata import version

from crawlee import ConcurrencySettings
from crawlee.crawlers import BasicCrawlingContext, ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient

from meter import Meter


def build_crawler(meter: Meter) -> ParselCrawler:
    """Return a crawler that reports its pages to the meter."""
    crawler = ParselCrawler(
        storage_client=MemoryStorageClient(),
        concurrency_settings=ConcurrencySettings(min_concurrency=16, max_concurrency=16, desired_concurrency=16),
        respect_robots_txt_file=True,
        configure_logging=False,
    )

    @crawler.pre_navigation_hook
    async def first_request(context: BasicCrawlingContext) -> None:
        meter.start()

    @crawler.router.default_handler
    async def page(context: ParselCrawlingContext) -> None:
        selector = context.selector
        title = selector.css("title::text").get("")
        text = " ".join(selector.css("body :not(script):not(style)::text").getall())
        await context.push_data({"url": context.request.url, "title": title, "text": text})
        await context.enqueue_links(strategy="all")
        meter.page(title, text)

    return crawler


def main() -> None:
    """Run the crawl and print the measurement."""
    logging.disable(logging.CRITICAL)
    meter = Meter()
    asyncio.run(build_crawler(meter).run([sys.argv[1]]))
    meter.report("Crawlee", version("crawlee"))


if __name__ == "__main__":
    main()
