"""Real manuals for `trial.py`: download and unpack Debian packages, find their pages and the links between them."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

HTML_SUFFIXES = (".html", ".htm")
_LINK = re.compile(r"""(?:href|src)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)


@dataclass(frozen=True)
class ManualSource:
    """A manual in a Debian package. The files below `folder` are served as the root of the manual's host."""

    name: str  # first label of the host name, and first component of the page names
    title: str
    package: str
    folder: str
    first: str = "index.html"  # page that the landing page links to, relative to the folder


SOURCES = (
    ManualSource("grass", "GRASS GIS", "grass-doc", "usr/share/doc/grass-doc/html"),
    ManualSource("postgis", "PostGIS", "postgis-doc", "usr/share/doc/postgis-doc", "postgis.html"),
    ManualSource("geos", "GEOS", "libgeos-doc", "usr/share/doc/libgeos-dev/html"),
    ManualSource("postgresql", "PostgreSQL", "postgresql-doc-15", "usr/share/doc/postgresql-doc-15/html"),
    ManualSource("sqlite", "SQLite", "sqlite3-doc", "usr/share/doc/sqlite3"),
    ManualSource("xapian", "Xapian", "xapian-doc", "usr/share/doc/xapian-doc"),
    # Manuals on other subjects. Manuals with chapters on one of the topics, such as Django, are left out: their pages
    # would count as wrong although they are on the topic.
    ManualSource("apache", "Apache HTTP Server", "apache2-doc", "usr/share/doc/apache2-doc/manual", "en/index.html"),
    ManualSource("bind", "BIND 9", "bind9-doc", "usr/share/doc/bind9-doc/arm"),
    ManualSource("cmake", "CMake", "cmake-doc", "usr/share/doc/cmake-data/html"),
    ManualSource("policy", "Debian Policy Manual", "debian-policy", "usr/share/doc/debian-policy/policy.html"),
    ManualSource(
        "developers", "Debian Developer's Reference", "developers-reference", "usr/share/developers-reference"
    ),
    ManualSource("exim", "Exim", "exim4-doc-html", "usr/share/doc/exim4-doc-html/spec_html"),
    ManualSource("ganeti", "Ganeti", "ganeti-doc", "usr/share/doc/ganeti/html"),
    ManualSource("gimp", "GIMP", "gimp-help-en", "usr/share/gimp/2.0/help/en"),
    ManualSource("git", "Git", "git-doc", "usr/share/doc/git-doc"),
    ManualSource("gnuplot", "gnuplot", "gnuplot-doc", "usr/share/doc/gnuplot/htmldocs"),
    ManualSource(
        "lilypond", "LilyPond", "lilypond-doc-html", "usr/share/doc/lilypond/html/Documentation", "web/manuals.html"
    ),
    ManualSource("maxima", "Maxima", "maxima-doc", "usr/share/doc/maxima-doc/html", "maxima_toc.html"),
    ManualSource("nodejs", "Node.js", "nodejs-doc", "usr/share/doc/nodejs/api"),
    ManualSource("octave", "GNU Octave", "octave-doc", "usr/share/doc/octave/octave.html"),
    ManualSource("postfix", "Postfix", "postfix-doc", "usr/share/doc/postfix/html"),
    ManualSource("python", "Python", "python3.11-doc", "usr/share/doc/python3.11/html"),
    ManualSource("sphinx", "Sphinx", "sphinx-doc", "usr/share/doc/sphinx-doc/html"),
    ManualSource("varnish", "Varnish Cache", "varnish-doc", "usr/share/doc/varnish/html"),
    ManualSource("vim", "Vim", "vim-doc", "usr/share/doc/vim/html"),
)


class UnavailableManual(Exception):
    """A manual that cannot be downloaded or unpacked; the message is the reason."""


