"""A crawl of a small live site with relevant and irrelevant pages."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from tests.helpers.live_site import SiteAnswer, live_site

from topicrawl import Settings, Topic, open_crawl


def is_on_topic(number: int) -> bool:
    """Return whether a page of `make_tree_site` is about dengue fever."""
    return number % 3 == 1


def make_tree_site(length: int) -> SiteAnswer:
    """Return a site in which page n links to the pages 2n + 1 and 2n + 2. /old redirects to page 0."""

    def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
        if path == "/old":
            return 301, {"Location": "/0"}, b""
        if not path[1:].isdecimal() or int(path[1:]) >= length:
            return 404, {}, b"no such page"
        number = int(path[1:])
        subject = "dengue fever outbreak" if is_on_topic(number) else "steam trains"
        links = "".join(
            f'<p><a href="/{child}">page {child}</a></p>'
            for child in (2 * number + 1, 2 * number + 2)
            if child < length
        )
        return 200, {}, f"<title>{subject} {number}</title><p>{f'{subject}, page {number}. ' * 5}</p>{links}".encode()

    return answer


def crawl_tree(directory: Path, length: int = 40, seed: str = "/0") -> str:
    """Crawl the site for "dengue fever" breadth-first into a directory. Return the address of the site."""

    async def crawl(address: str) -> None:
        settings = Settings(pages=length, delay=0.0, allow_net=("127.0.0.0/8",), strategy="breadth_first")
        async with open_crawl(directory, Topic.of("dengue fever"), [f"{address}{seed}"], settings) as opened:
            async for _ in opened.visits():
                pass

    with live_site(make_tree_site(length)) as (address, _):
        asyncio.run(crawl(address))
    return address
