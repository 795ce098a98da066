"""The installation: Python, SQLite, libraries, the files that came with the package, programs beside it."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from pathlib import Path

import topicrawl
from topicrawl import strategies
from topicrawl.doctor.finding import Finding
from topicrawl.doctor.packages import AREA, libraries
from topicrawl.urls import canonical

_OLDEST = (3, 11)
_OLDEST_SQLITE = (3, 35)
_REINSTALL = "install the package again: pip install --force-reinstall --no-deps topicrawl"
_WEB = ("web/templates/base.html", "web/static/app.css", "web/static/app.js", "frontier/lua/5_operations.lua")
_FINNISH = (
    "Suomen luonto on hyvin kaunis talvella, kun lumi peittää metsät ja järvet, ja ihmiset hiihtävät pitkiä "
    "matkoja auringon paistaessa matalalla taivaanrannan yläpuolella."
)


def installation(environment: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """All that can be said without looking at a directory."""
    yield from _python()
    yield from _sqlite()
    yield from libraries()
    yield from data_files()
    yield from programs()
    yield from variables(environment)


def _python() -> Iterator[Finding]:
    told = f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}"
    if sys.version_info < _OLDEST:
        yield AREA.problem("python", told, "Topicrawl needs Python 3.11 or newer")
    else:
        yield AREA.ok("python", told)
    yield AREA.ok("topicrawl", f"{topicrawl.__version__}, {Path(topicrawl.__file__).parent}")


def _sqlite() -> Iterator[Finding]:
    told = f"SQLite {sqlite3.sqlite_version}"
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        yield AREA.problem("sqlite", told, "3.35 or newer is needed: take a newer Python or system")
    else:
        yield AREA.ok("sqlite", told)


def data_files() -> Iterator[Finding]:
    """Every file that came with the package is read, or asked something whose answer is known."""
    probes: Mapping[str, Callable[[], str]] = {
        "word lists": _word_lists,
        "wordnet": _wordnet,
        "languages": _languages,
        "strategies": _strategies,
        "web files": _web_files,
    }
    for name, probe in probes.items():
        try:
            yield AREA.ok(name, probe())
        except (OSError, ValueError, LookupError, ImportError, zlib.error) as error:
            yield AREA.problem(name, f"{type(error).__name__}: {error}".splitlines()[0], _REINSTALL)


def _word_lists() -> str:
    files = [file for file in resources.files("topicrawl.text").joinpath("data").iterdir() if file.is_file()]
    for file in files:
        data = file.read_bytes()
        text = zlib.decompress(data) if file.name.endswith(".z") else data.decode("utf-8").encode()
        if not text.strip():
            raise ValueError(f"{file.name} is empty")
    if not any(file.name == "stop.en.txt" for file in files):
        raise LookupError("the stop words are not there")
    return f"{len(files)} files"


def _wordnet() -> str:
    from topicrawl.text.wordnet import wordnet

    if not wordnet().lookup("fever"):
        raise LookupError("WordNet does not know the word fever")
    return "knows its words"


def _languages() -> str:
    # It loads the model that tells languages apart.
    from topicrawl.parse.language import language_of

    found = language_of(_FINNISH)
    if found != "fi":
        raise ValueError(f"a Finnish text was taken for {found or 'nothing'}")
    return "are told apart"


def _strategies() -> str:
    known = strategies.available()
    if missing := known.keys() - strategies.costs().keys():
        raise LookupError(f"no costs are known of {', '.join(sorted(missing))}")
    return f"{len(known)} of them"


def _web_files() -> str:
    root = resources.files("topicrawl")
    if missing := [name for name in _WEB if not root.joinpath(name).is_file()]:
        raise LookupError(f"{missing[0]} is not there")
    return "pages and scripts are there"


def programs(found: Callable[[str], str | None] = shutil.which) -> Iterator[Finding]:
    """Programs of the system that some work needs."""
    if path := found("gs"):
        yield AREA.ok("ghostscript", path)
    else:
        says = "not installed: PostScript files are not read (`no_reader`)"
        yield AREA.note("ghostscript", says, "apt-get install ghostscript")
    if path := found("redis-server") or found("valkey-server"):
        yield AREA.ok("redis", path)
    else:
        says = "no server on this machine: only a crawl of several machines needs one, and another machine's will do"
        yield AREA.note("redis", says, "apt-get install redis-server")
    # Only those who work on the project itself have its tests.
    tests = Path(topicrawl.__file__).parents[2] / "tests" / "web"
    if tests.is_dir() and not (found("chromium-headless-shell") or found("chromium")):
        yield AREA.note("chromium", "not installed: tests in a browser are skipped", "make test-system")


def variables(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Variables of the environment that are read, or that one might think are; secrets are not shown."""
    if (url := environment.get("SEARXNG_URL", "")) and canonical(url) is None:
        yield AREA.warning("SEARXNG_URL", f"{url!r} is not a web address", "write https://…, or unset it")
    key = environment.get("BRAVE_API_KEY", "")
    if key and not (key.strip().isascii() and key.strip().isprintable()):
        yield AREA.warning("BRAVE_API_KEY", "has characters that a header cannot hold", "set it again")
    proxies = [name for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy") if environment.get(name)]
    if proxies:
        says = f"{' and '.join(proxies)} in the environment: a crawl does not read it"
        yield AREA.note("proxy", says, "if hosts are reached through a proxy only: --proxy URL")
