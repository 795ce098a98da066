"""Relevance feedback (Rocchio 1971) and the file that stores it.

    q′ = α q + β · mean of relevant pages − γ · mean of irrelevant pages        α = 1, β = .75, γ = .15

A page is represented by its term vector (see `page_vectors.py`). The words added to a query together weigh β times the
query, and the negative words together γ times, however many they are. So a few long pages cannot outweigh the query.

DIR/feedback.jsonl   one line per feedback, synced to disk before the feedback is acknowledged
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import xxhash
from msgspec import structs, to_builtins

from topicrawl.database import translate_errors
from topicrawl.errors import UsageError
from topicrawl.search.models import MAX_QUERY_CHARS, Feedback
from topicrawl.text.tokenizer import tokenise
from topicrawl.topic import Topic

FEEDBACK_FILE = "feedback.jsonl"
BETA, GAMMA = 0.75, 0.15
MAX_POSITIVE_WORDS, MAX_NEGATIVE_WORDS = (
    20,
    10,
)  # maximum number of added words with a positive and with a negative weight
MIN_SIMILARITY = 0.5  # minimum Jaccard similarity of two queries for feedback on one to apply to the other
_MAX_URLS = 100  # URLs of each kind in one feedback
_MAX_WEIGHT = 20.0

TermWeights = Mapping[str, float]


def rocchio(query: str, relevant: Sequence[TermWeights], irrelevant: Sequence[TermWeights]) -> dict[str, float]:
    """Return the words to add to a query with their Rocchio weights; negative weights lower the score of a page.

    >>> rocchio("owl", [{"owl": 0.5, "nest": 0.5}], [{"stadium": 1.0}])
    {'nest': 0.375, 'owl': 0.375, 'stadium': -0.15}
    """
    size = max(1, len(set(tokenise(query))))
    positive, negative = _mean_vector(relevant), _mean_vector(irrelevant)
    difference = {word: weight - GAMMA / BETA * negative.get(word, 0.0) for word, weight in positive.items()}
    added = _select_strongest(
        {word: weight for word, weight in difference.items() if weight > 0}, MAX_POSITIVE_WORDS, BETA * size
    )
    excluded = set(positive) | set(tokenise(query))
    removed = _select_strongest(
        {word: weight for word, weight in negative.items() if word not in excluded}, MAX_NEGATIVE_WORDS, 1.0
    )
    return added | {word: -GAMMA * size * weight for word, weight in removed.items()}


def _mean_vector(vectors: Sequence[TermWeights]) -> dict[str, float]:
    total: dict[str, float] = {}
    for vector in vectors:
        for word, weight in vector.items():
            total[word] = total.get(word, 0.0) + weight / len(vectors)
    return total


def _select_strongest(weights: TermWeights, limit: int, total_weight: float) -> dict[str, float]:
    """Return the words with the highest weights, scaled so that the weights sum to `total_weight`."""
    best = sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:limit]
    total = math.fsum(weight for _, weight in best)
    return {word: round(total_weight * weight / total, 6) for word, weight in best} if total else {}


def assign_id(feedback: Feedback) -> Feedback:
    """Return the feedback with its id, a hash of its content that is the same on every server."""
    content = json.dumps([feedback.query, feedback.relevant, feedback.irrelevant, feedback.at])
    return structs.replace(feedback, id=xxhash.xxh3_64_hexdigest(content.encode()))


def parse_feedback(value: object) -> Feedback:
    """Decode and validate feedback from a JSON object; raise `UsageError` if it is invalid."""
    if not isinstance(value, Mapping):
        raise UsageError("feedback must be an object with query, relevant, irrelevant and terms")
    query, terms = value.get("query"), value.get("terms", {})
    urls = [value.get(name, ()) for name in ("relevant", "irrelevant")]
    if not isinstance(query, str) or len(query) > MAX_QUERY_CHARS or not isinstance(terms, Mapping):
        raise UsageError(
            f"feedback must contain its query, of at most {MAX_QUERY_CHARS} characters, and terms as an object"
        )
    if any(not isinstance(group, list | tuple) or len(group) > _MAX_URLS for group in urls):
        raise UsageError(f"feedback must contain lists of at most {_MAX_URLS} relevant and {_MAX_URLS} irrelevant URLs")
    weights = {
        str(word)[:100]: max(-1.0, min(float(weight), _MAX_WEIGHT))
        for word, weight in list(terms.items())[: MAX_POSITIVE_WORDS + MAX_NEGATIVE_WORDS]
        if isinstance(weight, int | float) and math.isfinite(weight)
    }
    at = value.get("at", 0.0)
    relevant, irrelevant = (tuple(str(url)[:2000] for url in group) for group in urls)
    timestamp = float(at) if isinstance(at, int | float) else 0.0
    teach = value.get("teach") is True
    return assign_id(Feedback(query, relevant, irrelevant, weights, at=timestamp, teach=teach))


class FeedbackStore:
    """The stored feedback of a collection."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FEEDBACK_FILE
        self._by_id: dict[str, Feedback] = {}
        self._offset = 0

    def add(self, feedback: Feedback) -> None:
        """Append feedback to the file, synced to disk. Feedback with a known id is ignored."""
        self._read_new_lines()
        if feedback.id not in self._by_id:
            self._append_line(to_builtins(feedback))

    def remove(self, feedback_id: str) -> bool:
        """Undo feedback, synced to disk. Return whether the collection had it."""
        self._read_new_lines()
        if feedback_id not in self._by_id:
            return False
        self._append_line({"removed": feedback_id})
        return True

    def _append_line(self, value: object) -> None:
        with translate_errors(self._path):
            file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            try:
                # A kill may have left an incomplete last line, so start a new one.
                os.write(file, b"\n" + json.dumps(value).encode() + b"\n")
                os.fsync(file)
            finally:
                os.close(file)
        self._read_new_lines()

    def find_similar(self, query: str) -> list[Feedback]:
        """Return the feedback on similar queries: the Jaccard similarity of the words is at least `MIN_SIMILARITY`."""
        self._read_new_lines()
        query_words = set(tokenise(query))
        return [
            feedback
            for feedback in self._by_id.values()
            if _jaccard_similarity(query_words, set(tokenise(feedback.query))) >= MIN_SIMILARITY
        ]

    def _read_new_lines(self) -> None:
        """Read the lines that any process has added since the last call; ignore incomplete lines.

        An incomplete line was never acknowledged.
        """
        if not self._path.exists():
            return
        with translate_errors(self._path), self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        data = data[: data.rfind(b"\n") + 1]
        self._offset += len(data)
        for line in data.splitlines():
            try:
                value = json.loads(line) if line.strip() else {"removed": ""}
                if isinstance(value, dict) and "removed" in value:
                    self._by_id.pop(str(value["removed"]), None)
                    continue
                feedback = parse_feedback(value)
            except (ValueError, UsageError):
                continue
            self._by_id[feedback.id] = feedback


