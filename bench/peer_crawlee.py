"""Crawlee on the benchmark's web: follow every link, take title and text from every page.

    .venv-bench/bin/python bench/peer_crawlee.py http://127.0.0.1:8080/

What a user would write: the Parsel crawler (the BeautifulSoup one takes more time per page), CSS selectors
for the title and the text outside of scripts and styles, `push_data` and `enqueue_links`. Crawlee's
settings are its defaults, except for 16 requests at once, links to all hosts, robots.txt obeyed, storage in
memory and no log.
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


def crawler(meter: Meter) -> ParselCrawler:
    made = ParselCrawler(
        storage_client=MemoryStorageClient(),
        concurrency_settings=ConcurrencySettings(min_concurrency=16, max_concurrency=16, desired_concurrency=16),
        respect_robots_txt_file=True,
        configure_logging=False,
    )

    @made.pre_navigation_hook
    async def first_request(context: BasicCrawlingContext) -> None:
        meter.start()

    @made.router.default_handler
    async def page(context: ParselCrawlingContext) -> None:
        selector = context.selector
        title = selector.css("title::text").get("")
        text = " ".join(selector.css("body :not(script):not(style)::text").getall())
        await context.push_data({"url": context.request.url, "title": title, "text": text})
        await context.enqueue_links(strategy="all")
        meter.page(title, text)

    return made


def main() -> None:
    logging.disable(logging.CRITICAL)
    meter = Meter()
    asyncio.run(crawler(meter).run([sys.argv[1]]))
    meter.report("Crawlee", version("crawlee"))


if __name__ == "__main__":
    main()
