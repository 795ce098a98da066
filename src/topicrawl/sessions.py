"""Browsing sessions: what people read, one page after the other."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from topicrawl.errors import UsageError
from topicrawl.urls import canonical

BACK = "<"


def read_sessions(path: Path) -> list[tuple[str, ...]]:
    """The sessions of a file, each as the canonical URLs of its pages; a step back repeats the earlier page.

    The columns are: session, status, target, duration, URLs with blanks between them. Lines that begin with # are
    not read.
    """
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as browsing sessions: {error}") from error
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) != 5:
            raise UsageError(f"{path}:{number}: expected 5 columns with tabs between them, found {len(columns)}")
        if urls := _walked(columns[4].split()):
            found.append(urls)
    if not found:
        raise UsageError(f"{path}: no browsing sessions in it")
    return found


def _walked(steps: list[str]) -> tuple[str, ...]:
    """
    >>> _walked(["http://a/", "http://b/", "<", "http://c/"])
    ('http://a/', 'http://b/', 'http://a/', 'http://c/')
    """
    walked: list[str] = []
    behind: list[str] = []  # the pages that a step back leads to, the nearest last
    for step in steps:
        if step == BACK:
            if behind:
                walked.append(behind.pop())
        elif url := canonical(step):
            if walked:
                behind.append(walked[-1])
            walked.append(url)
    return tuple(walked)
