"""`topicrawl train hmm`: the paths that lead to relevant pages, learned once for many crawls."""

from __future__ import annotations

import click

from topicrawl.errors import UsageError


@click.command("hmm")
def command() -> None:
    """Learn which pages lead to relevant ones, from browsing sessions or examples."""
    raise UsageError("train hmm is not ready yet")
