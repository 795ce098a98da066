"""Fingerprints of files and of source code, used as cache keys.

A stored result stays valid as long as the fingerprints of the recording and of the code that reads it are the same.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import xxhash

_PACKAGE_DIR = Path(__file__).parent.parent
_PARSER_MODULES = ("topicrawl.lab.parsed_web", "topicrawl.relevance.vsm")
_DATA_FILES = ("stop.*.txt", "idf.*.txt.z", "lid.*.ftz")
#: Libraries that affect parsing and tokenisation.
_LIBRARIES = ("turbohtml", "ada-url", "fasttext-predict", "PyStemmer")

# A regular expression, because parsing the modules with `ast` takes longer than opening the cache.
_IMPORT_PATTERN = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]+))", re.M
)
_NAME_PATTERN = re.compile(r"[\w.]+")


def hash_file_stats(paths: Iterable[Path]) -> str:
    """Return a fingerprint of the paths, sizes and modification times of files."""
    lines = []
    for path in paths:
        status = path.stat()
        lines.append(f"{path.resolve()}\t{status.st_size}\t{status.st_mtime_ns}")
    return _hash_bytes("\n".join(lines).encode())


def hash_contents(paths: Iterable[Path]) -> str:
    """Return a fingerprint of the names and contents of files, independent of their directory."""
    digest = xxhash.xxh3_128()
    for path in sorted(paths):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def hash_parser() -> str:
    """Return a fingerprint of all that turns a record into a page: code, data files, libraries, Python version."""
    tables = hash_contents(file for pattern in _DATA_FILES for file in (_PACKAGE_DIR / "text" / "data").glob(pattern))
    libraries = " ".join(map(_get_library_version, _LIBRARIES))
    return _hash_bytes(f"{hash_code(_PARSER_MODULES)} {tables} {libraries} {sys.version}".encode())


def hash_data_files() -> str:
    """Return a fingerprint of all data files of the package, such as word frequencies."""
    return hash_contents(file for file in _PACKAGE_DIR.glob("*/data/*") if file.is_file())


def hash_code(modules: Sequence[str]) -> str:
    """Return a fingerprint of the sources of modules of this package and of all modules that they import from it.

    >>> hash_code(["topicrawl.strategies.breadth_first"]) == hash_code(["topicrawl.strategies.breadth_first"])
    True
    """
    files: dict[Path, None] = {}
    pending = [path for name in modules if (path := _find_module_file(name)) is not None]
    while pending:
        path = pending.pop()
        if path not in files:
            files[path] = None
            pending += (imported for name in _find_imports(path) if (imported := _find_module_file(name)) is not None)
    return hash_contents(files)


def _find_imports(path: Path) -> Iterable[str]:
    """Yield the module names in the imports of a file, including imports inside functions."""
    package = [_PACKAGE_DIR.name, *path.parent.relative_to(_PACKAGE_DIR).parts]
    for dots, base, names, plain in _IMPORT_PATTERN.findall(path.read_text("utf-8")):
        parents = package[: len(package) - len(dots) + 1] if dots else []
        module = ".".join([*parents, *([base] if base else [])])
        yield from (
            module,
            *_NAME_PATTERN.findall(plain),
            *(f"{module}.{name}" for name in _NAME_PATTERN.findall(names)),
        )


def _find_module_file(name: str) -> Path | None:
    """Return the file of a module of this package, or None if `name` is not a module of it."""
    first, *rest = name.split(".")
    if first != _PACKAGE_DIR.name or not rest:
        return None
    path = _PACKAGE_DIR.joinpath(*rest)
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def _get_library_version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "none"


def _hash_bytes(data: bytes) -> str:
    return xxhash.xxh3_128_hexdigest(data)[:16]
