"""Federated search over several collections, on one server and on several."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.helpers.markers import LONG
from tests.helpers.search_collections import LOOPBACK, create_collection, make_page, round_trip_json, serve_peer_api

from topicrawl.errors import TopicrawlError, UsageError
from topicrawl.search import (
    LocalServer,
    Query,
    RemoteServer,
    SearchHit,
    SearchResults,
    SearchServer,
    compute_overlaps,
    cori,
    find_similar_pages,
    handle_request,
    search_servers,
    submit_feedback,
)
from topicrawl.search.federated import merge_hits
from topicrawl.search.feedback import FeedbackStore

T = TypeVar("T")
FIELDS = {"owls": "owl nest feather wing plumage", "trains": "train rail locomotive station track"}
FIELDS |= {"storms": "storm wind cyclone landfall rain", "numbers": "theorem proof number algebra prime"}
FIELDS |= {"metals": "iron copper metal alloy ore", "music": "song album band chord melody"}
FILLER = "about other people town year early large part known name later first old time place long water"


def make_pages(field: str, count: int, seed: int) -> list[tuple[str, str, str]]:
    """Return pages of a field, with a few words of the other fields."""
    random = Random(seed)
    pages = []
    for number in range(count):
        own = random.choices(FIELDS[field].split(), k=random.randint(3, 12))
        other = random.choices(FIELDS[random.choice(list(FIELDS))].split(), k=random.randint(0, 3))
        words = own + other + random.choices(FILLER.split(), k=random.randint(20, 60))
        random.shuffle(words)
        pages.append((f"http://{field}.example/{number}", f"{field} {number}", " ".join(words)))
    return pages


@pytest.fixture(scope="module")
def crawls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return six collections of one field each, and one of all fields."""
    base = tmp_path_factory.mktemp("crawls")
    pages = {field: make_pages(field, 40, seed) for seed, field in enumerate(FIELDS)}
    directories = {field: create_collection(base / field, field_pages) for field, field_pages in pages.items()}
    all_pages = [page for field_pages in pages.values() for page in field_pages]
    return directories | {"all": create_collection(base / "all", all_pages)}


def run_steps(*steps: Coroutine[Any, Any, T], local: Sequence[LocalServer]) -> list[T]:
    """Update the indexes of the local servers, await the coroutines in order, and close the servers."""

    async def main() -> list[T]:
        for server in local:
            await server.update_indexes()
        try:
            return [await step for step in steps]
        finally:
            for server in local:
                await server.close()

    return asyncio.run(main())


def test_six_collections_on_two_servers_answer_as_one_large_index(crawls: dict[str, Path]) -> None:
    """The hits and scores are the same, although few collections are searched."""

    async def main() -> tuple[list[SearchResults], list[SearchResults], list[str]]:
        names, log = list(FIELDS), list[str]()
        split = [LocalServer([crawls[name] for name in part]) for part in (names[:3], names[3:])]
        large = LocalServer([crawls["all"]])
        for server in (*split, large):
            await server.update_indexes()
        async with serve_peer_api(split[0], log) as one, serve_peer_api(split[1], log) as two:
            peers = [RemoteServer(one, LOOPBACK), RemoteServer(two, LOOPBACK)]
            queries = [Query(" ".join(words.split()[:3])) for words in FIELDS.values()]
            split_results = [await search_servers(peers, query) for query in queries]
            large_results = [await search_servers([large], query) for query in queries]
        for server in (*split, large):
            await server.close()
        return split_results, large_results, log

    split_results, large_results, log = asyncio.run(main())
    searches = [line.split()[1:] for line in log if line.startswith("search")]
    for field, several, one in zip(FIELDS, split_results, large_results, strict=True):
        assert {hit.url for hit in several.hits} == {hit.url for hit in one.hits}
        assert [hit.score for hit in several.hits] == pytest.approx([hit.score for hit in one.hits], rel=1e-5)
        selected = [report for report in several.asked if report.chosen]
        assert len(several.asked) == 6
        assert len(selected) <= 2
        assert selected[0].name.endswith(f"/{field}")
    # Only the selected collections were searched.
    assert sorted(name for names in searches for name in names) == sorted(
        report.name.rpartition("/")[2] for result in split_results for report in result.asked if report.chosen
    )


