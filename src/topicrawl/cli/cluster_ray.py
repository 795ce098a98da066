"""`topicrawl cluster ray`: workers on the machines of a Ray cluster."""

from __future__ import annotations

import signal
import sys

import click

from topicrawl.cli import INTERRUPTED


@click.command("ray")
@click.argument("address")
@click.argument("name")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="How many.")
@click.option("--cpus", type=click.FloatRange(0), default=1.0, show_default=True, help="Of Ray's processors, a worker.")
@click.option("--folder", default="topicrawl", show_default=True, help="Where they write, on each machine.")
@click.option("--ray", "cluster", default="auto", show_default=True, help="The Ray cluster; local: one of its own.")
@click.option("--concurrency", type=int, metavar="N", help="Fetches under way at once, a worker.")
def ray(address: str, name: str, workers: int, **given: object) -> None:
    """Keep workers of the crawl NAME going on a Ray cluster; those that die are started again.

    Ray chooses the machines; on each of them `topicrawl[cluster,ray]` is installed. The crawl is in Redis, the pages
    are in the workers' directories, and Ray keeps nothing. A password is not sent through Ray: put it into
    REDISCLI_AUTH or into the file that TOPICRAWL_REDIS_PASSWORD_FILE names, on every machine. Ctrl-C ends the workers.

    \b
    Example:
      topicrawl cluster ray redis://crawler@10.0.0.5:6379/0 dengue-fever --workers 16 --folder /data/topicrawl
    """
    from topicrawl.launching import Launch, launched, on_ray

    options = () if given["concurrency"] is None else ("--concurrency", str(given["concurrency"]))
    launch = Launch(address, name, workers, float(str(given["cpus"])), str(given["folder"]), options)
    over: list[int] = []

    def end(number: int, frame: object) -> None:
        over.append(number)
        click.echo("\nworkers finish what is in flight and end; again to end at once (nothing is lost)", err=True)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    with on_ray(str(given["cluster"])) as cluster:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        for worker, what, _ in launched(cluster, launch, lambda: bool(over)):
            click.echo(f"worker {worker}: {what}", err=True)
    sys.exit(INTERRUPTED if over else 0)
