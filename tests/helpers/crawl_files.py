"""Content of the files of a crawl directory."""

from __future__ import annotations

import gzip
from pathlib import Path


def read_files(directory: Path) -> bytes:
    """Return the content of all files of a directory, decompressed."""
    files = [path for path in directory.rglob("*") if path.is_file()]
    assert files
    return b"".join(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in files)
