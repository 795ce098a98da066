"""Crawls opened from Python: several in one process."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path

from tests.helpers.live_site import live_site, make_chain_site

from topicrawl import Settings, StopReason, Topic, open_crawl


async def run_crawl(directory: Path, site: str, words: str, strategy: str) -> tuple[list[str], StopReason | None]:
    settings = Settings(
        strategy=strategy, pages=8, delay=0.0, allow_net=("127.0.0.0/8",), distinct=False, documents=False
    )
    async with open_crawl(directory, Topic.of(words), [f"{site}/0"], settings) as crawl:
        urls = [visit.url.removeprefix(site) async for visit in crawl.visits() if visit.failure is None]
        return urls, crawl.stop_reason


def test_two_crawls_run_in_one_process_at_once_and_know_nothing_of_each_other(tmp_path: Path) -> None:
    async def run_both(sites: list[str]) -> list[tuple[list[str], StopReason | None]]:
        return await asyncio.gather(
            run_crawl(tmp_path / "one", sites[0], "dengue fever", "best_first"),
            run_crawl(tmp_path / "other", sites[1], "mosquitoes", "apprentice"),
        )

    with ExitStack() as stack:
        served = [stack.enter_context(live_site(make_chain_site(9))) for _ in range(2)]
        together = asyncio.run(run_both([address for address, _ in served]))
        asked = [sorted(paths) for _, paths in served]
    assert together == [([f"/{number}" for number in range(8)], StopReason.PAGES)] * 2
    # Each crawl fetched its own robots.txt and pages.
    assert asked[0] == asked[1]
    assert all((tmp_path / name / "topicrawl.sqlite").exists() for name in ("one", "other"))
