"""`topicrawl cluster ray`: run workers on the machines of a Ray cluster."""

from __future__ import annotations

import signal
import sys
from typing import Any

import click

from topicrawl.cli import EXIT_INTERRUPTED


@click.command("ray")
@click.argument("address")
@click.argument("name")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Number of workers.")
@click.option("--cpus", type=click.FloatRange(0), default=1.0, show_default=True, help="Ray CPUs per worker.")
@click.option("--folder", default="topicrawl", show_default=True, help="The folder of the workers on each machine.")
@click.option(
    "--ray", "cluster", default="auto", show_default=True, help="The Ray cluster; local: a new one on this machine."
)
@click.option("--concurrency", type=int, metavar="N", help="Concurrent fetches per worker.")
def ray_command(address: str, name: str, workers: int, **given: Any) -> None:
    """Run workers of the crawl NAME on a Ray cluster, and restart workers that die.

    Ray chooses the machines. Each machine needs `topicrawl[cluster,ray]`. The frontier is in Redis, the pages are in
    the directories of the workers, and Ray stores nothing. The password is not sent through Ray: on every machine, set
    REDISCLI_AUTH, or set TOPICRAWL_REDIS_PASSWORD_FILE to the path of a file with it. Ctrl-C stops the workers.

    \b
    Example:
      topicrawl cluster ray redis://crawler@10.0.0.5:6379/0 dengue-fever --workers 16 --folder /data/topicrawl
    """
    from topicrawl.cluster.ray_launcher import LaunchConfig, connect_ray, launch_workers

    options = () if given["concurrency"] is None else ("--concurrency", str(given["concurrency"]))
    launch = LaunchConfig(address, name, workers, given["cpus"], str(given["folder"]), options)
    received_signals: list[int] = []

    def handle_signal(number: int, frame: object) -> None:
        received_signals.append(number)
        click.echo(
            "\nworkers finish their fetches and stop; press Ctrl-C again to stop now (no data is lost)", err=True
        )
        signal.signal(signal.SIGINT, signal.default_int_handler)

    with connect_ray(str(given["cluster"])) as cluster:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, handle_signal)
        for worker, message, _ in launch_workers(cluster, launch, lambda: bool(received_signals)):
            click.echo(f"worker {worker}: {message}", err=True)
    sys.exit(EXIT_INTERRUPTED if received_signals else 0)
