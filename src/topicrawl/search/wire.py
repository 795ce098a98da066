"""What servers say to each other, as JSON: read with care, because it comes from elsewhere.

POST /api/peer/summaries   {"query": {…}}                              → {"summaries": […]}
POST /api/peer/search      {"query": {…}, "names": […], "world": {…}}  → {"found": {name: {"hits": […], …}}}
POST /api/peer/vector      {"url": "…"}                                → {"vector": {word: weight}}
POST /api/peer/sketches    {}                                          → {"sketches": {name: [pages, […]]}}
POST /api/peer/feedback    {"query": "…", "relevant": […], …}          → {"id": "…"}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from topicrawl.errors import UsageError
from topicrawl.search.answers import DEEPEST, LONGEST, MOST, Hit, Query, tabled
from topicrawl.search.feedback import checked
from topicrawl.search.index import Found
from topicrawl.search.overlap import SKETCH
from topicrawl.search.scoring import World
from topicrawl.search.servers import Here, Server, Summary
from topicrawl.urls import canonical

OPERATIONS = ("summaries", "search", "vector", "sketches", "feedback")
_KEYS = 200  # of a table
_NAMES = 200  # collections of a server
_LARGEST = 1 << 53
Table = Mapping[str, Any]


async def reply(here: Here | Server, operation: str, said: object) -> dict[str, object]:
    """What a server replies to another; UsageError: the question makes no sense."""
    table = _table(said)
    if operation == "summaries":
        many = await here.summaries(query_of(table.get("query")))
        return {"summaries": [tabled(one) for one in many]}
    if operation == "search":
        names = [_text(name, 200) for name in _list(table.get("names"), _NAMES)]
        found = await here.search(query_of(table.get("query")), names, world_of(table.get("world")))
        return {
            "found": {name: {"hits": list(map(tabled, one.hits)), "pages": one.pages} for name, one in found.items()}
        }
    if operation == "vector":
        return {"vector": await here.vector(_text(table.get("url"), 2000))}
    if operation == "sketches":
        return {"sketches": await here.sketches()}
    if operation == "feedback":
        feedback = checked(table)
        await here.learn(feedback)
        return {"id": feedback.id}
    raise UsageError(f"{operation!r} is none of {', '.join(OPERATIONS)}")


def query_of(said: object) -> Query:
    """A query as it came from elsewhere."""
    table = _table(said)
    count, offset = _whole(table.get("count", 10)), _whole(table.get("offset", 0))
    if not 0 < count <= DEEPEST + MOST or offset > DEEPEST:
        raise UsageError(f"hits are asked for in numbers from 1 to {MOST}, after at most {DEEPEST} others")
    without = tuple(_text(url, 2000) for url in _list(table.get("without", []), MOST))
    text = _text(table.get("text"), LONGEST)
    return Query(text, count, offset, _weights(table.get("weights", {})), without, table.get("learned") is not False)


def world_of(said: object) -> World:
    table = _table(said)
    found = _table(table.get("pages_with", {}))
    if len(found) > _KEYS:
        raise UsageError(f"statistics are of at most {_KEYS} words")
    counts = {_text(key, 1000): _whole(count) for key, count in found.items()}
    return World(_whole(table.get("pages")), _whole(table.get("words")), counts)


def summary_of(said: object) -> Summary:
    table = _table(said)
    feedback = tuple(checked(one) for one in _list(table.get("feedback", []), _KEYS))
    trouble = _text(table.get("trouble", ""), 2000)
    return Summary(_text(table.get("name"), 200), world_of(table.get("world")), feedback, trouble)


def found_of(said: object) -> Found:
    table = _table(said)
    return Found(tuple(map(_hit, _list(table.get("hits"), DEEPEST + MOST))), _whole(table.get("pages")))


def sketch_of(said: object) -> tuple[int, list[int]]:
    pages, numbers = _list(said, 2)
    return _whole(pages), [int(number) for number in _list(numbers, SKETCH) if isinstance(number, int)]


def vector_of(said: object) -> dict[str, float]:
    return _weights(said)


def _hit(said: object) -> Hit:
    table = _table(said)
    url = canonical(_text(table.get("url"), 2000))
    if url is None:
        raise UsageError("a hit has a web address")
    pieces = [_list(piece, 2) for piece in _list(table.get("snippet", []), _KEYS)]
    return Hit(
        url, _text(table.get("title", ""), 1000), _number(table.get("score")),
        tuple((_text(piece[0], 500), piece[1] is True) for piece in pieces if len(piece) > 1),
        _text(table.get("language", ""), 20), _number(table.get("relevance", 0.0)), _text(table.get("verdict", ""), 20),
        _number(table.get("at", 0.0)), _text(table.get("digest", ""), 64), (),
        tuple(_text(copy, 2000) for copy in _list(table.get("copies", []), MOST)),
    )  # fmt: skip


def _table(said: object) -> Table:
    if not isinstance(said, Mapping):
        raise UsageError("a table was expected")
    return said


def _list(said: object, most: int) -> list[Any]:
    if not isinstance(said, list | tuple) or len(said) > most:
        raise UsageError(f"a list of at most {most} was expected")
    return list(said)


def _text(said: object, most: int) -> str:
    if not isinstance(said, str) or len(said) > most:
        raise UsageError(f"a text of at most {most} characters was expected")
    return said


def _whole(said: object) -> int:
    if isinstance(said, bool) or not isinstance(said, int) or not 0 <= said < _LARGEST:
        raise UsageError("a whole number from 0 on was expected")
    return said


def _number(said: object) -> float:
    if isinstance(said, bool) or not isinstance(said, int | float) or not math.isfinite(said):
        raise UsageError("a number was expected")
    return float(said)


def _weights(said: object) -> dict[str, float]:
    table = _table(said)
    if len(table) > _KEYS:
        raise UsageError(f"at most {_KEYS} weighted words were expected")
    return {_text(word, 1000): _number(weight) for word, weight in table.items()}
