"""Goals of a crawl on the command line: a number of relevant pages, and a minimum score of links."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.live_site import live_site, make_chain_site

from topicrawl.cli.progress import CrawlProgress
from topicrawl.collection import annotations, queries
from topicrawl.collection.annotations import AnnotationLabel
from topicrawl.collection.store import CollectionStore, VisitRecord
from topicrawl.frontier.base import FrontierCounts
from topicrawl.models import Failure, Link, Page, Priority, Response, Visit
from topicrawl.topic import Topic

OPTIONS = ["--allow-net", "127.0.0.0/8", "--delay", "0", "--min-free", "0", "--patience", "0.5", "--no-distinct"]


def answer_mixed(path: str) -> tuple[int, Mapping[str, str], bytes]:
    """Serve a page with one good link and five poor ones."""
    if path == "/0":
        poor = "".join(f'<p><a href="/{name}">old towns</a></p>' for name in "abcde")
        return 200, {}, f'<p>gardens and roofs</p><p><a href="/good">dengue fever</a></p>{poor}'.encode()
    if path == "/good":
        return 200, {}, b"<p>dengue fever</p>"
    return (200, {}, b"<p>roofs and stones</p>") if path[1:] in "abcde" else (404, {}, b"")


def annotate_pages(urls: list[str], label: AnnotationLabel) -> None:
    with closing(CollectionStore(Path("dengue-fever/topicrawl.sqlite"))) as store:
        annotations.annotate(store, urls, label, origin="test", at=1.0)


def read_pages() -> tuple[int, int]:
    with closing(CollectionStore(Path("dengue-fever/topicrawl.sqlite"), readonly=True)) as store:
        return queries.count_relevant_pages(store, 0.2)


def test_a_crawl_stops_at_a_number_of_relevant_pages_and_resumes_with_a_higher_one(run: Any) -> None:
    with live_site(make_chain_site(12)) as (address, _):
        first = run("crawl", "dengue fever", "--seed", f"{address}/0", *OPTIONS, "--relevant", 3)
        assert (first.code, "relevant pages reached: 3 pages, 3 relevant" in first.err) == (0, True)
        assert "3 of 3 relevant" in first.err
        status = json.loads(run("status", "dengue-fever", "--json").out)
        assert status["goals"] == {"pages": 0, "relevant": 3, "min_score": 0.0}
        assert (status["last_stop"], status["eta"]) == ("relevant pages reached", "")
        assert "3 of 3 (100%)" in run("status", "dengue-fever").out
        again = run("crawl", "dengue fever")
        assert "3 relevant pages are stored already; raise the limit with --relevant N" in again.err
        # The user rejects a page, so that one relevant page is missing.
        annotate_pages([f"{address}/1"], AnnotationLabel.IRRELEVANT)
        assert "4 pages, 3 relevant" in run("crawl", "dengue fever").err
        more = run("crawl", "dengue fever", "--relevant", 5, "--json")
        stop = json.loads(more.out.splitlines()[-1])
        assert (stop["reason"], stop["pages"], stop["relevant"]) == ("relevant pages reached", 6, 5)
        # A page limit replaces the limit of relevant pages.
        assert "pages reached: 8 pages" in run("crawl", "dengue fever", "--pages", 8).err
    assert read_pages() == (8, 7)


def test_both_limits_may_be_given(run: Any) -> None:
    with live_site(make_chain_site(12)) as (address, _):
        ran = run("crawl", "dengue fever", "--seed", f"{address}/0", *OPTIONS, "--relevant", 9, "--pages", 4)
    assert "pages reached: 4 pages" in ran.err


def test_annotations_count_before_the_relevance(run: Any) -> None:
    with live_site(answer_mixed) as (address, _):
        run("crawl", "dengue fever", "--seed", f"{address}/0", *OPTIONS, "--strategy", "breadth_first")
        pages, relevant = read_pages()
        annotate_pages([f"{address}/a", f"{address}/b"], AnnotationLabel.RELEVANT)
        annotate_pages([f"{address}/good"], AnnotationLabel.IRRELEVANT)
        annotate_pages([f"{address}/c"], AnnotationLabel.UNSURE)
    assert read_pages() == (pages, relevant + 1)


def test_links_below_the_minimum_score_wait_until_it_is_lowered(run: Any) -> None:
    options = [*OPTIONS, "--strategy", "best_first:page=0,anchor=1"]
    with live_site(answer_mixed) as (address, asked):
        ran = run("crawl", "dengue fever", "--seed", f"{address}/0", *options, "--min-score", 0.1)
        assert ran.code == 0
        assert "only links below the minimum score left: 2 pages" in ran.err
        assert "with a lower --min-score" in ran.err
        status = run("status", "dengue-fever").out
        assert "5 links waiting (5 below --min-score 0.1)" in status
        assert "only links below the minimum score left" in status
        assert json.loads(run("status", "dengue-fever", "--json").out)["below_min_score"] == 5
        assert sorted(asked) == ["/0", "/good", "/robots.txt"]
        lowered = run("crawl", "dengue fever", "--min-score", 0)
        assert "frontier empty: 7 pages" in lowered.err


@pytest.mark.parametrize(
    ("option", "line"),
    [("--min-score=-1", "min_score"), ("--relevant=-5", "relevant"), ("--poor-share=1.5", "poor_share")],
)
def test_limits_out_of_range_are_rejected(run: Any, option: str, line: str) -> None:
    ran = run("crawl", "dengue", "--seed", "http://a.example/", option)
    assert (ran.code, line in ran.err) == (2, True)
    assert not Path("dengue").exists()


def test_the_remaining_time_follows_the_rate_of_relevant_pages() -> None:
    now = time.monotonic()
    progress = CrawlProgress(Topic.of("dengue fever"), page_goal=0, relevant_goal=120)
    assert progress.eta == "unknown"
    progress.update_relevant(0, 10, now - 600)
    progress.update_relevant(20, 10, now - 300)
    progress.update_relevant(40, 20, now)  # 50 relevant pages of all workers in ten minutes, 60 are missing
    hours, minutes, _ = map(int, progress.eta.split(":"))
    assert (hours, minutes) in ((0, 11), (0, 12))
    assert "60 of 120 relevant" in progress.format_line(FrontierCounts(0, 0, 0, 0, 0))


def test_the_status_measures_the_rates_of_the_last_ten_minutes(tmp_path: Path) -> None:
    with closing(CollectionStore(tmp_path / "topicrawl.sqlite")) as store:
        visits = [(1, 100.0, 0.9), (2, 2000.0, 0.9), (3, 2100.0, 0.1), (4, 2200.0, 0.9), (5, 2300.0, None)]
        records = []
        for step, at, relevance in visits:
            link, failure = Link(f"http://a.example/{step}"), None if relevance is not None else Failure.TIMEOUT
            page = Page(link.url) if failure is None else None
            visit = Visit(step, link, Priority(0.5), link.url, page, relevance, failure, at)
            records.append(VisitRecord(visit, Response(link.url, link.url, at=at), None, None))
        store.add_visits(records)
        assert queries.measure_recent_rates(store, 0.5, 2500.0) == (3 / 500, 2 / 500)
        annotations.annotate(store, ["http://a.example/3"], AnnotationLabel.RELEVANT, origin="test", at=1.0)
        assert queries.measure_recent_rates(store, 0.5, 2500.0) == (3 / 500, 3 / 500)
        assert queries.measure_recent_rates(store, 0.5, 9000.0) == (0.0, 0.0)
