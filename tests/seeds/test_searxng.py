"""The JSON of a SearXNG server, real and broken, over a real connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest
from tests.seeds.searx import ANSWERS, ENGINES, PLACE, searx
from tests.site.server import Answer as Raw
from tests.site.server import Answers, Reply, Request, Site

from topicrawl.fetch.api import Api
from topicrawl.fetch.guard import networks
from topicrawl.fetch.settings import HttpSettings
from topicrawl.seeds.asking import answers
from topicrawl.seeds.provider import Answer
from topicrawl.seeds.searxng import Searxng

SETTINGS = HttpSettings(allow=networks(["127.0.0.1"]), total_timeout=0.3)


def asked(site: Answers, engines: Sequence[str] = ENGINES, count: int = 20) -> dict[str, Answer]:
    async def run() -> list[Answer]:
        async with Site(site) as server:
            each = [[engine] for engine in engines] or [[]]
            providers = [Searxng(Api(SETTINGS), server.url(), names) for names in each]
            return await answers(providers, "dengue fever", count, 0.4)

    return {answer.engine: answer for answer in asyncio.run(run())}


def well(request: Request) -> Raw:
    return Reply(searx(request.path) or b"", type="application/json")


def names(answer: Answer) -> list[str]:
    return [hit.url.removeprefix("https://").partition(".")[0] for hit in answer.hits]


def test_each_engine_keeps_its_own_order_over_all_its_pages() -> None:
    found = asked(well)
    assert {engine: tuple(names(answer)) for engine, answer in found.items()} == ANSWERS["dengue fever"]
    assert [hit.rank for hit in found["google"].hits] == [1, 2, 3, 4]
    assert found["google"].hits[0].snippet == "What who says of dengue & fever."


def test_no_more_is_kept_than_was_asked_for() -> None:
    assert names(asked(well, ["google"], count=3)["google"]) == ["who", "cdc", "news"]


def test_without_names_results_are_shared_out_to_those_who_found_them() -> None:
    found = asked(well, [])
    assert {engine: set(names(answer)) for engine, answer in found.items()} == {
        engine: set(pages) for engine, pages in ANSWERS["dengue fever"].items()
    }


def test_an_engine_that_the_server_could_not_reach_is_named_with_the_reason() -> None:
    def site(request: Request) -> Raw:
        return Reply(searx(request.path, {"yahoo": "access denied"}) or b"")

    for engines in (ENGINES, ()):
        found = asked(site, engines)
        assert found["yahoo"] == Answer("yahoo", (), "access denied")
        assert not found["google"].trouble


def test_an_engine_that_the_server_does_not_know_has_no_vote() -> None:
    # Such a server answers with what its usual engines find.
    found = asked(well, ["gogle"])["gogle"]
    assert (found.hits, found.trouble) == ((), "the server has no engine of this name")


async def _slow(request: Request) -> Raw:
    await asyncio.Event().wait()
    return None


@pytest.mark.parametrize(
    ("answer", "trouble"),
    [
        (Reply(b"<html>Please log in</html>"), "no JSON, but text/html"),
        (Reply(b"\xff\xfe{"), "no JSON"),
        (Reply(b"[" * 100_000), "no JSON"),
        (Reply(b"[]", type="application/json"), "not SearXNG's"),
        (Reply(b'{"results": {"url": 1}}', type="application/json"), "not SearXNG's"),
        (Reply(status=403), "search.formats"),
        (Reply(status=429), "rate_limited"),
        (Reply(status=500), "server_error"),
        (Reply(status=302, headers={"Location": "https://elsewhere.example/"}), "https://elsewhere.example/"),
        (Reply(b"x" * 5_000_000), "too_large"),
        (b"nonsense\r\n\r\n", "bad_response"),
        (None, "connection"),
    ],
    ids=["html", "bytes", "nested", "list", "table", "403", "429", "500", "moved", "huge", "no http", "hung up"],
)
def test_one_engine_that_answers_garbage_is_named_and_the_others_answer(answer: Raw, trouble: str) -> None:
    found = asked(lambda request: answer if "engines=yahoo" in request.path else well(request))
    assert trouble in found["yahoo"].trouble
    assert not found["yahoo"].hits
    assert names(found["msn"]) == ["who", "blog", "cdc"]


def test_one_engine_that_is_late_is_named_and_the_others_answer() -> None:
    async def site(request: Request) -> Raw:
        return await _slow(request) if "engines=msn" in request.path else well(request)

    found = asked(site)
    assert "timeout" in found["msn"].trouble
    assert names(found["google"]) == ["who", "cdc", "news", "clinic"]


@pytest.mark.parametrize(
    "row",
    [None, 1, "x", [], {}, {"url": None}, {"url": "javascript:alert(1)"}, {"url": "x" * 9000}, {"url": {}}],
    ids=range(9),
)
def test_what_is_not_a_result_is_passed_over(row: object) -> None:
    engine = {"engines": ["google", 7, None]}
    rows = [{**row, **engine} if isinstance(row, dict) else row, {"url": PLACE.format("who"), **engine}]
    body = json.dumps({"results": rows, "unresponsive_engines": "?"}).encode()
    assert names(asked(lambda _: Reply(body), ["google"])["google"]) == ["who"]


def test_the_guard_stands_before_a_server_in_a_private_network() -> None:
    async def run() -> Sequence[Answer]:
        return await Searxng(Api(HttpSettings()), "http://127.0.0.1:1/", ["google"]).search("dengue", 5)

    (answer,) = asyncio.run(run())
    assert "address_refused" in answer.trouble
    assert "--allow-net" in answer.trouble
