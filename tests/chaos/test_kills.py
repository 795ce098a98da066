"""A crawl that is killed repeatedly loses no page and respects all delays, as the log of the web server shows."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from tests.helpers.chaos_crawl import ChaosSite, read_pages, run_site, start_crawl
from tests.helpers.markers import LONG

PAGES, HOSTS, KILLS = 5000, 100, 10
LIFE = 1.0  # maximum seconds between the first requests and the kill
DELAY, IN_FLIGHT = 0.2, 64
OPTIONS = ("--delay", str(DELAY), "--concurrency", str(IN_FLIGHT))
SLACK = 0.1  # seconds by which a busy machine may log a request too late


@LONG
@pytest.mark.chaos
@pytest.mark.parametrize("processes", [1, 2])
def test_kills_lose_no_page_and_break_no_delay(tmp_path: Path, processes: int) -> None:
    with run_site(tmp_path, PAGES, HOSTS) as site:
        check_kills(site, tmp_path / "crawl", options=(*OPTIONS, "--processes", str(processes)))


def check_kills(site: ChaosSite, directory: Path, *, options: Sequence[str]) -> None:
    random = Random(20261115)
    for _ in range(KILLS):
        before = len(site.read_requests())
        process = start_crawl(directory, site, *options)
        # Wait until the crawl sends requests, then let it run for a random time.
        while process.poll() is None and len(site.read_requests()) < before + 10:
            time.sleep(0.02)
        time.sleep(random.uniform(0.0, LIFE))
        assert process.poll() is None, "the crawl ended before it could be killed"
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert start_crawl(directory, site, *options).wait(timeout=120) == 0

    requests = site.read_requests()
    fetched = site.count_requests()
    assert set(fetched) == set(range(PAGES)), "no page was lost"
    repeats = sum(fetched.values()) - PAGES
    assert repeats <= KILLS * IN_FLIGHT
    assert read_pages(directory) == set(range(PAGES))

    closest = min(
        later - earlier
        for host in {host for _, host, _ in requests}
        for earlier, later in pairwise(sorted(at for at, name, _ in requests if name == host))
    )
    assert closest >= DELAY - SLACK, f"two requests to a host {closest:.4f} s apart"
