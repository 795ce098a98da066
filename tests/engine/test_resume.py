"""A crawl resumes without losing pages when its archive, its store and its frontier do not match."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.helpers.crawl_directory import make_tree_site
from tests.helpers.live_site import live_site
from tests.helpers.markers import LONG

from topicrawl import Settings, Topic, open_crawl
from topicrawl.collection import directory as collection_directory
from topicrawl.collection.store import CollectionStore
from topicrawl.doctor import archive as archive_checks
from topicrawl.doctor.collection import check_collection
from topicrawl.doctor.finding import CheckLimits, Finding, FindingState
from topicrawl.frontier.base import FrontierRules, Offer
from topicrawl.frontier.sqlite.frontier import SqliteFrontier
from topicrawl.models import Link, Priority
from topicrawl.urls import fingerprint

PAGES, FIRST = 24, 5
SEED = "/old"  # redirects to page 0


def crawl_site(directory: Path, site: str, pages: int = 0) -> None:
    async def crawl() -> None:
        settings = Settings(
            pages=pages, delay=0.0, allow_net=("127.0.0.0/8",), strategy="breadth_first", concurrency=1, min_free=0
        )
        async with open_crawl(directory, Topic.of("dengue fever"), [f"{site}{SEED}"], settings) as opened:
            async for _ in opened.visits():
                pass

    asyncio.run(crawl())


@contextmanager
def finished_crawl(directory: Path, *saved: str) -> Iterator[tuple[str, list[str]]]:
    """Crawl a site in two runs, and put files back as they were after the first one. Yield the site and its log."""
    with live_site(make_tree_site(PAGES)) as (site, requests):
        crawl_site(directory, site, FIRST)
        for name in saved:
            shutil.copy(directory / name, directory.with_name(name))
        crawl_site(directory, site)
        for name in saved:
            shutil.copy(directory.with_name(name), directory / name)
        requests.clear()
        yield site, requests


def read_paths(directory: Path, site: str) -> set[str]:
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    paths = {visit.url.removeprefix(site) for visit in store.iterate_visits("failure IS NULL")}
    store.close()
    return paths


def list_faults(directory: Path) -> list[Finding]:
    findings = check_collection(directory, CheckLimits())
    return [finding for finding in findings if finding.state in (FindingState.WARNING, FindingState.PROBLEM)]


def fetched_pages(requests: list[str]) -> list[str]:
    return [path for path in requests if path != "/robots.txt"]


ALL_PATHS = {f"/{number}" for number in range(PAGES)}


def test_done_links_that_the_store_lost_are_fetched_again(tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    with finished_crawl(directory, "topicrawl.sqlite") as (site, requests):
        (fault,) = [fault for fault in list_faults(directory) if fault.name == "frontier"]
        assert fault.says.startswith(
            f"{PAGES - FIRST} links are done in it, but the store has no result of them: {site}"
        )
        assert "resume the crawl" in fault.fix
        crawl_site(directory, site)
        assert sorted(fetched_pages(requests)) == sorted(ALL_PATHS - {f"/{number}" for number in range(FIRST)})
        assert read_paths(directory, site) == ALL_PATHS
        assert list_faults(directory) == []


def test_links_of_stored_pages_that_the_frontier_lost_are_offered_again_without_requests(tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    with finished_crawl(directory, "frontier.sqlite") as (site, requests):
        assert [fault.name for fault in list_faults(directory)] == ["frontier"]
        crawl_site(directory, site)
        assert fetched_pages(requests) == []
        assert read_paths(directory, site) == ALL_PATHS
        assert list_faults(directory) == []


def test_a_lost_redirect_is_followed_again(tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    with finished_crawl(directory) as (site, requests):
        store = CollectionStore(directory / "topicrawl.sqlite")
        for statement in ("DELETE FROM visits WHERE step = 1", "DELETE FROM pages WHERE step = 1"):
            store.db.execute(statement)
        store.set_facts({"frontier_session": None})
        store.close()
        crawl_site(directory, site)
        assert "/0" in fetched_pages(requests)
        assert read_paths(directory, site) == ALL_PATHS
        assert list_faults(directory) == []


async def reopen_link(directory: Path, url: str, score: float = 0.5) -> None:
    frontier = SqliteFrontier(directory / "frontier.sqlite", FrontierRules(), time.time)
    await frontier.reopen([Offer(Link(url), Priority(score))])
    await frontier.close()


def test_a_stored_redirect_whose_target_is_done_keeps_its_page(tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    with finished_crawl(directory) as (site, requests):
        asyncio.run(reopen_link(directory, f"{site}{SEED}"))
        crawl_site(directory, site)
        assert fetched_pages(requests) == [], "the page is read from the archive"
        assert read_paths(directory, site) == ALL_PATHS
        assert list_faults(directory) == []


def test_the_target_of_a_stored_redirect_is_not_fetched_on_its_own(tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    with finished_crawl(directory) as (site, requests):
        asyncio.run(reopen_link(directory, f"{site}/0"))
        crawl_site(directory, site)
        assert fetched_pages(requests) == []
        assert list_faults(directory) == []


def test_a_redirect_does_not_replace_a_stored_page_that_is_incomplete(tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    with finished_crawl(directory) as (site, _):
        store = CollectionStore(directory / "topicrawl.sqlite")
        direct = (f"{site}/0", fingerprint(f"{site}/0"))
        store.db.execute("UPDATE visits SET requested = ?, id = ? WHERE step = 1", direct)
        store.close()
        asyncio.run(reopen_link(directory, f"{site}/0"))
        asyncio.run(reopen_link(directory, f"{site}{SEED}", 5.0))  # fetched first
        crawl_site(directory, site)
        store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
        assert store.query_rows("SELECT step FROM pages WHERE url = ?", (f"{site}/0",)) == [(1,)]
        assert store.query_rows("SELECT failure FROM visits WHERE requested = ?", (f"{site}{SEED}",)) == [
            ("duplicate",)
        ]
        store.close()
        assert list_faults(directory) == []


def damage_record(directory: Path, step: int) -> str:
    """Change a byte of the record of a visit, and return its URL."""
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    (visit,) = store.iterate_visits("step = ?", (step,))
    store.close()
    assert visit.location is not None
    with (directory / "warc" / "00001.warc.gz").open("r+b") as file:
        file.seek(visit.location.offset + visit.location.length // 2)
        (byte,) = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte ^ 0x10]))
    return visit.url


def test_a_damaged_record_is_named_and_its_page_fetched_again(tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    with finished_crawl(directory) as (site, requests):
        url = damage_record(directory, 5)
        record, records = list_faults(directory)
        assert record.name == "record"
        assert record.says.startswith(f"{url}: ")
        assert record.fix == "resume the crawl: it fetches the pages again"
        assert "1 are damaged" in records.says
        crawl_site(directory, site)
        assert fetched_pages(requests) == [url.removeprefix(site)]
        assert list_faults(directory) == []


def test_a_damaged_record_far_from_the_end_is_fetched_again_after_a_repair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (collection_directory, archive_checks):
        monkeypatch.setattr(module, "CHECKED_RECORDS", 3)
    directory = tmp_path / "crawl"
    with finished_crawl(directory) as (site, requests):
        url = damage_record(directory, 5)
        crawl_site(directory, site)
        assert fetched_pages(requests) == [], "only the end of the archive is read when a crawl resumes"
        record, records = list_faults(directory)
        assert record.fix == "use --repair: the crawl then fetches the damaged pages again when it resumes"
        assert records.repair is not None
        records.repair()
        crawl_site(directory, site)
        assert fetched_pages(requests) == [url.removeprefix(site)]
        crawl_site(directory, site)
        assert list_faults(directory) == []
        assert len(fetched_pages(requests)) == 1


@LONG
def test_damaged_records_before_the_checked_ones_are_found_if_the_end_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection_directory, "CHECKED_RECORDS", 3)
    directory = tmp_path / "crawl"
    with finished_crawl(directory) as (site, requests):
        damaged = [damage_record(directory, step) for step in (PAGES - 6, PAGES - 4, PAGES - 2, PAGES)]
        crawl_site(directory, site)
        assert sorted(fetched_pages(requests)) == sorted(url.removeprefix(site) for url in damaged)
        assert list_faults(directory) == []


@LONG
def test_a_crawl_whose_creation_was_interrupted_starts_again(tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    with finished_crawl(directory) as (site, requests):
        store = CollectionStore(tmp_path / "new.sqlite")
        # The tables are still in the -wal file, which the power failure has removed.
        shutil.copy(tmp_path / "new.sqlite", directory / "topicrawl.sqlite")
        store.close()
        crawl_site(directory, site)
        assert set(fetched_pages(requests)) >= ALL_PATHS
        assert read_paths(directory, site) == ALL_PATHS
        assert list_faults(directory) == []
