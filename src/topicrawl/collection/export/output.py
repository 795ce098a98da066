"""Output files and folders of an export, which get their final name only when they are complete."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from topicrawl.database import replace_file, translate_errors
from topicrawl.errors import UsageError

#: Marker in the card of every export; an export may replace only folders that contain it.
CARD_MARKER = "<!-- made by topicrawl export -->"
CARD_NAME = "README.md"  # card of an exported folder
_CARD_SUFFIX = ".card.md"  # suffix of the card of an exported file


def check_overwrite(path: Path, collection: Path, *, force: bool, folder: bool) -> None:
    """Raise `UsageError` before the export starts if its output cannot be written or must not be replaced.

    `folder` says whether the output is a folder.
    """
    with translate_errors(path):
        if not path.parent.is_dir():
            raise UsageError(f"{path.parent} is not a directory: create it, or choose another file with --out")
        if path.is_dir():
            _check_folder(path, force=force, folder=folder)
        elif path.exists():
            if not path.is_file():
                raise UsageError(f"{path} is not a regular file: choose another with --out, or - for standard output")
            if not force:
                raise UsageError(f"{path} already exists: replace it with --force, or choose another with --out")
            # Protect the files of the crawl from a mistyped path.
            if path.resolve().is_relative_to(collection.resolve()) and not is_topicrawl_export(path):
                raise UsageError(f"{path} is part of the crawl, not an export: choose another file with --out")


def get_card_path(path: Path) -> Path:
    """Return the path of the card of an exported file."""
    return path.with_name(path.name + _CARD_SUFFIX)


def is_topicrawl_export(path: Path) -> bool:
    """Return whether a file or folder is an export or the card of one, according to its card."""
    card = path / CARD_NAME if path.is_dir() else path if path.name.endswith(_CARD_SUFFIX) else get_card_path(path)
    return card.is_file() and CARD_MARKER in card.read_text("utf-8", "replace")


def _check_folder(path: Path, *, force: bool, folder: bool) -> None:
    """Raise `UsageError` if an existing folder must not be replaced.

    With `force`, an empty folder or an earlier export may be replaced by a folder, never anything else.
    """
    if not folder or not path.name or path.name == "..":
        raise UsageError(f"{path} is a directory: choose another path with --out")
    is_export = is_topicrawl_export(path)
    if force and (is_export or not any(path.iterdir())):
        return
    hint = "replace it with --force, or choose another with --out" if is_export else "choose another with --out"
    raise UsageError(f"{path} is an existing directory: {hint}")


@contextmanager
def write_atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary path that is synced and renamed to `path` at the end. After an error, it is deleted.

    A folder at `path` is replaced as a whole. A full disk raises `SpaceError`.
    """
    draft = path.with_name(f".{path.name}.part")
    with translate_errors(path):
        _remove_path(draft)
        try:
            yield draft
            if draft.is_dir():
                _replace_folder(draft, path)
            else:
                replace_file(draft, path)
        finally:
            _remove_path(draft)


@contextmanager
def open_compressed(path: Path, compression: str) -> Iterator[IO[bytes]]:
    """Open a file for writing with the compression "", "gz" or "zst". The path "-" is standard output."""
    if str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with path.open("wb") as file:
        if compression == "gz":
            from isal.igzip import IGzipFile

            # Omit the file name and time, so that the same pages give the same bytes.
            with IGzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:  # type: ignore[no-untyped-call]
                yield cast("IO[bytes]", packed)
        elif compression == "zst":
            from zstandard import ZstdCompressor

            with ZstdCompressor(level=3).stream_writer(file, closefd=False) as stream:
                yield stream
        else:
            yield file


def _replace_folder(draft: Path, path: Path) -> None:
    """Move the draft folder to its final path, and delete the folder that was there."""
    old = path.with_name(f".{path.name}.old")
    _remove_path(old)
    if path.exists():
        path.rename(old)
    replace_file(draft, path)
    _remove_path(old)


def _remove_path(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
