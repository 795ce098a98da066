"""Where an export goes: a file or folder that takes its name only when it is whole."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from topicrawl.database import errors_of
from topicrawl.errors import UsageError

#: Stands in the card of every folder that is exported; a folder without it is not ours to replace.
MARK = "<!-- made by topicrawl export -->"
CARD = "README.md"  # of a folder
_CARD = ".card.md"  # behind the name of a file


def refuse_to_overwrite(path: Path, collection: Path, *, force: bool, folder: bool) -> None:
    """Say at once what would be found out at the end; `folder`: whether one is to be written, and not a file."""
    with errors_of(path):
        if not path.parent.is_dir():
            raise UsageError(f"{path.parent} is no directory: make it first, or name another file with --out")
        if path.is_dir():
            _refuse_folder(path, force=force, folder=folder)
        elif path.exists():
            if not path.is_file():
                raise UsageError(f"{path} is no plain file: name another with --out; - is standard output")
            if not force:
                raise UsageError(f"{path} exists: --force replaces it, --out names another")
            # A slip of the hand must not cost the crawl.
            if path.resolve().is_relative_to(collection.resolve()) and not is_exported(path):
                raise UsageError(f"{path} is a part of the crawl, not an export of it: name another file with --out")


def card_of(path: Path) -> Path:
    """Where the card of a file stands."""
    return path.with_name(path.name + _CARD)


def is_exported(path: Path) -> bool:
    """Whether a file or folder is an export, or the card of one; the card tells."""
    card = path / CARD if path.is_dir() else path if path.name.endswith(_CARD) else card_of(path)
    return card.is_file() and MARK in card.read_text("utf-8", "replace")


def _refuse_folder(path: Path, *, force: bool, folder: bool) -> None:
    if not folder or not path.name or path.name == "..":
        raise UsageError(f"{path} is a directory: name another with --out")
    is_ours = is_exported(path)
    if force and (is_ours or not any(path.iterdir())):
        return
    hint = "--force replaces it, --out names another" if is_ours else "name another with --out"
    raise UsageError(f"{path} is a directory that exists: {hint}")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A place to write to, which becomes `path` in one step at the end; after an error, nothing of it is left."""
    draft = path.with_name(f".{path.name}.part")
    with errors_of(path):
        _remove(draft)
        try:
            yield draft
            if draft.is_dir():
                _put_folder(draft, path)
            else:
                _sync(draft)
                draft.replace(path)
        finally:
            _remove(draft)


@contextmanager
def compressed(path: Path, kind: str) -> Iterator[IO[bytes]]:
    """A file to write bytes to: plain (""), "gz" or "zst"; "-" is standard output."""
    if str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with path.open("wb") as file:
        if kind == "gz":
            from isal.igzip import IGzipFile

            # Without name and time: the same pages make the same bytes.
            with IGzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:  # type: ignore[no-untyped-call]
                yield cast("IO[bytes]", packed)
        elif kind == "zst":
            from zstandard import ZstdCompressor

            with ZstdCompressor(level=3).stream_writer(file, closefd=False) as stream:
                yield stream
        else:
            yield file


def _put_folder(draft: Path, path: Path) -> None:
    old = path.with_name(f".{path.name}.old")
    _remove(old)
    if path.exists():
        path.rename(old)
    draft.rename(path)
    _remove(old)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
