"""Change a collection whose crawl is not running: its topic, its settings and its name, or remove it."""

from __future__ import annotations

import dataclasses
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from topicrawl.builder.stored_settings import load_topic_and_settings
from topicrawl.collection.directory import load_crawl_topic
from topicrawl.collection.store import CollectionStore
from topicrawl.database import FileLock, sync_path, translate_errors, write_text_file
from topicrawl.engine.identity import build_identity
from topicrawl.errors import CollectionError, InUseError, UsageError
from topicrawl.models import JsonValue
from topicrawl.search.index_file import remove_index
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Topic
from topicrawl.web.collections import NotFoundError
from topicrawl.web.site import Site

_NAME = re.compile(r"\w[\w .+-]{0,79}")


@contextmanager
def lock_collection(directory: Path) -> Iterator[None]:
    """Lock a collection like a crawl. Raise `CollectionError` if a crawl is running in it."""
    try:
        lock = FileLock(directory / "lock", directory)
    except InUseError as error:
        raise CollectionError(f"the crawl {directory.name} is running: stop it first") from error
    try:
        yield
    finally:
        lock.release()


def parse_words(text: str) -> dict[str, float]:
    """Parse the words of a topic, one per line or separated by commas, each with an optional weight.

    >>> parse_words("dengue = 2, fever")
    {'dengue': 2.0, 'fever': 1.0}
    """
    words: dict[str, float] = {}
    for row in re.split(r"[\n,]", text):
        word, _, weight = row.partition("=")
        if not word.strip():
            continue
        try:
            value = float(weight) if weight.strip() else 1.0
        except ValueError as error:
            raise UsageError(f"the weight of {word.strip()[:40]!r} must be a number, not {weight.strip()!r}") from error
        for token in tokenise(word):
            words[token] = value
    return words


def format_words(words: Mapping[str, float]) -> str:
    """Return words as the text that `parse_words` reads.

    >>> format_words({"dengue": 2.0, "fever": 1.0})
    'dengue = 2\\nfever'
    """
    return "\n".join(word if weight == 1 else f"{word} = {weight:g}" for word, weight in words.items())


def edit_collection(site: Site, name: str, topic_changes: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Replace parts of the topic and settings of a crawl. The next run uses them. Raise `UsageError` for invalid ones.

    Stored pages keep their relevance; a new threshold applies to them at once.
    """
    directory = site.collections.get_directory(name)
    with lock_collection(directory):
        before = load_crawl_topic(directory)
        topic = dataclasses.replace(before, **topic_changes)
        _, changed = load_topic_and_settings(directory, settings)
        store = CollectionStore(directory / "topicrawl.sqlite")
        try:
            facts: dict[str, JsonValue] = {"settings": _merge_fact(store, "settings", settings)}
            if topic.words != before.words:
                # A crawl resumes only with the words of its identity.
                words = {key: value for key, value in build_identity(topic, changed).items() if key.startswith("words")}
                facts["identity"] = _merge_fact(store, "identity", words)
            with translate_errors(directory / "topic.toml"):
                write_text_file(directory / "topic.toml", topic.to_toml())
            store.set_facts(facts)
        finally:
            store.close()
    if topic.threshold != before.threshold:
        # The index contains the relevant pages only; the next update builds it again.
        remove_index(directory)
    site.collections.caches.drop(directory)


def _merge_fact(store: CollectionStore, name: str, changes: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Return a stored fact with some of its values replaced."""
    stored = store.get_fact(name)
    values = {key: list(value) if isinstance(value, tuple) else value for key, value in changes.items()}
    return {**(stored if isinstance(stored, dict) else {}), **values}


def rename_collection(site: Site, name: str, new_name: str) -> None:
    """Rename the directory of a collection. Raise `UsageError` if the name is invalid or in use."""
    if not _NAME.fullmatch(new_name) or new_name.endswith((".", " ")):
        raise UsageError("a name has at most 80 letters, digits, blanks or -_.+ and begins with a letter or digit")
    directory = site.collections.get_movable_directory(name)
    target = directory.with_name(new_name)
    if target.exists() or new_name in site.collections.list_directories():
        raise UsageError(f"there is already a collection or directory {new_name!r}")
    _move_directory(site, name, target)


def remove_collection(site: Site, name: str) -> None:
    """Delete the directory of a collection with all its pages."""
    directory = site.collections.get_movable_directory(name)
    # The collection disappears at once, even if the deletion of its files takes long or is interrupted.
    target = directory.with_name(f".{directory.name}.removed")
    _move_directory(site, name, target)
    with translate_errors(target):
        shutil.rmtree(target)


def _move_directory(site: Site, name: str, target: Path) -> None:
    """Rename the directory of a collection that no process uses."""
    directory = site.collections.get_movable_directory(name)
    if site.jobs.is_running(f"try {directory}") or site.jobs.is_running(f"train {directory}"):
        raise CollectionError(f"a comparison or training of {name} is running: wait until it has finished")
    with lock_collection(directory), translate_errors(directory):
        site.search.local_server.remove_collection(name)
        if not directory.exists():
            raise NotFoundError(f"this server has no collection {name!r}")
        directory.rename(target)
        sync_path(target.parent)
    site.crawls.forget(directory)
    site.collections.caches.drop(directory)


def get_topic_changes(topic: Topic, *, name: str, words: str, exclude: str, threshold: str) -> dict[str, Any]:
    """Return the changed parts of a topic from the texts of a form. Raise `UsageError` for invalid values."""
    try:
        value = float(threshold)
    except ValueError as error:
        raise UsageError(f"the threshold must be a number from 0 to 1, not {threshold!r}") from error
    changes = {
        "name": " ".join(name.split()) or topic.name,
        "words": parse_words(words),
        "exclude": tuple(tokenise(exclude)),
        "threshold": value,
    }
    return {key: value for key, value in changes.items() if value != getattr(topic, key)}
