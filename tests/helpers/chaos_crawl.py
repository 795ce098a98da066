"""Crawls of `chaos_site` in their own processes, which tests kill, and the judgement of what remains."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.helpers import chaos_site

from topicrawl.collection.archive import WarcArchive
from topicrawl.collection.directory import contains_crawl
from topicrawl.collection.store import CollectionStore
from topicrawl.doctor.collection import check_collection
from topicrawl.doctor.finding import CheckLimits, FindingState

_TITLE = re.compile(rb"<title>(\d+)</title>")


@dataclass(frozen=True)
class ChaosSite:
    """A running `chaos_site`: number of pages, port, and log of the requests."""

    pages: int
    port: int
    log: Path

    @property
    def seed(self) -> str:
        """URL of the first page."""
        return f"http://127.0.1.1:{self.port}/p/0"

    def read_requests(self) -> list[tuple[float, str, str]]:
        """Return the time, the host and the path of each request."""
        if not self.log.exists():
            return []
        # The last line may be incomplete.
        rows = (line.split("\t") for line in self.log.read_text().split("\n")[:-1])
        return [(float(at), host, path) for at, host, path in rows]

    def count_requests(self, *, after: int = 0) -> Counter[int]:
        """Return the number of requests for each page, without the first `after` requests of the log."""
        paths = (path for _, _, path in self.read_requests()[after:])
        return Counter(int(path[3:]) for path in paths if path.startswith("/p/"))


@contextmanager
def run_site(folder: Path, pages: int, hosts: int, *, redirects: int = 0) -> Iterator[ChaosSite]:
    """Run a site for the duration of the block. See `chaos_site` for its pages."""
    log = folder / "requests.log"
    command = [sys.executable, str(Path(chaos_site.__file__)), str(pages), str(hosts), str(log), str(redirects)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield ChaosSite(pages, int(process.stdout.readline()), log)
        finally:
            process.kill()


def start_crawl(directory: Path, site: ChaosSite, *options: str) -> subprocess.Popen[bytes]:
    """Start or resume a crawl of all pages of the site."""
    command = [sys.executable, "-m", "topicrawl", "crawl", "dengue fever", "--out", str(directory), "--pages", "0"]
    command += ["--seed", site.seed, "--allow-net", "127.0.0.0/8", "--min-free", "0", *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for_requests(process: subprocess.Popen[bytes], site: ChaosSite, pages: int, *, after: int = 0) -> None:
    """Wait until this number of different pages has been requested, after the first `after` requests of the log."""
    while len(site.count_requests(after=after)) < pages:
        assert process.poll() is None, "the crawl ended too early"
        time.sleep(0.01)


def read_pages(directory: Path, *, skip_damaged: bool = False) -> set[int]:
    """Return the numbers of the pages that can be read back from a collection: the row, the record and its content."""
    if skip_damaged and not contains_crawl(directory):
        return set()
    store, archive = CollectionStore(directory / "topicrawl.sqlite", readonly=True), WarcArchive(directory)
    pages = set()
    for visit in store.iterate_visits("failure IS NULL"):
        assert visit.location is not None
        if skip_damaged and not archive.is_readable(visit.location):
            continue
        response = archive.read_response(visit.location)
        title = _TITLE.search(response.body)
        assert title is not None
        assert response.final_url == visit.url
        assert visit.url.endswith(f"/p/{int(title[1])}")
        assert store.query_rows("SELECT 1 FROM pages WHERE url = ? AND step = ?", (visit.url, visit.step))
        pages.add(int(title[1]))
    store.close()
    return pages


def list_faults(directory: Path) -> list[str]:
    """Return the warnings and problems that the doctor finds in a collection."""
    findings = check_collection(directory, CheckLimits(sample=0, seconds=0))
    faulty = (FindingState.WARNING, FindingState.PROBLEM)
    return [f"{finding.name}: {finding.says}" for finding in findings if finding.state in faulty]
