"""Delays per IP address and per registered domain: turns of hosts, exemptions, and real requests."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.helpers.site.server import Reply, Request, Site

from topicrawl.builder.crawls import open_crawl
from topicrawl.fetch.guard import parse_networks
from topicrawl.fetch.host_groups import GroupDelays, HostGroups, OwnHosts
from topicrawl.fetch.http import HttpClient, HttpSettings
from topicrawl.fetch.polite import PoliteFetcher
from topicrawl.settings import Settings
from topicrawl.topic import Topic

ADDRESSES = {f"h{number}.org": "192.0.2.1" for number in range(100)} | {"www.other.org": "192.0.2.9"}


class Timeline:
    """Clock that advances only while a task sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


async def find_address(name: str) -> str | None:
    return ADDRESSES.get(name)


def build_groups(timeline: Timeline, delays: GroupDelays, own: tuple[str, ...] = (), net: str = "") -> HostGroups:
    networks = parse_networks([net] if net else [])
    return HostGroups(find_address, delays, own_hosts=OwnHosts(own, networks), clock=timeline, sleep=timeline.sleep)


def list_turns(groups: HostGroups, timeline: Timeline, hosts: list[str]) -> list[float]:
    async def run() -> list[float]:
        turns = []
        for host in hosts:
            await groups.wait_for_turn(host)
            turns.append(round(timeline.now - 100.0, 3))
        return turns

    return asyncio.run(run())


def test_a_second_host_on_the_same_address_waits_its_turn() -> None:
    timeline = Timeline()
    groups = build_groups(timeline, GroupDelays(0.25))
    assert list_turns(groups, timeline, ["h1.org", "h2.org:8080", "www.other.org", "h3.org"]) == [0.0, 0.25, 0.25, 0.5]


def test_hosts_of_a_registered_domain_take_turns() -> None:
    timeline = Timeline()
    groups = build_groups(timeline, GroupDelays(0.0, domain=0.5))
    hosts = ["a.example.co.uk", "b.example.co.uk", "c.other.co.uk", "a.example.co.uk"]
    assert list_turns(groups, timeline, hosts) == [0.0, 0.5, 0.5, 1.0]


def test_a_shared_server_is_crawled_faster_than_one_host() -> None:
    # With the default settings, a host gets one request per second, and a server with many hosts gets four.
    delay = Settings().delay
    timeline = Timeline()
    groups = build_groups(timeline, GroupDelays(delay / 4))
    turns = list_turns(groups, timeline, [f"h{number}.org" for number in range(41)])
    assert turns[-1] == 10 * delay


def test_own_addresses_have_no_delay_unless_it_is_set() -> None:
    for delays, expected in ((GroupDelays(0.25), 0.0), (GroupDelays(0.25, address=0.5), 0.5)):
        for own, net in ((("h1.org", "h2.org"), ""), ((), "192.0.2.0/24")):
            timeline = Timeline()
            groups = build_groups(timeline, delays, own, net)
            assert list_turns(groups, timeline, ["h1.org", "h2.org"]) == [0.0, expected]


def test_links_go_back_to_the_frontier_when_the_queue_is_long() -> None:
    async def run() -> None:
        timeline = Timeline()
        groups = build_groups(timeline, GroupDelays(0.5))
        now = timeline.now
        for number in range(5):
            assert await groups.postpone_turn(f"h{number}.org") == 0.0
            timeline.now = now  # all fetches start at the same time
            await groups.wait_for_turn(f"h{number}.org")
        timeline.now = now
        assert [await groups.postpone_turn(f"h{number}.org") for number in (5, 6, 7)] == [3.0, 3.5, 4.0]
        assert await groups.postpone_turn("www.other.org") == 0.0

    asyncio.run(run())


def test_there_are_no_group_delays_behind_a_proxy() -> None:
    delays = GroupDelays(0.25, address=1.0)
    assert PoliteFetcher(HttpClient(), group_delays=delays).host_groups is not None
    http = HttpClient(HttpSettings(proxy="http://proxy.example:3128"))
    assert PoliteFetcher(http, group_delays=delays).host_groups is None


def answer_request(request: Request) -> Reply:
    port = request.host.partition(":")[2]
    if request.path != "/":
        return Reply(status=404)
    links = "".join(f'<a href="http://h{number}.farm.example:{port}/">fever {number}</a>' for number in range(6))
    return Reply(f"<p>dengue fever on {request.host}</p>{links}".encode())


def test_requests_to_the_hosts_of_one_address_keep_the_delay(tmp_path: Path) -> None:
    async def run() -> list[str]:
        async with Site(answer_request) as site:
            settings = Settings(
                pages=6,
                delay=0.0,
                address_delay=0.05,
                distinct=False,
                documents=False,
                allow_net=("127.0.0.0/8",),
                resolve=tuple(f"h{number}.farm.example=127.0.0.1" for number in range(6)),
            )
            seeds = [site.make_url("/", host="h0.farm.example")]
            async with open_crawl(tmp_path / "crawl", Topic.of("dengue fever"), seeds, settings) as crawl:
                assert len([visit async for visit in crawl.visits()]) == 6
            return site.list_early_requests(0.05)

    assert asyncio.run(run()) == []
