"""Recorded answers of search engines, for offline work, for tests, and to repeat an election.

    {"answers": [{"query": "dengue fever", "engine": "google", "trouble": "",
                  "hits": [{"url": "https://…", "title": "…", "snippet": "…"}]}]}

`topicrawl seeds … --out found.json` writes such a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from topicrawl.errors import SeedError
from topicrawl.seeds.provider import EngineAnswer, clean_text, parse_hits

_FIELDS = ("url", "title", "snippet")
_MAX_LISTED_QUERIES = 3  # recorded queries that the failure message lists


class RecordedProvider:
    """Engines of a file, with their recorded answers."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._answers: dict[str, dict[str, Mapping[str, object]]] = {}
        for number, row in enumerate(_load_rows(path), 1):
            query, engine = (row.get(name) if isinstance(row, Mapping) else None for name in ("query", "engine"))
            if not isinstance(row, Mapping) or not isinstance(query, str) or not isinstance(engine, str):
                raise SeedError(f"{path}: answer {number} is not an object with query, engine and hits")
            self._answers.setdefault(_normalise_query(query), {})[engine] = row

    @property
    def name(self) -> str:
        """Name of the provider, with the file."""
        return f"recorded:{self._path}"

    async def search(self, query: str, count: int) -> Sequence[EngineAnswer]:
        """Return the recorded answer of each engine to a query; without a record, an answer with the reason."""
        engines = {engine for answers in self._answers.values() for engine in answers}
        recorded = self._answers.get(_normalise_query(query), {})
        return [self._build_answer(engine, recorded.get(engine), count) for engine in sorted(engines)]

    def _build_answer(self, engine: str, row: Mapping[str, object] | None, count: int) -> EngineAnswer:
        """Build the answer of one engine from its row."""
        if row is None:
            return EngineAnswer(
                engine, trouble=f"no answer to this query is recorded, only to {self._format_queries()}"
            )
        rows = row.get("hits")
        trouble = clean_text(row.get("trouble")) or ("" if isinstance(rows, list) else "the record has no list of hits")
        return EngineAnswer(
            engine, () if trouble or not isinstance(rows, list) else parse_hits(rows, count, _FIELDS), trouble
        )

    def _format_queries(self) -> str:
        """List the first recorded queries."""
        more = len(self._answers) - _MAX_LISTED_QUERIES
        return ", ".join(map(repr, list(self._answers)[:_MAX_LISTED_QUERIES])) + (
            f" and {more} more" if more > 0 else ""
        )


def _normalise_query(query: str) -> str:
    """Normalise case and white space of a query."""
    return " ".join(query.lower().split())


def _load_rows(path: Path) -> list[object]:
    """Load the rows of the file. Raise `SeedError` if it cannot be read or has another format."""
    try:
        table = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SeedError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise SeedError(f"{path}: not JSON in UTF-8: {error}") from error
    rows = table.get("answers") if isinstance(table, Mapping) else None
    if not isinstance(rows, list):
        raise SeedError(f"{path}: expected an object with a list of answers")
    return rows
