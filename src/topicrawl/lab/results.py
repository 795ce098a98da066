"""Results of a comparison in a file of JSON lines: appended as they come, found again by what they depend on."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xxhash

from topicrawl.errors import SpaceError, UsageError

Row = dict[str, Any]


def key_of(values: Mapping[str, Any]) -> str:
    """A short name for all that a result depends on.

    >>> key_of({"a": 1, "b": [2]}) == key_of({"b": [2], "a": 1}) != key_of({"a": 1, "b": [3]})
    True
    """
    return xxhash.xxh3_128_hexdigest(json.dumps(values, sort_keys=True, ensure_ascii=False).encode())


class Results:
    """The rows of a file by their key; a line that was cut off by a kill is passed over."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: dict[str, Row] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            data = path.read_bytes() if path.exists() else b""
            self._file = path.open("ab")
            if data and not data.endswith(b"\n"):
                self._file.write(b"\n")  # what comes next must not join the line that was cut off
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from error
        for line in data.split(b"\n"):
            row = _row(line)
            if row is not None:
                self._rows[row["key"]] = row

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, key: str) -> Row | None:
        return self._rows.get(key)

    def add(self, key: str, row: Mapping[str, Any]) -> None:
        """Keep a row; it is in the file before this returns."""
        whole = {"key": key, **row}
        try:
            self._file.write(json.dumps(whole, ensure_ascii=False).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise SpaceError(f"{self.path} cannot be written: {error.strerror}") from error
        self._rows[key] = whole

    def close(self) -> None:
        self._file.close()


def _row(line: bytes) -> Row | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and isinstance(row.get("key"), str) else None
