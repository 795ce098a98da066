"""Store facts as JSON rows, with long strings in separate rows to save memory.

The learned state of a strategy contains megabytes of packed strings. Written as one JSON text, it would be in memory
several times at once: as the strings, as their JSON, and as SQLite's copy of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from topicrawl.models import JsonValue

_MAX_INLINE_LENGTH = 1 << 16  # characters; longer strings get a separate row
_MAX_SEARCHED_ITEMS = 100  # larger lists and dictionaries are data and are not searched for long strings
_REFERENCE_KEY = "@row"  # key of the reference that replaces a long string


def split_fact(name: str, value: JsonValue) -> Iterator[tuple[str, str]]:
    """Yield the rows of a fact: its main row, and one row for each long string.

    >>> rows = dict(split_fact("learned", {"step": 7, "names": "x" * 70_000}))
    >>> rows["learned"], {row: len(text) for row, text in rows.items()}
    ('{"step": 7, "names": {"@row": 0}}', {'learned': 33, 'learned/0': 70002})
    >>> join_fact("learned", rows.get) == {"step": 7, "names": "x" * 70_000}
    True
    """
    long: list[str] = []
    yield name, json.dumps(_extract_long_strings(value, long))
    for number, text in enumerate(long):
        yield _overflow_row_name(name, number), json.dumps(text)


def join_fact(name: str, read: Callable[[str], str | None]) -> JsonValue:
    """Return a fact from its rows, which `read` returns by name. Raise `ValueError` if a row is missing or invalid."""

    def resolve_reference(table: dict[str, Any]) -> Any:
        if table.keys() != {_REFERENCE_KEY}:
            return table
        text = read(_overflow_row_name(name, table[_REFERENCE_KEY]))
        if text is None:
            raise ValueError(f"{_overflow_row_name(name, table[_REFERENCE_KEY])} is missing")
        return json.loads(text)

    text = read(name)
    value: JsonValue = json.loads(text, object_hook=resolve_reference) if text is not None else None
    return value


def overflow_row_range(name: str) -> tuple[str, str]:
    """Return the range of names, without its bounds, that contains the overflow rows of a fact.

    >>> first, last = overflow_row_range("learned")
    >>> first < "learned/0" < "learned/12" < last <= "learned0"
    True
    """
    return f"{name}/", f"{name}0"


def is_overflow_row(name: str) -> bool:
    """Return whether a row is an overflow row of a fact."""
    return "/" in name


def _overflow_row_name(name: str, number: object) -> str:
    return f"{name}/{number}"


def _extract_long_strings(value: JsonValue, long: list[str]) -> JsonValue:
    """Return the value with references in place of long strings, which are appended to `long`."""
    if isinstance(value, str) and len(value) > _MAX_INLINE_LENGTH:
        long.append(value)
        return {_REFERENCE_KEY: len(long) - 1}
    if isinstance(value, dict) and len(value) <= _MAX_SEARCHED_ITEMS:
        return {key: _extract_long_strings(member, long) for key, member in value.items()}
    if isinstance(value, list) and len(value) <= _MAX_SEARCHED_ITEMS:
        return [_extract_long_strings(member, long) for member in value]
    return value
