"""`topicrawl status`: what a crawl has done so far; safe while it runs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import click

from topicrawl.collection.directory import topic_of
from topicrawl.collection.store import Store
from topicrawl.frontier.sqlite import Sqlite
from topicrawl.urls import host


def figures(directory: Path) -> dict[str, object]:
    """The figures of a crawl as plain values."""
    store = Store(directory / "topicrawl.sqlite", readonly=True)
    try:
        topic = topic_of(directory)
        rows = store.query("SELECT url, relevance, at FROM visits WHERE failure IS NULL ORDER BY step")
        hosts: dict[str, int] = {}
        for url, _, _ in rows:
            hosts[host(str(url))] = hosts.get(host(str(url)), 0) + 1
        relevant = sum(float(str(score)) >= topic.threshold for _, score, _ in rows if score is not None)
        identity, stopped, failures = store.fact("identity"), store.fact("stopped"), store.failures()
    finally:
        store.close()
    waiting = asyncio.run(_counts(directory))
    return {
        "directory": str(directory),
        "topic": topic.name,
        "strategy": identity.get("strategy") if isinstance(identity, dict) else None,
        "pages": len(rows),
        "relevant": relevant,
        "threshold": topic.threshold,
        "harvest": relevant / len(rows) if rows else 0.0,
        "hosts": len(hosts),
        "largest_hosts": dict(sorted(hosts.items(), key=lambda item: (-item[1], item[0]))[:5]),
        "failures": failures,
        "frontier": waiting,
        "last_stop": stopped,
        "archive_bytes": sum(path.stat().st_size for path in (directory / "warc").glob("*.warc.gz")),
    }


async def _counts(directory: Path) -> dict[str, int]:
    frontier = Sqlite.look(directory / "frontier.sqlite")
    try:
        counts = await frontier.counts()
    finally:
        await frontier.close()
    return {"waiting": counts.waiting, "leased": counts.leased, "done": counts.done, "dropped": counts.dropped}


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
        click.echo(json.dumps(found, indent=1))
        return
    click.echo(f"{found['topic']} by {found['strategy']} in {directory}")
    click.echo(f"  pages     {found['pages']} from {found['hosts']} hosts")
    click.echo(f"  relevant  {found['relevant']} ({found['harvest']:.0%}) with similarity ≥ {found['threshold']}")
    frontier, failures, largest = found["frontier"], found["failures"], found["largest_hosts"]
    assert isinstance(frontier, dict) and isinstance(failures, dict) and isinstance(largest, dict)
    click.echo(f"  frontier  {frontier['waiting']} links wait, {frontier['leased']} being fetched")
    click.echo(f"  hosts     {', '.join(f'{name} {count}' for name, count in largest.items()) or 'none'}")
    click.echo(f"  failures  {', '.join(f'{name} {count}' for name, count in failures.items()) or 'none'}")
    click.echo(f"  archive   {int(str(found['archive_bytes'])) / 1e6:.1f} MB")
    click.echo(f"  last stop {found['last_stop'] or 'none: running, or killed'}")
