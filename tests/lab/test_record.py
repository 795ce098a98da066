"""A crawl that Topicrawl made can be replayed like any recorded web."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.cli.live import chain, live_site

from topicrawl import Settings, Topic, open_crawl
from topicrawl.errors import CollectionError, UsageError
from topicrawl.fetch.replay import Recording
from topicrawl.lab.record import record
from topicrawl.lab.simulate import Task, simulate
from topicrawl.lab.tasks import aim, read_labels, read_tasks
from topicrawl.lab.web import ParsedWeb

PAGES = 8


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A crawl of a live site, and the pages that it fetched."""
    folder = tmp_path_factory.mktemp("crawl") / "dengue"

    async def crawl(address: str) -> list[str]:
        settings = Settings(pages=PAGES, delay=0.0, allow_net=("127.0.0.0/8",))
        async with open_crawl(folder, Topic.of("dengue; fever"), [f"{address}/0"], settings) as crawl:
            return [visit.url async for visit in crawl.visits() if visit.failure is None]

    with live_site(chain(PAGES)) as (address, _):
        return folder, asyncio.run(crawl(address))


def test_the_recorded_web_replays_the_crawl(crawled: tuple[Path, list[str]], tmp_path: Path) -> None:
    folder, fetched = crawled
    made = record(folder, tmp_path / "web")
    assert (made.pages, made.lost) == (PAGES, 0)
    web = Recording(tmp_path / "web")
    assert list(web) == fetched
    assert [web.answer(url).body for url in fetched] == [Recording(folder).answer(url).body for url in fetched]

    async def again() -> list[str]:
        task = Task(Topic.of("dengue fever"), [fetched[0]], "best_first", 100)
        return [visit.url async for visit in simulate(web, task)]

    assert asyncio.run(again()) == fetched
    assert not (tmp_path / "web" / "labels.tsv").exists()


def test_with_labels_it_is_a_task_that_can_be_compared(crawled: tuple[Path, list[str]], tmp_path: Path) -> None:
    folder, fetched = crawled
    made = record(folder, tmp_path / "web", labels=True, threshold=0.01)
    assert made.relevant == PAGES
    (task,) = read_tasks(tmp_path / "web")
    assert (task.web, task.words, task.seeds) == ("web", "dengue fever", (fetched[0],))
    graph = ParsedWeb(tmp_path / "web", cached=False).graph()
    assert aim(task, read_labels(tmp_path / "web"), graph).targets == frozenset(fetched[1:])


def test_nothing_is_overwritten_and_what_is_no_crawl_is_refused(
    crawled: tuple[Path, list[str]], tmp_path: Path
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="new or empty"):
        record(crawled[0], tmp_path / "full")
    with pytest.raises(CollectionError, match="no crawl"):
        record(tmp_path / "full", tmp_path / "web")
    assert not (tmp_path / "web").exists()
