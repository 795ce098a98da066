"""Focused web crawler: follows the links that most likely lead to pages about a given topic.

    async with open_crawl(Path("dengue"), Topic.of("dengue fever"), ["https://www.who.int/"]) as crawl:
        async for visit in crawl.visits():
            print(visit.step, visit.relevance, visit.url)

Public names are imported on first access, which keeps the start-up time of the command short.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from topicrawl.builder.crawls import open_crawl
    from topicrawl.engine.crawl import Crawl
    from topicrawl.engine.limits import StopReason
    from topicrawl.errors import TopicrawlError
    from topicrawl.fetch.replay import Recording
    from topicrawl.lab.simulate import Task, simulate
    from topicrawl.models import Failure, Link, Page, Priority, Response, Visit
    from topicrawl.relevance.base import Relevance
    from topicrawl.sample_web.web import SampleWeb
    from topicrawl.settings import Settings
    from topicrawl.strategies.base import Strategy, StrategyContext
    from topicrawl.topic import Topic

__version__ = "0.1.0"

_MODULES_BY_NAME = {
    "Crawl": "engine.crawl",
    "Failure": "models",
    "Link": "models",
    "Page": "models",
    "Priority": "models",
    "Recording": "fetch.replay",
    "Relevance": "relevance.base",
    "Response": "models",
    "SampleWeb": "sample_web.web",
    "Settings": "settings",
    "StopReason": "engine.limits",
    "Strategy": "strategies.base",
    "StrategyContext": "strategies.base",
    "Task": "lab.simulate",
    "Topic": "topic",
    "TopicrawlError": "errors",
    "Visit": "models",
    "open_crawl": "builder.crawls",
    "simulate": "lab.simulate",
}

__all__ = [
    "Crawl",
    "Failure",
    "Link",
    "Page",
    "Priority",
    "Recording",
    "Relevance",
    "Response",
    "SampleWeb",
    "Settings",
    "StopReason",
    "Strategy",
    "StrategyContext",
    "Task",
    "Topic",
    "TopicrawlError",
    "Visit",
    "__version__",
    "open_crawl",
    "simulate",
]


def __getattr__(name: str) -> object:
    """Import a public name on first access (PEP 562)."""
    if name not in _MODULES_BY_NAME:
        raise AttributeError(f"module 'topicrawl' has no attribute {name!r}")
    return getattr(importlib.import_module(f"topicrawl.{_MODULES_BY_NAME[name]}"), name)
