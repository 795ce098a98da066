"""Browsing sessions: sequences of pages that a user visited. The content of a file determines its format.

| file | content | module |
|---|---|---|
| TSV, plain or gzip | sessions in columns, with or without labels | `tsv` |
| SQLite | history of Firefox (`places.sqlite`) or of a Chromium-based browser (`History`) | `browser_history` |
| HAR | requests recorded by the developer tools of a browser | `har` |
"""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

from topicrawl.errors import UsageError
from topicrawl.sessions.browser_history import SQLITE_HEADER, read_browser_history
from topicrawl.sessions.har import parse_har
from topicrawl.sessions.tsv import parse_tsv

_GZIP_HEADER = b"\x1f\x8b"


@dataclass(frozen=True)
class LabelledSessions:
    """Sessions of a file as sequences of canonical URLs, and the pages that are labelled relevant or irrelevant."""

    click_paths: tuple[tuple[str, ...], ...]  # a click on Back repeats the earlier page
    relevant: tuple[str, ...] = ()
    irrelevant: tuple[str, ...] = ()


def read_sessions(path: Path) -> list[tuple[str, ...]]:
    """Read the sessions of a file. A click on Back repeats the earlier page."""
    return list(read_labelled_sessions(path).click_paths)


def read_labelled_sessions(path: Path) -> LabelledSessions:
    """Read the sessions of a file and their labels, if any."""
    labels: dict[str, bool] = {}
    try:
        with path.open("rb") as file:
            start = file.read(len(SQLITE_HEADER))
        if start == SQLITE_HEADER:
            walks = read_browser_history(path)
        else:
            text = _read_text(path)
            if text.lstrip()[:1] == "{":
                walks = parse_har(text, path)
            else:
                walks, labels = parse_tsv(text, path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read as browsing sessions: {error.strerror or error}") from error
    if not walks:
        raise UsageError(f"{path}: contains no browsing sessions")
    relevant = tuple(url for url, label in labels.items() if label)
    return LabelledSessions(tuple(walks), relevant, tuple(url for url in labels if not labels[url]))


def _read_text(path: Path) -> str:
    raw = path.read_bytes()
    try:
        return (gzip.decompress(raw) if raw.startswith(_GZIP_HEADER) else raw).decode("utf-8-sig")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UsageError(f"{path}: the gzip file is damaged or truncated: {error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}: neither UTF-8 text nor a browser history: {error.reason} at byte {error.start}"
        ) from error
