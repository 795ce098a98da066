"""Load topics and example lists from files. Every error is one line with the file and the position."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from topicrawl.errors import TopicError, UsageError
from topicrawl.topic.filter import ELEMENT_SIZES, Thresholds, TopicFilter
from topicrawl.topic.topic import DEFAULT_THRESHOLD, Topic
from topicrawl.urls import canonicalize_url

_TOPIC_KEYS = ("name", "languages", "threshold", "exclude", "words", "filter", "thresholds", "examples")
# A comment directly above a part of the file: the note about the origin of that part.
_NOTE_PATTERN = re.compile(r"^# ?(.*)\n(?:\[([a-z.]+)\]|(threshold) *=)", re.M)


def load_toml(path: Path, error_type: type[UsageError]) -> dict[str, Any]:
    """Load a TOML file. Raise `error_type` with a one-line message if it cannot be read or is not valid TOML."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise error_type(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        # Invalid TOML, invalid UTF-8, or a number with thousands of digits.
        raise error_type(f"{path}: not valid TOML: {error}") from error


def load_topic(path: Path) -> Topic:
    """Load a `topic.toml` file. Raise a one-line `TopicError` if it is not valid."""
    table = load_toml(path, TopicError)
    try:
        return _parse_topic(table, path)
    except TopicError as error:
        raise TopicError(f"{path}: {error}") from error


def _parse_topic(table: Mapping[str, object], path: Path) -> Topic:
    """Build a topic from the parsed TOML file."""
    _check_keys(table, _TOPIC_KEYS)
    example_table = _get_table(table, "examples")
    _check_keys(example_table, ("relevant", "irrelevant"))
    word_table = _get_table(table, "words")
    words = _parse_weights({word: weight for word, weight in word_table.items() if not isinstance(weight, dict)})
    name = table.get("name", " ".join(words))
    if not isinstance(name, str):
        raise TopicError(f"name must be text, not {name!r}")
    threshold = _get_number(table, "threshold", "threshold")
    return Topic(
        name=name,
        words=words,
        relevant=_get_urls(example_table, "relevant"),
        irrelevant=_get_urls(example_table, "irrelevant"),
        languages=_get_strings(table, "languages") or ("en",),
        threshold=DEFAULT_THRESHOLD if threshold is None else threshold,
        origin=f"read from {path.name}",
        exclude=_get_strings(table, "exclude"),
        filter=_parse_filter(_get_table(table, "filter")),
        thresholds=_parse_thresholds(_get_table(table, "thresholds")),
        translations={
            language: _parse_weights(value) for language, value in word_table.items() if isinstance(value, dict)
        },
        notes={part or key: text for text, part, key in _NOTE_PATTERN.findall(path.read_text("utf-8"))},
    )


def load_examples(path: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Load the relevant and the irrelevant URLs from a file with lines `url⇥relevant` or `url⇥irrelevant`."""
    urls: dict[str, list[str]] = {"relevant": [], "irrelevant": []}
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TopicError(f"{path}: cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        url, _, label = line.partition("\t")
        address = canonicalize_url(url.strip())
        if address is None or label.strip() not in urls:
            raise TopicError(
                f"{path}:{number}: expected a URL, a tab and 'relevant' or 'irrelevant', found {line[:80]!r}"
            )
        urls[label.strip()].append(address)
    if not urls["relevant"] and not urls["irrelevant"]:
        raise TopicError(
            f"{path}: the file has no examples: write lines with a URL, a tab and 'relevant' or 'irrelevant'"
        )
    return tuple(urls["relevant"]), tuple(urls["irrelevant"])


def _check_keys(table: Mapping[str, object], keys: Iterable[str]) -> None:
    """Raise `TopicError` if a table has a key that is not allowed."""
    keys = tuple(keys)
    for key in table:
        if key not in keys:
            near = difflib.get_close_matches(key, keys, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; use one of {', '.join(keys)}"
            raise TopicError(f"unknown key {key!r}{hint}")


def _get_table(table: Mapping[str, object], key: str) -> Mapping[str, object]:
    """Return a sub-table, or an empty one if the key is missing."""
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise TopicError(f"[{key}] must be a table")
    return value


def _parse_weights(table: Mapping[str, object]) -> dict[str, float]:
    """Parse a table of words with weights."""
    weights = {word: _get_number(table, word, f"the weight of {word!r}") for word in table}
    return {word: weight for word, weight in weights.items() if weight is not None}


def _parse_filter(table: Mapping[str, object]) -> TopicFilter:
    """Parse the filter. Each class is a table of elements with weights, or a list of elements with equal weights."""
    _check_keys(table, ELEMENT_SIZES)
    parts: dict[str, dict[str, float]] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            parts[name] = _parse_weights(value)
        elif isinstance(value, list):
            parts[name] = dict.fromkeys(_get_strings(table, name), 1.0)
        else:
            raise TopicError(f"filter.{name} must be a list of strings, or a table of strings with weights")
    return TopicFilter(**parts)


def _parse_thresholds(table: Mapping[str, object]) -> Thresholds:
    """Parse the table of thresholds."""
    _check_keys(table, [item.name for item in fields(Thresholds)])
    return Thresholds(**{name: _get_number(table, name, f"thresholds.{name}") for name in table})


def _get_number(table: Mapping[str, object], key: str, label: str) -> float | None:
    """Return a number of a table, or None if the key is missing."""
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TopicError(f"{label} must be a number, not {value!r}")
    try:
        return float(value)
    except OverflowError as error:
        raise TopicError(f"{label} is too large") from error


def _get_strings(table: Mapping[str, object], key: str) -> tuple[str, ...]:
    """Return a list of strings of a table, or an empty one if the key is missing."""
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TopicError(f"{key} must be a list of strings")
    return tuple(value)


def _get_urls(table: Mapping[str, object], key: str) -> tuple[str, ...]:
    """Return a list of canonical URLs of a table."""
    urls = []
    for text in _get_strings(table, key):
        address = canonicalize_url(text)
        if address is None:
            raise TopicError(f"examples.{key}: {text!r} is not a web address")
        urls.append(address)
    return tuple(urls)
