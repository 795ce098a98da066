"""`topicrawl train nb`: a training set for the guided crawlers, as a table to read, edit and use again."""

from __future__ import annotations

import errno
import json
import time
from pathlib import Path
from random import Random
from typing import Any

import click

from topicrawl import strategies
from topicrawl.cli.training import Told, free, topic_of
from topicrawl.errors import SpaceError, UsageError
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.guided import Guided
from topicrawl.strategies.strategy import Setting


@click.command("nb")
@click.argument("web", type=click.Path(path_type=Path))
@click.option("--words", help="The topic in words.")
@click.option("--topic", "topic_file", type=click.Path(path_type=Path), help="A topic.toml instead of words.")
@click.option("--examples", type=click.Path(path_type=Path), help="Example pages: lines of url⇥relevant|irrelevant.")
@click.option(
    "--strategy",
    default="nb4",
    show_default=True,
    help="Whom to train: nb4 (serves nb2 and nb4's variants too) or hati, with parameters as name:parameter=value,…",
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file for the training set.")
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@click.option("--json", "as_json", is_flag=True, help="A summary as JSON on standard output.")
def command(**options: Any) -> None:
    """Describe the links that lead to example pages, one line an example, with the keywords of the topic.

    WEB is a recorded web or the directory of an earlier crawl: the examples and what links to them are looked up in it.
    The file is tab-separated text. Edit it if you like; it serves every guide: naive Bayes, svm and nn.

    \b
    Example:
      topicrawl train nb dengue-fever --topic dengue-fever/topic.toml --examples dengue.tsv --out training.tsv
      topicrawl crawl "dengue fever" --seed https://www.who.int/ --strategy nb4:training=training.tsv
    """
    out: Path = options["out"]
    free(out, force=options["force"])
    started = time.perf_counter()
    topic = topic_of(options["words"], options["topic_file"], options["examples"])
    crawler = _crawler(options["strategy"])
    crawler.begin(Setting(topic, Vsm(topic), Random(0)))
    made = crawler.training_set(Told(options["web"], topic))
    _write(out, made.text(f"made from {options['web']} for {options['strategy']}, topic {topic.name!r}"))
    relevant = sum(row.relevant for row in made.rows)
    left_out = len({*topic.relevant, *topic.irrelevant}) - len(made.rows)
    seconds = round(time.perf_counter() - started, 1)
    counts = {"relevant": relevant, "irrelevant": len(made.rows) - relevant, "left_out": left_out}
    if options["as_json"]:
        click.echo(json.dumps({"out": str(out), "keywords": len(made.keywords), **counts, "seconds": seconds}))
        return
    without = f", {left_out} left out because no page links to them" if left_out else ""
    click.echo(
        f"\r{out}: {len(made.keywords)} keywords, {relevant} relevant and {counts['irrelevant']} irrelevant rows"
        f"{without}, in {seconds:g} s", err=True,
    )  # fmt: skip


def _crawler(spec: str) -> Guided:
    crawler = strategies.make(spec)
    if not isinstance(crawler, Guided):
        raise UsageError(f"{crawler.name} learns from no training set: name nb4 or hati")
    if crawler.training:
        raise UsageError(f"{spec} names a training set that is there already: leave `training` out to make one")
    return crawler


def _write(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, "utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        kind = SpaceError if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else UsageError
        raise kind(f"{path} cannot be written: {error.strerror}") from error
