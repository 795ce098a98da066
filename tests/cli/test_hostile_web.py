"""Crawl of a web server with invalid, endless and malicious responses at every stage."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.helpers.markers import LONG
from tests.helpers.site.amplification import REPEATED, SOURCES
from tests.helpers.site.hostile import HONEST, HostileWeb, hostile_web

from topicrawl.models import Failure

pytestmark = LONG

ROOT = Path(__file__).parents[2]
PROBES = ROOT / "tests" / "helpers"
LARGEST = 450  # MB; sum over the crawl process and its child processes, with bodies of 10 MB
LARGEST_PAGE = 300  # MB; memory limit for the process of one costly page
LONGEST_BLOCK = 0.25  # seconds of CPU time in which the event loop runs no other task
LONGEST_PAGE = 2.0  # seconds of CPU time for one costly page
FAILURES = {failure.value for failure in Failure}
OPTIONS = """--allow-net 127.0.0.0/8 --delay 0 --min-free 0 --patience 1 --attempts 1 --timeout 8 --concurrency 16
    --host-pages 5 --pages 0"""


class Crawled(NamedTuple):
    """Result of the crawl."""

    web: HostileWeb
    code: int
    said: str  # standard error and the log
    outcomes: dict[str, str | None]  # requested URL → failure; None for a page
    blocks: list[float]  # CPU seconds of the longest blocks of the event loop
    slowdown: float  # speed of the machine during the crawl, relative to an ordinary machine
    megabytes: float  # largest sum of the memory of all processes

    def get_outcome(self, what: str) -> str | None:
        """Return the outcome of a host by the name of its attack."""
        (url,) = [url for url in self.web.list_urls() if self.web.hosts[url.split("/")[2].partition(":")[0]] == what]
        return self.outcomes.get(url, "not asked for")


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    folder = tmp_path_factory.mktemp("hostile")
    directory, report = folder / "crawl", folder / "report.json"
    with hostile_web() as web:
        command = ["crawl", "dengue fever", "--seed", web.first, "--out", str(directory), *OPTIONS.split()]
        done = subprocess.run(
            [sys.executable, str(PROBES / "crawl_probe.py"), str(report), *command],
            capture_output=True,
            text=True,
            check=False,
        )
    said = done.stderr + (directory / "crawl.log").read_text("utf-8")
    store = sqlite3.connect(directory / "topicrawl.sqlite")
    outcomes = dict(store.execute("SELECT requested, failure FROM visits").fetchall())
    store.close()
    figures = json.loads(report.read_text("utf-8"))
    return Crawled(web, done.returncode, said, outcomes, figures["blocks"], figures["slowdown"], figures["total"])


def test_it_ends_without_a_traceback(crawled: Crawled) -> None:
    assert crawled.code == 0, crawled.said[-3000:]
    assert "Traceback" not in crawled.said
    assert "never retrieved" not in crawled.said
    assert "Unclosed" not in crawled.said


def test_memory_of_all_processes_stays_below_the_limit(crawled: Crawled) -> None:
    assert crawled.megabytes < LARGEST


def test_no_page_blocks_the_event_loop(crawled: Crawled) -> None:
    assert max(crawled.blocks) < LONGEST_BLOCK * max(1.0, crawled.slowdown), crawled


def test_the_web_has_many_hosts_and_costly_pages(crawled: Crawled) -> None:
    assert len(crawled.web.hosts) >= 250
    assert len(REPEATED) >= 21


def test_every_host_has_a_named_outcome(crawled: Crawled) -> None:
    assert set(crawled.web.list_urls()) <= set(crawled.outcomes)
    assert {failure for failure in crawled.outcomes.values() if failure} <= FAILURES


def test_all_honest_pages_are_fetched(crawled: Crawled) -> None:
    honest = [crawled.web.first, *(f"{crawled.web.first}{number}" for number in range(1, HONEST))]
    assert [crawled.outcomes.get(url, "not asked for") for url in honest] == [None] * HONEST


@pytest.mark.parametrize(
    ("what", "failure"),
    [
        ("page: nothing at all", "connection"),
        ("page: zero bytes", "bad_response"),
        ("page: silence", "timeout"),
        ("page: a slow body", "timeout"),
        ("page: endless headers", "bad_response"),
        ("page: an endless body", "too_large"),
        ("page: a flood of 100 Continue", "bad_response"),
        ("page: huge cookies", "bad_response"),
        ("page: a negative chunk", "bad_response"),
        ("page: a bomb in gzip", "too_large"),
        ("page: a bomb in brotli", "too_large"),
        ("page: a bomb in zstd", "too_large"),
        ("page: a bomb in two layers", "too_large"),
        ("page: a bomb as a document", "too_large"),
        ("page: a redirect to itself", "too_many_redirects"),
        ("page: redirects without end", "too_many_redirects"),
        ("page: a redirect into the machine", "address_refused"),
        ("page: a redirect to a file", "bad_redirect"),
        ("page: a PDF that is none", "unparsed"),
        ("page: a charset that is none", None),
        ("robots.txt: silence", "robots_unreachable"),
        ("robots.txt: zero bytes", "robots_unreachable"),
        ("robots.txt: a redirect to itself", None),
        ("robots.txt: a robots.txt of many names", None),
        ("robots.txt: a delay that is no number", None),
        ("tls: no TLS at all", "tls"),
        ("tls: silence", "robots_unreachable"),
    ],
)
def test_each_kind_of_response_has_the_right_failure(crawled: Crawled, what: str, failure: str | None) -> None:
    # On a slow machine, a fetch may time out before the expected failure.
    late = {"timeout", "robots_unreachable"}
    assert crawled.get_outcome(what) in {failure} | late


@pytest.mark.parametrize("name", SOURCES)
def test_costly_pages_are_stored(crawled: Crawled, name: str) -> None:
    expected = {None, "duplicate"} if "copy" in name else {None}
    # On a slow machine, the server may be too late.
    assert crawled.get_outcome(f"costly: {name}") in expected | {"timeout", "robots_unreachable"}


@pytest.fixture(scope="module")
def page_costs() -> dict[str, dict[str, float]]:
    """Costs of each costly page, by name."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.helpers.page_cost_probe"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {row.pop("name"): row for row in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("name", SOURCES)
def test_the_cost_of_a_costly_page_is_bounded(page_costs: dict[str, dict[str, float]], name: str) -> None:
    costs = page_costs[name]
    assert costs["megabytes"] < LARGEST_PAGE
    assert costs["parse"] + costs["judge"] < LONGEST_PAGE
    assert costs["styles"] < LONGEST_PAGE
    assert costs["words"] > 0