@settings(max_examples=4, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=8, max_size=8), st.lists(st.sampled_from(["owl", "bat"]), min_size=1))
@LONG
def test_order_of_hits_does_not_depend_on_the_distribution_of_pages(
    tmp_path_factory: pytest.TempPathFactory, shares: list[int], words: list[str]
) -> None:
    base = tmp_path_factory.mktemp("shared")
    random = Random(repr(shares))
    pages = [make_page(at, *random.choices(["owl", "bat", "fox", "hen", "cow"], k=3 + at)) for at in range(8)]
    parts = [[page for page, share in zip(pages, shares, strict=True) if share == at] for at in range(3)]
    split = LocalServer([create_collection(base / f"part{at}", part) for at, part in enumerate(parts) if part])
    large = LocalServer([create_collection(base / "all", pages)])
    query = Query(" ".join(words))
    share, cori.MIN_BELIEF_SHARE = cori.MIN_BELIEF_SHARE, 0.0
    try:
        several, whole = run_steps(search_servers([split], query), search_servers([large], query), local=[split, large])
    finally:
        cori.MIN_BELIEF_SHARE = share
    # The engine computes with single precision.
    assert [hit.url for hit in several.hits] == [hit.url for hit in whole.hits]
    assert [hit.score for hit in several.hits] == pytest.approx([hit.score for hit in whole.hits], abs=1e-4)


def test_page_in_several_collections_is_one_hit(tmp_path: Path) -> None:
    page, other = make_page(1, "barn owl"), ("http://mirror.example/1", "Page 1", "barn owl")
    server = LocalServer(
        [
            create_collection(tmp_path / "a", [page, make_page(2, "fox")]),
            create_collection(tmp_path / "b", [page, other]),
        ]
    )
    (result,) = run_steps(search_servers([server], Query("owl"), overlap=True), local=[server])
    (hit,) = result.hits
    assert sorted(hit.collections) == ["a", "b"]
    assert {hit.url, *hit.copies} == {page[0], other[0]}
    assert [(overlap.one, overlap.other, overlap.share) for overlap in result.overlaps] == [("a", "b", 1.0)]


def test_merged_hit_has_the_higher_score() -> None:
    hits = [
        SearchHit("http://a.example/", "", 1.0),
        SearchHit("http://a.example/", "", 3.0),
        SearchHit("http://b.example/", "", 2.0),
    ]
    assert [(hit.url, hit.score) for hit in merge_hits(hits)] == [
        ("http://a.example/", 3.0),
        ("http://b.example/", 2.0),
    ]


def test_server_without_collections_searches_remote_ones(crawls: dict[str, Path]) -> None:
    async def main() -> SearchResults:
        server = LocalServer([crawls["owls"]])
        await server.update_indexes()
        async with serve_peer_api(server) as address:
            result = await search_servers([LocalServer([]), RemoteServer(address, LOOPBACK)], Query("owl"))
        await server.close()
        return result

    result = asyncio.run(main())
    assert len(result.hits) == 10
    assert result.hits[0].collections[0].startswith("http://127.0.0.1:")


