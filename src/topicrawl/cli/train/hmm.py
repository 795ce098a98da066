"""`topicrawl train hmm`: train a hidden Markov model of the paths that lead to relevant pages."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, cast

import click

from topicrawl import strategies
from topicrawl.cli.train.inputs import TrainingDataWithProgress, check_output_path, load_topic, write_model
from topicrawl.errors import UsageError
from topicrawl.relevance.vsm import Vsm
from topicrawl.sessions import LabelledSessions, read_labelled_sessions
from topicrawl.strategies.base import StrategyContext
from topicrawl.strategies.hmm import HiddenMarkovStrategy
from topicrawl.topic import Topic


@click.command("hmm")
@click.argument("web", type=click.Path(path_type=Path))
@click.option("--words", help="The topic in words.")
@click.option("--topic", "topic_file", type=click.Path(path_type=Path), help="A topic.toml instead of words.")
@click.option(
    "--sessions",
    type=click.Path(path_type=Path),
    help="Browsing sessions: TSV or TSV.gz, the history of Firefox or Chromium, a HAR file.",
)
@click.option(
    "--examples", type=click.Path(path_type=Path), help="Example pages, one per line: url⇥relevant|irrelevant."
)
@click.option(
    "--strategy",
    default="hmm",
    show_default=True,
    help="The strategy to train: hmm (also for the hybrids) or hmm_xmeans; with parameters: name:parameter=value,…",
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file for the model.")
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON.")
def hmm_command(**options: Any) -> None:
    """Train a model of the paths that lead to relevant pages, from browsing sessions, examples, or both.

    WEB is a recorded web or the directory of an earlier crawl, with the pages of the sessions and examples.
    Without examples and labels, a page of a session is relevant if it is similar enough to the words of the topic.

    \b
    Examples:
      topicrawl train hmm dengue-fever --topic dengue-fever/topic.toml \\
          --sessions ~/.mozilla/firefox/x.default/places.sqlite --out dengue.json
      topicrawl crawl "dengue fever" --seed https://www.who.int/ --strategy hybrid_anchor:model=dengue.json
    """
    training = HmmTrainingOptions(**options)
    check_output_path(training.out, force=training.force)
    started = time.perf_counter()
    topic, sessions = training.load_topic(), training.read_sessions()
    topic = topic.with_examples(sessions.relevant, sessions.irrelevant)
    strategy = training.make_strategy()
    strategy.bind(StrategyContext(topic, Vsm(topic), Random(0)))
    data = TrainingDataWithProgress(training.web, topic, sessions.click_paths)
    strategy.fit(data)
    model = cast(Mapping[str, object], strategy.get_state())
    write_model(training.out, "hmm", model, training.describe_origin(topic))
    counts = cast(Mapping[str, int], model["learned_from"])
    seconds = round(time.perf_counter() - started, 1)
    if training.as_json:
        click.echo(json.dumps({"out": str(training.out), **counts, "read": data.pages_read, "seconds": seconds}))
        return
    paths, pages, relevant = counts["walks"], counts["pages"], counts["relevant"]
    noun = "path" if paths == 1 else "paths"
    click.echo(f"\r{training.out}: {paths} {noun} over {pages} pages, {relevant} relevant, in {seconds:g} s", err=True)


@dataclass(frozen=True)
class HmmTrainingOptions:
    """Options of `topicrawl train hmm`."""

    web: Path
    words: str | None
    topic_file: Path | None
    sessions: Path | None
    examples: Path | None
    strategy: str
    out: Path
    force: bool
    as_json: bool

    def load_topic(self) -> Topic:
        """Load the topic and the examples."""
        return load_topic(self.words, self.topic_file, self.examples)

    def read_sessions(self) -> LabelledSessions:
        """Read the browsing sessions; without `--sessions`, there are none."""
        return read_labelled_sessions(self.sessions) if self.sessions is not None else LabelledSessions(())

    def make_strategy(self) -> HiddenMarkovStrategy:
        """Return the strategy to train."""
        strategy = strategies.create_strategy(self.strategy)
        if not isinstance(strategy, HiddenMarkovStrategy):
            raise UsageError(f"{strategy.name} has no hidden Markov model to train: use hmm or hmm_xmeans")
        if strategy.model:
            raise UsageError(f"{self.strategy} uses an existing model: omit the parameter `model` to train one")
        return strategy

    def describe_origin(self, topic: Topic) -> dict[str, object]:
        """Return the inputs of the training, which are stored in the model file."""
        return {
            "web": str(self.web),
            "words": dict(topic.words),
            "threshold": topic.similarity_threshold,
            "sessions": str(self.sessions) if self.sessions is not None else None,
            "examples": {"relevant": list(topic.relevant), "irrelevant": list(topic.irrelevant)},
            "strategy": self.strategy,
        }
