"""Answers that were written down: for work without a network, for tests, and to see an election again.

    {"answers": [{"query": "dengue fever", "engine": "google", "trouble": "",
                  "hits": [{"url": "https://…", "title": "…", "snippet": "…"}]}]}

`topicrawl seeds … --out found.json` writes such a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from topicrawl.errors import SeedError
from topicrawl.seeds.provider import Answer, hits, plain

_NAMES = ("url", "title", "snippet")
_SHOWN = 3  # queries that are named to whoever asks another


class Recorded:
    """The engines of a file, each with what it answered to a query."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._answers: dict[str, dict[str, Mapping[str, object]]] = {}
        for number, row in enumerate(_rows(path), 1):
            query, engine = (row.get(name) if isinstance(row, Mapping) else None for name in ("query", "engine"))
            if not isinstance(row, Mapping) or not isinstance(query, str) or not isinstance(engine, str):
                raise SeedError(f"{path}: answer {number} is not a table with query, engine and hits")
            self._answers.setdefault(_key(query), {})[engine] = row

    @property
    def name(self) -> str:
        return f"recorded:{self._path}"

    async def search(self, query: str, count: int) -> Sequence[Answer]:
        engines = {engine for answers in self._answers.values() for engine in answers}
        found = self._answers.get(_key(query), {})
        return [self._answer(engine, found.get(engine), count) for engine in sorted(engines)]

    def _answer(self, engine: str, row: Mapping[str, object] | None, count: int) -> Answer:
        if row is None:
            return Answer(engine, trouble=f"no answer to this query is recorded, but to {self._queries()}")
        rows = row.get("hits")
        trouble = plain(row.get("trouble")) or ("" if isinstance(rows, list) else "the record has no list of hits")
        return Answer(engine, () if trouble or not isinstance(rows, list) else hits(rows, count, _NAMES), trouble)

    def _queries(self) -> str:
        more = len(self._answers) - _SHOWN
        return ", ".join(map(repr, list(self._answers)[:_SHOWN])) + (f" and {more} more" if more > 0 else "")


def _key(query: str) -> str:
    return " ".join(query.lower().split())


def _rows(path: Path) -> list[object]:
    try:
        table = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SeedError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise SeedError(f"{path}: not JSON in UTF-8: {error}") from error
    rows = table.get("answers") if isinstance(table, Mapping) else None
    if not isinstance(rows, list):
        raise SeedError(f"{path}: expected a table with a list of answers")
    return rows
