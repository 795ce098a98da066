"""`topicrawl lab`: crawlers over recorded webs."""

from __future__ import annotations

import click

from topicrawl.cli.lab_compare import compare
from topicrawl.cli.lab_evaluate import evaluate, sample
from topicrawl.cli.lab_presets import presets
from topicrawl.cli.lab_record import record
from topicrawl.cli.lab_run import run
from topicrawl.cli.lab_sample_web import serve, web
from topicrawl.cli.lab_tasks import tasks


@click.group("lab")
def command() -> None:
    """Run crawlers over a recorded web."""


for each in (compare, evaluate, presets, record, run, sample, serve, tasks, web):
    command.add_command(each)
