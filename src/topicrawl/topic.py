"""Step 1. Topic: what we look for, as words with weights and, where there are any, example pages.

A topic lives in `topic.toml`, readable and editable by hand:

    name = "dengue fever"
    languages = ["en"]
    threshold = 0.16

    [words]
    dengue = 1.0
    fever = 1.0

    [examples]
    relevant = ["https://example.org/dengue.html"]
    irrelevant = []
"""

from __future__ import annotations

import difflib
import json
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from topicrawl.errors import TopicError, UsageError
from topicrawl.text.lexicon import Lexicon, lexicon
from topicrawl.text.tokens import words as tokenise
from topicrawl.urls import canonical

HEAVIEST = 1e6


@dataclass(frozen=True, slots=True)
class Topic:
    """What a crawl looks for.

    >>> topic = Topic.of("Dengue fever, dengue")
    >>> topic.name, dict(topic.words)
    ('Dengue fever, dengue', {'dengue': 2.0, 'fever': 1.0})
    """

    name: str
    words: Mapping[str, float]
    relevant: tuple[str, ...] = ()  # URLs of example pages on the topic
    irrelevant: tuple[str, ...] = ()
    languages: tuple[str, ...] = ("en",)
    threshold: float = -1.0  # similarity from which a page counts as relevant; below 0: the usual one
    origin: str = field(default="words on the command line", compare=False)

    def __post_init__(self) -> None:
        if not self.words:
            raise TopicError(f'the topic {self.name!r} has no words: name it in words, for example "dengue fever"')
        for word, weight in self.words.items():
            if not 0 < weight <= HEAVIEST:
                raise TopicError(f"the weight of {word!r} is {weight}: weights are numbers above 0, up to {HEAVIEST:g}")
        if any("\ud800" <= character <= "\udfff" for text in (self.name, *self.words) for character in text):
            raise TopicError("the topic is not valid text: write it in UTF-8")
        if self.threshold == -1.0:
            object.__setattr__(self, "threshold", usual_threshold(len(self.words)))
        if not 0 <= self.threshold <= 1:
            raise TopicError(f"threshold is {self.threshold}: it must be from 0 to 1")

    @classmethod
    def of(cls, phrase: str) -> Topic:
        """A topic from plain words; a word said twice weighs twice."""
        weights: dict[str, float] = {}
        for word in tokenise(phrase):
            weights[word] = weights.get(word, 0.0) + 1.0
        return cls(name=" ".join(phrase.split()), words=weights)

    @property
    def lexicon(self) -> Lexicon:
        return lexicon(self.languages[0] if self.languages else "en")

    def with_examples(self, relevant: Iterable[str], irrelevant: Iterable[str]) -> Topic:
        return Topic(
            self.name, self.words, (*self.relevant, *relevant), (*self.irrelevant, *irrelevant),
            self.languages, self.threshold, self.origin,
        )  # fmt: skip

    def toml(self) -> str:
        """The topic as the text of a `topic.toml`."""
        text = [
            f"# {self.origin}",
            f"name = {_quoted(self.name)}",
            f"languages = [{', '.join(map(_quoted, self.languages))}]",
            f"threshold = {self.threshold!r}",
            "",
            "[words]",
            *(f"{_quoted(word)} = {float(weight)!r}" for word, weight in self.words.items()),
            "",
            "[examples]",
            f"relevant = [{', '.join(map(_quoted, self.relevant))}]",
            f"irrelevant = [{', '.join(map(_quoted, self.irrelevant))}]",
        ]
        return "\n".join(text) + "\n"


def usual_threshold(words: int) -> float:
    """The similarity from which a page counts as relevant, for a topic of so many words.

    A page says only some of a topic's words, so its cosine falls with their number. On eleven topics of six to nine
    words in an encyclopedia the best divides lay between .02 and .18, most of them near .07.

    >>> [usual_threshold(n) for n in (1, 2, 8)]
    [0.22, 0.16, 0.08]
    """
    return round(0.22 / math.sqrt(max(1, words)), 2)


def toml_table(path: Path, mistake: type[UsageError]) -> dict[str, Any]:
    """What a TOML file says; that it cannot be read, or is none, is the given mistake in one line."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise mistake(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise mistake(f"{path}: not valid TOML: {error}") from error


def load(path: Path) -> Topic:
    """Read a `topic.toml`; every mistake in it is one line that says where."""
    table = toml_table(path, TopicError)
    _known(table, ("name", "languages", "threshold", "words", "examples"), path)
    examples = _table(table, "examples", path)
    _known(examples, ("relevant", "irrelevant"), path)
    words = _words(table, path)
    threshold = table.get("threshold", usual_threshold(len(words)))
    if not isinstance(threshold, int | float) or isinstance(threshold, bool):
        raise TopicError(f"{path}: threshold must be a number, not {threshold!r}")
    name = table.get("name", " ".join(words))
    if not isinstance(name, str):
        raise TopicError(f"{path}: name must be text, not {name!r}")
    try:
        return Topic(
            name=name,
            words=words,
            relevant=_urls(examples, "relevant", path),
            irrelevant=_urls(examples, "irrelevant", path),
            languages=_strings(table, "languages", path) or ("en",),
            threshold=float(threshold),
            origin=f"read from {path.name}",
        )
    except TopicError as error:
        raise TopicError(f"{path}: {error}") from error


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


def _quoted(text: str) -> str:
    # TOML's basic strings and JSON's strings agree, but for the one escape that JSON leaves out.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _known(table: Mapping[str, object], keys: tuple[str, ...], path: Path) -> None:
    for key in table:
        if key not in keys:
            near = difflib.get_close_matches(key, keys, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(keys)}"
            raise TopicError(f"{path}: unknown key {key!r}{hint}")


def _table(table: Mapping[str, object], key: str, path: Path) -> Mapping[str, object]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise TopicError(f"{path}: [{key}] must be a table")
    return value


def _words(table: Mapping[str, object], path: Path) -> dict[str, float]:
    words: dict[str, float] = {}
    for word, weight in _table(table, "words", path).items():
        if not isinstance(weight, int | float) or isinstance(weight, bool):
            raise TopicError(f"{path}: the weight of {word!r} must be a number, not {weight!r}")
        words[word] = float(weight)
    return words


def _strings(table: Mapping[str, object], key: str, path: Path) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TopicError(f"{path}: {key} must be a list of texts")
    return tuple(value)


def _urls(table: Mapping[str, object], key: str, path: Path) -> tuple[str, ...]:
    urls = []
    for text in _strings(table, key, path):
        address = canonical(text)
        if address is None:
            raise TopicError(f"{path}: examples.{key}: {text!r} is not a web address")
        urls.append(address)
    return tuple(urls)
