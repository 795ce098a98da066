"""The counts that `crawl` prints equal the stored ones: after kills, with duplicates, annotations and failures."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.helpers.live_site import SiteAnswer, live_site, make_chain_site
from tests.helpers.markers import LONG

from topicrawl.cli.progress import CrawlProgress
from topicrawl.collection import annotations
from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.collection.store import CollectionStore
from topicrawl.frontier.base import FrontierCounts
from topicrawl.models import Failure, Link, Page, Priority, Visit
from topicrawl.topic import Topic

OPTIONS = ("--allow-net", "127.0.0.0/8", "--delay", "0", "--min-free", "0", "--patience", "0.5", "--out", "crawl")
PAGES = 60


def answer_with_copies(path: str) -> tuple[int, Mapping[str, str], bytes]:
    """Return a page with two links; some pages redirect to the first one, are missing or are off topic."""
    number = int(path[1:]) if path[1:].isdecimal() else PAGES
    if number % 10 == 5:
        return 301, {"Location": "/0"}, b""
    if number >= PAGES or number % 9 == 8:
        return 404, {}, b""
    text = f"dengue fever in the year {1900 + number}" if number % 4 else "all trains and steam engines " * 30
    links = "".join(f'<p><a href="/{2 * number + more}">page {2 * number + more}</a></p>' for more in (1, 2))
    return 200, {}, f"<title>Page {number}</title><p>{text}</p>{links}".encode()


def slow_down(answer: SiteAnswer) -> SiteAnswer:
    """Delay every response of a site, so that a test can kill the crawl."""

    def answer_slowly(path: str) -> tuple[int, Mapping[str, str], bytes]:
        time.sleep(0.01)
        return answer(path)

    return answer_slowly


def kill_crawl_after(pages: int, *arguments: str) -> None:
    """Start a crawl in a process and kill it after it has reported some visits."""
    command = [sys.executable, "-m", "topicrawl", "crawl", "dengue fever", *OPTIONS, "--json", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        for _ in range(pages):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)


def read_counts(run: Run) -> dict[str, Any]:
    """Return the counts of `status` and of an export of all pages."""
    status = json.loads(run("status", "crawl", "--json").out)
    export = ("export", "crawl", "--to", "jsonl", "--text", "none", "--force", "--no-card")
    counts = {"pages": len(run(*export, "--all", "--out", "-").out.splitlines())}
    assert counts["pages"] == status["pages"]
    return {**counts, "relevant": status["relevant"], "failures": status["failures"]}


@LONG
def test_counts_agree_after_a_kill_and_with_duplicates_and_annotations(run: Run) -> None:
    with live_site(slow_down(answer_with_copies)) as (address, _):
        kill_crawl_after(12, "--seed", f"{address}/0")
        store = CollectionStore(Path("crawl/topicrawl.sqlite"))
        relevant = [row.url for row in store.iterate_visits("failure IS NULL AND relevance > 0.5")]
        annotations.annotate(store, relevant[:1], AnnotationLabel.IRRELEVANT, origin="test", at=time.time())
        store.close()
        ran = run("crawl", "dengue fever", *OPTIONS, "--json", "--seed", f"{address}/0")
    assert ran.code == 0, ran.err
    stop = json.loads(ran.out.splitlines()[-1])
    assert {"duplicate", "not_found"} <= stop["failures"].keys()
    assert {name: stop[name] for name in ("pages", "relevant", "failures")} == read_counts(run)


def test_pages_that_are_processed_again_are_not_counted_twice(run: Run) -> None:
    with live_site(make_chain_site(30)) as (address, _):
        assert run("crawl", "dengue fever", *OPTIONS, "--seed", f"{address}/0", "--pages", 1).code == 0
        backup = Path("crawl/frontier.sqlite").read_bytes()
        assert run("crawl", "dengue fever", *OPTIONS, "--seed", f"{address}/0", "--pages", 20).code == 0
        Path("crawl/frontier.sqlite").write_bytes(backup)
        ran = run("crawl", "dengue fever", *OPTIONS, "--seed", f"{address}/0", "--pages", 21)
    assert ran.code == 0, ran.err
    assert "pages reached: 21 pages" in ran.err
    shown = [int(line.partition(" of 21 pages")[0]) for line in ran.err.splitlines() if " of 21 pages" in line]
    assert max(shown) == 21
    assert read_counts(run)["pages"] == 21


@pytest.mark.parametrize("failure", [None, Failure.NOT_FOUND])
def test_a_visit_that_an_earlier_run_stored_is_not_counted_again(failure: Failure | None) -> None:
    progress = CrawlProgress(Topic.of("dengue"), page_goal=5, first_step=3, pages=3)
    for step in (2, 3, 4):
        url = f"http://a.example/{step}"
        page = Page(url, "dengue", text="dengue") if failure is None else None
        progress.count_visit(Visit(step, Link(url), Priority(0.5), url, page, 0.5, failure, 1.0, 200), 1.0)
    assert (progress.pages, progress.failures.total()) == ((4, 0) if failure is None else (3, 1))
    assert progress.format_line(FrontierCounts(0, 0, 0, 0, 0)).startswith(f"{progress.pages} of 5 pages")
