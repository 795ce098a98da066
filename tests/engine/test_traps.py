"""Traps use at most a twentieth of the fetches with the default limits; endless traps are refused."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

import pytest
from tests.helpers.live_site import live_site
from tests.helpers.markers import LONG

from topicrawl import parse
from topicrawl.builder.crawls import open_crawl
from topicrawl.engine.context import CrawlContext
from topicrawl.engine.crawl import Crawl, build_seed_links
from topicrawl.engine.limits import CrawlLimits, StopReason
from topicrawl.engine.link_filter import LinkFilter
from topicrawl.engine.sinks import NullSink
from topicrawl.frontier.base import FrontierRules
from topicrawl.frontier.memory import MemoryFrontier
from topicrawl.frontier.trap_detector import TrapDetector
from topicrawl.frontier.url_limits import UrlLimits
from topicrawl.models import Link, Refusal, Response
from topicrawl.relevance.vsm import Vsm
from topicrawl.settings import Settings
from topicrawl.strategies import create_strategy
from topicrawl.strategies.base import StrategyContext
from topicrawl.topic import Topic
from topicrawl.web.url_explanation import explain_url

BUDGET = 320
HOST = "http://site.example"
TOPIC = Topic.of("dengue fever")


def honest(path: str) -> str:
    """Return a page with unique text and links to other pages and into the trap."""
    number = int(path.rpartition("/")[2] or 0)
    random = Random(number)
    words = ["".join(random.choices("abcdefghijklmnop", k=6)) for _ in range(120)]
    links = "".join(f'<a href="/article/{(number * 3 + k) % 2000}">dengue {k}</a> ' for k in (1, 2, 3))
    return f"<p>dengue fever {' '.join(words)}</p><p>{links}</p>"


def calendar(path: str) -> str:
    year, month = map(int, re.findall(r"\d+", path)[:2])
    later, earlier = (year + month // 12, month % 12 + 1), (year - (month == 1), (month - 2) % 12 + 1)
    days = "".join(f'<a href="/calendar/{year}/{month}/{day}">{day}</a> ' for day in range(1, 29))
    ways = "".join(f'<a href="/calendar/{y}/{m}">dengue fever events {m}/{y}</a> ' for y, m in (later, earlier))
    return f"<h1>Dengue fever events</h1><p>No events of dengue fever this month.</p><p>{ways}{days}</p>"


def sessions(path: str) -> str:
    token = Random(path).getrandbits(128)
    links = "".join(f'<a href="/shop?PHPSESSID={token + k:032x}">dengue fever shop</a> ' for k in range(5))
    return f"<p>Dengue fever shop. Buy a net.</p><p>{links}</p>"


def unknown_sessions(path: str) -> str:
    token = Random(path).getrandbits(128)
    links = "".join(f'<a href="/shop?visitor={token + k:032x}">dengue fever shop</a> ' for k in range(5))
    return f"<p>Dengue fever shop. Buy a net.</p><p>{links}</p>"


def concatenating(path: str) -> str:
    return f'<p>Dengue fever for ever.</p><a href="{path.rstrip("/")}/more/dengue/">more dengue fever</a>'


TRAPS: dict[str, tuple[str, Callable[[str], str]]] = {
    "a calendar without end": ("/calendar/2026/11", calendar),
    "session ids": ("/shop?PHPSESSID=00", sessions),
    "session ids under an unknown name": ("/shop?visitor=00", unknown_sessions),
    "links that grow": ("/more/dengue/", concatenating),
}


async def run_crawl(entrance: str, trap: Callable[[str], str], strategy: str, articles: int) -> list[str]:
    async def fetch(link: Link) -> Response:
        path = link.url.removeprefix(HOST)
        if path == "/":
            text = f'<p>Dengue fever</p><a href="{entrance}">dengue fever</a> <a href="/article/1">news</a>'
        elif path.startswith("/article"):
            text = honest(path) if int(path.rpartition("/")[2]) < articles else "<p>gone</p>"
        else:
            text = trap(path)
        return Response(link.url, link.url, 200, {"content-type": "text/html"}, text.encode())

    chosen = create_strategy(strategy)
    vsm = Vsm(TOPIC)
    chosen.bind(StrategyContext(TOPIC, vsm, Random(0)))
    parts = CrawlContext(
        frontier=MemoryFrontier(FrontierRules(delay=0.0, parallel=0), lambda: 0.0),
        fetch=fetch,
        parse=parse.parse_response,
        relevance=vsm,
        strategy=chosen,
        sink=NullSink(),
        clock=lambda: 0.0,
        link_filter=LinkFilter(UrlLimits(), TrapDetector()),
    )
    crawl = Crawl(parts, CrawlLimits(fetches=BUDGET, concurrency=1))
    await crawl.add_seeds(build_seed_links([f"{HOST}/"]))
    return [visit.link.url.removeprefix(HOST) async for visit in crawl.visits()]


@LONG
@pytest.mark.parametrize("strategy", ["best_first", "breadth_first"])
@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_takes_at_most_a_twentieth_of_the_budget(name: str, strategy: str) -> None:
    visits = asyncio.run(run_crawl(*TRAPS[name], strategy, 2000))
    inside = [path for path in visits if path != "/" and not path.startswith("/article")]
    assert len(visits) == BUDGET
    assert 0 < len(inside) <= BUDGET / 20


def test_a_finite_site_from_one_mould_is_crawled_to_its_end() -> None:
    def mould(path: str) -> str:
        number = int(path.rpartition("/")[2])
        links = "".join(f'<a href="/n/{2 * number + k}">x</a> ' for k in (1, 2) if 2 * number + k < 200)
        return f"<p>Page {number} of the register of dengue fever.</p>{links}"

    visits = asyncio.run(run_crawl("/n/0", mould, "best_first", 0))
    assert {f"/n/{number}" for number in range(200)} <= set(visits)


def answer_calendar(path: str) -> tuple[int, Mapping[str, str], bytes]:
    """Serve a calendar in which each month links to the next."""
    if not path.startswith("/month/"):
        return 404, {}, b"no such page"
    number = int(path.rpartition("/")[2])
    text = f"<p>No dengue fever events in month {number}.</p>"
    return 200, {}, f'{text}<a href="/month/{number + 1}">dengue fever events</a>'.encode()


def test_an_endless_trap_is_refused_in_a_real_crawl(tmp_path: Path) -> None:
    async def run(seed: str) -> list[str]:
        settings = Settings(pages=200, delay=0.0, allow_net=("127.0.0.0/8",), documents=False, strategy="best_first")
        async with open_crawl(tmp_path / "crawl", TOPIC, [seed], settings) as crawl:
            visits = [visit.link.url async for visit in crawl.visits()]
        assert crawl.stop_reason is StopReason.EMPTY
        return visits

    with live_site(answer_calendar) as (url, _):
        visits = asyncio.run(run(f"{url}/month/0"))
    assert 16 < len(visits) < 40
    explanation = explain_url(tmp_path / "crawl", f"{url}/month/{len(visits)}")
    assert explanation.reason == Refusal.TRAP
    assert explanation.chain[-1].parts["trap"] == -2.0