def test_feedback_changes_later_results_on_every_server(tmp_path: Path) -> None:
    """Feedback that prefers cars to cats applies to a later query on another server."""
    cats = [make_page(at, "jaguar", "cat forest prey", "paw " * at) for at in range(3)]
    cars = [(f"http://cars.example/{at}", "Car", f"jaguar engine wheel road {'seat ' * (at + 9)}") for at in range(3)]

    async def main() -> tuple[SearchResults, SearchResults, SearchResults]:
        one, two = (
            LocalServer([create_collection(tmp_path / "cats", cats)]),
            LocalServer([create_collection(tmp_path / "cars", cars)]),
        )
        for server in (one, two):
            await server.update_indexes()
        async with serve_peer_api(two) as address:
            servers: list[SearchServer] = [one, RemoteServer(address, LOOPBACK)]
            before = await search_servers(servers, Query("jaguar"))
            relevant = [hit.url for hit in before.hits if "cars" in hit.url][:1]
            await submit_feedback(servers, "jaguar", relevant, [before.hits[0].url], at=1.0)
            after = await search_servers(servers, Query("jaguar"))
            second = await search_servers([two], Query("jaguar"))
        for server in (one, two):
            await server.close()
        return before, after, second

    before, after, second = asyncio.run(main())
    assert "cars" not in before.hits[0].url
    assert all("cars" in hit.url for hit in after.hits[:3])
    assert after.query.weights["engine"] > 0 > min(after.query.weights.values())
    assert second.query.weights == after.query.weights
    assert (
        len(FeedbackStore(tmp_path / "cats").find_similar("jaguar"))
        == len(FeedbackStore(tmp_path / "cars").find_similar("jaguar"))
        == 1
    )


def test_feedback_survives_a_kill_during_a_later_write(tmp_path: Path) -> None:
    server = LocalServer([create_collection(tmp_path / "c", [make_page(1, "barn owl")])])
    run_steps(submit_feedback([server], "owl", ["http://www.a.example/1"], [], at=1.0), local=[server])
    with (tmp_path / "c" / "feedback.jsonl").open("ab") as file:
        file.write(b'\n{"query": "owl", "rele')
    store = FeedbackStore(tmp_path / "c")
    (first,) = store.find_similar("owl")
    store.add(replace(first, id="other", at=2.0))
    assert [feedback.at for feedback in FeedbackStore(tmp_path / "c").find_similar("owl")] == [1.0, 2.0]
    assert store.find_similar("locomotive") == []


def test_similar_pages_do_not_include_the_page_itself(crawls: dict[str, Path]) -> None:
    server = LocalServer([crawls["all"]])
    (result,) = run_steps(find_similar_pages([server], "http://trains.example/3", count=5), local=[server])
    assert len(result.hits) == 5
    assert all("trains.example" in hit.url and hit.url != "http://trains.example/3" for hit in result.hits)
    with pytest.raises(UsageError, match="none of the collections"):
        run_steps(find_similar_pages([], "http://nowhere.example/"), local=[])


def test_failure_of_one_server_is_reported_with_the_hits_of_the_others(crawls: dict[str, Path]) -> None:
    local = LocalServer([crawls["owls"]])
    servers: list[SearchServer] = [
        local,
        RemoteServer("http://127.0.0.1:9", LOOPBACK),
        RemoteServer("http://127.0.0.1:9"),
    ]
    (result,) = run_steps(search_servers(servers, Query("owl")), local=[local])
    assert len(result.hits) == 10
    errors = [report.trouble for report in result.asked if report.trouble]
    assert len(errors) == 2
    assert not any(error.startswith("http://") for error in errors), "the report already names the server"
    assert "connection" in errors[0]
    assert "address_refused" in errors[1]
    assert "--allow-net" in errors[1]


