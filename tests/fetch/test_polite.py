"""Tests of the polite fetcher, checked by the requests that the test site receives."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from tests.helpers.site.server import AnswerFunction, Reply, Request, Site, answer_by_path, make_redirect

from topicrawl.fetch.guard import parse_networks
from topicrawl.fetch.http import HttpClient, HttpSettings
from topicrawl.fetch.polite import PoliteFetcher
from topicrawl.fetch.redirects import MAX_REDIRECTS
from topicrawl.models import Failure, Link, Response
from topicrawl.urls import get_host

HOSTS = {name: "127.0.0.1" for name in ("a.test", "b.test", "c.test")}
HOSTS["public.test"] = "93.184.215.14"
SETTINGS = HttpSettings(
    allowed_networks=parse_networks(["127.0.0.1"]), host_overrides=HOSTS, total_timeout=1.0, agent="topicrawl/9"
)
ROBOTS = Reply(b"User-agent: topicrawl\nDisallow: /private\nSitemap: http://a.test/map.xml", type="text/plain")
DELAY = 0.04


def visit(
    answers: AnswerFunction,
    steps: Callable[[Site, PoliteFetcher], Awaitable[None]],
    *,
    delay: float = 0.0,
    robots: bool = True,
) -> Site:
    async def run() -> Site:
        async with Site(answers) as site, HttpClient(SETTINGS) as http:
            await steps(site, PoliteFetcher(http, delay=delay, robots=robots))
        return site

    return asyncio.run(run())


def fetch_one(answers: AnswerFunction, path: str = "/", *, robots: bool = True) -> tuple[Response, Site]:
    found: list[Response] = []

    async def steps(site: Site, polite: PoliteFetcher) -> None:
        found.append(await polite(Link(site.make_url(path, host="a.test"))))

    site = visit(answers, steps, robots=robots)
    return found[0], site


def test_robots_txt_is_fetched_before_the_page() -> None:
    response, site = fetch_one(answer_by_path({"/robots.txt": ROBOTS, "/": Reply(b"page")}))
    assert response.body == b"page"
    assert site.list_paths() == ["/robots.txt", "/"]


def test_a_forbidden_page_is_never_fetched() -> None:
    response, site = fetch_one(answer_by_path({"/robots.txt": ROBOTS}), "/private/x")
    assert (response.failure, response.status, response.wait) == (Failure.ROBOTS, 0, None)
    assert site.list_paths() == ["/robots.txt"]


def test_a_forbidden_redirect_target_is_never_fetched() -> None:
    def answers(request: Request) -> Reply:
        if request.path == "/robots.txt":
            return ROBOTS if request.host.startswith("b.test") else Reply(status=404)
        return make_redirect(f"http://b.test:{request.host.rpartition(':')[2]}/private")

    response, site = fetch_one(answers)
    assert response.failure is Failure.ROBOTS
    assert response.final_url == site.make_url("/private", host="b.test")
    assert site.list_paths("b.test") == ["/robots.txt"]


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
def test_no_page_is_fetched_while_robots_txt_is_unreachable(name: str) -> None:
    response, site = fetch_one(UNREACHABLE[name])  # type: ignore[arg-type]
    assert response.failure is Failure.ROBOTS_UNREACHABLE
    assert response.wait == pytest.approx(33.0 if "503" in name else 5.0, abs=1.0)
    assert site.list_paths() == ["/robots.txt"]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_a_missing_robots_txt_allows_everything(status: int) -> None:
    def answers(request: Request) -> Reply:
        return Reply(status=status) if request.path == "/robots.txt" else Reply(b"page")

    assert fetch_one(answers)[0].body == b"page"


def test_a_large_robots_txt_applies_as_far_as_it_is_read() -> None:
    large = Reply(ROBOTS.body + b"\nUser-agent: x\n" + b"Disallow: /filler\n" * 60_000, type="text/plain")
    response, _ = fetch_one(answer_by_path({"/robots.txt": large}), "/private")
    assert response.failure is Failure.ROBOTS


def test_a_redirected_robots_txt_applies() -> None:
    def answers(request: Request) -> Reply:
        if request.path == "/robots.txt" and not request.host.startswith("c.test"):
            name = "b" if request.host.startswith("a.test") else "c"
            return make_redirect(f"http://{name}.test:{request.host.rpartition(':')[2]}/robots.txt", 302)
        return ROBOTS

    response, site = fetch_one(answers, "/private")
    assert response.failure is Failure.ROBOTS
    assert [entry.host.partition(":")[0] for entry in site.log] == ["a.test", "b.test", "c.test"]


@pytest.mark.parametrize("robots", [True, False])
@pytest.mark.parametrize("host", ["127.0.0.2", "2130706434", "[::ffff:127.0.0.2]", "169.254.169.254"])
def test_a_redirect_into_a_private_network_is_refused(host: str, robots: bool) -> None:
    def answers(request: Request) -> Reply:
        port = request.host.rpartition(":")[2]
        return Reply(status=404) if request.path == "/robots.txt" else make_redirect(f"http://{host}:{port}/secret")

    response, site = fetch_one(answers, robots=robots)
    assert response.failure is Failure.ADDRESS
    assert "/secret" not in site.list_paths()


def test_a_robots_txt_that_redirects_into_a_private_network_is_unreachable() -> None:
    response, _ = fetch_one(lambda request: make_redirect("http://127.0.0.2/robots.txt"))
    assert response.failure is Failure.ROBOTS_UNREACHABLE


def test_all_requests_to_a_host_keep_the_delay() -> None:
    def answers(request: Request) -> Reply:
        port = request.host.rpartition(":")[2]
        if request.path.startswith("/to-b"):
            return make_redirect(f"http://b.test:{port}/from-a{request.path[5:]}")
        return Reply(b"page")

    async def steps(site: Site, polite: PoliteFetcher) -> None:
        links = [f"/to-b{n}" for n in range(4)] + [f"/{n}" for n in range(3)]
        pages = [Link(site.make_url(path, host="a.test")) for path in links]
        pages += [Link(site.make_url(f"/{n}", host="b.test")) for n in range(3)]
        responses = await asyncio.gather(*map(polite, pages))
        assert all(response.body == b"page" or response.status == 301 for response in responses)

    site = visit(answers, steps, delay=DELAY)
    assert len(site.list_paths("a.test")) == 8
    assert len(site.list_paths("b.test")) >= 4
    assert site.list_early_requests(DELAY, "a.test") == []
    assert site.list_early_requests(DELAY, "b.test") == []


def test_a_redirect_to_a_busy_host_is_not_followed() -> None:
    def answers(request: Request) -> Reply:
        port = request.host.rpartition(":")[2]
        if request.path == "/to-b":
            return make_redirect(f"http://b.test:{port}/from-a")
        return Reply(b"page")

    async def steps(site: Site, polite: PoliteFetcher) -> None:
        first = await polite(Link(site.make_url("/to-b", host="a.test")))
        assert (first.status, first.body) == (200, b"page"), "b.test was free"
        second = await polite(Link(site.make_url("/to-b", host="c.test")))
        assert (second.status, second.failure) == (301, None)
        assert second.final_url == site.make_url("/from-a", host="b.test")
        assert [hop.url for hop in second.hops] == [site.make_url("/to-b", host="c.test")]

    visit(answers, steps, delay=5.0, robots=False)


def test_a_redirect_out_of_scope_is_not_followed() -> None:
    async def steps(site: Site, polite: PoliteFetcher) -> None:
        polite.is_in_scope = lambda link: "b.test" not in link.url
        response = await polite(Link(site.make_url("/", host="a.test")))
        assert (response.status, response.failure) == (301, None)

    site = visit(
        lambda request: make_redirect(f"http://b.test:{request.host.rpartition(':')[2]}/x"), steps, robots=False
    )
    assert site.list_paths("b.test") == []


def refresh_to(target: str) -> Reply:
    return Reply(f'<html><head><META HTTP-EQUIV="Refresh" CONTENT="1; URL={target}"></head>'.encode())


def test_a_meta_refresh_is_followed_in_the_same_fetch() -> None:
    pages = {"/robots.txt": ROBOTS, "/old/": refresh_to("../new"), "/new": Reply(b"page")}
    response, site = fetch_one(answer_by_path(pages), "/old/")
    assert (response.status, response.body, response.failure) == (200, b"page", None)
    assert response.final_url == site.make_url("/new", host="a.test")
    assert [(hop.url, hop.status, hop.body) for hop in response.hops] == [
        (site.make_url("/old/", host="a.test"), 200, pages["/old/"].body)
    ]
    assert site.list_paths() == ["/robots.txt", "/old/", "/new"]


def test_robots_txt_applies_to_the_target_of_a_meta_refresh() -> None:
    response, site = fetch_one(answer_by_path({"/robots.txt": ROBOTS, "/": refresh_to("/private/x")}))
    assert (response.failure, response.final_url) == (Failure.ROBOTS, site.make_url("/private/x", host="a.test"))
    assert site.list_paths() == ["/robots.txt", "/"]


def test_the_failure_of_the_target_of_a_meta_refresh_is_reported() -> None:
    response, site = fetch_one(answer_by_path({"/": refresh_to("/gone")}))
    assert (response.failure, response.status) == (Failure.NOT_FOUND, 404)
    assert response.final_url == site.make_url("/gone", host="a.test")


def test_a_meta_refresh_into_a_private_network_is_refused() -> None:
    response, _ = fetch_one(answer_by_path({"/": refresh_to("http://127.0.0.2/secret")}), robots=False)
    assert response.failure is Failure.ADDRESS


def test_a_meta_refresh_keeps_the_delay_of_the_host() -> None:
    async def steps(site: Site, polite: PoliteFetcher) -> None:
        response = await polite(Link(site.make_url("/0", host="a.test")))
        assert (response.body, len(response.hops)) == (b"page", 3)

    pages = {f"/{n}": refresh_to(f"/{n + 1}") for n in range(3)} | {"/3": Reply(b"page")}
    site = visit(answer_by_path(pages), steps, delay=DELAY, robots=False)
    assert site.list_paths() == ["/0", "/1", "/2", "/3"]
    assert site.list_early_requests(DELAY) == []


def test_a_meta_refresh_to_a_host_out_of_scope_is_not_followed() -> None:
    async def steps(site: Site, polite: PoliteFetcher) -> None:
        polite.is_in_scope = lambda link: "b.test" not in link.url
        response = await polite(Link(site.make_url("/", host="a.test")))
        assert (response.is_unfollowed_redirect, response.failure, response.body) == (True, None, b"")
        assert response.final_url == site.make_url("/x", host="b.test")

    site = visit(lambda request: refresh_to(f"http://b.test:{request.host.rpartition(':')[2]}/x"), steps, robots=False)
    assert site.list_paths("b.test") == []


def test_the_next_request_does_not_wait_for_a_slow_response() -> None:
    async def run() -> list[int]:
        together = asyncio.Barrier(5)

        async def answers(_: Request) -> Reply:
            await together.wait()  # no response is sent before all requests have arrived
            return Reply(b"x")

        async with Site(answers) as site, HttpClient(replace(SETTINGS, total_timeout=20.0)) as http:
            polite = PoliteFetcher(http, delay=DELAY, robots=False)
            return [
                got.status for got in await asyncio.gather(*(polite(Link(site.make_url(f"/{n}"))) for n in range(5)))
            ]

    assert asyncio.run(run()) == [200] * 5


def test_a_crawl_delay_applies_after_robots_txt() -> None:
    slow = Reply(b"User-agent: *\nCrawl-delay: 0.1", type="text/plain")

    async def steps(site: Site, polite: PoliteFetcher) -> None:
        name = f"a.test:{site.port}"
        assert polite.get_delay(name) == DELAY
        await asyncio.gather(*(polite(Link(site.make_url(f"/{n}", host="a.test"))) for n in range(3)))
        assert polite.get_delay(name) == 0.1
        assert polite.get_delay("b.test") == DELAY

    site = visit(lambda request: slow if request.path == "/robots.txt" else Reply(b"x"), steps, delay=DELAY)
    assert len(site.log) == 4
    assert site.list_early_requests(0.1) == []


def test_sitemaps_are_available_after_robots_txt_was_read() -> None:
    async def steps(site: Site, polite: PoliteFetcher) -> None:
        origin = site.make_url("", host="a.test")
        assert polite.get_sitemaps(origin) == ()
        await polite(Link(f"{origin}/"))
        assert polite.get_sitemaps(origin) == ("http://a.test/map.xml",)

    visit(answer_by_path({"/robots.txt": ROBOTS}), steps)


def test_the_delay_applies_without_robots_txt_too() -> None:
    async def steps(site: Site, polite: PoliteFetcher) -> None:
        await asyncio.gather(*(polite(Link(site.make_url(f"/{n}"))) for n in range(4)))
        assert polite.get_delay("127.0.0.1") == DELAY
        assert polite.get_sitemaps(site.make_url("")) == ()

    site = visit(lambda _: Reply(b"x"), steps, delay=DELAY, robots=False)
    assert sorted(site.list_paths()) == ["/0", "/1", "/2", "/3"]
    assert site.list_early_requests(DELAY) == []


def test_failed_requests_are_not_retried() -> None:
    _, site = fetch_one(answer_by_path({"/": Reply(status=503)}))
    assert site.list_paths() == ["/robots.txt", "/"]


@pytest.mark.parametrize(("agent", "name"), [("Owl/2", "owl"), ("Owl2/2", "owl2"), ("7owls", "7owls/3")])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_robots_txt_matches_the_product_token_only(agent: str, name: str, encoding: str) -> None:
    rules = f"User-agent: *\nAllow: /\n\nUser-agent: {name}\nDisallow: /".encode(encoding)

    async def run() -> Failure | None:
        owl = HttpClient(replace(SETTINGS, agent=agent, contact="a@b.test"))
        async with Site(answer_by_path({"/robots.txt": Reply(rules)})) as site, owl as http:
            return (await PoliteFetcher(http, delay=0.0)(Link(site.make_url("/")))).failure

    assert asyncio.run(run()) is Failure.ROBOTS


class FakeLeases:
    """Host leases of one of several workers: `ours` are held, hosts in `free` can be acquired."""

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
def test_no_request_is_sent_after_the_lease_expired(robots: bool) -> None:
    async def steps(site: Site, polite: PoliteFetcher) -> None:
        link = Link(site.make_url("/", host="a.test"))
        leases = FakeLeases({get_host(link.url)}, set())
        polite.share_host_slots(leases)
        assert (await polite(link)).failure is None
        leases.ours.clear()
        assert (await polite(link)).failure is Failure.HOST_LEASE_EXPIRED
        leases.ours.add(get_host(link.url))
        assert (await polite(link)).failure is None

    site = visit(lambda _: Reply(b"x"), steps, robots=robots)
    assert site.list_paths() == ["/robots.txt"] * robots + ["/", "/"]


@pytest.mark.parametrize(("free", "failure"), [(True, None), (False, Failure.ROBOTS_UNREACHABLE)])
def test_a_robots_txt_on_another_host_needs_a_lease_on_that_host(free: bool, failure: Failure | None) -> None:
    def answers(request: Request) -> Reply:
        if request.path == "/robots.txt" and request.host.startswith("a.test"):
            return make_redirect(f"http://b.test:{request.host.rpartition(':')[2]}/robots.txt")
        return Reply(b"x")

    async def steps(site: Site, polite: PoliteFetcher) -> None:
        ours, other = (get_host(site.make_url("/", host=name)) for name in ("a.test", "b.test"))
        leases = FakeLeases({ours}, {other} if free else set())
        polite.share_host_slots(leases)
        assert (await polite(Link(site.make_url("/", host="a.test")))).failure is failure
        assert leases.claimed == [other]

    visit(answers, steps)


@pytest.mark.parametrize("robots", [True, False])
def test_a_redirect_to_a_port_of_another_service_is_refused(robots: bool) -> None:
    response, site = fetch_one(answer_by_path({"/": make_redirect("http://public.test:6379/")}), robots=robots)
    assert response.failure is Failure.PORT
    assert site.list_paths() == ["/robots.txt"] * robots + ["/"]


def test_the_delay_applies_after_a_robots_txt_that_forbids_the_page() -> None:
    async def steps(site: Site, polite: PoliteFetcher) -> None:
        response = await polite(Link(site.make_url("/private", host="a.test")))
        assert response.wait is not None
        assert 0 < response.wait <= 30.0

    visit(answer_by_path({"/robots.txt": ROBOTS}), steps, delay=30.0)


def answer_with_cookie(request: Request) -> Reply:
    """Send the page only to requests with the cookie; set the cookie and redirect back to the page."""
    if request.path == "/robots.txt":
        return Reply(status=404)
    if "id=7" in request.headers.get("cookie", ""):
        return Reply(b"page")
    if request.path == "/set":
        return Reply(status=302, headers={"Location": "/", "Set-Cookie": "id=7; Path=/; HttpOnly"})
    return make_redirect("/set")


def test_a_site_that_sets_a_cookie_and_redirects_back_is_fetched() -> None:
    response, site = fetch_one(answer_with_cookie)
    assert (response.failure, response.body) == (None, b"page")
    assert (response.url, response.final_url) == (site.make_url("/", host="a.test"),) * 2
    assert site.list_paths() == ["/robots.txt", "/", "/set", "/"]


def test_cookies_end_with_the_redirect_chain() -> None:
    async def steps(site: Site, polite: PoliteFetcher) -> None:
        for _ in range(2):
            await polite(Link(site.make_url("/", host="a.test")))

    site = visit(answer_with_cookie, steps)
    assert site.list_paths() == ["/robots.txt", *["/", "/set", "/"] * 2]


def test_a_new_cookie_for_each_redirect_is_still_a_redirect_loop() -> None:
    def count(request: Request) -> Reply:
        requests.append(request)
        return Reply(status=302, headers={"Location": "/", "Set-Cookie": f"id={len(requests)}"})

    requests: list[Request] = []
    response, site = fetch_one(count, robots=False)
    assert (response.failure, response.detail) == (Failure.REDIRECTS, f"more than {MAX_REDIRECTS} redirects")
    assert len(site.log) == MAX_REDIRECTS + 1


def test_cookies_of_a_host_are_not_sent_to_another_host() -> None:
    def answers(request: Request) -> Reply:
        port = request.host.rpartition(":")[2]
        if request.path == "/robots.txt":
            return Reply(status=404)
        if request.host.startswith("a.test"):
            location = f"http://b.test:{port}/"
            return Reply(status=302, headers={"Location": location, "Set-Cookie": "id=7; Path=/"})
        return Reply(b"page")

    response, site = fetch_one(answers)
    assert response.body == b"page"
    assert not any("cookie" in request.headers for request in site.log)
