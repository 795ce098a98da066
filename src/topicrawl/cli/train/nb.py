"""`topicrawl train nb`: write the training set of the classifier-guided strategies to an editable table."""

from __future__ import annotations

import errno
import json
import time
from pathlib import Path
from random import Random
from typing import Any

import click

from topicrawl import strategies
from topicrawl.cli.train.inputs import TrainingDataWithProgress, check_output_path, load_topic
from topicrawl.database import write_text_file
from topicrawl.errors import SpaceError, UsageError
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.base import StrategyContext
from topicrawl.strategies.classifier_guided import ClassifierGuidedStrategy


@click.command("nb")
@click.argument("web", type=click.Path(path_type=Path))
@click.option("--words", help="The topic in words.")
@click.option(
    "--topic",
    "topic_file",
    type=click.Path(path_type=Path),
    help="A topic.toml instead of words. [default: the topic of the crawl]",
)
@click.option(
    "--examples", type=click.Path(path_type=Path), help="Example pages, one per line: url⇥relevant|irrelevant."
)
@click.option(
    "--strategy",
    default="nb4",
    show_default=True,
    help="The strategy to train: nb4 (also for nb2 and variants) or hati; with parameters: name:parameter=value,…",
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file for the training set.")
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON.")
def nb_command(**options: Any) -> None:
    """Write a training set: one row per example page, with the features of the links to it.

    WEB is a recorded web or the directory of an earlier crawl, with the examples and the pages that link to them.
    The file is tab-separated text that you can edit. All classifiers can use it: naive Bayes, svm and nn.

    \b
    Examples:
      topicrawl train nb dengue-fever --examples dengue.tsv --out training.tsv
      topicrawl crawl "dengue fever" --seed https://www.who.int/ --strategy nb4:training=training.tsv
    """
    out: Path = options["out"]
    check_output_path(out, force=options["force"])
    started = time.perf_counter()
    topic = load_topic(options["words"], options["topic_file"], options["examples"], web=options["web"])
    strategy = _make_strategy(options["strategy"])
    strategy.bind(StrategyContext(topic, Vsm(topic), Random(0)))
    training_set = strategy.build_training_set(TrainingDataWithProgress(options["web"], topic))
    _write_file(out, training_set.to_tsv(f"made from {options['web']} for {options['strategy']}, topic {topic.name!r}"))
    relevant = sum(row.relevant for row in training_set.rows)
    left_out = len({*topic.relevant, *topic.irrelevant}) - len(training_set.rows)
    seconds = round(time.perf_counter() - started, 1)
    counts = {"relevant": relevant, "irrelevant": len(training_set.rows) - relevant, "left_out": left_out}
    keywords = len(training_set.keywords)
    if options["as_json"]:
        click.echo(json.dumps({"out": str(out), "keywords": keywords, **counts, "seconds": seconds}))
        return
    skipped = f", {left_out} examples skipped because no page links to them" if left_out else ""
    click.echo(
        f"\r{out}: {keywords} keywords, {relevant} relevant and {counts['irrelevant']} irrelevant rows"
        f"{skipped}, in {seconds:g} s",
        err=True,
    )


def _make_strategy(spec: str) -> ClassifierGuidedStrategy:
    """Return the strategy to train."""
    strategy = strategies.create_strategy(spec)
    if not isinstance(strategy, ClassifierGuidedStrategy):
        raise UsageError(f"{strategy.name} does not use a training set: use nb4 or hati")
    if strategy.training:
        raise UsageError(f"{spec} uses an existing training set: omit the parameter `training` to create one")
    return strategy


def _write_file(path: Path, text: str) -> None:
    """Write a file under a temporary name and rename it, so that it is never incomplete."""
    try:
        write_text_file(path, text)
    except OSError as error:
        kind = SpaceError if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else UsageError
        raise kind(f"{path} cannot be written: {error.strerror}") from error
