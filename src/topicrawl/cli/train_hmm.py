"""`topicrawl train hmm`: the paths that lead to relevant pages, learned once for many crawls."""

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
from topicrawl.cli.training import Told, free, topic_of, write_model
from topicrawl.errors import UsageError
from topicrawl.relevance.vsm import Vsm
from topicrawl.sessions import Sessions, labelled_sessions
from topicrawl.strategies.hmm import HiddenMarkov
from topicrawl.strategies.strategy import Setting
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
@click.option("--examples", type=click.Path(path_type=Path), help="Example pages: lines of url⇥relevant|irrelevant.")
@click.option(
    "--strategy",
    default="hmm",
    show_default=True,
    help="Whom to train: hmm (serves the hybrids too) or hmm_xmeans, with parameters as name:parameter=value,…",
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file for the model.")
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@click.option("--json", "as_json", is_flag=True, help="A summary as JSON on standard output.")
def command(**options: Any) -> None:
    """Learn which pages lead to relevant ones, from browsing sessions, from examples, or both.

    WEB is a recorded web or the directory of an earlier crawl: the pages of sessions and examples are read from it.
    Without examples and labels, pages of sessions are relevant when the topic's words say so.

    \b
    Example:
      topicrawl train hmm dengue-fever --topic dengue-fever/topic.toml \\
          --sessions ~/.mozilla/firefox/x.default/places.sqlite --out dengue.json
      topicrawl crawl "dengue fever" --seed https://www.who.int/ --strategy hybrid_anchor:model=dengue.json
    """
    asked = Asked(**options)
    free(asked.out, force=asked.force)
    started = time.perf_counter()
    topic, sessions = asked.topic(), asked.read()
    topic = topic.with_examples(sessions.relevant, sessions.irrelevant)
    crawler = asked.crawler()
    crawler.begin(Setting(topic, Vsm(topic), Random(0)))
    material = Told(asked.web, topic, sessions.walks)
    crawler.prepare(material)
    model = cast(Mapping[str, object], crawler.state())
    write_model(asked.out, "hmm", model, asked.origin(topic))
    learned = cast(Mapping[str, int], model["learned_from"])
    seconds = round(time.perf_counter() - started, 1)
    if asked.as_json:
        click.echo(json.dumps({"out": str(asked.out), **learned, "read": material.read, "seconds": seconds}))
        return
    walks, pages, relevant = learned["walks"], learned["pages"], learned["relevant"]
    many = "walk" if walks == 1 else "walks"
    click.echo(f"\r{asked.out}: {walks} {many} over {pages} pages, {relevant} relevant, in {seconds:g} s", err=True)


@dataclass(frozen=True)
class Asked:
    """The options of `train hmm`."""

    web: Path
    words: str | None
    topic_file: Path | None
    sessions: Path | None
    examples: Path | None
    strategy: str
    out: Path
    force: bool
    as_json: bool

    def topic(self) -> Topic:
        return topic_of(self.words, self.topic_file, self.examples)

    def read(self) -> Sessions:
        return labelled_sessions(self.sessions) if self.sessions is not None else Sessions(())

    def crawler(self) -> HiddenMarkov:
        crawler = strategies.make(self.strategy)
        if not isinstance(crawler, HiddenMarkov):
            raise UsageError(f"{crawler.name} has no hidden Markov model to train: name hmm or hmm_xmeans")
        if crawler.model:
            raise UsageError(f"{self.strategy} names a model that is there already: leave `model` out to make one")
        return crawler

    def origin(self, topic: Topic) -> dict[str, object]:
        """Where the model comes from, for whoever finds the file."""
        return {
            "web": str(self.web),
            "words": dict(topic.words),
            "threshold": topic.threshold,
            "sessions": str(self.sessions) if self.sessions is not None else None,
            "examples": {"relevant": list(topic.relevant), "irrelevant": list(topic.irrelevant)},
            "strategy": self.strategy,
        }
