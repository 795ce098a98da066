"""`topicrawl lab`: experiments with strategies on recorded webs."""

from __future__ import annotations

import click

from topicrawl.cli.lazy_group import LazyGroup

#: Command → its module and its line in `topicrawl lab --help`.
COMMANDS = {
    "compare": ("topicrawl.cli.lab.compare", "Compare strategies on the tasks of recorded webs."),
    "evaluate": ("topicrawl.cli.lab.evaluate", "Measure a crawl against pages that people have judged."),
    "presets": ("topicrawl.cli.lab.presets", "List the six topics of Batsakis 2007, or write one to a file."),
    "rank": ("topicrawl.cli.lab.rank", "Compare rankings by VSM and by summaries with the ranking of a reader."),
    "record": ("topicrawl.cli.lab.record", "Convert a crawl to a recorded web."),
    "repeat": ("topicrawl.cli.lab.repeat", "Repeat the experiments of a paper and check its claims."),
    "report": ("topicrawl.cli.lab.report", "Print the tables of Kluev 2000 for a crawl: precision, recall, effort."),
    "run": ("topicrawl.cli.lab.run", "Run one strategy on a recorded web."),
    "sample": ("topicrawl.cli.lab.evaluate", "Draw random pages of a crawl for a person to judge."),
    "serve": ("topicrawl.cli.lab.sample_web", "Serve a synthetic web to crawls on this machine."),
    "tasks": ("topicrawl.cli.lab.tasks", "Build tasks for a recorded web that has labels."),
    "web": ("topicrawl.cli.lab.sample_web", "Write a synthetic web as a recorded web with labels and tasks."),
}


@click.command("lab", cls=LazyGroup, lazy_commands=COMMANDS)
def lab_command() -> None:
    """Run and compare strategies on recorded webs."""
