"""`topicrawl train`: learn from examples now, crawl with what was learned later; one file a model."""

from __future__ import annotations

import importlib

import click

#: Model → what it is for. The module `train_` and the name holds the function `command`, loaded when it is called.
MODELS = {
    "context-graph": "How many links a page is away from relevant ones, from examples and what links to them.",
    "hmm": "Paths that lead to relevant pages, from browsing sessions or examples.",
    "nb": "Which links lead to relevant pages, as a table for nb2, nb4 and their kin, and for hati.",
    "summary": "Which sentences of a page belong into its summary, from a reader's yes and no.",
}


class Models(click.Group):
    """Loads a model's module when the model is named."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(MODELS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in MODELS:
            return None
        command: click.Command = importlib.import_module(f"topicrawl.cli.train_{name.replace('-', '_')}").command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Models"):
            formatter.write_dl(list(MODELS.items()))


@click.command("train", cls=Models, subcommand_metavar="MODEL [ARGS]...")
def command() -> None:
    """Learn from pages that are there, for crawls to come.

    \b
    Example:
      topicrawl train hmm webs/wikispeedia --words "bird feathers nest" \\
          --sessions webs/wikispeedia/paths.tsv.gz --examples birds.tsv --out birds.json
    """
