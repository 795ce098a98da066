"""`topicrawl cluster`: show and control the crawls whose frontier is in Redis."""

from __future__ import annotations

import click

from topicrawl.cli.lazy_group import LazyGroup

#: Command → its module and its line in `topicrawl cluster --help`.
COMMANDS = {
    "status": ("topicrawl.cli.cluster.status", "Show the progress and the workers of the crawls in a Redis."),
    "pause": ("topicrawl.cli.cluster.control", "Pause a crawl."),
    "resume": ("topicrawl.cli.cluster.control", "Resume a crawl that is paused or finished."),
    "finish": ("topicrawl.cli.cluster.control", "Finish a crawl and stop its workers."),
    "ray": ("topicrawl.cli.cluster.ray", "Run workers on the machines of a Ray cluster."),
}


@click.command("cluster", cls=LazyGroup, lazy_commands=COMMANDS)
def cluster_command() -> None:
    """Show, pause, resume and finish the crawls whose frontier is in Redis.

    \b
    Examples:
      topicrawl cluster status redis://10.0.0.5:6379/0
      topicrawl cluster pause redis://10.0.0.5:6379/0 dengue-fever
    """
