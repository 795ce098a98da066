"""Topics and examples, read from their files; every mistake is one line that says where."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from topicrawl.errors import TopicError, UsageError
from topicrawl.topic.filter import SIZES, Filter, Thresholds
from topicrawl.topic.topic import Topic, usual_threshold
from topicrawl.urls import canonical

_KEYS = ("name", "languages", "threshold", "words", "filter", "thresholds", "examples")
# A comment right above a part of the file, which says where the part came from.
_NOTE = re.compile(r"^# ?(.*)\n(?:\[([a-z.]+)\]|(threshold) *=)", re.M)


def toml_table(path: Path, mistake: type[UsageError]) -> dict[str, Any]:
    """What a TOML file says; that it cannot be read, or is none, is the given mistake in one line."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise mistake(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        # Not TOML, not UTF-8, or a number of thousands of digits.
        raise mistake(f"{path}: not valid TOML: {error}") from error


def load(path: Path) -> Topic:
    """Read a `topic.toml`; every mistake in it is one line that says where."""
    table = toml_table(path, TopicError)
    try:
        return _topic(table, path)
    except TopicError as error:
        raise TopicError(f"{path}: {error}") from error


def _topic(table: Mapping[str, object], path: Path) -> Topic:
    _known(table, _KEYS)
    examples = _table(table, "examples")
    _known(examples, ("relevant", "irrelevant"))
    said = _table(table, "words")
    words = _weights({word: weight for word, weight in said.items() if not isinstance(weight, dict)})
    name = table.get("name", " ".join(words))
    if not isinstance(name, str):
        raise TopicError(f"name must be text, not {name!r}")
    threshold = _number(table, "threshold", "threshold")
    return Topic(
        name=name,
        words=words,
        relevant=_urls(examples, "relevant"),
        irrelevant=_urls(examples, "irrelevant"),
        languages=_strings(table, "languages") or ("en",),
        threshold=usual_threshold(len(words)) if threshold is None else threshold,
        origin=f"read from {path.name}",
        filter=_filter(_table(table, "filter")),
        thresholds=_thresholds(_table(table, "thresholds")),
        translations={language: _weights(its) for language, its in said.items() if isinstance(its, dict)},
        notes={part or key: text for text, part, key in _NOTE.findall(path.read_text("utf-8"))},
    )


def examples(path: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The relevant and the irrelevant URLs of a file with lines `url⇥relevant` or `url⇥irrelevant`."""
    found: dict[str, list[str]] = {"relevant": [], "irrelevant": []}
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TopicError(f"{path}: cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        url, _, label = line.partition("\t")
        address = canonical(url.strip())
        if address is None or label.strip() not in found:
            raise TopicError(
                f"{path}:{number}: expected a URL, a tab and 'relevant' or 'irrelevant', found {line[:80]!r}"
            )
        found[label.strip()].append(address)
    if not found["relevant"] and not found["irrelevant"]:
        raise TopicError(f"{path}: no examples in it: one line is a URL, a tab and 'relevant' or 'irrelevant'")
    return tuple(found["relevant"]), tuple(found["irrelevant"])


def _known(table: Mapping[str, object], keys: Iterable[str]) -> None:
    keys = tuple(keys)
    for key in table:
        if key not in keys:
            near = difflib.get_close_matches(key, keys, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(keys)}"
            raise TopicError(f"unknown key {key!r}{hint}")


def _table(table: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise TopicError(f"[{key}] must be a table")
    return value


def _weights(table: Mapping[str, object]) -> dict[str, float]:
    weights = {word: _number(table, word, f"the weight of {word!r}") for word in table}
    return {word: weight for word, weight in weights.items() if weight is not None}


def _filter(table: Mapping[str, object]) -> Filter:
    """The filter; a class is a table of elements with weights, or a list of elements that weigh the same."""
    _known(table, SIZES)
    parts: dict[str, dict[str, float]] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            parts[name] = _weights(value)
        elif isinstance(value, list):
            parts[name] = dict.fromkeys(_strings(table, name), 1.0)
        else:
            raise TopicError(f"filter.{name} must be a list of texts, or a table of texts with weights")
    return Filter(**parts)


def _thresholds(table: Mapping[str, object]) -> Thresholds:
    _known(table, [item.name for item in fields(Thresholds)])
    return Thresholds(**{name: _number(table, name, f"thresholds.{name}") for name in table})


def _number(table: Mapping[str, object], key: str, called: str) -> float | None:
    """A number of a table; None when the table has none of that name."""
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TopicError(f"{called} must be a number, not {value!r}")
    try:
        return float(value)
    except OverflowError as error:
        raise TopicError(f"{called} is too large a number") from error


def _strings(table: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TopicError(f"{key} must be a list of texts")
    return tuple(value)


def _urls(table: Mapping[str, object], key: str) -> tuple[str, ...]:
    urls = []
    for text in _strings(table, key):
        address = canonical(text)
        if address is None:
            raise TopicError(f"examples.{key}: {text!r} is not a web address")
        urls.append(address)
    return tuple(urls)
