"""A crawl with the judge `multi_metric` whose pages fall into known review groups."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from tests.helpers.live_site import live_site

from topicrawl import Settings, Topic, open_crawl

#: Directory → number of pages, and their text. The judge selects ponds and planes by similarity alone.
SECTIONS = {
    "clinic": (6, "Dengue fever comes with the mosquito, whose larva lives in rain water, ward {}."),
    "ponds": (20, "The mosquito lays its eggs in pond {} where they float on still water."),
    "planes": (20, "The Mosquito number {} was built of plywood and flew with two engines."),
    "trains": (10, "Steam engines pull the morning express over the bridge of line {}."),
}
_FILLER = "The keeper of the record writes one line every day and keeps the book on a shelf. "


def is_on_topic(text: str) -> bool:
    """Return whether a URL, or a line that contains one, belongs to a page about the topic."""
    return "/ponds/" in text or "/clinic/" in text


def respond(path: str) -> tuple[int, Mapping[str, str], bytes]:
    """Return the response of the site for a path."""
    if path == "/":
        links = "".join(
            f'<a href="/{name}/{n}">{n}</a> ' for name, (count, _) in SECTIONS.items() for n in range(count)
        )
        return 200, {}, f"<title>Contents</title><p>{links}</p>".encode()
    name, _, number = path[1:].partition("/")
    if name not in SECTIONS:
        return 404, {}, b"no such page"
    text = SECTIONS[name][1].format(number)
    return 200, {}, f"<title>{name} {number}</title><p>{text} {_FILLER}</p>".encode()


def crawl_review_site(directory: Path) -> str:
    """Crawl the site with the strategy and the judge `multi_metric` into a directory. Return its address."""

    async def crawl(address: str) -> None:
        settings = Settings(
            strategy="multi_metric",
            judge="multi_metric",
            delay=0.0,
            allow_net=("127.0.0.0/8",),
            distinct=False,
            documents=False,
        )
        topic = Topic.of("dengue fever mosquito larva")
        async with open_crawl(directory, topic, [f"{address}/"], settings) as opened:
            async for _ in opened.visits():
                pass

    with live_site(respond) as (address, _):
        asyncio.run(crawl(address))
    return address