@pytest.mark.parametrize("damage", ["removed", "overwritten"])
def test_index_damaged_while_the_server_runs_is_rebuilt(tmp_path: Path, damage: str) -> None:
    directory = create_collection(
        tmp_path / "c", [make_page(number, "owl", f"w{number} " * 99) for number in range(1, 90)]
    )
    other = create_collection(
        tmp_path / "d", [make_page(number, "snowy owl", "x " * number) for number in range(100, 189)]
    )

    async def main() -> tuple[SearchResults, list[SearchResults]]:
        server = LocalServer([directory, other])
        await server.update_indexes()
        before = await search_servers([server], Query("owl"))
        file = directory / "search.sqlite"
        size = file.stat().st_size
        if damage == "removed":
            file.unlink()
        else:
            (directory / "search.sqlite-wal").write_bytes(b"")
            with file.open("r+b") as data:
                data.seek(4096)
                data.write(b"\xff" * (size - 4096))
        after = []
        for _ in range(3):
            after.append(await search_servers([server], Query("owl")))
            await server.update_indexes()
        await server.close()
        return before, after

    before, after = asyncio.run(main())
    assert before.found == after[-1].found == 2 * 89
    assert all(result.found >= 89 for result in after), "the other collection must stay searchable"


class _CheatingServer(LocalServer):
    """Returns scores above the possible maximum."""

    async def search(self, *arguments: Any) -> Any:
        results = await super().search(*arguments)
        return {
            name: result._replace(hits=tuple(replace(hit, score=1e9, title="Buy!") for hit in result.hits))
            for name, result in results.items()
        }


def test_scores_of_a_server_are_limited_to_the_possible_maximum(crawls: dict[str, Path]) -> None:
    cheater, honest = _CheatingServer([crawls["owls"]]), LocalServer([crawls["all"]])
    (result,) = run_steps(search_servers([cheater, honest], Query("owl")), local=[cheater, honest])
    assert result.hits[0].score < 10


@pytest.mark.parametrize(
    ("operation", "table"),
    [
        ("summaries", []),
        ("summaries", {"query": {"text": 7}}),
        ("summaries", {"query": {"text": "owl", "count": 10**9}}),
        ("summaries", {"query": {"text": "owl " * 2000}}),
        ("search", {"query": {"text": "owl"}, "names": ["unknown"], "world": {"pages": 1, "words": 1}}),
        ("search", {"query": {"text": "owl"}, "names": [], "world": {"pages": -1, "words": 1}}),
        ("search", {"query": {"text": "owl", "weights": {"x": float("inf")}}, "names": [], "world": {}}),
        ("vector", {}),
        ("feedback", {"query": "x" * 6000}),
        ("feedback", {"query": "x", "relevant": ["u"] * 1000}),
        ("wipe", {}),
    ],
    ids=[f"case {number}" for number in range(11)],
)
def test_invalid_request_is_refused(operation: str, table: Any) -> None:
    with pytest.raises(UsageError):
        run_steps(handle_request(LocalServer([]), operation, table), local=[])


@pytest.mark.parametrize(
    "body", ["[]", "{}", '{"summaries": 1}', '{"summaries": [{"name": "a", "world": {"pages": "x"}}]}', "no JSON"]
)
def test_invalid_reply_of_a_remote_server_raises_an_error(body: str) -> None:
    from aiohttp import web

    async def main() -> None:
        application = web.Application()

        async def reply_invalid(request: web.Request) -> web.Response:
            return web.Response(text=body, content_type="application/json")

        application.router.add_post("/api/peer/summaries", reply_invalid)
        runner = web.AppRunner(application)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        peer = RemoteServer(f"http://127.0.0.1:{runner.addresses[0][1]}", LOOPBACK)
        try:
            with pytest.raises(TopicrawlError, match="not the reply of a Topicrawl server"):
                await peer.get_summaries(Query("owl"))
        finally:
            await runner.cleanup()

    asyncio.run(main())


def test_summaries_and_overlaps_of_a_local_server(crawls: dict[str, Path]) -> None:
    server = LocalServer([crawls["owls"]])
    request = round_trip_json({"query": {"text": "owl"}})
    (response,) = run_steps(handle_request(server, "summaries", request), local=[server])
    assert round_trip_json(response) == response or response["summaries"]
    other = LocalServer([crawls["owls"], crawls["trains"]])
    (overlaps,) = run_steps(compute_overlaps([other]), local=[other])
    assert overlaps == ()
