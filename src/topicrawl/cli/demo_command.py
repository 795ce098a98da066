"""`topicrawl demo`: a made-up web on this machine, crawled for one topic by two strategies, side by side."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click

from topicrawl.collection.directory import Collection
from topicrawl.crawl import seed_links
from topicrawl.lab.figures import harvest_svg, harvest_text
from topicrawl.lab.sample import SampleWeb
from topicrawl.lab.serve import served
from topicrawl.plan import Settings, identity, live
from topicrawl.topic import Topic
from topicrawl.urls import host

STRATEGIES = ("best_first", "breadth_first")


@click.command("demo")
@click.option("--topic", default="dengue fever", show_default=True, help="One of the made-up web's topics.")
@click.option("--pages", default=800, show_default=True, type=click.IntRange(10), help="Pages for each strategy.")
@click.option("--out", default="demo", show_default=True, type=click.Path(path_type=Path), help="Directory; emptied first.")
def command(topic: str, pages: int, out: Path) -> None:
    """Crawl a made-up web on this machine, best-first beside breadth-first.

    \b
    Example:
      topicrawl demo --topic volcanoes --pages 500
    """
