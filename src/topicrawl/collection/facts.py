"""Facts as rows of JSON: a long string in one stands in a row of its own, so that writing it needs no second copy.

What a strategy has learned is megabytes of packed tables. As one text it would be in memory several times over when
it is written: as the tables, as their JSON, and as SQLite's copy of that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from topicrawl.records import Carry

_LONG = 1 << 16  # characters: a longer string gets its own row
_MANY = 100  # what has more members than this is data, and is not looked through
_ROW = "@row"  # the key of what stands for such a string


def spread(name: str, value: Carry) -> Iterator[tuple[str, str]]:
    """The rows of a fact: its own, and one for each long string.

    >>> rows = dict(spread("learned", {"step": 7, "names": "x" * 70_000}))
    >>> rows["learned"], {row: len(text) for row, text in rows.items()}
    ('{"step": 7, "names": {"@row": 0}}', {'learned': 33, 'learned/0': 70002})
    >>> gathered("learned", rows.get) == {"step": 7, "names": "x" * 70_000}
    True
    """
    long: list[str] = []
    yield name, json.dumps(_shortened(value, long))
    for number, text in enumerate(long):
        yield _named(name, number), json.dumps(text)


def gathered(name: str, read: Callable[[str], str | None]) -> Carry:
    """A fact from its rows, which `read` finds; ValueError when they are torn."""

    def whole(found: dict[str, Any]) -> Any:
        if found.keys() != {_ROW}:
            return found
        text = read(_named(name, found[_ROW]))
        if text is None:
            raise ValueError(f"{_named(name, found[_ROW])} is missing")
        return json.loads(text)

    text = read(name)
    value: Carry = json.loads(text, object_hook=whole) if text is not None else None
    return value


def rows_of(name: str) -> tuple[str, str]:
    """Between which names the further rows of a fact stand; is not needed for those that never had any.

    >>> first, last = rows_of("learned")
    >>> first < "learned/0" < "learned/12" < last <= "learned0"
    True
    """
    return f"{name}/", f"{name}0"


def is_further(name: str) -> bool:
    """Whether a row belongs to the fact of another row."""
    return "/" in name


def _named(name: str, number: object) -> str:
    return f"{name}/{number}"


def _shortened(value: Carry, long: list[str]) -> Carry:
    """The same with numbers for its long strings, which are put aside."""
    if isinstance(value, str) and len(value) > _LONG:
        long.append(value)
        return {_ROW: len(long) - 1}
    if isinstance(value, dict) and len(value) <= _MANY:
        return {key: _shortened(member, long) for key, member in value.items()}
    if isinstance(value, list) and len(value) <= _MANY:
        return [_shortened(member, long) for member in value]
    return value
