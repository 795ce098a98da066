"""Crawls opened from Python: several in one process."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from pathlib import Path

from tests.helpers.crawl_directory import make_tree_site
from tests.helpers.live_site import live_site, make_chain_site

from topicrawl import Settings, StopReason, Topic, open_crawl
from topicrawl.collection.store import CollectionStore


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


def respond_with_hidden_text(path: str) -> tuple[int, dict[str, str], bytes]:
    text = "Dengue fever comes to the towns of the coast with the first heavy rains of the long summer. " * 8
    if path == "/0":
        return 200, {}, f"<html lang=en><title>Record</title><p>{text}</p><a href=/1>one</a>".encode()
    hidden = f'<p style="color:#fff;background:#fff">{text}</p>'
    return 200, {}, f"<html lang=en><title>Record</title><p>The express to the harbour left.</p>{hidden}".encode()


def test_judge_of_summaries_ignores_hidden_text(tmp_path: Path) -> None:
    async def crawl(site: str, judge: str) -> dict[str, bool]:
        settings = Settings(judge=judge, pages=2, delay=0.0, allow_net=("127.0.0.0/8",), distinct=False)
        async with open_crawl(tmp_path / judge, Topic.of("dengue fever"), [f"{site}/0"], settings) as opened:
            visits = [visit async for visit in opened.visits()]
        return {visit.url.removeprefix(site): (visit.relevance or 0.0) >= 0.5 for visit in visits}

    with live_site(respond_with_hidden_text) as (site, _):
        assert asyncio.run(crawl(site, "topic")) == {"/0": True, "/1": True}
        assert asyncio.run(crawl(site, "summary")) == {"/0": True, "/1": False}


def test_resumed_crawl_with_several_metrics_judges_like_one_without_a_stop(tmp_path: Path) -> None:
    async def crawl(name: str, site: str, pages: int) -> None:
        settings = Settings(
            strategy="breadth_first", judge="multi_metric", pages=pages, delay=0.0, allow_net=("127.0.0.0/8",)
        )
        async with open_crawl(tmp_path / name, Topic.of("dengue fever"), [f"{site}/0"], settings) as opened:
            async for _ in opened.visits():
                pass

    def load_judgements(name: str) -> list[tuple[object, ...]]:
        store = CollectionStore(tmp_path / name / "topicrawl.sqlite", readonly=True)
        try:
            return store.query_rows("SELECT p.url, relevance, judgement FROM pages p JOIN visits USING (step)")
        finally:
            store.close()

    with live_site(make_tree_site(20)) as (site, _):
        for pages in (7, 20):
            asyncio.run(crawl("stopped", site, pages))
        asyncio.run(crawl("whole", site, 20))
    assert load_judgements("stopped") == load_judgements("whole")
    assert {json.loads(str(row[2]))["group"] for row in load_judgements("whole")} >= {"undoubted", "directory"}
