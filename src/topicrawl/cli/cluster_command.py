"""`topicrawl cluster`: how the crawls in a Redis are doing; pause, resume and finish them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from topicrawl.cli.cluster_ray import ray

if TYPE_CHECKING:
    from topicrawl.frontier.redis_crawl import Status

_STATES = ("running", "paused", "finished")


@click.group("cluster")
def command() -> None:
    """How the crawls that live in a Redis are doing; pause, resume and finish them.

    \b
    Examples:
      topicrawl cluster status redis://10.0.0.5:6379/0
      topicrawl cluster pause redis://10.0.0.5:6379/0 dengue-fever
    """


@command.command("status")
@click.argument("address")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")
def status(address: str, name: str | None, as_json: bool) -> None:
    """What the crawl NAME, or every crawl of a Redis, has done so far, and who works on it.

    \b
    Example:
      topicrawl cluster status redis://10.0.0.5:6379/0 dengue-fever
    """
    import asyncio

    found = asyncio.run(_statuses(address, name))
    if as_json:
        click.echo(json.dumps([it.plain() for it in found], indent=1))
        return
    if not found:
        click.echo("no crawls yet")
    for it in found:
        _show(it)


async def _statuses(address: str, name: str | None) -> list[Status]:
    from topicrawl.frontier.redis_crawl import SharedCrawl, names
    from topicrawl.frontier.redis_server import connected

    server = await connected(address, patience=0.0)
    try:
        return [await SharedCrawl(server, it).status() for it in ([name] if name else await names(server))]
    finally:
        await server.close()


def _show(found: Status) -> None:
    counts = found.frontier
    goal = f" of {found.wanted}" if found.wanted else ""
    click.echo(f"{found.name}: {found.state}")
    click.echo(f"  pages      {found.pages}{goal}, {counts.done} links done")
    away = f" ({found.away} more are put away)" if found.away else ""
    click.echo(f"  frontier   {counts.waiting} links wait{away} on {counts.hosts} hosts, {counts.leased} being fetched")
    click.echo(f"  memory     {found.memory / 1e6:.1f} MB in all of Redis")
    versions = {worker.report.get("version") for worker in found.workers if worker.alive}
    for worker in found.workers:
        state = "" if worker.alive else ", not heard of any more"
        trouble = f", {worker.report.get('trouble')}" if worker.report.get("trouble") else ""
        if len(versions) > 1:
            state += f", version {worker.report.get('version', 'unknown')}"
        fetches, where = worker.report.get("fetches", 0), worker.report.get("directory", "")
        click.echo(f"  {worker.name}: {fetches} fetches into {where}, {worker.ago:.0f} s ago{state}{trouble}")


def _order(name: str, state: int, what: str) -> None:
    """A command that sets a crawl's state."""

    @command.command(
        name, help=f"{what}\n\n\b\nExample:\n  topicrawl cluster {name} redis://10.0.0.5:6379/0 dengue-fever"
    )
    @click.argument("address")
    @click.argument("name")
    def ordered(address: str, name: str) -> None:
        import asyncio

        asyncio.run(_set(address, name, state))
        click.echo(f"{name}: {_STATES[state]}", err=True)


async def _set(address: str, name: str, state: int) -> None:
    from topicrawl.frontier.redis_crawl import SharedCrawl
    from topicrawl.frontier.redis_server import connected

    server = await connected(address, patience=0.0)
    try:
        await SharedCrawl(server, name).set_state(state)
    finally:
        await server.close()


_order("pause", 1, "Give out no more links; what is in flight is finished, and workers wait.")
_order("resume", 0, "Go on after a pause, or after the end; workers that have left are started again.")
_order("finish", 2, "End the crawl: workers finish what is in flight and leave.")
command.add_command(ray)
