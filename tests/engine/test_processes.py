"""A crawl with several processes: the same visits as with one, and no page lost when its children are killed."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest
from tests.helpers.crawl_directory import make_tree_site
from tests.helpers.live_site import live_site
from tests.helpers.markers import LONG

from topicrawl import Settings, Topic, open_crawl

PAGES = 24


async def crawl_site(
    directory: Path, address: str, *, processes: int, strategy: str = "apprentice", kill_every: int = 0
) -> list[tuple[object, ...]]:
    """Crawl the site with one fetch in flight, and return the visits. Kill a child after every `kill_every` visits."""
    settings = Settings(
        pages=PAGES,
        delay=0.0,
        concurrency=1,
        processes=processes,
        strategy=strategy,
        allow_net=("127.0.0.0/8",),
        min_free=0,
    )
    visits: list[tuple[object, ...]] = []
    earlier = list_children()
    async with open_crawl(directory, Topic.of("dengue fever"), [f"{address}/0"], settings) as crawl:
        async for visit in crawl.visits():
            visits.append((visit.url, visit.priority.score, visit.relevance, visit.failure, visit.page))
            if kill_every and len(visits) % kill_every == 0:
                for child in list_children() - earlier:
                    os.kill(child, signal.SIGKILL)
    return visits


def list_children() -> set[int]:
    """Return the process ids of the child processes of this process. Other tests may have left some."""
    return {
        int(child)
        for task in Path("/proc/self/task").iterdir()
        for child in (task / "children").read_text("ascii").split()
    }


@pytest.mark.parametrize("strategy", [pytest.param("apprentice", marks=LONG), "best_first"])
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="lists the children in /proc, which only Linux has")
def test_the_visits_are_those_of_one_process(tmp_path: Path, strategy: str) -> None:
    earlier = list_children()
    with live_site(make_tree_site(PAGES)) as (address, _):
        one, three = (
            asyncio.run(crawl_site(tmp_path / str(count), address, processes=count, strategy=strategy))
            for count in (1, 3)
        )
    assert len(one) == PAGES
    assert one == three
    assert list_children() <= earlier


@LONG
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="lists the children in /proc, which only Linux has")
def test_a_crawl_whose_children_are_killed_loses_no_page(tmp_path: Path) -> None:
    with live_site(make_tree_site(PAGES)) as (address, paths):
        visits = asyncio.run(crawl_site(tmp_path / "crawl", address, processes=2, kill_every=5))
    assert {visit[0] for visit in visits} == {f"{address}/{number}" for number in range(PAGES)}
    assert {visit[3] for visit in visits} == {None}
    assert len(paths) == len(set(paths))
