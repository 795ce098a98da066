"""Browsing sessions: what people read, one page after the other. One kind of file a module, told apart by content.

| file | what it is |
|---|---|
| TSV, plain or gzip | sessions that were written down, with labels or without (`tsv`) |
| SQLite | the history of Firefox (`places.sqlite`) or of Chromium and its kin (`History`) (`history`) |
| HAR | what the developer tools of a browser recorded (`har`) |
"""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

from topicrawl.errors import UsageError
from topicrawl.sessions.har import har_walks
from topicrawl.sessions.history import SQLITE, history_walks
from topicrawl.sessions.tsv import tsv_walks

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Sessions:
    """The sessions of a file, each as canonical URLs, and the pages that it calls relevant or not."""

    walks: tuple[tuple[str, ...], ...]  # a step back repeats the earlier page
    relevant: tuple[str, ...] = ()
    irrelevant: tuple[str, ...] = ()


def read_sessions(path: Path) -> list[tuple[str, ...]]:
    """The sessions of a file; a step back repeats the earlier page."""
    return list(labelled_sessions(path).walks)


def labelled_sessions(path: Path) -> Sessions:
    """The sessions of a file with the labels that stand in it, if any."""
    labels: dict[str, bool] = {}
    try:
        with path.open("rb") as file:
            start = file.read(len(SQLITE))
        if start == SQLITE:
            walks = history_walks(path)
        else:
            text = _text(path)
            if text.lstrip()[:1] == "{":
                walks = har_walks(text, path)
            else:
                walks, labels = tsv_walks(text, path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read as browsing sessions: {error.strerror or error}") from error
    if not walks:
        raise UsageError(f"{path}: no browsing sessions in it")
    relevant = tuple(url for url, label in labels.items() if label)
    return Sessions(tuple(walks), relevant, tuple(url for url in labels if not labels[url]))


def _text(path: Path) -> str:
    raw = path.read_bytes()
    try:
        return (gzip.decompress(raw) if raw.startswith(_GZIP) else raw).decode("utf-8-sig")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UsageError(f"{path}: the gzip file is damaged or cut off: {error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}: neither text in UTF-8 nor a browser's history: {error.reason} at byte {error.start}"
        ) from error
