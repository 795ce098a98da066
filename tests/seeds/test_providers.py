"""The ways to engines beside SearXNG: each tells what it found, or in one line what went wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from tests.site.server import Answer as Raw
from tests.site.server import Answers, Reply, Request, Site

from topicrawl.errors import SeedError
from topicrawl.fetch.api import Api
from topicrawl.fetch.guard import networks
from topicrawl.fetch.settings import HttpSettings
from topicrawl.records import Response
from topicrawl.seeds import metasearch
from topicrawl.seeds.brave import Brave
from topicrawl.seeds.choice import Access, providers
from topicrawl.seeds.metasearch import Metasearch
from topicrawl.seeds.provider import Answer, Get, Provider
from topicrawl.seeds.recorded import Recorded
from topicrawl.seeds.searxng import Searxng
from topicrawl.seeds.web_index import CommonCrawl
from topicrawl.urls import canonical

SETTINGS = HttpSettings(allow=networks(["127.0.0.1"]), total_timeout=2.0)
KEY = "not-to-be-seen"


def asked(answers: Answers, make: Callable[[Get, str], Provider], count: int = 5) -> tuple[Answer, Site]:
    async def run() -> tuple[Answer, Site]:
        async with Site(answers) as site:
            (answer,) = await make(Api(SETTINGS), site.url()).search("Dengue fever", count)
            return answer, site

    return asyncio.run(run())


def fields(request: Request) -> dict[str, list[str]]:
    return parse_qs(urlsplit(request.path).query)


# Whatever comes

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
def test_whatever_json_comes_there_are_canonical_hits_or_one_line_of_trouble(table: object) -> None:
    async def get(url: str, headers: Mapping[str, str]) -> Response:
        return Response(url, url, 200, {}, json.dumps(table).encode())

    makers: list[Provider] = [
        Searxng(get, "http://s.example"), Searxng(get, "http://s.example", ["x"]),
        Brave(get, KEY), CommonCrawl(get, "a.example"),
    ]  # fmt: skip
    for provider in makers:
        for answer in asyncio.run(_search(provider)):
            assert "\n" not in answer.trouble
            assert all(canonical(hit.url) == hit.url for hit in answer.hits)
            assert [hit.rank for hit in answer.hits] == list(range(1, len(answer.hits) + 1))


# Brave


def brave(get: Get, url: str) -> Provider:
    return Brave(get, KEY, f"{url}search")


def test_brave_turns_pages_and_sends_the_key_in_its_header() -> None:
    def site(request: Request) -> Raw:
        start = int(fields(request)["offset"][0]) * 20
        rows = [
            {"url": f"https://{n}.example/", "description": f"<strong>{n}</strong>"} for n in range(start, start + 20)
        ]
        return Reply(json.dumps({"web": {"results": rows}}).encode(), type="application/json")

    answer, server = asked(site, brave, 30)
    assert [hit.url for hit in answer.hits] == [f"https://{n}.example/" for n in range(30)]
    assert answer.hits[7].snippet == "7"
    assert [request.headers["x-subscription-token"] for request in server.log] == [KEY, KEY]
    assert KEY not in "".join(request.path for request in server.log)


@pytest.mark.parametrize(
    ("reply", "trouble"),
    [
        (Reply(status=401), "forbidden"),
        (Reply(status=302, headers={"Location": "https://evil.example/"}), "leads on to https://evil.example/"),
        (Reply(b"{}"), "no results"),
        (Reply(b'{"web": 3}'), "not Brave's"),
        (Reply(b"3"), "not Brave's"),
    ],
)
def test_what_goes_wrong_with_brave_is_told_without_the_key(reply: Reply, trouble: str) -> None:
    answer, server = asked(lambda _: reply, brave)
    assert trouble in answer.trouble
    assert KEY not in repr(answer)
    assert len(server.log) == 1


def test_a_key_is_in_no_response_and_no_settings_as_people_see_them() -> None:
    async def run() -> None:
        async with Site(lambda _: Reply(b"x")) as site:
            response = await Api(SETTINGS)(site.url(), {"X-Key": KEY})
            assert site.log[0].headers["x-key"] == KEY
            assert KEY not in repr(response)

    asyncio.run(run())
    assert KEY not in repr(HttpSettings(headers={"X-Key": KEY}))
    assert KEY not in repr(Access(Api(SETTINGS), brave_key=KEY))


# Common Crawl


def common_crawl(get: Get, url: str) -> Provider:
    return CommonCrawl(get, "who.example", f"{url}collinfo.json")


def index(lines: Sequence[object] | bytes | None, newest: str = "http://127.0.0.1:{port}/new") -> Answers:
    def site(request: Request) -> Raw:
        port = request.host.rpartition(":")[2]
        if request.path == "/collinfo.json":
            return Reply(json.dumps([{"cdx-api": newest.format(port=port)}, {"cdx-api": "http://old/"}]).encode())
        if lines is None:
            return Reply(b'{"message": "No Captures found"}', status=404)
        return Reply(lines if isinstance(lines, bytes) else "\n".join(map(json.dumps, lines)).encode())

    return site


def test_common_crawl_gives_addresses_of_the_domain_with_the_words_in_them() -> None:
    names = ["/cars", "/Dengue/", "/fever/dengue.html", "/dengues", "/fever?utm_source=x"]
    lines = [{"url": f"http://www.who.example{name}"} for name in names] + [{"url": "http://other.example/dengue"}, 7]
    answer, server = asked(index(lines), common_crawl)
    assert [hit.url.removeprefix("http://www.who.example") for hit in answer.hits] == [
        "/fever/dengue.html", "/Dengue/", "/fever",
    ]  # fmt: skip
    assert answer.engine == "commoncrawl:who.example"
    query = fields(server.log[1])
    assert (query["url"], query["matchType"]) == (["who.example"], ["domain"])
    assert query["filter"][1] == "~url:(?i).*(dengue|fever).*"


@pytest.mark.parametrize(
    ("site", "trouble"),
    [
        (index(None), "no such addresses"),
        (index(b"<html>"), "no lines of JSON"),
        (index([], "https://evil.example/"), "none on its own host"),
        (lambda _: Reply(b"{}"), "none on its own host"),
        (lambda _: Reply(status=503), "server_error"),
    ],
    ids=["nothing", "garbage", "elsewhere", "no list", "down"],
)
def test_what_goes_wrong_with_common_crawl_is_told(site: Answers, trouble: str) -> None:
    assert trouble in asked(site, common_crawl)[0].trouble


# The metasearch library


def searched(ask: metasearch.Ask, engines: Sequence[str] = ("one", "two")) -> dict[str, Answer]:
    found = asyncio.run(_search(Metasearch(ask, engines, (KeyboardInterrupt,))))  # type: ignore[arg-type]
    return {answer.engine: answer for answer in found}


async def _search(provider: Provider, query: str = "dengue fever") -> Sequence[Answer]:
    return await provider.search(query, 5)


def test_engines_of_the_library_are_asked_one_by_one() -> None:
    def ask(engine: str, query: str, count: int) -> list[Mapping[str, object]]:
        return [{"href": f"https://{engine}.example/", "title": query, "body": str(count)}]

    found = searched(ask)
    assert [found[name].hits[0].url for name in ("one", "two")] == ["https://one.example/", "https://two.example/"]
    assert (found["one"].hits[0].title, found["one"].hits[0].snippet) == ("dengue fever", "5")


def test_an_engine_of_the_library_that_raises_or_finds_nothing_has_no_vote() -> None:
    def ask(engine: str, query: str, count: int) -> list[Mapping[str, object]]:
        if engine == "one":
            raise RuntimeError("202\nRatelimit")
        return []

    assert {name: answer.trouble for name, answer in searched(ask).items()} == {
        "one": "202 Ratelimit",
        "two": "no results",
    }


@pytest.mark.skipif(metasearch.installed(), reason="the library ddgs is installed")
def test_without_the_library_one_line_says_what_to_install() -> None:
    with pytest.raises(SeedError, match=r"pip install 'topicrawl\[search\]'"):
        metasearch.ddgs()


@pytest.mark.skipif(not metasearch.installed(), reason="needs the library ddgs (pip install 'topicrawl[search]')")
def test_the_library_is_asked_for_engines_that_it_has() -> None:
    assert metasearch.ddgs().name.startswith("ddgs (")
    with pytest.raises(SeedError, match="ddgs has no engine 'altavista'"):
        metasearch.ddgs(["altavista"])


# Recorded answers


def test_recorded_answers_are_given_to_their_query_only(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    rows = [
        {"query": "Dengue  fever", "engine": "a", "hits": [{"url": "http://x.example/", "snippet": "s"}]},
        {"query": "dengue fever", "engine": "b", "hits": [], "trouble": "timeout"},
        {"query": "dengue fever", "engine": "c", "hits": 3},
        {"query": "other", "engine": "d", "hits": []},
    ]
    path.write_text(json.dumps({"answers": rows}), "utf-8")
    found = {answer.engine: answer for answer in asyncio.run(_search(Recorded(path)))}
    assert [hit.snippet for hit in found["a"].hits] == ["s"]
    assert [bool(found[name].trouble) for name in "bcd"] == [True, True, True]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"answers": [{}]}', '{"answers": [[]]}', "[" * 100_000],
    ids=["empty", "list", "torn", "row", "rows", "nested"],
)
def test_a_file_that_is_no_recording_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "found.json"
    path.write_text(text, "utf-8")
    with pytest.raises(SeedError, match=r"found\.json"):
        Recorded(path)


# The choice


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
def test_an_engine_that_cannot_be_asked_is_one_line(spec: str, words: str) -> None:
    with pytest.raises(SeedError, match=words):
        providers([spec], Access(Api(SETTINGS)))


@pytest.mark.parametrize(
    ("access", "words"),
    [
        (Access(Api(SETTINGS), searxng="my server"), "not a web address"),
        (Access(Api(SETTINGS), brave_key="a\nb"), "characters"),
    ],
    ids=["server", "key"],
)
def test_what_is_set_up_wrongly_is_one_line(access: Access, words: str) -> None:
    with pytest.raises(SeedError, match=words):
        providers(["searxng" if access.searxng else "brave"], access)


def test_all_that_is_set_up_is_asked_unless_engines_are_named() -> None:
    access = Access(Api(SETTINGS), searxng="http://searx.example", brave_key=KEY)
    kinds = [type(provider).__name__ for provider in providers([], access)]
    assert [kind for kind in kinds if kind != "Metasearch"] == ["Searxng", "Brave"]
    assert [provider.name for provider in providers(["searxng:bing", "searxng:bing"], access)] == ["searxng (bing)"]
