"""This one yes, this one no: Rocchio (1971), and where it is remembered.

    q′ = α q + β · mean of relevant pages − γ · mean of irrelevant pages        α = 1, β = .75, γ = .15

A page is the vector of its strongest words (see `vectors.py`). What is added to a query weighs β times what the query
weighs itself, however many words it is, and what is taken away γ times: a few long pages do not drown what was asked.

DIR/feedback.jsonl   a line for each feedback, on the disk before it is confirmed
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import xxhash

from topicrawl.database import errors_of
from topicrawl.errors import UsageError
from topicrawl.search.answers import LONGEST, Feedback
from topicrawl.text.tokens import words
from topicrawl.topic import Topic

FILE = "feedback.jsonl"
BETA, GAMMA = 0.75, 0.15
GAINED, LOST = 20, 10  # words that are added, and that speak against a page
ALIKE = 0.5  # share of words that two queries must have in common for one to learn from the other
_URLS = 100
_HEAVIEST = 20.0

Vector = Mapping[str, float]


def rocchio(query: str, relevant: Sequence[Vector], irrelevant: Sequence[Vector]) -> dict[str, float]:
    """The words that a query gains, with weights, the strongest first; those below 0 speak against a page.

    >>> rocchio("owl", [{"owl": 0.5, "nest": 0.5}], [{"stadium": 1.0}])
    {'nest': 0.375, 'owl': 0.375, 'stadium': -0.15}
    """
    size = max(1, len(set(words(query))))
    for_it, against = _mean(relevant), _mean(irrelevant)
    pull = {word: weight - GAMMA / BETA * against.get(word, 0.0) for word, weight in for_it.items()}
    gained = _strongest({word: weight for word, weight in pull.items() if weight > 0}, GAINED, BETA * size)
    own = set(words(query))
    lost = _strongest({word: it for word, it in against.items() if word not in for_it and word not in own}, LOST, 1.0)
    return gained | {word: -GAMMA * size * weight for word, weight in lost.items()}


def _mean(vectors: Sequence[Vector]) -> dict[str, float]:
    total: dict[str, float] = {}
    for vector in vectors:
        for word, weight in vector.items():
            total[word] = total.get(word, 0.0) + weight / len(vectors)
    return total


def _strongest(weights: Vector, most: int, mass: float) -> dict[str, float]:
    best = sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:most]
    total = math.fsum(weight for _, weight in best)
    return {word: round(mass * weight / total, 6) for word, weight in best} if total else {}


def identified(feedback: Feedback) -> Feedback:
    """With the name that it has wherever it goes."""
    said = json.dumps([feedback.query, feedback.relevant, feedback.irrelevant, feedback.at])
    return replace(feedback, id=xxhash.xxh3_64_hexdigest(said.encode()))


def checked(table: object) -> Feedback:
    """A feedback as it came from elsewhere; UsageError says what is wrong with it."""
    if not isinstance(table, Mapping):
        raise UsageError("feedback is a table of query, relevant, irrelevant and terms")
    query, terms = table.get("query"), table.get("terms", {})
    urls = [table.get(name, ()) for name in ("relevant", "irrelevant")]
    if not isinstance(query, str) or len(query) > LONGEST or not isinstance(terms, Mapping):
        raise UsageError(f"feedback names its query, of at most {LONGEST} characters")
    if any(not isinstance(many, list | tuple) or len(many) > _URLS for many in urls):
        raise UsageError(f"feedback names at most {_URLS} addresses of each kind")
    good = {
        str(word)[:100]: max(-1.0, min(float(weight), _HEAVIEST))
        for word, weight in list(terms.items())[: GAINED + LOST]
        if isinstance(weight, int | float) and math.isfinite(weight)
    }
    at = table.get("at", 0.0)
    seen, unseen = (tuple(str(url)[:2000] for url in many) for many in urls)
    made = Feedback(query, seen, unseen, good, at=float(at) if isinstance(at, int | float) else 0.0)
    return identified(made)


class Remembered:
    """The feedback of a collection."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        self._known: dict[str, Feedback] = {}
        self._size = 0

    def add(self, feedback: Feedback) -> None:
        """Remember it; when this returns, no kill can lose it. The same one again changes nothing."""
        self._read()
        if feedback.id in self._known:
            return
        with errors_of(self._path):
            file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            try:
                # A kill may have left the last line without its end.
                os.write(file, b"\n" + json.dumps(asdict(feedback)).encode() + b"\n")
                os.fsync(file)
            finally:
                os.close(file)
        self._read()

    def like(self, query: str) -> list[Feedback]:
        """What was said of queries like this one."""
        self._read()
        asked = set(words(query))
        return [it for it in self._known.values() if _alike(asked, set(words(it.query))) >= ALIKE]

    def _read(self) -> None:
        """Take over what was written since, by whomever; a line that is torn was not confirmed."""
        if not self._path.exists():
            return
        with errors_of(self._path), self._path.open("rb") as file:
            file.seek(self._size)
            data = file.read()
        data = data[: data.rfind(b"\n") + 1]
        self._size += len(data)
        for line in data.splitlines():
            try:
                found = checked(json.loads(line)) if line.strip() else None
            except (ValueError, UsageError):
                continue
            if found is not None:
                self._known[found.id] = found


def _alike(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


def learned(several: Iterable[Feedback]) -> dict[str, float]:
    """The words of all feedback together; what came from several servers counts once."""
    once = {it.id: it for it in several}
    return _mean([it.terms for it in once.values()]) if once else {}


def taught(topic: Topic, feedback: Feedback) -> Topic:
    """A topic that has learned from feedback: heavier and new words, and the pages as examples.

    >>> topic = taught(Topic.of("owls"), Feedback("owls", terms={"nest": 0.6, "owls": 0.15, "stadium": -0.15}))
    >>> dict(topic.words)
    {'owls': 1.15, 'nest': 0.6}
    """
    heaviest = max(topic.words.values())
    weights = {
        word: topic.words.get(word, 0.0) + heaviest * weight
        for word, weight in ({word: 0.0 for word in topic.words} | dict(feedback.terms)).items()
    }
    kept = {word: round(weight, 4) for word, weight in weights.items() if weight > 0 or word in topic.words}
    kept = {word: max(weight, topic.words.get(word, 0.0) / 2) for word, weight in kept.items()}
    new = [
        tuple(url for url in urls if url not in known)
        for urls, known in ((feedback.relevant, topic.relevant), (feedback.irrelevant, topic.irrelevant))
    ]
    return replace(topic, words=kept).with_examples(*new)
