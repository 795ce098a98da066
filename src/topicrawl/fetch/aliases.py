"""Read the redirects of a recorded web from `aliases.tsv`, and other tables of URLs next to its pages.

Each line of `aliases.tsv` is a redirecting URL, a tab and the URL to which it redirects.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from pathlib import Path

from topicrawl.errors import UsageError
from topicrawl.urls import canonicalize_url

_ALIASES_FILE = "aliases.tsv"


def find_aliases_file(path: Path) -> Path | None:
    """Return `aliases.tsv` in the directory of a recorded web, or next to a single WARC file; None if it is missing."""
    file = (path if path.is_dir() else path.parent) / _ALIASES_FILE
    return file if file.is_file() else None


def read_aliases(path: Path) -> dict[str, str]:
    """Read the final URL of each redirecting URL from a file or from `aliases.tsv` in a recorded web's directory.

    The result is empty if the file does not exist. A malformed line raises `UsageError`.
    """
    redirects = _read_redirects(path / _ALIASES_FILE if path.is_dir() else path)
    return {url: _follow_aliases(url, redirects) for url in redirects}


def read_recorded_aliases(path: Path | None, recorded: Container[str]) -> dict[str, str]:
    """Read the aliases that lead to a recorded URL, directly or through other aliases. Return the target of each.

    `path` is the file, or None if there is none. A URL with its own record is not an alias. The target of an alias is
    a recorded URL or another alias of the result. A malformed line raises `UsageError`.
    """
    redirects = _read_redirects(path) if path is not None else {}
    redirects = {url: target for url, target in redirects.items() if url not in recorded}
    return {url: target for url, target in redirects.items() if _follow_aliases(url, redirects) in recorded}


def _read_redirects(path: Path) -> dict[str, str]:
    """Read the target of each redirecting URL, without following chains. A missing file has no redirects."""
    if not path.exists():
        return {}
    rows = read_url_table(path, "aliases")
    return {url: canonicalize_url(target.strip()) or target.strip() for url, target in rows}


def _follow_aliases(url: str, redirects: Mapping[str, str]) -> str:
    """Return the end of a chain of redirects. A loop ends before the first URL that repeats."""
    seen = {url}
    while (next_url := redirects.get(url, url)) not in seen:
        seen.add(next_url)
        url = next_url
    return url


def read_url_table(path: Path, what: str) -> Iterable[tuple[str, str]]:
    """Yield the rows of a table with two columns separated by a tab: a URL in canonical form, and the rest of the line.

    `what` names the second column in messages. Empty lines and lines that start with # are skipped. An unreadable file
    or a malformed line raises `UsageError`.
    """
    try:
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: the {what} cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        address, tab, rest = line.rstrip("\r").partition("\t")
        url = canonicalize_url(address.strip())
        if url is None or not tab:
            raise UsageError(f"{path}:{number}: expected a URL, a tab and {what}, found {line[:80]!r}")
        yield url, rest
