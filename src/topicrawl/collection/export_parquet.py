"""Parquet, for pandas, Arrow, DuckDB and their like; the only module that knows pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

from topicrawl.collection.export import Exported, Pages, columns
from topicrawl.collection.export_formats import Write
from topicrawl.errors import UsageError

# A row group is held in memory: few enough pages for that, many enough that columns compress well.
_GROUP_ROWS = 1000
_GROUP_CHARACTERS = 8_000_000


@contextmanager
def parquet(path: Path, kind: str, pages: Pages) -> Iterator[Write]:
    """One file, a column for each part of a page, compressed with Zstandard."""
    try:
        import pyarrow
        from pyarrow import parquet as writing
    except ImportError as error:
        raise UsageError("Parquet needs pyarrow: pip install 'topicrawl[parquet]'; or take --to jsonl") from error
    schema = _schema(pyarrow)
    # A page's own address and text are in no other page: a dictionary would only cost memory.
    repeated = ["language", "type", "status", "segment", "licence", "licence_from", "robots"]
    with writing.ParquetWriter(path, schema, compression="zstd", use_dictionary=repeated) as file:
        group: list[Exported] = []
        held = 0

        def flush() -> None:
            nonlocal held
            if group:
                # Column by column: a table from rows would hold them twice.
                arrays = [
                    pyarrow.array([_value(getattr(page, field.name)) for page in group], field.type) for field in schema
                ]
                file.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
            group.clear()
            held = 0

        def write(page: Exported) -> None:
            nonlocal held
            group.append(page)
            held += len(page.text)
            if len(group) >= _GROUP_ROWS or held >= _GROUP_CHARACTERS:
                flush()

        yield write
        flush()


def _schema(pyarrow: ModuleType) -> Any:
    kinds: dict[object, object] = {
        str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_(),
        bool | None: pyarrow.bool_(), datetime: pyarrow.timestamp("us", tz="UTC"),
        tuple[str, ...]: pyarrow.list_(pyarrow.string()),
    }  # fmt: skip
    made = [
        pyarrow.field(column.name, kinds[column.kind], metadata={"description": column.sentence})
        for column in columns()
    ]
    return pyarrow.schema(made)


def _value(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