def _jaccard_similarity(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


def merge_feedback(feedback_items: Iterable[Feedback]) -> dict[str, float]:
    """Return the mean word weights of several feedbacks; the same feedback from several servers counts once."""
    by_id = {feedback.id: feedback for feedback in feedback_items}
    return _mean_vector([feedback.terms for feedback in by_id.values()]) if by_id else {}


def apply_feedback(topic: Topic, feedback: Feedback) -> Topic:
    """Return the topic with the words of the feedback, reweighted, and with its pages as examples.

    >>> topic = apply_feedback(Topic.of("owls"), Feedback("owls", terms={"nest": 0.6, "owls": 0.15, "stadium": -0.15}))
    >>> dict(topic.words)
    {'owls': 1.15, 'nest': 0.6}
    """
    heaviest = max(topic.words.values())
    weights = {
        word: topic.words.get(word, 0.0) + heaviest * weight
        for word, weight in ({word: 0.0 for word in topic.words} | dict(feedback.terms)).items()
    }
    new_words = {word: round(weight, 4) for word, weight in weights.items() if weight > 0 or word in topic.words}
    new_words = {word: max(weight, topic.words.get(word, 0.0) / 2) for word, weight in new_words.items()}
    new_examples = [
        tuple(url for url in urls if url not in examples)
        for urls, examples in ((feedback.relevant, topic.relevant), (feedback.irrelevant, topic.irrelevant))
    ]
    return replace(topic, words=new_words).with_examples(*new_examples)
