"""Manners, judged by what the hosts see."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from tests.site.server import Answers, Reply, Request, Site, redirect, routes

from topicrawl.fetch.guard import networks
from topicrawl.fetch.http import Http, HttpSettings
from topicrawl.fetch.polite import Polite
from topicrawl.records import Failure, Link, Response
from topicrawl.urls import host

HOSTS = {name: "127.0.0.1" for name in ("a.test", "b.test", "c.test")} | {"inside.test": "127.0.0.2"}
SETTINGS = HttpSettings(allow=networks(["127.0.0.1"]), resolve=HOSTS, total_timeout=1.0, agent="topicrawl/9")
ROBOTS = Reply(b"User-agent: topicrawl\nDisallow: /private\nSitemap: http://a.test/map.xml", type="text/plain")
DELAY = 0.04


def visit(
    answers: Answers, steps: Callable[[Site, Polite], Awaitable[None]], *, delay: float = 0.0, robots: bool = True
) -> Site:
    async def run() -> Site:
        async with Site(answers) as site, Http(SETTINGS) as http:
            await steps(site, Polite(http, delay=delay, robots=robots))
        return site

    return asyncio.run(run())


def fetched(answers: Answers, path: str = "/", *, robots: bool = True) -> tuple[Response, Site]:
    found: list[Response] = []

    async def steps(site: Site, polite: Polite) -> None:
        found.append(await polite(Link(site.url(path, host="a.test"))))

    site = visit(answers, steps, robots=robots)
    return found[0], site


def test_robots_txt_is_asked_for_before_the_page() -> None:
    response, site = fetched(routes({"/robots.txt": ROBOTS, "/": Reply(b"page")}))
    assert response.body == b"page"
    assert site.paths() == ["/robots.txt", "/"]


def test_a_forbidden_page_is_never_asked_for() -> None:
    response, site = fetched(routes({"/robots.txt": ROBOTS}), "/private/x")
    assert (response.failure, response.status, response.wait) == (Failure.ROBOTS, 0, None)
    assert site.paths() == ["/robots.txt"]


def test_a_forbidden_page_behind_a_redirect_is_never_asked_for() -> None:
    def answers(request: Request) -> Reply:
        if request.path == "/robots.txt":
            return ROBOTS if request.host.startswith("b.test") else Reply(status=404)
        return redirect(f"http://b.test:{request.host.rpartition(':')[2]}/private")

    response, site = fetched(answers)
    assert response.failure is Failure.ROBOTS
    assert response.final_url == site.url("/private", host="b.test")
    assert site.paths("b.test") == ["/robots.txt"]


def hang(_: Request) -> Awaitable[None]:
    return asyncio.sleep(30)


UNREACHABLE: dict[str, Callable[[Request], object]] = {
    "status 503": lambda _: Reply(status=503, headers={"Retry-After": "33"}),
    "status 429": lambda _: Reply(status=429),
    "status 500": lambda _: Reply(b"oops", status=500),
    "no answer": hang,
    "hangs up": lambda _: None,
    "torn": lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nUser-agent: *",
    "not HTTP": lambda _: b"220 ready\r\n",
}


@pytest.mark.parametrize("name", UNREACHABLE)
def test_without_an_answer_for_robots_txt_no_page_is_asked_for(name: str) -> None:
    response, site = fetched(UNREACHABLE[name])  # type: ignore[arg-type]
    assert response.failure is Failure.ROBOTS_UNREACHABLE
    assert response.wait == pytest.approx(33.0 if "503" in name else 5.0, abs=1.0)
    assert site.paths() == ["/robots.txt"]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_a_missing_robots_txt_allows_everything(status: int) -> None:
    def answers(request: Request) -> Reply:
        return Reply(status=status) if request.path == "/robots.txt" else Reply(b"page")

    assert fetched(answers)[0].body == b"page"


def test_a_robots_txt_of_a_megabyte_holds_as_far_as_it_is_read() -> None:
    large = Reply(ROBOTS.body + b"\nUser-agent: x\n" + b"Disallow: /filler\n" * 60_000, type="text/plain")
    response, _ = fetched(routes({"/robots.txt": large}), "/private")
    assert response.failure is Failure.ROBOTS


def test_a_robots_txt_behind_redirects_holds() -> None:
    def answers(request: Request) -> Reply:
        if request.path == "/robots.txt" and not request.host.startswith("c.test"):
            name = "b" if request.host.startswith("a.test") else "c"
            return redirect(f"http://{name}.test:{request.host.rpartition(':')[2]}/robots.txt", 302)
        return ROBOTS

    response, site = fetched(answers, "/private")
    assert response.failure is Failure.ROBOTS
    assert [entry.host.partition(":")[0] for entry in site.log] == ["a.test", "b.test", "c.test"]


@pytest.mark.parametrize("robots", [True, False])
@pytest.mark.parametrize("host", ["127.0.0.2", "inside.test", "2130706434", "[::ffff:127.0.0.2]", "169.254.169.254"])
def test_a_redirect_into_a_private_network_is_refused(host: str, robots: bool) -> None:
    def answers(request: Request) -> Reply:
        port = request.host.rpartition(":")[2]
        return Reply(status=404) if request.path == "/robots.txt" else redirect(f"http://{host}:{port}/secret")

    response, site = fetched(answers, robots=robots)
    assert response.failure is Failure.ADDRESS
    assert "/secret" not in site.paths()


def test_a_robots_txt_that_redirects_into_a_private_network_is_unreachable() -> None:
    response, _ = fetched(lambda request: redirect("http://127.0.0.2/robots.txt"))
    assert response.failure is Failure.ROBOTS_UNREACHABLE


def test_no_two_requests_reach_a_host_inside_its_delay_whatever_they_are_for() -> None:
    def answers(request: Request) -> Reply:
        port = request.host.rpartition(":")[2]
        if request.path.startswith("/to-b"):
            return redirect(f"http://b.test:{port}/from-a{request.path[5:]}")
        return Reply(b"page")

    async def steps(site: Site, polite: Polite) -> None:
        links = [f"/to-b{n}" for n in range(4)] + [f"/{n}" for n in range(3)]
        pages = [Link(site.url(path, host="a.test")) for path in links]
        pages += [Link(site.url(f"/{n}", host="b.test")) for n in range(3)]
        responses = await asyncio.gather(*map(polite, pages))
        assert all(response.body == b"page" or response.status == 301 for response in responses)

    site = visit(answers, steps, delay=DELAY)
    assert len(site.paths("a.test")) == 8
    assert len(site.paths("b.test")) >= 4
    # The server shares our event loop and may read a request late, never early.
    assert min(site.gaps("a.test")) >= DELAY - 0.01
    assert min(site.gaps("b.test")) >= DELAY - 0.01


def test_a_redirect_to_a_host_that_is_not_free_is_left_to_the_frontier() -> None:
    def answers(request: Request) -> Reply:
        port = request.host.rpartition(":")[2]
        if request.path == "/to-b":
            return redirect(f"http://b.test:{port}/from-a")
        return Reply(b"page")

    async def steps(site: Site, polite: Polite) -> None:
        first = await polite(Link(site.url("/to-b", host="a.test")))
        assert (first.status, first.body) == (200, b"page"), "b.test was free"
        second = await polite(Link(site.url("/to-b", host="c.test")))
        assert (second.status, second.failure) == (301, None)
        assert second.final_url == site.url("/from-a", host="b.test")
        assert [hop.url for hop in second.hops] == [site.url("/to-b", host="c.test")]

    visit(answers, steps, delay=5.0, robots=False)


def test_a_redirect_out_of_the_scope_is_not_followed() -> None:
    async def steps(site: Site, polite: Polite) -> None:
        polite.scope = lambda url: "b.test" not in url
        response = await polite(Link(site.url("/", host="a.test")))
        assert (response.status, response.failure) == (301, None)

    site = visit(lambda request: redirect(f"http://b.test:{request.host.rpartition(':')[2]}/x"), steps, robots=False)
    assert site.paths("b.test") == []


def test_the_next_request_does_not_wait_for_a_slow_answer() -> None:
    async def run() -> list[int]:
        together = asyncio.Barrier(5)

        async def answers(_: Request) -> Reply:
            await together.wait()  # nobody is answered before all have asked
            return Reply(b"x")

        async with Site(answers) as site, Http(replace(SETTINGS, total_timeout=20.0)) as http:
            polite = Polite(http, delay=DELAY, robots=False)
            return [got.status for got in await asyncio.gather(*(polite(Link(site.url(f"/{n}"))) for n in range(5)))]

    assert asyncio.run(run()) == [200] * 5


def test_a_crawl_delay_holds_from_the_robots_txt_on() -> None:
    slow = Reply(b"User-agent: *\nCrawl-delay: 0.1", type="text/plain")

    async def steps(site: Site, polite: Polite) -> None:
        name = f"a.test:{site.port}"
        assert polite.delay_of(name) == DELAY
        await asyncio.gather(*(polite(Link(site.url(f"/{n}", host="a.test"))) for n in range(3)))
        assert polite.delay_of(name) == 0.1
        assert polite.delay_of("b.test") == DELAY

    site = visit(lambda request: slow if request.path == "/robots.txt" else Reply(b"x"), steps, delay=DELAY)
    assert len(site.log) == 4
    assert min(site.gaps()) >= 0.1 - 0.01


def test_the_sitemaps_of_a_site_are_known_once_it_was_asked() -> None:
    async def steps(site: Site, polite: Polite) -> None:
        origin = site.url("", host="a.test")
        assert polite.sitemaps_of(origin) == ()
        await polite(Link(f"{origin}/"))
        assert polite.sitemaps_of(origin) == ("http://a.test/map.xml",)

    visit(routes({"/robots.txt": ROBOTS}), steps)


def test_without_robots_the_pace_is_kept_all_the_same() -> None:
    async def steps(site: Site, polite: Polite) -> None:
        await asyncio.gather(*(polite(Link(site.url(f"/{n}"))) for n in range(4)))
        assert polite.delay_of("127.0.0.1") == DELAY
        assert polite.sitemaps_of(site.url("")) == ()

    site = visit(lambda _: Reply(b"x"), steps, delay=DELAY, robots=False)
    assert sorted(site.paths()) == ["/0", "/1", "/2", "/3"]
    assert min(site.gaps()) >= DELAY - 0.01


def test_what_failed_is_not_tried_again() -> None:
    _, site = fetched(routes({"/": Reply(status=503)}))
    assert site.paths() == ["/robots.txt", "/"]


def test_the_name_in_robots_txt_is_ours_without_version_and_contact() -> None:
    async def run() -> Failure | None:
        owl = Http(replace(SETTINGS, agent="Owl/2", contact="a@b.test"))
        async with Site(routes({"/robots.txt": Reply(b"User-agent: owl\nDisallow: /")})) as site, owl as http:
            return (await Polite(http, delay=0.0)(Link(site.url("/")))).failure

    assert asyncio.run(run()) is Failure.ROBOTS


class Shared:
    """Turns at hosts that others ask as well: ours are a few, and further ones can be had."""

    def __init__(self, ours: set[str], free: set[str]) -> None:
        self.ours, self.free = ours, free
        self.claimed: list[str] = []

    def may_start(self, host: str) -> bool:
        return host in self.ours

    async def claim(self, host: str) -> bool:
        self.claimed.append(host)
        self.ours |= {host} & self.free
        return host in self.free


@pytest.mark.parametrize("robots", [True, False])
def test_what_others_may_ask_by_now_is_not_asked_and_nothing_is_held_against_it(robots: bool) -> None:
    async def steps(site: Site, polite: Polite) -> None:
        link = Link(site.url("/", host="a.test"))
        turns = Shared({host(link.url)}, set())
        polite.share(turns)
        assert (await polite(link)).failure is None
        turns.ours.clear()
        assert (await polite(link)).failure is Failure.TURN
        turns.ours.add(host(link.url))
        assert (await polite(link)).failure is None

    site = visit(lambda _: Reply(b"x"), steps, robots=robots)
    assert site.paths() == ["/robots.txt"] * robots + ["/", "/"]


@pytest.mark.parametrize(("free", "failure"), [(True, None), (False, Failure.ROBOTS_UNREACHABLE)])
def test_a_robots_txt_on_another_host_is_asked_for_when_that_one_is_ours(free: bool, failure: Failure | None) -> None:
    def answers(request: Request) -> Reply:
        if request.path == "/robots.txt" and request.host.startswith("a.test"):
            return redirect(f"http://b.test:{request.host.rpartition(':')[2]}/robots.txt")
        return Reply(b"x")

    async def steps(site: Site, polite: Polite) -> None:
        ours, other = (host(site.url("/", host=name)) for name in ("a.test", "b.test"))
        turns = Shared({ours}, {other} if free else set())
        polite.share(turns)
        assert (await polite(Link(site.url("/", host="a.test")))).failure is failure
        assert turns.claimed == [other]

    visit(answers, steps)


def test_a_host_rests_after_its_robots_txt_also_when_that_forbids_the_page() -> None:
    async def steps(site: Site, polite: Polite) -> None:
        response = await polite(Link(site.url("/private", host="a.test")))
        assert response.wait is not None
        assert 0 < response.wait <= 30.0

    visit(routes({"/robots.txt": ROBOTS}), steps, delay=30.0)
