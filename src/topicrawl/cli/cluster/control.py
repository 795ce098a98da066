"""`topicrawl cluster pause`, `resume` and `finish`: set the state of a crawl in Redis."""

from __future__ import annotations

import click

# Names of the states, by the number that Redis stores.
_STATES = ("running", "paused", "finished")


@click.command("pause")
@click.argument("address")
@click.argument("name")
def pause_command(address: str, name: str) -> None:
    """Pause the crawl NAME: the frontier hands out no more links. Workers finish the current fetches and wait.

    \b
    Example:
      topicrawl cluster pause redis://10.0.0.5:6379/0 dengue-fever
    """
    _set_state(address, name, 1)


@click.command("resume")
@click.argument("address")
@click.argument("name")
def resume_command(address: str, name: str) -> None:
    """Resume the crawl NAME after `pause` or `finish`. Workers that have exited must be started again.

    \b
    Example:
      topicrawl cluster resume redis://10.0.0.5:6379/0 dengue-fever
    """
    _set_state(address, name, 0)


@click.command("finish")
@click.argument("address")
@click.argument("name")
def finish_command(address: str, name: str) -> None:
    """Finish the crawl NAME: workers complete the current fetches and exit.

    \b
    Example:
      topicrawl cluster finish redis://10.0.0.5:6379/0 dengue-fever
    """
    _set_state(address, name, 2)


def _set_state(address: str, name: str, state: int) -> None:
    import asyncio

    asyncio.run(_store_state(address, name, state))
    click.echo(f"{name}: {_STATES[state]}", err=True)


async def _store_state(address: str, name: str, state: int) -> None:
    from topicrawl.frontier.redis.server import connect_redis
    from topicrawl.frontier.redis.shared_crawl import SharedCrawl

    server = await connect_redis(address, outage_timeout=0.0)
    try:
        await SharedCrawl(server, name).set_state(state)
    finally:
        await server.close()
