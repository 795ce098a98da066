"""A crawl directory converts to a recorded web that can be replayed."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.helpers.live_site import live_site, make_chain_site

from topicrawl import Settings, Topic, open_crawl
from topicrawl.collection.annotations import AnnotationLabel, annotate
from topicrawl.collection.store import CollectionStore
from topicrawl.errors import CollectionError, UsageError
from topicrawl.fetch.replay import Recording
from topicrawl.lab.parsed_web import ParsedWeb
from topicrawl.lab.recording import record_crawl
from topicrawl.lab.simulate import Task, simulate
from topicrawl.lab.tasks import read_labels, read_tasks, resolve_task
from topicrawl.models import Failure, Visit
from topicrawl.web.url_explanation import explain_url

PAGES = 8


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A crawl of a live site and the URLs that it fetched."""
    folder = tmp_path_factory.mktemp("crawl") / "dengue"

    async def crawl(address: str) -> list[str]:
        settings = Settings(pages=PAGES, delay=0.0, allow_net=("127.0.0.0/8",))
        async with open_crawl(folder, Topic.of("dengue; fever"), [f"{address}/0"], settings) as crawl:
            return [visit.url async for visit in crawl.visits() if visit.failure is None]

    with live_site(make_chain_site(PAGES)) as (address, _):
        return folder, asyncio.run(crawl(address))


def test_the_recorded_web_replays_the_crawl(crawled: tuple[Path, list[str]], tmp_path: Path) -> None:
    folder, fetched = crawled
    summary = record_crawl(folder, tmp_path / "web")
    assert (summary.pages, summary.unreadable) == (PAGES, 0)
    web = Recording(tmp_path / "web")
    assert list(web) == fetched
    assert [web.get_response(url).body for url in fetched] == [
        Recording(folder).get_response(url).body for url in fetched
    ]

    async def again() -> list[str]:
        task = Task(Topic.of("dengue fever"), [fetched[0]], "best_first", 100)
        return [visit.url async for visit in simulate(web, task)]

    assert asyncio.run(again()) == fetched
    assert not (tmp_path / "web" / "labels.tsv").exists()


def test_a_recording_with_labels_contains_a_task(crawled: tuple[Path, list[str]], tmp_path: Path) -> None:
    folder, fetched = crawled
    summary = record_crawl(folder, tmp_path / "web", labels=True, threshold=0.01)
    assert summary.relevant == PAGES
    (task,) = read_tasks(tmp_path / "web")
    assert (task.web, task.words, task.seeds) == ("web", "dengue fever", (fetched[0],))
    graph = ParsedWeb(tmp_path / "web", cached=False).build_graph()
    assert resolve_task(task, read_labels(tmp_path / "web"), graph).targets == frozenset(fetched[1:])


def answer_with_meta_refresh(path: str) -> tuple[int, Mapping[str, str], bytes]:
    """Site whose page /0 links to meta refreshes: to a page, to a missing page, and in a loop."""
    refresh = '<meta http-equiv="refresh" content="{}; url={}"><p>dengue fever moved <a href="/never">x</a>'
    links = '<p>dengue fever</p><a href="/old">old</a> <a href="/lost">lost</a> <a href="/loop">loop</a>'
    pages = {
        "/0": links,
        "/old": refresh.format(0, "/older"),
        "/older": refresh.format(5, "new"),
        "/new": "<title>New</title><p>dengue fever, new page</p>",
        "/lost": refresh.format(0, "/gone"),
        "/loop": refresh.format(0, "/pool"),
        "/pool": refresh.format(0, "/loop"),
    }
    return (200, {}, pages[path].encode()) if path in pages else (404, {}, b"no such page")


def test_a_crawl_with_meta_refreshes_replays_the_same_way(tmp_path: Path) -> None:
    async def crawl(address: str) -> list[Visit]:
        settings = Settings(delay=0.0, allow_net=("127.0.0.0/8",), strategy="breadth_first")
        async with open_crawl(tmp_path / "dengue", Topic.of("dengue fever"), [f"{address}/0"], settings) as crawl:
            return [visit async for visit in crawl.visits()]

    with live_site(answer_with_meta_refresh) as (address, requested):
        visits = asyncio.run(crawl(address))
    outcomes = [
        (visit.link.url.removeprefix(address), visit.url.removeprefix(address), visit.failure) for visit in visits
    ]
    assert outcomes == [
        ("/0", "/0", None),
        ("/old", "/new", None),
        ("/lost", "/gone", Failure.NOT_FOUND),
        ("/loop", "/pool", Failure.REDIRECTS),
    ]
    assert requested == ["/robots.txt", "/0", "/old", "/older", "/new", "/lost", "/gone", "/loop", "/pool"]
    record_crawl(tmp_path / "dengue", tmp_path / "web", labels=True, threshold=0.01)
    # The archive of the crawl also contains the error page behind a refresh.
    for folder, errors in ((tmp_path / "dengue", ["/lost", "/gone"]), (tmp_path / "web", [])):
        recording = Recording(folder)
        recorded = [url.removeprefix(address) for url in recording]
        assert recorded == ["/0", "/old", "/older", "/new", *errors]
        task = Task(Topic.of("dengue fever"), [f"{address}/0"], "breadth_first", 100)
        again = asyncio.run(_collect_visits(recording, task))
        assert [(visit.link.url, visit.url, visit.failure) for visit in again] == [
            (visit.link.url, visit.url, visit.failure) for visit in visits[: 3 if errors else 2]
        ]
        response = recording.get_response(f"{address}/old")
        assert [(hop.url.removeprefix(address), hop.status) for hop in response.hops] == [
            ("/old", 200),
            ("/older", 200),
        ]
    stored = Recording(tmp_path / "dengue").get_response(f"{address}/old").hops[0]
    assert stored.body == answer_with_meta_refresh("/old")[2], "the crawl archives the page of the refresh"
    why = explain_url(tmp_path / "dengue", f"{address}/old")
    assert (why.fetched, [step.ended.removeprefix(address) for step in why.chain]) == (True, ["/0", "/new"])
    for path, reason in (("/lost", Failure.NOT_FOUND), ("/loop", Failure.REDIRECTS), ("/older", "moved")):
        assert explain_url(tmp_path / "dengue", f"{address}{path}").reason == reason


async def _collect_visits(recording: Recording, task: Task) -> list[Visit]:
    return [visit async for visit in simulate(recording, task)]


def test_existing_files_and_directories_without_a_crawl_are_rejected(
    crawled: tuple[Path, list[str]], tmp_path: Path
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="new or empty"):
        record_crawl(crawled[0], tmp_path / "full")
    with pytest.raises(CollectionError, match="no crawl"):
        record_crawl(tmp_path / "full", tmp_path / "web")
    assert not (tmp_path / "web").exists()


def test_annotations_correct_the_labels_of_a_recording(crawled: tuple[Path, list[str]], tmp_path: Path) -> None:
    folder, fetched = shutil.copytree(crawled[0], tmp_path / "dengue"), crawled[1]
    store = CollectionStore(folder / "topicrawl.sqlite")
    annotate(store, fetched[2:4], AnnotationLabel.IRRELEVANT, origin="review", at=1.0)
    store.close()
    assert record_crawl(folder, tmp_path / "web", labels=True, threshold=0.01).relevant == PAGES - 2
    assert set(read_labels(tmp_path / "web")) == {*fetched[:2], *fetched[4:]}
    (task,) = read_tasks(tmp_path / "web" / "tasks-phrase.json")
    assert task.words == task.topic == "dengue fever"