@dataclass(frozen=True)
class Manual:
    """An unpacked manual: a folder of files with a title and a one-line description."""

    name: str
    title: str
    description: str
    root: Path
    first: str = "index.html"

    def find_file(self, path: str) -> Path | None:
        """Return the file of a URL path, or None. A file that exists only with the suffix .gz is found without it."""
        plain = self.root / normalize_path(path)
        for candidate in (plain, plain.with_name(f"{plain.name}.gz")):
            # Packages contain symbolic links; a link or a path that leads out of the manual is not followed.
            if candidate.is_file() and candidate.resolve().is_relative_to(self.root.resolve()):
                return candidate
        return None

    def list_pages(self) -> set[str]:
        """Return the paths of all HTML pages, relative to the root and without the suffix .gz."""
        paths = {path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if path.is_file()}
        return {path for path in map(_remove_gz, paths) if path.endswith(HTML_SUFFIXES)}

    def list_reachable_pages(self) -> set[str]:
        """Return the HTML pages that links reach from the first page: no crawler finds the others."""
        pages = self.list_pages()
        reached = {self.first} & pages
        waiting = list(reached)
        while waiting:
            path = waiting.pop()
            file = self.find_file(path)
            targets = set() if file is None else set(list_link_paths(path, read_file(file)))
            new = (targets & pages) - reached
            reached |= new
            waiting += new
        return reached


def normalize_path(path: str) -> str:
    """Return the relative path of the file that a URL path names, so that all spellings of a page are equal.

    >>> normalize_path("/"), normalize_path("/api/"), normalize_path("/a%20b.html.gz")
    ('index.html', 'api/index.html', 'a b.html')
    """
    relative = unquote(path).lstrip("/").replace("\0", "")
    return _remove_gz(f"{relative}index.html" if relative.endswith("/") or not relative else relative)


def _remove_gz(path: str) -> str:
    return path.removesuffix(".gz") if path.removesuffix(".gz").endswith(HTML_SUFFIXES) else path


def read_file(path: Path) -> bytes:
    """Return the content of a file. A compressed HTML page is decompressed."""
    content = path.read_bytes()
    return gzip.decompress(content) if path.name != _remove_gz(path.name) else content


def list_link_paths(path: str, content: bytes) -> Iterator[str]:
    """Yield the normalized paths of the links of a page to its own host."""
    for groups in _LINK.findall(content.decode("utf-8", "replace")):
        try:
            target = urlsplit(urljoin(f"http://host/{path}", unescape("".join(groups))))
        except ValueError:
            continue  # malformed IPv6 address
        if target.netloc == "host":
            yield normalize_path(target.path)


def prepare_manuals(sources: Iterable[ManualSource], cache: Path) -> tuple[list[Manual], dict[str, str]]:
    """Download and unpack the manuals into a directory. Packages that it already contains are used again.

    Return the manuals, and for each package that is not available the reason.
    """
    cache = cache.resolve()  # the tools run in other directories
    manuals, skipped = [], {}
    for source in sources:
        try:
            manuals.append(_prepare_manual(source, cache))
        except UnavailableManual as error:
            skipped[source.package] = str(error)
    return manuals, skipped


def _prepare_manual(source: ManualSource, cache: Path) -> Manual:
    unpacked = cache / source.package
    if not unpacked.is_dir():
        _unpack_package(source.package, unpacked)
    root = unpacked / "files" / source.folder
    description = (unpacked / "description").read_text("utf-8").strip()
    manual = Manual(source.name, source.title, description, root, source.first)
    if manual.find_file(source.first) is None:
        raise UnavailableManual(f"the package does not contain {source.folder}/{source.first}")
    return manual


def _unpack_package(package: str, unpacked: Path) -> None:
    """Download a package and unpack its files and its short description. An interruption leaves nothing behind."""
    unpacked.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="download-", dir=unpacked.parent) as name:
        folder = Path(name)
        _run_tool(["apt-get", "download", "-qq", package], folder)
        archive = next(folder.glob("*.deb"), None)
        if archive is None:
            raise UnavailableManual("apt-get download has written no package")
        result = folder / "result"
        result.mkdir()
        _run_tool(["dpkg-deb", "-x", str(archive), str(result / "files")], folder)
        fields = _run_tool(["dpkg-deb", "-f", str(archive), "Description"], folder)
        (result / "description").write_text(fields.partition("\n")[0], "utf-8")
        shutil.move(result, unpacked)


def _run_tool(command: list[str], folder: Path) -> str:
    """Run a command in a folder and return its output. Raise `UnavailableManual` with its last error line."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise UnavailableManual(f"{command[0]} is not installed: the manuals are Debian packages") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise UnavailableManual(f"{command[0]}: {lines[-1].removeprefix('E: ')}")
    return done.stdout
