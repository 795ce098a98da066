"""`topicrawl cluster status`: progress and workers of the crawls in a Redis."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from topicrawl.frontier.redis.shared_crawl import SharedCrawlStatus


@click.command("status")
@click.argument("address")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status_command(address: str, name: str | None, as_json: bool) -> None:
    """Show the progress and the workers of the crawl NAME, or of every crawl in the Redis at ADDRESS.

    \b
    Example:
      topicrawl cluster status redis://10.0.0.5:6379/0 dengue-fever
    """
    import asyncio

    crawls = asyncio.run(_load_statuses(address, name))
    if as_json:
        click.echo(json.dumps([crawl.to_dict() for crawl in crawls], indent=1))
        return
    if not crawls:
        click.echo("no crawls yet")
    for crawl in crawls:
        _print_status(crawl)


async def _load_statuses(address: str, name: str | None) -> list[SharedCrawlStatus]:
    from topicrawl.frontier.redis.server import connect_redis
    from topicrawl.frontier.redis.shared_crawl import SharedCrawl, list_crawls

    server = await connect_redis(address, outage_timeout=0.0)
    try:
        crawl_names = [name] if name else await list_crawls(server)
        return [await SharedCrawl(server, crawl_name).get_status() for crawl_name in crawl_names]
    finally:
        await server.close()


def _print_status(crawl: SharedCrawlStatus) -> None:
    counts = crawl.frontier
    goal = f" of {crawl.wanted}" if crawl.wanted else ""
    click.echo(f"{crawl.name}: {crawl.state}")
    click.echo(f"  pages      {crawl.pages}{goal}, {crawl.relevant} relevant, {counts.done} links done")
    overflow = f" ({crawl.away} more in the overflow)" if crawl.away else ""
    waiting = f"{counts.waiting} links waiting{overflow} on {counts.hosts} hosts"
    click.echo(f"  frontier   {waiting}, {counts.leased} being fetched")
    click.echo(f"  memory     {crawl.memory / 1e6:.1f} MB used by the whole Redis")
    versions = {worker.report.get("version") for worker in crawl.workers if worker.is_alive}
    for worker in crawl.workers:
        state = "" if worker.is_alive else ", no longer reporting"
        trouble = f", {worker.report.get('trouble')}" if worker.report.get("trouble") else ""
        if len(versions) > 1:
            state += f", version {worker.report.get('version', 'unknown')}"
        fetches, directory = worker.report.get("fetches", 0), worker.report.get("directory", "")
        click.echo(f"  {worker.name}: {fetches} fetches into {directory}, {worker.ago:.0f} s ago{state}{trouble}")
