"""A crawl that is killed repeatedly loses no page and respects all delays, as the log of the web server shows."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from tests.helpers import chaos_site
from tests.helpers.markers import LONG

PAGES, HOSTS, KILLS = 5000, 100, 10
LIFE = 1.0  # maximum seconds between the first requests and the kill
DELAY, IN_FLIGHT = 0.2, 64
SLACK = 0.1  # seconds by which a busy machine may log a request too late


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    log = tmp_path / "requests.log"
    script = Path(chaos_site.__file__)
    command = [sys.executable, str(script), str(PAGES), str(HOSTS), str(log)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline()), log
        process.kill()


def start_crawl(directory: Path, port: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "topicrawl",
            "crawl",
            "dengue fever",
            "--out",
            str(directory),
            "--seed",
            f"http://127.0.1.1:{port}/p/0",
            "--pages",
            "0",
            "--delay",
            str(DELAY),
            "--concurrency",
            str(IN_FLIGHT),
            "--allow-net",
            "127.0.0.0/8",
            "--min-free",
            "0",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def read_requests(log: Path) -> list[tuple[float, str, str]]:
    # The last line may be incomplete.
    rows = (line.split("\t") for line in log.read_text().split("\n")[:-1])
    return [(float(at), host, path) for at, host, path in rows]


@LONG
@pytest.mark.chaos
def test_kills_lose_no_page_and_break_no_delay(site: tuple[int, Path], tmp_path: Path) -> None:
    port, log = site
    directory = tmp_path / "crawl"
    random = Random(20261115)
    for _ in range(KILLS):
        before = len(read_requests(log)) if log.exists() else 0
        process = start_crawl(directory, port)
        # Wait until the crawl sends requests, then let it run for a random time.
        while process.poll() is None and (not log.exists() or len(read_requests(log)) < before + 10):
            time.sleep(0.02)
        time.sleep(random.uniform(0.0, LIFE))
        assert process.poll() is None, "the crawl ended before it could be killed"
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert start_crawl(directory, port).wait(timeout=120) == 0

    requests = read_requests(log)
    fetched = Counter(path for _, _, path in requests if path.startswith("/p/"))
    assert set(fetched) == {f"/p/{n}" for n in range(PAGES)}, "no page was lost"
    repeats = sum(fetched.values()) - PAGES
    assert repeats <= KILLS * IN_FLIGHT
    assert count_pages(directory) == PAGES

    closest = min(
        later - earlier
        for host in {host for _, host, _ in requests}
        for earlier, later in pairwise(sorted(at for at, name, _ in requests if name == host))
    )
    assert closest >= DELAY - SLACK, f"two requests to a host {closest:.4f} s apart"


def count_pages(directory: Path) -> int:
    database = sqlite3.connect(directory / "topicrawl.sqlite")
    (count,) = database.execute("SELECT count(*) FROM pages").fetchone()
    database.close()
    return int(count)
