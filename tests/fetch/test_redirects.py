"""Redirects are followed to their end, and not for ever."""

from __future__ import annotations

import asyncio

import pytest

from topicrawl.fetch.redirects import MAX_REDIRECTS, followed
from topicrawl.records import Failure, Hop, Response


def end(web: dict[str, Response], url: str = "http://a.test/") -> Response:
    async def ask(asked: str) -> Response:
        return web.get(asked, Response(asked, asked, 200, body=b"page", seconds=1.0))

    return asyncio.run(followed(url, ask))


def to(location: str, status: int = 301) -> Response:
    return Response("", "", status, {"location": location}, seconds=0.5)


def test_a_page_that_does_not_redirect_comes_as_it_is() -> None:
    response = end({})
    assert (response.url, response.final_url, response.hops) == ("http://a.test/", "http://a.test/", ())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_each_hop_is_noted_with_its_status(status: int) -> None:
    web = {"http://a.test/": to("https://b.test/x", status), "https://b.test/x": to("../y?z#part", 302)}
    response = end(web)
    assert response.body == b"page"
    assert (response.url, response.final_url) == ("http://a.test/", "https://b.test/y?z")
    assert response.hops == (Hop("http://a.test/", status), Hop("https://b.test/x", 302))
    assert response.seconds == 2.0


@pytest.mark.parametrize("location", ["", "mailto:a@b.test", "http://", "javascript:1", "http://[::1", "ftp://a.test/"])
def test_a_redirect_out_of_the_web_is_a_bad_redirect(location: str) -> None:
    response = end({"http://a.test/": to(location)})
    assert (response.failure, response.status) == (Failure.BAD_REDIRECT, 301)
    assert response.hops == (Hop("http://a.test/", 301),)


@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_circle_of_any_length_ends_where_it_closes(length: int) -> None:
    web = {f"http://a.test/{n}": to(f"/{(n + 1) % length}") for n in range(length)}
    response = end(web, "http://a.test/0")
    assert response.failure is Failure.REDIRECTS
    assert len(response.hops) == length


@pytest.mark.parametrize(("hops", "failure"), [(MAX_REDIRECTS, None), (MAX_REDIRECTS + 1, Failure.REDIRECTS)])
def test_ten_redirects_are_followed_and_no_more(hops: int, failure: Failure | None) -> None:
    web = {f"http://a.test/{n}": to(f"/{n + 1}") for n in range(hops)}
    assert end(web, "http://a.test/0").failure == failure


def test_a_failure_on_the_way_keeps_the_way() -> None:
    gone = Response("http://b.test/", "http://b.test/", 404, failure=Failure.NOT_FOUND)
    response = end({"http://a.test/": to("http://b.test/"), "http://b.test/": gone})
    assert (response.failure, response.url, response.final_url) == (
        Failure.NOT_FOUND,
        "http://a.test/",
        "http://b.test/",
    )
    assert len(response.hops) == 1
