"""Tests of the providers other than SearXNG: each returns results or a one-line failure."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from tests.helpers.site.server import Answer as Raw
from tests.helpers.site.server import AnswerFunction, Reply, Request, Site

from topicrawl.errors import SeedError
from topicrawl.fetch.api_client import ApiClient
from topicrawl.fetch.guard import parse_networks
from topicrawl.fetch.http_settings import HttpSettings
from topicrawl.models import Response
from topicrawl.seeds import metasearch
from topicrawl.seeds.brave import BraveProvider
from topicrawl.seeds.common_crawl import CommonCrawlProvider
from topicrawl.seeds.engine_selection import EngineAccess, build_providers
from topicrawl.seeds.metasearch import MetasearchProvider
from topicrawl.seeds.provider import EngineAnswer, HttpGet, SearchProvider
from topicrawl.seeds.recorded_answers import RecordedProvider
from topicrawl.seeds.searxng import SearxngProvider
from topicrawl.urls import canonicalize_url

SETTINGS = HttpSettings(allowed_networks=parse_networks(["127.0.0.1"]), total_timeout=2.0)
KEY = "not-to-be-seen"


def run_search(
    answers: AnswerFunction, make: Callable[[HttpGet, str], SearchProvider], count: int = 5
) -> tuple[EngineAnswer, Site]:
    async def run() -> tuple[EngineAnswer, Site]:
        async with Site(answers) as site:
            (answer,) = await make(ApiClient(SETTINGS), site.make_url()).search("Dengue fever", count)
            return answer, site

    return asyncio.run(run())


def fields(request: Request) -> dict[str, list[str]]:
    return parse_qs(urlsplit(request.path).query)


# Any JSON

LEAVES = some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=8)
KEYS = some.sampled_from(
    ["results", "web", "engines", "engine", "url", "title", "cdx-api", "unresponsive_engines", "x"]
)
JSON = some.recursive(
    LEAVES | some.just("http://a.example/"),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(JSON)
def test_any_json_gives_canonical_hits_or_a_failed_answer(table: object) -> None:
    async def get(url: str, headers: Mapping[str, str]) -> Response:
        return Response(url, url, 200, {}, json.dumps(table).encode())

    makers: list[SearchProvider] = [
        SearxngProvider(get, "http://s.example"),
        SearxngProvider(get, "http://s.example", ["x"]),
        BraveProvider(get, KEY),
        CommonCrawlProvider(get, "a.example"),
    ]
    for provider in makers:
        for answer in asyncio.run(_search(provider)):
            assert "\n" not in answer.trouble
            assert all(canonicalize_url(hit.url) == hit.url for hit in answer.hits)
            assert [hit.rank for hit in answer.hits] == list(range(1, len(answer.hits) + 1))


# Brave


def brave(get: HttpGet, url: str) -> SearchProvider:
    return BraveProvider(get, KEY, f"{url}search")


def test_brave_requests_pages_and_sends_the_key_in_a_header() -> None:
    def site(request: Request) -> Raw:
        start = int(fields(request)["offset"][0]) * 20
        rows = [
            {"url": f"https://{n}.example/", "description": f"<strong>{n}</strong>"} for n in range(start, start + 20)
        ]
        return Reply(json.dumps({"web": {"results": rows}}).encode(), type="application/json")

    answer, server = run_search(site, brave, 30)
    assert [hit.url for hit in answer.hits] == [f"https://{n}.example/" for n in range(30)]
    assert answer.hits[7].snippet == "7"
    assert [request.headers["x-subscription-token"] for request in server.log] == [KEY, KEY]
    assert KEY not in "".join(request.path for request in server.log)


@pytest.mark.parametrize(
    ("reply", "trouble"),
    [
        (Reply(status=401), "forbidden"),
        (Reply(status=302, headers={"Location": "https://evil.example/"}), "redirects to https://evil.example/"),
        (Reply(b"{}"), "no results"),
        (Reply(b'{"web": 3}'), "not a Brave response"),
        (Reply(b"3"), "not a Brave response"),
    ],
)
def test_brave_failures_do_not_contain_the_key(reply: Reply, trouble: str) -> None:
    answer, server = run_search(lambda _: reply, brave)
    assert trouble in answer.trouble
    assert KEY not in repr(answer)
    assert len(server.log) == 1


def test_key_is_not_in_responses_or_reprs() -> None:
    async def run() -> None:
        async with Site(lambda _: Reply(b"x")) as site:
            response = await ApiClient(SETTINGS)(site.make_url(), {"X-Key": KEY})
            assert site.log[0].headers["x-key"] == KEY
            assert KEY not in repr(response)

    asyncio.run(run())
    assert KEY not in repr(HttpSettings(headers={"X-Key": KEY}))
    assert KEY not in repr(EngineAccess(ApiClient(SETTINGS), brave_key=KEY))


# Common Crawl


def common_crawl(get: HttpGet, url: str) -> SearchProvider:
    return CommonCrawlProvider(get, "who.example", f"{url}collinfo.json")


def index(lines: Sequence[object] | bytes | None, newest: str = "http://127.0.0.1:{port}/new") -> AnswerFunction:
    def site(request: Request) -> Raw:
        port = request.host.rpartition(":")[2]
        if request.path == "/collinfo.json":
            return Reply(json.dumps([{"cdx-api": newest.format(port=port)}, {"cdx-api": "http://old/"}]).encode())
        if lines is None:
            return Reply(b'{"message": "No Captures found"}', status=404)
        return Reply(lines if isinstance(lines, bytes) else "\n".join(map(json.dumps, lines)).encode())

    return site


def test_common_crawl_returns_matching_urls_of_the_domain() -> None:
    names = ["/cars", "/Dengue/", "/fever/dengue.html", "/dengues", "/fever?utm_source=x"]
    lines = [{"url": f"http://www.who.example{name}"} for name in names] + [{"url": "http://other.example/dengue"}, 7]
    answer, server = run_search(index(lines), common_crawl)
    assert [hit.url.removeprefix("http://www.who.example") for hit in answer.hits] == [
        "/fever/dengue.html",
        "/Dengue/",
        "/fever",
    ]
    assert answer.engine == "commoncrawl:who.example"
    query = fields(server.log[1])
    assert (query["url"], query["matchType"]) == (["who.example"], ["domain"])
    assert query["filter"][1] == "~url:(?i).*(dengue|fever).*"


@pytest.mark.parametrize(
    ("site", "trouble"),
    [
        (index(None), "no matching URLs"),
        (index(b"<html>"), "not lines of JSON"),
        (index([], "https://evil.example/"), "no index on its own host"),
        (lambda _: Reply(b"{}"), "no index on its own host"),
        (lambda _: Reply(status=503), "server_error"),
    ],
    ids=["nothing", "garbage", "elsewhere", "no list", "down"],
)
def test_common_crawl_failures_are_reported(site: AnswerFunction, trouble: str) -> None:
    assert trouble in run_search(site, common_crawl)[0].trouble


# The metasearch library


def run_metasearch(ask: metasearch.QueryFunction, engines: Sequence[str] = ("one", "two")) -> dict[str, EngineAnswer]:
    found = asyncio.run(_search(MetasearchProvider(ask, engines, (KeyboardInterrupt,))))  # type: ignore[arg-type]
    return {answer.engine: answer for answer in found}


async def _search(provider: SearchProvider, query: str = "dengue fever") -> Sequence[EngineAnswer]:
    return await provider.search(query, 5)


def test_metasearch_queries_each_engine_separately() -> None:
    def ask(engine: str, query: str, count: int) -> list[Mapping[str, object]]:
        return [{"href": f"https://{engine}.example/", "title": query, "body": str(count)}]

    found = run_metasearch(ask)
    assert [found[name].hits[0].url for name in ("one", "two")] == ["https://one.example/", "https://two.example/"]
    assert (found["one"].hits[0].title, found["one"].hits[0].snippet) == ("dengue fever", "5")


def test_failed_metasearch_engine_has_no_vote() -> None:
    def ask(engine: str, query: str, count: int) -> list[Mapping[str, object]]:
        if engine == "one":
            raise RuntimeError("202\nRatelimit")
        return []

    assert {name: answer.trouble for name, answer in run_metasearch(ask).items()} == {
        "one": "202 Ratelimit",
        "two": "no results",
    }


@pytest.mark.skipif(metasearch.is_installed(), reason="the library ddgs is installed")
def test_missing_library_is_reported() -> None:
    with pytest.raises(SeedError, match=r"pip install 'topicrawl\[search\]'"):
        metasearch.build_ddgs_provider()


@pytest.mark.skipif(not metasearch.is_installed(), reason="needs the library ddgs (pip install 'topicrawl[search]')")
def test_unknown_metasearch_engine_is_rejected() -> None:
    assert metasearch.build_ddgs_provider().name.startswith("ddgs (")
    with pytest.raises(SeedError, match="ddgs has no engine 'altavista'"):
        metasearch.build_ddgs_provider(["altavista"])


# Recorded answers


def test_recorded_answers_match_their_query_only(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    rows = [
        {"query": "Dengue  fever", "engine": "a", "hits": [{"url": "http://x.example/", "snippet": "s"}]},
        {"query": "dengue fever", "engine": "b", "hits": [], "trouble": "timeout"},
        {"query": "dengue fever", "engine": "c", "hits": 3},
        {"query": "other", "engine": "d", "hits": []},
    ]
    path.write_text(json.dumps({"answers": rows}), "utf-8")
    found = {answer.engine: answer for answer in asyncio.run(_search(RecordedProvider(path)))}
    assert [hit.snippet for hit in found["a"].hits] == ["s"]
    assert [bool(found[name].trouble) for name in "bcd"] == [True, True, True]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"answers": [{}]}', '{"answers": [[]]}', "[" * 100_000],
    ids=["empty", "list", "torn", "row", "rows", "nested"],
)
def test_invalid_recording_is_reported_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "found.json"
    path.write_text(text, "utf-8")
    with pytest.raises(SeedError, match=r"found\.json"):
        RecordedProvider(path)


# Selection of providers


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("altavista", "there is no engine"),
        ("searxng", "SEARXNG_URL"),
        ("brave", "BRAVE_API_KEY"),
        ("brave:x", "takes no name"),
        ("commoncrawl", "commoncrawl:example.org"),
        ("commoncrawl:http://x/", "commoncrawl:example.org"),
        ("recorded", "recorded:FILE"),
        ("recorded:none.json", "none.json"),
    ],
)
def test_unusable_engine_is_reported_in_one_line(spec: str, words: str) -> None:
    with pytest.raises(SeedError, match=words):
        build_providers([spec], EngineAccess(ApiClient(SETTINGS)))


@pytest.mark.parametrize(
    ("access", "words"),
    [
        (EngineAccess(ApiClient(SETTINGS), searxng="my server"), "not a web address"),
        (EngineAccess(ApiClient(SETTINGS), brave_key="a\nb"), "characters"),
    ],
    ids=["server", "key"],
)
def test_invalid_access_is_reported_in_one_line(access: EngineAccess, words: str) -> None:
    with pytest.raises(SeedError, match=words):
        build_providers(["searxng" if access.searxng else "brave"], access)


def test_all_available_engines_are_used_by_default() -> None:
    access = EngineAccess(ApiClient(SETTINGS), searxng="http://searx.example", brave_key=KEY)
    kinds = [type(provider) for provider in build_providers([], access)]
    assert [kind for kind in kinds if kind is not MetasearchProvider] == [SearxngProvider, BraveProvider]
    assert [provider.name for provider in build_providers(["searxng:bing", "searxng:bing"], access)] == [
        "searxng (bing)"
    ]
