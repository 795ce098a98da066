"""Checks of the installation: Python, SQLite, libraries, data files of the package, external programs."""

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
from topicrawl.doctor.packages import AREA, check_libraries
from topicrawl.fetch.rendering.browser import BROWSER_NAMES
from topicrawl.urls import canonicalize_url

_MIN_PYTHON = (3, 11)
_MIN_SQLITE = (3, 35)
_REINSTALL_ADVICE = "reinstall the package: pip install --force-reinstall --no-deps topicrawl"
_WEB = ("web/templates/base.html", "web/static/app.css", "web/static/app.js", "frontier/redis/lua/5_operations.lua")
_FINNISH = (
    "Suomen luonto on hyvin kaunis talvella, kun lumi peittää metsät ja järvet, ja ihmiset hiihtävät pitkiä "
    "matkoja auringon paistaessa matalalla taivaanrannan yläpuolella."
)


def check_installation(environment: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """Run all checks that need no directory of a crawl."""
    yield from _check_python()
    yield from _check_sqlite()
    yield from check_libraries()
    yield from check_data_files()
    yield from check_programs()
    yield from check_environment(environment)


def _check_python() -> Iterator[Finding]:
    says = f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}"
    if sys.version_info < _MIN_PYTHON:
        yield AREA.problem("python", says, "Topicrawl needs Python 3.11 or newer")
    else:
        yield AREA.ok("python", says)
    yield AREA.ok("topicrawl", f"{topicrawl.__version__}, {Path(topicrawl.__file__).parent}")


def _check_sqlite() -> Iterator[Finding]:
    says = f"SQLite {sqlite3.sqlite_version}"
    if sqlite3.sqlite_version_info < _MIN_SQLITE:
        yield AREA.problem("sqlite", says, "SQLite 3.35 or newer is needed: use a newer Python or operating system")
    else:
        yield AREA.ok("sqlite", says)


def check_data_files() -> Iterator[Finding]:
    """Read the data files of the package, or query them for a known result."""
    probes: Mapping[str, Callable[[], str]] = {
        "word lists": _check_word_lists,
        "wordnet": _check_wordnet,
        "word vectors": _check_word_vectors,
        "languages": _check_languages,
        "strategies": _check_strategies,
        "web files": _check_web_files,
    }
    for name, probe in probes.items():
        try:
            yield AREA.ok(name, probe())
        except (OSError, ValueError, LookupError, ImportError, zlib.error) as error:
            yield AREA.problem(name, f"{type(error).__name__}: {error}".splitlines()[0], _REINSTALL_ADVICE)


def _check_word_lists() -> str:
    folder = resources.files("topicrawl.text").joinpath("data")
    files = [file for file in folder.iterdir() if file.is_file() and not file.name.endswith((".npy", ".ftz"))]
    for file in files:
        data = file.read_bytes()
        text = zlib.decompress(data) if file.name.endswith(".z") else data.decode("utf-8").encode()
        if not text.strip():
            raise ValueError(f"{file.name} is empty")
    if not any(file.name == "stop.en.txt" for file in files):
        raise LookupError("the stop words are missing")
    return f"{len(files)} files"


def _check_wordnet() -> str:
    from topicrawl.text.wordnet import load_wordnet

    if not load_wordnet().lookup("fever"):
        raise LookupError("WordNet does not contain the word fever")
    return "readable"


def _check_word_vectors() -> str:
    from topicrawl.text.word_vectors import load_word_vectors

    vectors = load_word_vectors("en")
    if vectors is None or vectors.find_rows(["fever"])[0] < 0:
        raise LookupError("the word vectors do not contain the word fever")
    return f"English, {vectors.dimensions} dimensions"


def _check_languages() -> str:
    # Imported here, because the module loads the language identification model.
    from topicrawl.parse.language import detect_language

    language = detect_language(_FINNISH)
    if language != "fi":
        raise ValueError(f"a Finnish text was identified as {language or 'no language'}")
    return "language identification works"


def _check_strategies() -> str:
    available = strategies.list_strategies()
    if missing := available.keys() - strategies.load_cpu_costs().keys():
        raise LookupError(f"no costs are recorded for {', '.join(sorted(missing))}")
    return f"{len(available)} available"


def _check_web_files() -> str:
    root = resources.files("topicrawl")
    if missing := [name for name in _WEB if not root.joinpath(name).is_file()]:
        raise LookupError(f"{missing[0]} is missing")
    return "templates and scripts are present"


def check_programs(found: Callable[[str], str | None] = shutil.which) -> Iterator[Finding]:
    """Check for optional external programs. `found` returns the path of a program, or None."""
    if path := found("gs"):
        yield AREA.ok("ghostscript", path)
    else:
        says = "not installed: PostScript files cannot be read (`no_reader`)"
        yield AREA.note("ghostscript", says, "apt-get install ghostscript")
    if path := found("redis-server") or found("valkey-server"):
        yield AREA.ok("redis", path)
    else:
        says = "no server on this machine: only a crawl on several machines needs one, and it may run on any of them"
        yield AREA.note("redis", says, "apt-get install redis-server")
    if path := next(filter(None, map(found, BROWSER_NAMES)), None):
        yield AREA.ok("chromium", path)
    else:
        says = "not installed: pages cannot be rendered (`--render`)"
        yield AREA.note("chromium", says, "apt-get install chromium-headless-shell")


def check_environment(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Check environment variables that Topicrawl reads, and proxy variables that it ignores; never show secrets."""
    if (url := environment.get("SEARXNG_URL", "")) and canonicalize_url(url) is None:
        yield AREA.warning(
            "SEARXNG_URL", f"{url!r} is not a valid http or https URL", "set it to https://…, or unset it"
        )
    key = environment.get("BRAVE_API_KEY", "")
    if key and not (key.strip().isascii() and key.strip().isprintable()):
        yield AREA.warning("BRAVE_API_KEY", "has characters that are not allowed in an HTTP header", "set it again")
    proxies = [name for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy") if environment.get(name)]
    if proxies:
        says = f"{' and '.join(proxies)} in the environment: a crawl ignores it"
        yield AREA.note("proxy", says, "to use a proxy: --proxy URL")
