"""Scrapy on the benchmark web: follow every link, extract title and text of every page.

    .venv-bench/bin/python bench/peer_scrapy.py http://127.0.0.1:8080/

The spider is typical user code: CSS selectors for the title, the text outside of scripts and styles, and the links,
which `follow` resolves. The settings are Scrapy's defaults, except for 16 concurrent requests (also to one host),
robots.txt enabled, no log and no telnet console. Items are counted and dropped.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import TextResponse

from meter import Meter

SETTINGS = {
    "CONCURRENT_REQUESTS": 16,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "DOWNLOAD_DELAY": 0,
    "ROBOTSTXT_OBEY": True,
    "LOG_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
}


class AllPagesSpider(scrapy.Spider):
    """Spider that follows all links and reports its pages to the meter."""

    name = "everything"

    def __init__(self, first: str, meter: Meter) -> None:
        super().__init__()
        self.start_urls = [first]
        self.meter = meter

    async def start(self) -> Any:
        """Start the measurement and yield the first request."""
        self.meter.start()
        async for request in super().start():
            yield request

    def parse(self, response: TextResponse) -> Iterator[Any]:
        """Yield the title and text of a page and requests for its links."""
        title = response.css("title::text").get("")
        text = " ".join(response.css("body :not(script):not(style)::text").getall())
        yield {"url": response.url, "title": title, "text": text}
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link)
        self.meter.page(title, text)


def main() -> None:
    """Run the crawl and print the measurement."""
    meter = Meter()
    process = CrawlerProcess(SETTINGS)
    process.crawl(AllPagesSpider, first=sys.argv[1], meter=meter)
    process.start()
    meter.report("Scrapy", scrapy.__version__)


if __name__ == "__main__":
    main()
