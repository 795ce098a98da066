"""Inputs and outputs of `topicrawl train`: the topic, the training data from a recorded web, and the model file."""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from topicrawl import __version__
from topicrawl import topic as topics
from topicrawl.database import write_text_file
from topicrawl.engine.recorded_training_data import RecordedTrainingData
from topicrawl.errors import SpaceError, UsageError
from topicrawl.fetch.replay import Recording
from topicrawl.models import Page
from topicrawl.topic import Topic


def load_topic(words: str | None, topic_file: Path | None, examples: Path | None, *, web: Path) -> Topic:
    """Load the topic from words, from a file or from the crawl `web`, and add the examples of a second file.

    Raise `UsageError` if both words and a file are given, or neither and `web` is not the directory of a crawl.
    """
    if words is None and topic_file is None and (web / "topic.toml").is_file():
        topic_file = web / "topic.toml"
    if words is not None and topic_file is not None:
        raise UsageError("give the topic with --words or with --topic, not both")
    if words is None and topic_file is None:
        raise UsageError('no topic given: give --words "dengue fever", --topic topic.toml or the directory of a crawl')
    topic = topics.load_topic(topic_file) if topic_file is not None else Topic.of(words or "")
    return topic.with_examples(*topics.load_examples(examples)) if examples is not None else topic


def check_output_path(path: Path, *, force: bool) -> None:
    """Raise `UsageError` if the output file exists or its directory does not. Call this before a long computation."""
    if path.exists() and not force:
        raise UsageError(f"{path} exists: give another file, or --force to overwrite it")
    if not path.parent.is_dir():
        raise UsageError(f"{path} cannot be written: there is no directory {path.parent}")


def write_model(path: Path, kind: str, model: Mapping[str, object], made_from: Mapping[str, object]) -> None:
    """Write a model and the inputs of its training as JSON, atomically. The same inputs give the same bytes.

    Raise `SpaceError` or `UsageError` if the file cannot be written.
    """
    text = _format_json({"topicrawl": __version__, "kind": kind, "made_from": made_from, "model": model}, 3)
    try:
        write_text_file(path, text + "\n")
    except OSError as error:
        kind_of = SpaceError if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else UsageError
        raise kind_of(f"{path} cannot be written: {error.strerror}") from error


def _format_json(value: object, depth: int) -> str:
    """Format a value as JSON, with one entry per line down to the given depth.

    >>> print(_format_json({"a": {"b": [[1], [2]]}, "c": [1, 2]}, 3))
    {"a": {"b": [[1],
    [2]]},
    "c": [1, 2]}
    """
    if depth and isinstance(value, Mapping):
        items = (
            f"{json.dumps(key, ensure_ascii=False)}: {_format_json(item, depth - 1)}" for key, item in value.items()
        )
        return "{" + ",\n".join(items) + "}"
    if depth and isinstance(value, list) and value and isinstance(value[0], list):
        return "[" + ",\n".join(_format_json(item, 0) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


class TrainingDataWithProgress(RecordedTrainingData):
    """Training data that prints the number of pages read on a terminal."""

    def __init__(
        self, web: Path, topic: Topic, sessions: Sequence[Sequence[str]] = (), *, styles: bool = False
    ) -> None:
        recording = Recording(web)
        if recording.damage:
            click.echo(f"topicrawl: {recording.damage}", err=True)
        super().__init__(recording, topic, sessions, styles=styles)
        self.pages_read = 0

    def _parse_page(self, url: str) -> Page | None:
        self.pages_read += 1
        if sys.stderr.isatty() and self.pages_read % 25 == 0:
            click.echo(f"\r{self.pages_read} pages read", nl=False, err=True)
        return super()._parse_page(url)
