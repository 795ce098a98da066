"""`topicrawl train`: train a model once and use it in many crawls; one module per model."""

from __future__ import annotations

import click

from topicrawl.cli.lazy_group import LazyGroup

#: Model → its module and its line in `topicrawl train --help`.
COMMANDS = {
    "context-graph": (
        "topicrawl.cli.train.context_graph",
        "Link distance of a page from relevant pages, learned from examples and their backlinks.",
    ),
    "hmm": (
        "topicrawl.cli.train.hmm",
        "Paths that lead to relevant pages, learned from browsing sessions or examples.",
    ),
    "nb": ("topicrawl.cli.train.nb", "Training set of links to relevant pages, for nb2, nb4, their variants and hati."),
    "summary": (
        "topicrawl.cli.train.summary",
        "Sentences that belong in the summary of a page, learned from labelled sentences.",
    ),
}


@click.command("train", cls=LazyGroup, lazy_commands=COMMANDS, section="Models", subcommand_metavar="MODEL [ARGS]...")
def train_command() -> None:
    """Train a model on recorded pages, for later crawls.

    \b
    Example:
      topicrawl train hmm webs/wikispeedia --words "bird feathers nest" \\
          --sessions webs/wikispeedia/paths.tsv.gz --examples birds.tsv --out birds.json
    """
