"""Tests of the robots.txt cache: RFC 9309 decisions for all responses, caching and retries."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from topicrawl.fetch.rate_limit import MAX_CRAWL_DELAY
from topicrawl.fetch.robots import RobotsCache, RobotsDecision
from topicrawl.models import Failure, Response

DAY = 86_400.0
FORBIDDING = b"User-agent: *\nDisallow: /private\nCrawl-delay: 5\nSitemap: http://a.test/s.xml"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Web:
    """Fake web that records the requested URLs."""

    def __init__(self, answers: Callable[[str], Response]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def __call__(self, url: str) -> Response:
        self.asked.append(url)
        await asyncio.sleep(0)
        return self.answers(url)


def answer(
    status: int = 0, body: bytes = b"", failure: Failure | None = None, **more: float
) -> Callable[[str], Response]:
    return lambda url: Response(url, url, status, body=body, failure=failure, detail="because", wait=more.get("wait"))


def to(location: str, status: int = 301) -> Response:
    return Response("", "", status, {"location": location})


def check(answers: Callable[[str], Response], path: str = "/private/x") -> RobotsDecision:
    return asyncio.run(RobotsCache(Web(answers), agent="topicrawl", clock=Clock()).check_url(f"http://a.test{path}"))


ALLOW, RULES, LATER = "allow", "rules", "later"

MATRIX: dict[str, tuple[Callable[[str], Response], str]] = {
    "200": (answer(200, FORBIDDING), RULES),
    "206": (answer(206, FORBIDDING), RULES),
    "200 with a byte order mark": (answer(200, b"\xef\xbb\xbf" + FORBIDDING), RULES),
    "200 in UTF-16, little-endian": (answer(200, b"\xff\xfe" + FORBIDDING.decode().encode("utf-16-le")), RULES),
    "200 in UTF-16, big-endian": (answer(200, b"\xfe\xff" + FORBIDDING.decode().encode("utf-16-be")), RULES),
    "200 in UTF-16, cut in a character": (
        answer(200, b"\xff\xfe" + FORBIDDING.decode().encode("utf-16-le") + b"\n\0#"),
        RULES,
    ),
    "200 in UTF-32": (answer(200, FORBIDDING.decode().encode("utf-32")), RULES),
    "200 in latin-1": (answer(200, b"# caf\xe9\n" + FORBIDDING), RULES),
    "200 without a body": (answer(200, b"", Failure.EMPTY), ALLOW),
    "204": (answer(204, b"", Failure.EMPTY), ALLOW),
    "200 with a web page": (answer(200, b"<html><body>Not found</body></html>"), ALLOW),
    "200 torn": (answer(200, b"", Failure.BAD_RESPONSE), LATER),
    "300": (answer(300, b"", Failure.BAD_REDIRECT), ALLOW),
    "304": (answer(304, b"", Failure.EMPTY), ALLOW),
    "400": (answer(400, b"", Failure.CLIENT_ERROR), ALLOW),
    "401": (answer(401, b"", Failure.FORBIDDEN), ALLOW),
    "403": (answer(403, b"", Failure.FORBIDDEN), ALLOW),
    "404": (answer(404, b"", Failure.NOT_FOUND), ALLOW),
    "410": (answer(410, b"", Failure.NOT_FOUND), ALLOW),
    "451": (answer(451, b"", Failure.FORBIDDEN), ALLOW),
    "429": (answer(429, b"", Failure.RATE_LIMITED), LATER),
    "500": (answer(500, b"", Failure.SERVER_ERROR), LATER),
    "503": (answer(503, b"", Failure.SERVER_ERROR), LATER),
    "599": (answer(599, b"", Failure.SERVER_ERROR), LATER),
    "timeout before the answer": (answer(0, b"", Failure.TIMEOUT), LATER),
    "timeout in the body": (answer(200, b"", Failure.TIMEOUT), LATER),
    "connection refused": (answer(0, b"", Failure.CONNECTION), LATER),
    "not HTTP": (answer(0, b"", Failure.BAD_RESPONSE), LATER),
    "a redirect without an address": (lambda url: Response(url, url, 301), ALLOW),
    "a redirect out of the web": (lambda _: to("mailto:x@a.test"), ALLOW),
    "a circle": (lambda _: to("/robots.txt"), ALLOW),
}


@pytest.mark.parametrize("name", MATRIX)
def test_the_response_for_robots_txt_decides(name: str) -> None:
    answers, expected = MATRIX[name]
    verdict, public = check(answers), check(answers, "/public")
    if expected == ALLOW:
        assert (verdict.is_allowed, verdict.failure, verdict.wait) == (True, None, None)
    elif expected == RULES:
        assert (verdict.is_allowed, verdict.failure) == (False, Failure.ROBOTS)
        assert (public.is_allowed, public.delay, public.sitemaps) == (True, 5.0, ("http://a.test/s.xml",))
    else:
        assert (verdict.is_allowed, verdict.failure) == (False, Failure.ROBOTS_UNREACHABLE)
        assert verdict.wait == 5.0
        assert not public.is_allowed
        assert "because" in verdict.detail


@pytest.mark.parametrize("failure", [Failure.DNS, Failure.TLS, Failure.ADDRESS])
def test_failures_of_the_host_itself_are_reported_unchanged(failure: Failure) -> None:
    verdict = check(answer(0, b"", failure))
    assert (verdict.is_allowed, verdict.failure) == (False, failure)


@pytest.mark.parametrize(("hops", "allowed"), [(1, False), (5, False), (6, True)])
def test_five_redirects_are_followed_and_the_rules_apply_to_the_first_host(hops: int, allowed: bool) -> None:
    def answers(url: str) -> Response:
        number = int(url.partition("?")[2] or 0)
        return to(f"http://{number}.test/robots?{number + 1}") if number < hops else answer(200, FORBIDDING)(url)

    assert check(answers).is_allowed is allowed


@pytest.mark.parametrize("failure", [Failure.ADDRESS, Failure.DNS, Failure.CONNECTION, Failure.TIMEOUT])
def test_a_redirect_to_an_unreachable_host_makes_robots_txt_unreachable(failure: Failure) -> None:
    def answers(url: str) -> Response:
        return to("http://10.0.0.1/robots.txt") if "a.test" in url else answer(0, b"", failure)(url)

    verdict = check(answers)
    assert (verdict.is_allowed, verdict.failure) == (False, Failure.ROBOTS_UNREACHABLE)


def test_a_truncated_file_applies_as_far_as_it_was_read() -> None:
    body = FORBIDDING + b"\n" + b"Disallow: /filler\n" * 40_000
    assert not check(answer(200, body[:512_000])).is_allowed


@pytest.mark.parametrize(
    ("given", "delay"),
    [("0.5", 0.5), ("60", 60.0), ("3600", MAX_CRAWL_DELAY), ("-1", 0.0), ("nan", 0.0), ("x", 0.0)],
)
def test_a_crawl_delay_is_at_most_one_minute(given: str, delay: float) -> None:
    assert check(answer(200, f"User-agent: *\nCrawl-delay: {given}".encode()), "/x").delay == delay


def run_steps(steps: Callable[[RobotsCache, Web, Clock], Awaitable[None]], answers: Callable[[str], Response]) -> Web:
    web, clock = Web(answers), Clock()
    asyncio.run(_run(steps, web, clock))
    return web


async def _run(steps: Callable[[RobotsCache, Web, Clock], Awaitable[None]], web: Web, clock: Clock) -> None:
    await steps(RobotsCache(web, agent="topicrawl", clock=clock), web, clock)


def test_a_redirect_loop_is_followed_once() -> None:
    async def steps(robots: RobotsCache, web: Web, clock: Clock) -> None:
        await robots.check_url("http://a.test/x")

    assert len(run_steps(steps, lambda _: to("/robots.txt")).asked) == 1


def test_rules_are_cached_for_a_day_per_origin() -> None:
    async def steps(robots: RobotsCache, web: Web, clock: Clock) -> None:
        for now in (0.0, DAY - 1):
            clock.now = now
            for site in ("http://a.test", "https://a.test", "http://a.test:81", "http://b.test"):
                await robots.check_url(f"{site}/x")
        assert len(web.asked) == 4
        clock.now = DAY + 1
        await robots.check_url("http://a.test/x")
        assert len(web.asked) == 5

    run_steps(steps, answer(200, FORBIDDING))


def test_concurrent_checks_share_one_request() -> None:
    async def steps(robots: RobotsCache, web: Web, clock: Clock) -> None:
        verdicts = await asyncio.gather(*(robots.check_url(f"http://a.test/private/{n}") for n in range(50)))
        assert {verdict.failure for verdict in verdicts} == {Failure.ROBOTS}

    assert len(run_steps(steps, answer(200, FORBIDDING)).asked) == 1


def test_a_waiting_check_repeats_a_cancelled_request() -> None:
    async def steps(robots: RobotsCache, web: Web, clock: Clock) -> None:
        first = asyncio.create_task(robots.check_url("http://a.test/x"))
        second = asyncio.create_task(robots.check_url("http://a.test/y"))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).is_allowed

    assert len(run_steps(steps, answer(200, FORBIDDING)).asked) == 2


def test_retries_of_an_unreachable_file_back_off_up_to_an_hour() -> None:
    async def steps(robots: RobotsCache, web: Web, clock: Clock) -> None:
        waits = []
        for _ in range(9):
            verdict = await robots.check_url("http://a.test/x")
            assert verdict.wait is not None
            waits.append(verdict.wait)
            again = await robots.check_url("http://a.test/x")  # at once: from the cache
            assert again.failure is Failure.ROBOTS_UNREACHABLE
            clock.now += verdict.wait + 0.01
        assert waits == pytest.approx([5, 10, 20, 40, 80, 160, 320, 640, 1280])
        assert len(web.asked) == 9

    run_steps(steps, answer(503, b"", Failure.SERVER_ERROR))


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_used(status: int) -> None:
    assert check(answer(status, b"", Failure.SERVER_ERROR, wait=7.0)).wait == 7.0


def test_a_host_that_recovers_is_allowed_again() -> None:
    async def steps(robots: RobotsCache, web: Web, clock: Clock) -> None:
        assert not (await robots.check_url("http://a.test/x")).is_allowed
        web.answers = answer(404, b"", Failure.NOT_FOUND)
        clock.now += 61
        assert (await robots.check_url("http://a.test/x")).is_allowed

    run_steps(steps, answer(503, b"", Failure.SERVER_ERROR))


def test_an_expired_copy_applies_while_the_site_is_unreachable() -> None:
    async def steps(robots: RobotsCache, web: Web, clock: Clock) -> None:
        await robots.check_url("http://a.test/x")
        web.answers = answer(0, b"", Failure.TIMEOUT)
        clock.now = DAY + 1
        assert (await robots.check_url("http://a.test/x")).is_allowed
        assert (await robots.check_url("http://a.test/private")).failure is Failure.ROBOTS
        assert len(web.asked) == 2
        clock.now += 61
        assert (await robots.check_url("http://a.test/x")).is_allowed
        assert len(web.asked) == 3

    run_steps(steps, answer(200, FORBIDDING))


def test_memory_is_bounded_by_origins_and_by_the_size_of_their_rules() -> None:
    async def count(body: bytes) -> tuple[int, int]:
        web = Web(answer(200, body))
        robots = RobotsCache(web, agent="topicrawl", clock=Clock(), max_origins=100, max_characters=20_000)
        for number in range(300):
            await robots.check_url(f"http://{number}.test/")
        await robots.check_url("http://299.test/")  # the latest origin is still in the cache
        return len(robots), len(web.asked)

    assert asyncio.run(count(b"User-agent: *\nDisallow: /x")) == (100, 300)
    assert asyncio.run(count(b"User-agent: *\n" + b"Disallow: /x\n" * 500)) == (3, 300)


def test_cached_values_are_returned_without_a_request() -> None:
    async def steps(robots: RobotsCache, web: Web, clock: Clock) -> None:
        assert robots.get_cached("http://a.test") is None
        await robots.check_url("http://a.test/x")
        known = robots.get_cached("http://a.test")
        assert known is not None
        assert (known.delay, known.sitemaps) == (5.0, ("http://a.test/s.xml",))

    run_steps(steps, answer(200, FORBIDDING))
