"""Crawl of a web server with invalid, endless and malicious responses at every stage."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from typing import NamedTuple

import pytest
from tests.helpers.markers import LONG
from tests.helpers.site.hostile import HONEST, HostileWeb, hostile_web

from topicrawl.models import Failure

pytestmark = LONG

LARGEST = 300  # MB; memory limit for the crawl, with decompression bombs of 16 MB and endless bodies
# A process inherits the peak memory of its parent, so a small process between the tests and the crawl measures it.
METER = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
FAILURES = {failure.value for failure in Failure}


class Crawled(NamedTuple):
    """Result of the crawl."""

    web: HostileWeb
    code: int
    megabytes: float
    said: str  # standard error and the log
    outcomes: dict[str, str | None]  # requested URL → failure; None for a page


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    directory = tmp_path_factory.mktemp("hostile") / "crawl"
    with hostile_web() as web:
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                METER,
                sys.executable,
                "-m",
                "topicrawl",
                "crawl",
                "dengue fever",
                "--seed",
                web.first,
                "--out",
                str(directory),
                "--allow-net",
                "127.0.0.0/8",
                "--delay",
                "0",
                "--min-free",
                "0",
                "--patience",
                "1",
                "--attempts",
                "1",
                "--timeout",
                "8",
                "--concurrency",
                "24",
                "--max-bytes",
                "1000000",
                "--pages",
                "0",
            ],
            capture_output=True,
            text=True,
            check=True,
        )
    said, (code, kilobytes) = done.stderr, map(int, done.stdout.split())
    said += (directory / "crawl.log").read_text("utf-8")
    store = sqlite3.connect(directory / "topicrawl.sqlite")
    outcomes = dict(store.execute("SELECT requested, failure FROM visits").fetchall())
    store.close()
    return Crawled(web, code, kilobytes / 1024, said, outcomes)


def test_it_ends_without_a_traceback(crawled: Crawled) -> None:
    assert crawled.code == 0, crawled.said[-3000:]
    assert "Traceback" not in crawled.said
    assert "never retrieved" not in crawled.said
    assert "Unclosed" not in crawled.said


def test_memory_stays_below_the_limit(crawled: Crawled) -> None:
    assert crawled.megabytes < LARGEST


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
    (url,) = [url for url in crawled.web.list_urls() if crawled.web.hosts[url.split("/")[2].partition(":")[0]] == what]
    # On a slow machine, a fetch may time out before the expected failure.
    late = {"timeout", "robots_unreachable"}
    assert crawled.outcomes[url] in {failure} | late
