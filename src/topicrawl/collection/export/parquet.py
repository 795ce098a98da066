"""Parquet export. This is the only module that imports pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

from topicrawl.collection.export.formats import WritePage
from topicrawl.collection.export.rows import ExportPages, ExportRow, list_columns
from topicrawl.errors import UsageError

# A row group is held in memory: small enough for that, but large enough that its columns compress well.
_GROUP_ROWS = 1000
_GROUP_CHARACTERS = 8_000_000


@contextmanager
def open_parquet(path: Path, compression: str, pages: ExportPages) -> Iterator[WritePage]:
    """Open a Parquet file, compressed with Zstandard. Raise `UsageError` if pyarrow is not installed."""
    try:
        import pyarrow
        from pyarrow import parquet as writing
    except ImportError as error:
        raise UsageError("Parquet needs pyarrow: pip install 'topicrawl[parquet]', or use --to jsonl") from error
    schema = _build_schema(pyarrow)
    # Only columns with repeated values: for URLs and texts, a dictionary would waste memory.
    repeated = ["language", "type", "status", "segment", "licence", "licence_from", "robots", "label", "labelled_by"]
    with writing.ParquetWriter(path, schema, compression="zstd", use_dictionary=repeated) as file:
        group: list[ExportRow] = []
        characters = 0

        def flush() -> None:
            nonlocal characters
            if group:
                # Build the table by columns, because building it from rows would copy them.
                arrays = [
                    pyarrow.array([_to_arrow_value(getattr(page, field.name)) for page in group], field.type)
                    for field in schema
                ]
                file.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
            group.clear()
            characters = 0

        def write(page: ExportRow) -> None:
            nonlocal characters
            group.append(page)
            characters += len(page.text)
            if len(group) >= _GROUP_ROWS or characters >= _GROUP_CHARACTERS:
                flush()

        yield write
        flush()


def _build_schema(pyarrow: ModuleType) -> Any:
    kinds: dict[object, object] = {
        str: pyarrow.string(),
        int: pyarrow.int64(),
        float: pyarrow.float64(),
        bool: pyarrow.bool_(),
        bool | None: pyarrow.bool_(),
        datetime: pyarrow.timestamp("us", tz="UTC"),
        tuple[str, ...]: pyarrow.list_(pyarrow.string()),
    }
    made = [
        pyarrow.field(column.name, kinds[column.type], metadata={"description": column.description})
        for column in list_columns()
    ]
    return pyarrow.schema(made)


def _to_arrow_value(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
