"""What all models are trained on and written to: a topic, a recorded web, a file that is not overwritten by mistake."""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from topicrawl import __version__
from topicrawl import topic as topics
from topicrawl.errors import SpaceError, UsageError
from topicrawl.fetch.replay import Recording
from topicrawl.lab.material import Recorded
from topicrawl.records import Page
from topicrawl.topic import Topic


def topic_of(words: str | None, topic_file: Path | None, examples: Path | None) -> Topic:
    """The topic as the user named it: words or a file, with the examples of a second file."""
    if words is not None and topic_file is not None:
        raise UsageError("the topic is given twice: with --words and with --topic; give one of them, not both")
    if words is None and topic_file is None:
        raise UsageError('what is the topic? Give --words "dengue fever" or --topic topic.toml')
    topic = topics.load(topic_file) if topic_file is not None else Topic.of(words or "")
    return topic.with_examples(*topics.examples(examples)) if examples is not None else topic


def free(path: Path, *, force: bool) -> None:
    """Refuse, before any long work, to write where something is or where nothing can be."""
    if path.exists() and not force:
        raise UsageError(f"{path} exists: name another file, or give --force to overwrite it")
    if not path.parent.is_dir():
        raise UsageError(f"{path} cannot be written: there is no directory {path.parent}")


def write_model(path: Path, kind: str, model: Mapping[str, object], made_from: Mapping[str, object]) -> None:
    """The model as JSON, with where it came from; the same input gives the same bytes."""
    text = _readable({"topicrawl": __version__, "kind": kind, "made_from": made_from, "model": model}, 3)
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text + "\n", "utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        kind_of = SpaceError if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else UsageError
        raise kind_of(f"{path} cannot be written: {error.strerror}") from error


def _readable(value: object, depth: int) -> str:
    """JSON with one entry a line down to some depth.

    >>> print(_readable({"a": {"b": [[1], [2]]}, "c": [1, 2]}, 3))
    {"a": {"b": [[1],
    [2]]},
    "c": [1, 2]}
    """
    if depth and isinstance(value, Mapping):
        items = (f"{json.dumps(key, ensure_ascii=False)}: {_readable(item, depth - 1)}" for key, item in value.items())
        return "{" + ",\n".join(items) + "}"
    if depth and isinstance(value, list) and value and isinstance(value[0], list):
        return "[" + ",\n".join(_readable(item, 0) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


class Told(Recorded):
    """Material that says on a terminal how many pages were read."""

    def __init__(
        self, web: Path, topic: Topic, sessions: Sequence[Sequence[str]] = (), *, styles: bool = False
    ) -> None:
        recording = Recording(web)
        if recording.torn:
            click.echo(f"topicrawl: {recording.torn}", err=True)
        super().__init__(recording, topic, sessions, styles=styles)
        self.read = 0

    def _read(self, url: str) -> Page | None:
        self.read += 1
        if sys.stderr.isatty() and self.read % 25 == 0:
            click.echo(f"\r{self.read} pages read", nl=False, err=True)
        return super()._read(url)
