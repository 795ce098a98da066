"""Rules for registered domains in real crawls: spam is demoted, explained and remembered, and budgets are kept."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.helpers.redis_server import running
from tests.helpers.site.server import Reply, Request, Site

from topicrawl.builder.crawls import open_crawl
from topicrawl.errors import SettingError
from topicrawl.models import Refusal, Visit
from topicrawl.settings import Settings
from topicrawl.topic import Topic
from topicrawl.web.url_explanation import explain_url

TOPIC = Topic.of("dengue fever")
FARM = [f"w{number}.farm.example" for number in range(60)]
HONEST = [f"www.site{number}.example" for number in range(3)]


def answer_request(request: Request) -> Reply:
    """Serve a farm of stuffed pages, and honest sites that link to it."""
    host, _, port = request.host.partition(":")
    if request.path == "/robots.txt":
        return Reply(status=404)
    draw = Random(f"{host}{request.path}")
    words = ["".join(draw.choices("bcdfglmnprst", k=3)) + draw.choice(["oru", "ane", "ily"]) for _ in range(150)]
    hosts = FARM if host in FARM else HONEST
    if host in FARM:
        words = [draw.choice(["dengue", "fever"]) if draw.random() < 0.4 else word for word in words]
    urls = [f"http://{draw.choice(hosts)}:{port}/{''.join(draw.choices('abcdefgh', k=5))}" for _ in range(8)]
    urls.append(f"http://{draw.choice(FARM)}:{port}/")
    links = "".join(f'<p><a href="{url}">dengue fever</a></p>' for url in urls)
    return Reply(f"<title>dengue fever</title><p>dengue fever {' '.join(words)}</p>{links}".encode())


def build_settings(**changes: Any) -> Settings:
    values: dict[str, Any] = {
        "strategy": "best_first",
        "delay": 0.0,
        "concurrency": 8,
        "documents": False,
        "min_free": 0,
        "allow_net": ("127.0.0.0/8",),
        "resolve": tuple(f"{host}=127.0.0.1" for host in (*FARM, *HONEST)),
    }
    return Settings(**values | changes)


async def run_crawl(directory: Path, site: Site, settings: Settings) -> list[Visit]:
    seeds = [site.make_url("/", host=host) for host in HONEST]
    async with open_crawl(directory, TOPIC, seeds, settings) as crawl:
        return [visit async for visit in crawl.visits()]


def count_farm(visits: list[Visit]) -> int:
    return sum("farm.example" in visit.link.url for visit in visits)


def test_spam_is_demoted_explained_and_remembered(tmp_path: Path) -> None:
    async def run() -> str:
        async with Site(answer_request) as site:
            visits = await run_crawl(tmp_path / "crawl", site, build_settings(pages=120))
            assert 0 < count_farm(visits) < 30
            settings = build_settings(pages=150)
            async with open_crawl(tmp_path / "crawl", TOPIC, [], settings) as crawl:
                monitor = crawl.context.link_filter.domain_monitor
                assert monitor is not None
                assert monitor.is_demoted("http://unknown.farm.example/")
                assert count_farm([visit async for visit in crawl.visits()]) == 0
                best = await crawl.context.frontier.get_best_entries(100_000)
        demoted = [entry for entry in best if entry.priority.score < 0]
        assert demoted
        assert all("farm.example" in entry.link.url for entry in demoted)
        return demoted[-1].link.url

    url = asyncio.run(run())
    explanation = explain_url(tmp_path / "crawl", url)
    assert explanation.waiting is not None
    assert explanation.waiting.parts["domain"] < -1.0


def test_a_domain_gets_no_more_pages_than_its_budget(tmp_path: Path) -> None:
    async def run() -> list[Visit]:
        async with Site(answer_request) as site:
            return await run_crawl(tmp_path / "crawl", site, build_settings(pages=60, domain_pages=10, concurrency=1))

    visits = asyncio.run(run())
    pages = Counter(visit.link.url.split("/")[2].partition(":")[0].split(".", 1)[1] for visit in visits)
    assert set(pages.values()) == {10}
    assert len(pages) == 4
    links = {link.url for visit in visits[-5:] if visit.page is not None for link in visit.page.links}
    refused = min(links - {visit.link.url for visit in visits})
    assert explain_url(tmp_path / "crawl", refused).reason == Refusal.DOMAIN_BUDGET


def test_an_address_gets_no_more_pages_than_its_budget_over_several_runs(tmp_path: Path) -> None:
    async def run() -> list[Visit]:
        async with Site(answer_request) as site:
            settings = build_settings(pages=60, address_pages=10, concurrency=1)
            visits = await run_crawl(tmp_path / "crawl", site, replace(settings, pages=8))
            return visits + await run_crawl(tmp_path / "crawl", site, settings)

    visits = asyncio.run(run())
    assert sum(visit.failure is None for visit in visits) == 10
    links = {link.url for visit in visits[-5:] if visit.page is not None for link in visit.page.links}
    refused = min(links - {visit.link.url for visit in visits})
    assert explain_url(tmp_path / "crawl", refused).reason == Refusal.ADDRESS_BUDGET


def test_spam_is_demoted_in_a_shared_crawl(tmp_path: Path) -> None:
    async def run(address: str) -> list[Visit]:
        async with Site(answer_request) as site:
            return await run_crawl(tmp_path / "crawl", site, build_settings(pages=100, frontier=f"{address}#domains"))

    with running(tmp_path) as server:
        visits = asyncio.run(run(server.address))
    assert 0 < count_farm(visits) < 30


@pytest.mark.parametrize("name", ["domain_delay", "address_delay"])
def test_group_delays_are_numbers_or_automatic(name: str) -> None:
    assert getattr(Settings(), name) is None
    with pytest.raises(SettingError, match=name):
        Settings(**{name: -1.0})
