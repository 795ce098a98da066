"""A focused web crawler: name a topic, and it walks the web along the links most likely to lead to pages about it.

    async with open_crawl(Path("dengue"), Topic.of("dengue fever"), ["https://www.who.int/"]) as crawl:
        async for visit in crawl.visits():
            print(visit.step, visit.relevance, visit.url)

Names are loaded when they are first used, so that the command starts fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from topicrawl.budget import Stop
    from topicrawl.crawl import Crawl
    from topicrawl.errors import TopicrawlError
    from topicrawl.fetch.replay import Recording
    from topicrawl.lab.sample import SampleWeb
    from topicrawl.lab.simulate import Task, simulate
    from topicrawl.plan import open_crawl
    from topicrawl.records import Failure, Link, Page, Place, Response, Visit
    from topicrawl.relevance.model import Relevance
    from topicrawl.settings import Settings
    from topicrawl.strategies.strategy import Setting, Strategy
    from topicrawl.topic import Topic

__version__ = "0.1.0"

_HOMES = {
    "Crawl": "crawl",
    "Failure": "records",
    "Link": "records",
    "Page": "records",
    "Place": "records",
    "Recording": "fetch.replay",
    "Relevance": "relevance.model",
    "Response": "records",
    "SampleWeb": "lab.sample",
    "Setting": "strategies.strategy",
    "Settings": "settings",
    "Stop": "budget",
    "Strategy": "strategies.strategy",
    "Task": "lab.simulate",
    "Topic": "topic",
    "TopicrawlError": "errors",
    "Visit": "records",
    "open_crawl": "plan",
    "simulate": "lab.simulate",
}

__all__ = [
    "Crawl",
    "Failure",
    "Link",
    "Page",
    "Place",
    "Recording",
    "Relevance",
    "Response",
    "SampleWeb",
    "Setting",
    "Settings",
    "Stop",
    "Strategy",
    "Task",
    "Topic",
    "TopicrawlError",
    "Visit",
    "__version__",
    "open_crawl",
    "simulate",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'topicrawl' has no attribute {name!r}")
    return getattr(importlib.import_module(f"topicrawl.{_HOMES[name]}"), name)
