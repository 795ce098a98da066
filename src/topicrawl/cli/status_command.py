"""`topicrawl status`: what a crawl has done so far; safe while it runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from topicrawl.cli.loop import run
from topicrawl.collection import report
from topicrawl.collection.directory import crawling, topic_of
from topicrawl.collection.store import Store
from topicrawl.discoveries import Discoveries
from topicrawl.frontier.contract import Counts
from topicrawl.frontier.sqlite_look import look
from topicrawl.records import Carry


@dataclass(frozen=True)
class Figures:
    """What there is to say of a crawl."""

    directory: str
    topic: str
    strategy: str
    pages: int
    relevant: int
    threshold: float
    harvest: float
    hosts: int
    largest_hosts: dict[str, int]
    failures: dict[str, int]
    frontier: Counts
    outlook: dict[str, Carry]
    last_stop: str | None
    archive_bytes: int
    crawling: bool


def figures(directory: Path) -> Figures:
    """The figures of a crawl, read without disturbing it."""
    store = Store(directory / "topicrawl.sqlite", readonly=True)
    try:
        topic = topic_of(directory)
        pages, relevant = report.harvest(store, topic.threshold)
        hosts = report.hosts(store)
        waiting = run(_counts(directory))
        found = Discoveries(topic.threshold)
        found.again(report.discoveries(store, topic.threshold))
        identity, stopped = store.fact("identity"), store.fact("stopped")
        return Figures(
            directory=str(directory),
            topic=topic.name,
            strategy=str(identity.get("strategy")) if isinstance(identity, dict) else "",
            pages=pages,
            relevant=relevant,
            threshold=topic.threshold,
            harvest=relevant / pages if pages else 0.0,
            hosts=len(hosts),
            largest_hosts=dict(sorted(hosts.items(), key=lambda item: (-item[1], item[0]))[:5]),
            failures=report.failures(store),
            frontier=waiting,
            outlook=found.outlook(waiting.waiting + waiting.leased).values(),
            last_stop=stopped if isinstance(stopped, str) else None,
            archive_bytes=sum(path.stat().st_size for path in (directory / "warc").glob("*.warc.gz")),
            crawling=crawling(directory),
        )
    finally:
        store.close()


async def _counts(directory: Path) -> Counts:
    frontier = look(directory / "frontier.sqlite")
    try:
        return await frontier.counts()
    finally:
        await frontier.close()


@click.command("status")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")
def command(directory: Path, as_json: bool) -> None:
    """What a crawl has done so far. May be asked while it runs.

    \b
    Example:
      topicrawl status dengue-fever
    """
    found = figures(directory)
    if as_json:
        click.echo(json.dumps(asdict(found), indent=1))
        return
    click.echo(f"{found.topic} by {found.strategy} in {directory}")
    rows = {
        "pages": f"{found.pages} from {found.hosts} hosts",
        "relevant": f"{found.relevant} ({found.harvest:.0%}) with similarity ≥ {found.threshold}",
        "recall": _foretold(found.outlook),
        "frontier": f"{found.frontier.waiting} links wait, {found.frontier.leased} being fetched",
        "hosts": _listed(found.largest_hosts),
        "failures": _listed(found.failures),
        "archive": f"{found.archive_bytes / 1e6:.1f} MB",
        "state": "crawling" if found.crawling else found.last_stop or "killed; the same command goes on",
    }
    for name, text in rows.items():
        click.echo(f"  {name:<10} {text}")


def _foretold(outlook: Mapping[str, Carry]) -> str:
    """What is thought to be still out there, or why nothing is said about it."""
    if outlook["doubt"] or not outlook["ahead"]:
        return str(outlook["doubt"] or outlook["words"])
    low, high = (round(float(str(outlook[name]))) for name in ("remaining_low", "remaining_high"))
    return f"{outlook['words']}: {outlook['ahead']} more fetches would bring {low} to {high} more relevant pages"


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"
