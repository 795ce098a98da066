"""Results of a comparison in a JSON Lines file: appended run by run and looked up by a key of their inputs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xxhash

from topicrawl.errors import SpaceError, UsageError

ResultRow = dict[str, Any]


def result_key(values: Mapping[str, Any]) -> str:
    """Return a hash of all values that a result depends on.

    >>> result_key({"a": 1, "b": [2]}) == result_key({"b": [2], "a": 1}) != result_key({"a": 1, "b": [3]})
    True
    """
    return xxhash.xxh3_128_hexdigest(json.dumps(values, sort_keys=True, ensure_ascii=False).encode())


class ResultsFile:
    """Append-only file of result rows, indexed by key. A truncated last line, as after a kill, is ignored.

    The constructor raises `UsageError` if the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: dict[str, ResultRow] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            data = path.read_bytes() if path.exists() else b""
            self._file = path.open("ab")
            if data and not data.endswith(b"\n"):
                self._file.write(b"\n")  # start a new line after the truncated one
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from error
        for line in data.split(b"\n"):
            row = _parse_line(line)
            if row is not None:
                self._rows[row["key"]] = row

    def __len__(self) -> int:
        return len(self._rows)

    def get_row(self, key: str) -> ResultRow | None:
        """Return the row with this key, or None if there is none."""
        return self._rows.get(key)

    def list_rows(self) -> list[ResultRow]:
        """Return all rows, also those of other inputs or older code."""
        return list(self._rows.values())

    def add(self, key: str, row: Mapping[str, Any]) -> None:
        """Append a row under a key and sync it to disk. Raise `SpaceError` if it cannot be written."""
        keyed_row = {"key": key, **row}
        try:
            self._file.write(json.dumps(keyed_row, ensure_ascii=False).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise SpaceError(f"{self.path} cannot be written: {error.strerror}") from error
        self._rows[key] = keyed_row

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _parse_line(line: bytes) -> ResultRow | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and isinstance(row.get("key"), str) else None
