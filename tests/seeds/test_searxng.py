"""Tests of the SearXNG client with valid and invalid JSON over a real connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest
from tests.helpers.searxng_server import ANSWERS, ENGINES, PLACE, searx
from tests.helpers.site.server import Answer as Raw
from tests.helpers.site.server import AnswerFunction, Reply, Request, Site

from topicrawl.fetch.api_client import ApiClient
from topicrawl.fetch.guard import parse_networks
from topicrawl.fetch.http_settings import HttpSettings
from topicrawl.seeds.engine_queries import collect_answers
from topicrawl.seeds.provider import EngineAnswer
from topicrawl.seeds.searxng import SearxngProvider

SETTINGS = HttpSettings(allowed_networks=parse_networks(["127.0.0.1"]), total_timeout=0.3)


def run_search(site: AnswerFunction, engines: Sequence[str] = ENGINES, count: int = 20) -> dict[str, EngineAnswer]:
    async def run() -> list[EngineAnswer]:
        async with Site(site) as server:
            each = [[engine] for engine in engines] or [[]]
            providers = [SearxngProvider(ApiClient(SETTINGS), server.make_url(), names) for names in each]
            return await collect_answers(providers, "dengue fever", count, 0.4)

    return {answer.engine: answer for answer in asyncio.run(run())}


def valid_server(request: Request) -> Raw:
    return Reply(searx(request.path) or b"", type="application/json")


def names(answer: EngineAnswer) -> list[str]:
    return [hit.url.removeprefix("https://").partition(".")[0] for hit in answer.hits]


def test_each_engine_keeps_its_order_over_all_pages() -> None:
    found = run_search(valid_server)
    assert {engine: tuple(names(answer)) for engine, answer in found.items()} == ANSWERS["dengue fever"]
    assert [hit.rank for hit in found["google"].hits] == [1, 2, 3, 4]
    assert found["google"].hits[0].snippet == "What who says of dengue & fever."


def test_number_of_results_is_limited() -> None:
    assert names(run_search(valid_server, ["google"], count=3)["google"]) == ["who", "cdc", "news"]


def test_default_engines_share_one_request() -> None:
    found = run_search(valid_server, [])
    assert {engine: set(names(answer)) for engine, answer in found.items()} == {
        engine: set(pages) for engine, pages in ANSWERS["dengue fever"].items()
    }


def test_unresponsive_engine_is_reported() -> None:
    def site(request: Request) -> Raw:
        return Reply(searx(request.path, {"yahoo": "access denied"}) or b"")

    for engines in (ENGINES, ()):
        found = run_search(site, engines)
        assert found["yahoo"] == EngineAnswer("yahoo", (), "access denied")
        assert not found["google"].trouble


def test_unknown_engine_has_no_vote() -> None:
    # Such a server answers with the results of its default engines.
    found = run_search(valid_server, ["gogle"])["gogle"]
    assert (found.hits, found.trouble) == ((), "the server has no engine of this name")


async def _slow(request: Request) -> Raw:
    await asyncio.Event().wait()
    return None


@pytest.mark.parametrize(
    ("answer", "trouble"),
    [
        (Reply(b"<html>Please log in</html>"), "not JSON, but text/html"),
        (Reply(b"\xff\xfe{"), "not JSON"),
        (Reply(b"[" * 100_000), "not JSON"),
        (Reply(b"[]", type="application/json"), "not a SearXNG response"),
        (Reply(b'{"results": {"url": 1}}', type="application/json"), "not a SearXNG response"),
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
def test_invalid_response_does_not_affect_other_providers(answer: Raw, trouble: str) -> None:
    found = run_search(lambda request: answer if "engines=yahoo" in request.path else valid_server(request))
    assert trouble in found["yahoo"].trouble
    assert not found["yahoo"].hits
    assert names(found["msn"]) == ["who", "blog", "cdc"]


def test_timeout_does_not_affect_other_providers() -> None:
    async def site(request: Request) -> Raw:
        return await _slow(request) if "engines=msn" in request.path else valid_server(request)

    found = run_search(site)
    assert "timeout" in found["msn"].trouble
    assert names(found["google"]) == ["who", "cdc", "news", "clinic"]


@pytest.mark.parametrize(
    "row",
    [None, 1, "x", [], {}, {"url": None}, {"url": "javascript:alert(1)"}, {"url": "x" * 9000}, {"url": {}}],
    ids=range(9),
)
def test_invalid_results_are_skipped(row: object) -> None:
    engine = {"engines": ["google", 7, None]}
    rows = [{**row, **engine} if isinstance(row, dict) else row, {"url": PLACE.format("who"), **engine}]
    body = json.dumps({"results": rows, "unresponsive_engines": "?"}).encode()
    assert names(run_search(lambda _: Reply(body), ["google"])["google"]) == ["who"]


def test_server_in_a_private_network_is_refused() -> None:
    async def run() -> Sequence[EngineAnswer]:
        return await SearxngProvider(ApiClient(HttpSettings()), "http://127.0.0.1:1/", ["google"]).search("dengue", 5)

    (answer,) = asyncio.run(run())
    assert "address_refused" in answer.trouble
    assert "--allow-net" in answer.trouble
