"""Focus of a live crawl: it waits for good hosts, and poor links get a share of the fetches."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.helpers.markers import LONG
from tests.helpers.redis_server import RedisServer, running
from tests.helpers.site.server import Reply, Request, Site

from topicrawl.builder.crawls import open_crawl
from topicrawl.engine.crawl import Crawl
from topicrawl.engine.focus import FocusPolicy
from topicrawl.engine.limits import StopReason
from topicrawl.frontier.base import Lease, LeaseLimits
from topicrawl.models import Visit
from topicrawl.settings import Settings
from topicrawl.topic import Topic

GOOD, POOR_HOSTS = "good.example", [f"poor{number}.example" for number in range(30)]
TOPIC = Topic.of("dengue fever")


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with running(tmp_path_factory.mktemp("focus")) as server:
        yield server


def answer_request(request: Request) -> Reply:
    """Serve one slow host with pages on the topic, and many fast hosts with other pages."""
    host, _, port = request.host.partition(":")
    if request.path == "/robots.txt":
        return Reply(b"User-agent: *\nCrawl-delay: 0.1\n" if host == GOOD else b"", type="text/plain")
    # Paths without digits, because the trap detector reacts to many similar pages with numbers.
    draw = Random(request.path)
    own = " ".join("".join(draw.choices("bdfgklmnprst", k=2)) + "oru" for _ in range(30))
    if host == GOOD:
        links = [(f"http://{GOOD}:{port}{request.path}{letter}", "dengue fever") for letter in "abc"]
        links.append((f"http://{POOR_HOSTS[0]}:{port}/", "old towns"))
        words = f"dengue fever and {own}"
    else:
        names = ["".join(draw.choices("abcdefgh", k=5)) for _ in range(6)]
        links = [(f"http://{draw.choice(POOR_HOSTS)}:{port}/{name}", "old towns") for name in names]
        words = f"gardens and roofs of {own}"
    anchors = "".join(f'<p><a href="{url}">{anchor}</a></p>' for url, anchor in links)
    return Reply(f"<title>{host} {own[:20]}</title><p>{words}</p>{anchors}".encode())


@dataclass
class ObservedFrontier:
    """Frontier that records for each lease whether its link scores below a quarter of the best waiting link."""

    frontier: Any
    poor_leases: list[bool] = field(default_factory=list)
    calls: int = 0

    async def lease(self, n: int, limits: LeaseLimits) -> list[Lease]:
        """Lease links and compare their scores with the best score before the call."""
        self.calls += 1
        best = await self.frontier.get_best_entries(1)
        leases: list[Lease] = await self.frontier.lease(n, limits)
        self.poor_leases += [lease.priority.score < best[0].priority.score / 4 for lease in leases]
        return leases

    def __getattr__(self, name: str) -> Any:
        return getattr(self.frontier, name)


def build_settings(**changes: Any) -> Settings:
    hosts = [GOOD, *POOR_HOSTS]
    settings = Settings(
        strategy="best_first",
        delay=0.0,
        concurrency=16,
        distinct=False,
        min_free=0,
        attempts=2,
        allow_net=("127.0.0.0/8",),
        resolve=tuple(f"{host}=127.0.0.1" for host in hosts),
    )
    return replace(settings, **changes)


async def run_crawl(crawl: Crawl) -> list[Visit]:
    return [visit async for visit in crawl.visits()]


@LONG
@pytest.mark.parametrize("kind", ["file", "redis"])
def test_few_fetches_go_to_poor_links_while_a_good_host_is_slow(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    frontier = f"{request.getfixturevalue('redis').address}#focus" if kind == "redis" else ""

    async def run() -> None:
        async with Site(answer_request) as site:
            settings = build_settings(pages=60, frontier=frontier)
            seeds = [site.make_url("/", host=GOOD)]
            async with open_crawl(tmp_path / "crawl", TOPIC, seeds, settings) as crawl:
                observed = ObservedFrontier(crawl.context.frontier)
                crawl.context = replace(crawl.context, frontier=observed)
                visits = await run_crawl(crawl)
        assert crawl.stop_reason is StopReason.PAGES
        found = next(visit.step for visit in visits if (visit.relevance or 0.0) >= TOPIC.threshold)
        later = observed.poor_leases[found:]
        assert 0 < sum(later) <= 0.25 * len(later)
        # The loop sleeps until a host is ready. Without a pause, there would be thousands of calls.
        assert observed.calls < 10 * len(later)

    asyncio.run(run())


def test_poor_links_are_fetched_while_a_good_host_is_down(tmp_path: Path) -> None:
    served = 0

    def answer(request: Request) -> Reply:
        nonlocal served
        if request.host.startswith(GOOD) and request.path != "/robots.txt":
            served += 1
            if served > 2:
                return Reply(status=503)
        return answer_request(request)

    async def run() -> None:
        async with Site(answer) as site:
            # The first page is relevant, so that poor links have to wait from the start.
            seeds = [site.make_url("/", host=GOOD)]
            # Much shorter than the backoff of the host after its second failure.
            settings = build_settings(pages=40, seconds=30.0)
            async with open_crawl(tmp_path / "crawl", TOPIC, seeds, settings) as crawl:
                await run_crawl(crawl)
        assert crawl.stop_reason is StopReason.PAGES
        assert crawl.relevant == 2

    asyncio.run(run())


def test_poor_links_get_their_share_and_never_more_than_four_in_a_row() -> None:
    policy, draw, fetches = FocusPolicy(poor_share=0.2), Random(1), list[bool]()
    policy.record_page(0.0)
    for _ in range(3000):
        free = 0 if draw.random() < 0.3 else policy.build_limits(0.25, now=1.0, has_relevant=True).max_poor
        for is_poor in [*[True] * free, False]:
            policy.count_fetch(is_poor=is_poor)
            fetches.append(is_poor)
    assert 0.19 < sum(fetches) / len(fetches) <= 0.2 + 4 / len(fetches)
    assert not any(all(fetches[start : start + 5]) for start in range(len(fetches)))


@pytest.mark.parametrize(
    ("has_relevant", "seconds", "expected"),
    [
        (False, 0.0, 4),  # nothing relevant is known yet
        (True, 60.0, 0),  # better links lead to pages
        (True, 61.0, 4),  # they do not
    ],
)
def test_the_share_applies_while_better_links_lead_to_pages(has_relevant: bool, seconds: float, expected: int) -> None:
    policy = FocusPolicy(poor_share=0.2)
    policy.record_page(1000.0)
    limits = policy.build_limits(0.25, now=1000.0 + seconds, has_relevant=has_relevant)
    assert (limits.max_poor, limits.min_leased) == (0, expected)
