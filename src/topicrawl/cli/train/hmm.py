"""`topicrawl train hmm`: train a hidden Markov model of the paths that lead to relevant pages."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from random import Random
from typing import Any, cast

import click

from topicrawl import strategies
from topicrawl.cli.event_loop import run_async
from topicrawl.cli.setting_options import add_network_options, build_network_settings
from topicrawl.cli.train.inputs import TrainingDataWithProgress, check_output_path, load_topic, write_model
from topicrawl.errors import UsageError
from topicrawl.relevance.vsm import Vsm
from topicrawl.sessions import LabelledSessions, read_labelled_sessions
from topicrawl.settings import Settings
from topicrawl.strategies.base import StrategyContext
from topicrawl.strategies.hmm import HiddenMarkovStrategy
from topicrawl.topic import Topic


@click.command("hmm")
@click.argument("web", type=click.Path(path_type=Path))
@click.option("--words", help="The topic in words.")
@click.option(
    "--topic",
    "topic_file",
    type=click.Path(path_type=Path),
    help="A topic.toml instead of words. [default: the topic of the crawl]",
)
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
@click.option(
    "--fetch",
    is_flag=True,
    help="Fetch the pages of the sessions and examples that WEB does not contain, as robots.txt and the crawl delay "
    "allow. WEB is a folder for them, and is created if it does not exist.",
)
@click.option(
    "--fetch-pages",
    type=click.IntRange(1),
    default=600,
    show_default=True,
    metavar="N",
    help="Maximum number of pages for --fetch: labelled pages first, then sessions with a relevant page.",
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file for the model.")
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON.")
@add_network_options
def hmm_command(**options: Any) -> None:
    """Train a model of the paths that lead to relevant pages, from browsing sessions, examples, or both.

    WEB is a recorded web or the directory of an earlier crawl, with the pages of the sessions and examples.
    A page without a label is relevant if it is similar enough to the words of the topic.

    \b
    Examples:
      topicrawl train hmm browsed --fetch --words "dengue fever" --contact you@example.org \\
          --sessions ~/.mozilla/firefox/x.default/places.sqlite --out dengue.json
      topicrawl train hmm dengue-fever --sessions ~/.mozilla/firefox/x.default/places.sqlite --out dengue.json
      topicrawl crawl "dengue fever" --seed https://www.who.int/ --strategy hybrid_anchor:model=dengue.json
    """
    names = {item.name for item in fields(HmmTrainingOptions)}
    training = HmmTrainingOptions(**{name: value for name, value in options.items() if name in names})
    check_output_path(training.out, force=training.force)
    started = time.perf_counter()
    topic, sessions = training.load_topic(), training.read_sessions()
    topic = topic.with_examples(sessions.relevant, sessions.irrelevant)
    strategy = training.make_strategy()
    fetched = training.fetch_missing_pages(topic, sessions, build_network_settings(options)) if training.fetch else 0
    strategy.bind(StrategyContext(topic, Vsm(topic), Random(0)))
    data = TrainingDataWithProgress(training.web, topic, sessions.click_paths)
    strategy.fit(data)
    model = cast(Mapping[str, object], strategy.get_state())
    write_model(training.out, "hmm", model, training.describe_origin(topic))
    counts = cast(Mapping[str, int], model["learned_from"])
    seconds = round(time.perf_counter() - started, 1)
    if training.as_json:
        click.echo(
            json.dumps(
                {"out": str(training.out), **counts, "read": data.pages_read, "fetched": fetched, "seconds": seconds}
            )
        )
        return
    paths, pages, relevant = counts["walks"], counts["pages"], counts["relevant"]
    noun = "path" if paths == 1 else "paths"
    new = f", {fetched} pages fetched" if training.fetch else ""
    click.echo(
        f"\r{training.out}: {paths} {noun} over {pages} pages, {relevant} relevant{new}, in {seconds:g} s", err=True
    )


@dataclass(frozen=True)
class HmmTrainingOptions:
    """Options of `topicrawl train hmm`."""

    web: Path
    words: str | None
    topic_file: Path | None
    sessions: Path | None
    examples: Path | None
    strategy: str
    fetch: bool
    fetch_pages: int
    out: Path
    force: bool
    as_json: bool

    def load_topic(self) -> Topic:
        """Load the topic and the examples."""
        return load_topic(self.words, self.topic_file, self.examples, web=self.web)

    def read_sessions(self) -> LabelledSessions:
        """Read the browsing sessions; without `--sessions`, there are none."""
        return read_labelled_sessions(self.sessions) if self.sessions is not None else LabelledSessions(())

    def fetch_missing_pages(self, topic: Topic, sessions: LabelledSessions, settings: Settings) -> int:
        """Fetch pages of the examples and sessions that the folder does not contain. Return the number of new pages."""
        # Imported here, because a training on recorded pages does not need the HTTP client.
        from topicrawl.engine.http_setup import open_fetcher
        from topicrawl.seeds.page_archiver import PageArchiver

        if (self.web / "topicrawl.sqlite").exists() or self.web.is_file():
            raise UsageError(f"{self.web} is a crawl or a file: with --fetch, give a folder for the fetched pages")
        if not settings.contact:
            click.echo("no --contact given: the operators of the hosts cannot reach you", err=True)
        urls = select_training_urls(topic, sessions.click_paths, self.fetch_pages)

        async def fetch_pages() -> int:
            async with open_fetcher(replace(settings, documents=False, sitemaps=False)) as polite:
                return await PageArchiver(self.web, polite).fetch_missing(urls)

        return run_async(fetch_pages())

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


def select_training_urls(topic: Topic, sessions: Sequence[Sequence[str]], limit: int) -> list[str]:
    """Return the URLs to fetch for the training: labelled pages, then sessions with a relevant page, then the others.

    >>> topic = Topic.of("owl").with_examples(["http://c/"], [])
    >>> select_training_urls(topic, [["http://a/", "http://b/"], ["http://d/", "http://c/"]], 3)
    ['http://c/', 'http://d/', 'http://a/']
    """
    relevant = frozenset(topic.relevant)
    ordered = sorted(sessions, key=relevant.isdisjoint)
    urls = dict.fromkeys((*topic.relevant, *topic.irrelevant, *(url for session in ordered for url in session)))
    return list(urls)[:limit]
