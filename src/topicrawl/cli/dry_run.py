"""`topicrawl crawl --dry-run`: show which URLs a crawl would request first, without sending a request."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from topicrawl.cli.event_loop import run_async
from topicrawl.errors import UsageError
from topicrawl.models import Link
from topicrawl.settings import Settings, check_seeds
from topicrawl.urls import get_host

if TYPE_CHECKING:
    from topicrawl.frontier.base import FrontierEntry

_MAX_URLS = 20
_MAX_READ = 500  # waiting links that are read to find the first URLs


@dataclass(frozen=True)
class DryRunReport:
    """The first requests of a crawl."""

    directory: str
    is_resumed: bool
    waiting: int  # links that wait, including the seeds
    urls: Sequence[tuple[str, float]]  # URLs and their scores; seeds have the score 1

    def print(self, *, as_json: bool) -> None:
        """Print the report as text or as one JSON object."""
        if as_json:
            rows = [{"url": url, "score": score} for url, score in self.urls]
            event = {"event": "dry_run", "directory": self.directory, "resumed": self.is_resumed}
            click.echo(json.dumps({**event, "waiting": self.waiting, "urls": rows}, ensure_ascii=False))
            return
        action = "resume" if self.is_resumed else "create"
        click.echo(f"would {action} {self.directory} with {self.waiting} waiting links; first requests:", err=True)
        for url, score in self.urls:
            click.echo(f"{score:.3f}  {url}")
        click.echo("the robots.txt of each host is requested first; no request was sent", err=True)


def plan_first_requests(directory: Path, seeds: Sequence[str], settings: Settings, *, is_resumed: bool) -> DryRunReport:
    """Return the first requests of a crawl, from the seeds and from the links that wait in the directory.

    Raise `SeedError` for an invalid seed, and `UsageError` if the crawl has a shared frontier.
    """
    if settings.frontier:
        raise UsageError("--dry-run shows local crawls only: `topicrawl cluster status` shows shared crawls")
    urls = check_seeds(seeds, settings)
    scope = settings.build_scope()
    waiting, entries = 0, list["FrontierEntry"]()
    if is_resumed and (directory / "frontier.sqlite").exists():
        waiting, entries = run_async(_read_waiting_links(directory))
    found = {url: 1.0 for url in urls}
    for entry in entries:
        score = entry.priority.score
        if scope.contains(Link(entry.link.url, source=entry.link.source)) and score >= settings.min_score:
            found.setdefault(entry.link.url, score)
    rows = order_by_turns(list(found.items()))[:_MAX_URLS]
    known = {entry.link.url for entry in entries}
    return DryRunReport(str(directory), is_resumed, waiting + sum(url not in known for url in urls), rows)


async def _read_waiting_links(directory: Path) -> tuple[int, list[FrontierEntry]]:
    """Return the number of waiting links, and the best of them."""
    from topicrawl.frontier.sqlite.reader import open_reader

    frontier = open_reader(directory / "frontier.sqlite")
    try:
        return (await frontier.get_counts()).waiting, await frontier.get_best_entries(_MAX_READ)
    finally:
        await frontier.close()


def order_by_turns(rows: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Order URLs as they are requested: the best link of each host first, because each host has a crawl delay.

    >>> order_by_turns([("http://a.org/1", 0.9), ("http://a.org/2", 0.8), ("http://b.org/1", 0.1)])
    [('http://a.org/1', 0.9), ('http://b.org/1', 0.1), ('http://a.org/2', 0.8)]
    """
    turns: dict[str, int] = {}
    keyed = []
    for position, (url, score) in enumerate(rows):
        turn = turns[get_host(url)] = turns.get(get_host(url), -1) + 1
        keyed.append((turn, position, (url, score)))
    return [row for _, _, row in sorted(keyed)]
