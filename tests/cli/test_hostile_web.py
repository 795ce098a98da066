"""A real crawl of a web server that answers with every kind of rubbish at every stage."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from typing import NamedTuple

import pytest
from tests.longer import LONG
from tests.site.hostile import HONEST, HostileWeb, hostile_web

from topicrawl.records import Failure

pytestmark = LONG

LARGEST = 300  # MB that the crawl may take, with bombs of 16 MB and bodies without end
# A process begins with the peak of the one it was forked from, so a small one stands between the tests and the crawl.
METER = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
FAILURES = {failure.value for failure in Failure}


class Crawled(NamedTuple):
    """What a crawl left behind."""

    web: HostileWeb
    code: int
    megabytes: float
    said: str  # on the terminal and in the log
    outcomes: dict[str, str | None]  # what was asked for → the failure, None for a page


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    directory = tmp_path_factory.mktemp("hostile") / "crawl"
    with hostile_web() as web:
        done = subprocess.run(
            [
                sys.executable, "-c", METER,
                sys.executable, "-m", "topicrawl", "crawl", "dengue fever", "--seed", web.first,
                "--out", str(directory), "--allow-net", "127.0.0.0/8", "--delay", "0", "--min-free", "0",
                "--patience", "1", "--attempts", "1", "--timeout", "8", "--concurrency", "24",
                "--max-bytes", "1000000", "--pages", "0",
            ],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    said, (code, kilobytes) = done.stderr, map(int, done.stdout.split())
    said += (directory / "crawl.log").read_text("utf-8")
    store = sqlite3.connect(directory / "topicrawl.sqlite")
    outcomes = dict(store.execute("SELECT requested, failure FROM visits").fetchall())
    store.close()
    return Crawled(web, code, kilobytes / 1024, said, outcomes)


def test_it_ends_in_order_without_a_traceback(crawled: Crawled) -> None:
    assert crawled.code == 0, crawled.said[-3000:]
    assert "Traceback" not in crawled.said
    assert "never retrieved" not in crawled.said
    assert "Unclosed" not in crawled.said


def test_memory_stays_within_bounds(crawled: Crawled) -> None:
    assert crawled.megabytes < LARGEST


def test_every_host_has_an_outcome_with_a_name(crawled: Crawled) -> None:
    assert set(crawled.web.urls()) <= set(crawled.outcomes)
    assert {failure for failure in crawled.outcomes.values() if failure} <= FAILURES


def test_honest_pages_among_them_are_all_fetched(crawled: Crawled) -> None:
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
        ("tls: nobody speaks", "robots_unreachable"),
    ],
)
def test_what_a_host_does_has_the_right_name(crawled: Crawled, what: str, failure: str | None) -> None:
    (url,) = [url for url in crawled.web.urls() if crawled.web.hosts[url.split("/")[2].partition(":")[0]] == what]
    # A machine that has no time for it sees a host that does not answer in time.
    late = {"timeout", "robots_unreachable"}
    assert crawled.outcomes[url] in {failure} | late
