"""Tests of following redirects and meta refreshes: hops, loops, limits and failures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from topicrawl.fetch.redirects import MAX_REDIRECTS, follow_redirects
from topicrawl.models import Failure, RedirectHop, Response


def end(
    web: dict[str, Response],
    url: str = "http://a.test/",
    can_follow: Callable[[str, str], bool] = lambda url, target: True,
) -> Response:
    async def ask(asked: str) -> Response:
        return web.get(asked, Response(asked, asked, 200, body=b"page", seconds=1.0))

    return asyncio.run(follow_redirects(url, ask, can_follow))


def to(location: str, status: int = 301) -> Response:
    return Response("", "", status, {"location": location}, seconds=0.5)


def refresh_to(target: str) -> Response:
    html = f'<meta http-equiv="refresh" content="0; url={target}">'.encode()
    return Response("", "", 200, {"content-type": "text/html"}, html, seconds=0.5)


def test_a_response_without_redirects_is_unchanged() -> None:
    response = end({})
    assert (response.url, response.final_url, response.hops) == ("http://a.test/", "http://a.test/", ())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_each_hop_is_recorded_with_its_status(status: int) -> None:
    web = {"http://a.test/": to("https://b.test/x", status), "https://b.test/x": to("../y?z#part", 302)}
    response = end(web)
    assert response.body == b"page"
    assert (response.url, response.final_url) == ("http://a.test/", "https://b.test/y?z")
    assert response.hops == (RedirectHop("http://a.test/", status), RedirectHop("https://b.test/x", 302))
    assert response.seconds == 2.0


@pytest.mark.parametrize("location", ["", "mailto:a@b.test", "http://", "javascript:1", "http://[::1", "ftp://a.test/"])
def test_a_redirect_out_of_the_web_is_a_bad_redirect(location: str) -> None:
    response = end({"http://a.test/": to(location)})
    assert (response.failure, response.status) == (Failure.BAD_REDIRECT, 301)
    assert response.hops == (RedirectHop("http://a.test/", 301),)


@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_redirect_loop_of_any_length_is_a_failure(length: int) -> None:
    web = {f"http://a.test/{n}": to(f"/{(n + 1) % length}") for n in range(length)}
    response = end(web, "http://a.test/0")
    assert response.failure is Failure.REDIRECTS
    assert len(response.hops) == length


@pytest.mark.parametrize(("hops", "failure"), [(MAX_REDIRECTS, None), (MAX_REDIRECTS + 1, Failure.REDIRECTS)])
def test_at_most_ten_redirects_are_followed(hops: int, failure: Failure | None) -> None:
    web = {f"http://a.test/{n}": to(f"/{n + 1}") for n in range(hops)}
    assert end(web, "http://a.test/0").failure == failure


def test_a_failure_keeps_the_hops_before_it() -> None:
    gone = Response("http://b.test/", "http://b.test/", 404, failure=Failure.NOT_FOUND)
    response = end({"http://a.test/": to("http://b.test/"), "http://b.test/": gone})
    assert (response.failure, response.url, response.final_url) == (
        Failure.NOT_FOUND,
        "http://a.test/",
        "http://b.test/",
    )
    assert len(response.hops) == 1


def test_a_page_with_a_meta_refresh_is_a_hop() -> None:
    page = refresh_to("https://b.test/x")
    response = end({"http://a.test/": page, "https://b.test/x": to("/y", 302)})
    assert (response.status, response.body, response.is_unfollowed_redirect) == (200, b"page", False)
    assert (response.url, response.final_url) == ("http://a.test/", "https://b.test/y")
    assert response.hops == (
        RedirectHop("http://a.test/", 200, page.headers, page.body),
        RedirectHop("https://b.test/x", 302),
    )
    assert response.seconds == 2.0


def test_an_empty_page_with_a_refresh_header_is_a_hop() -> None:
    empty = Response(
        "", "", 200, {"refresh": "0; url=/x"}, failure=Failure.EMPTY, detail="status 200 with an empty body"
    )
    response = end({"http://a.test/": empty, "http://a.test/x": Response("", "", 200, body=b"page")})
    assert (response.failure, response.body, response.final_url) == (None, b"page", "http://a.test/x")
    response = end({"http://a.test/": empty}, can_follow=lambda url, target: False)
    assert (response.failure, response.is_unfollowed_redirect) == (None, True)
    response = end({"http://a.test/": replace(empty, headers={})})
    assert (response.failure, response.hops) == (Failure.EMPTY, ())


def test_a_loop_of_meta_refreshes_and_redirects_is_a_failure() -> None:
    response = end(
        {"http://a.test/": refresh_to("/b"), "http://a.test/b": to("/c"), "http://a.test/c": refresh_to("/")}
    )
    assert (response.failure, response.detail, response.body) == (Failure.REDIRECTS, "redirect loop", b"")
    assert [hop.status for hop in response.hops] == [200, 301, 200]


@pytest.mark.parametrize(("hops", "failure"), [(MAX_REDIRECTS, None), (MAX_REDIRECTS + 1, Failure.REDIRECTS)])
def test_meta_refreshes_count_as_redirects(hops: int, failure: Failure | None) -> None:
    web = {f"http://a.test/{n}": refresh_to(f"/{n + 1}") for n in range(hops)}
    assert end(web, "http://a.test/0").failure == failure


@pytest.mark.parametrize("redirect", [to("http://b.test/"), refresh_to("http://b.test/")])
def test_a_redirect_to_a_host_that_is_not_ready_is_returned(redirect: Response) -> None:
    web = {"http://a.test/": to("/x"), "http://a.test/x": redirect}
    asked: list[tuple[str, str]] = []

    def can_follow(url: str, target: str) -> bool:
        asked.append((url, target))
        return "b.test" not in target

    response = end(web, can_follow=can_follow)
    assert (response.is_unfollowed_redirect, response.failure, response.body) == (True, None, b"")
    assert (response.url, response.final_url, len(response.hops)) == ("http://a.test/", "http://b.test/", 2)
    assert asked == [("http://a.test/", "http://a.test/x"), ("http://a.test/x", "http://b.test/")]


def test_a_failure_after_a_meta_refresh_belongs_to_the_target() -> None:
    gone = Response("", "", 404, failure=Failure.NOT_FOUND, detail="status 404")
    response = end({"http://a.test/": refresh_to("/gone"), "http://a.test/gone": gone})
    assert (response.failure, response.status, response.final_url) == (
        Failure.NOT_FOUND,
        404,
        "http://a.test/gone",
    )
    assert [hop.url for hop in response.hops] == ["http://a.test/"]
