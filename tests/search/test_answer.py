"""Many collections answer as one, on one server and on several."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.made import LOOPBACK, as_json, made, owls, served

from topicrawl.errors import TopicrawlError, UsageError
from topicrawl.search import Answer, Here, Hit, Peer, Query, Server, answer, cori, judge, more_like, overlapping, reply
from topicrawl.search.answer import folded
from topicrawl.search.feedback import Remembered

T = TypeVar("T")
FIELDS = {"owls": "owl nest feather wing plumage", "trains": "train rail locomotive station track"}
FIELDS |= {"storms": "storm wind cyclone landfall rain", "numbers": "theorem proof number algebra prime"}
FIELDS |= {"metals": "iron copper metal alloy ore", "music": "song album band chord melody"}
FILLER = "about other people town year early large part known name later first old time place long water"


def texts(field: str, count: int, seed: int) -> list[tuple[str, str, str]]:
    """Pages of a field, with a few words of the others."""
    random = Random(seed)
    found = []
    for number in range(count):
        own = random.choices(FIELDS[field].split(), k=random.randint(3, 12))
        other = random.choices(FIELDS[random.choice(list(FIELDS))].split(), k=random.randint(0, 3))
        said = own + other + random.choices(FILLER.split(), k=random.randint(20, 60))
        random.shuffle(said)
        found.append((f"http://{field}.example/{number}", f"{field} {number}", " ".join(said)))
    return found


@pytest.fixture(scope="module")
def crawls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Six collections of one field each, and one of all."""
    base = tmp_path_factory.mktemp("crawls")
    pages = {field: texts(field, 40, seed) for seed, field in enumerate(FIELDS)}
    made_of = {field: made(base / field, several) for field, several in pages.items()}
    return made_of | {"all": made(base / "all", [page for several in pages.values() for page in several])}


def ran(*steps: Coroutine[Any, Any, T], here: Sequence[Here]) -> list[T]:
    async def main() -> list[T]:
        for one in here:
            await one.catch_up()
        try:
            return [await step for step in steps]
        finally:
            for one in here:
                await one.close()

    return asyncio.run(main())


def test_six_collections_on_two_servers_answer_as_one_large_index(crawls: dict[str, Path]) -> None:
    """The same hits with the same scores, however few collections were asked."""

    async def main() -> tuple[list[Answer], list[Answer], list[str]]:
        names, log = list(FIELDS), list[str]()
        shelves = [Here([crawls[name] for name in part]) for part in (names[:3], names[3:])]
        large = Here([crawls["all"]])
        for here in (*shelves, large):
            await here.catch_up()
        async with served(shelves[0], log) as one, served(shelves[1], log) as two:
            peers = [Peer(one, LOOPBACK), Peer(two, LOOPBACK)]
            queries = [Query(" ".join(words.split()[:3])) for words in FIELDS.values()]
            many = [await answer(peers, query) for query in queries]
            whole = [await answer([large], query) for query in queries]
        for here in (*shelves, large):
            await here.close()
        return many, whole, log

    many, whole, log = asyncio.run(main())
    searches = [line.split()[1:] for line in log if line.startswith("search")]
    for field, several, one in zip(FIELDS, many, whole, strict=True):
        assert {hit.url for hit in several.hits} == {hit.url for hit in one.hits}
        assert [hit.score for hit in several.hits] == pytest.approx([hit.score for hit in one.hits], rel=1e-5)
        asked = [it for it in several.asked if it.chosen]
        assert len(several.asked) == 6
        assert len(asked) <= 2
        assert asked[0].name.endswith(f"/{field}")
    # What was not chosen was not asked.
    assert sorted(name for names in searches for name in names) == sorted(
        it.name.rpartition("/")[2] for one in many for it in one.asked if it.chosen
    )


@settings(max_examples=4, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=8, max_size=8), st.lists(st.sampled_from(["owl", "bat"]), min_size=1))
def test_however_pages_are_shared_out_their_order_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, shares: list[int], asked: list[str]
) -> None:
    base = tmp_path_factory.mktemp("shared")
    random = Random(repr(shares))
    pages = [owls(at, *random.choices(["owl", "bat", "fox", "hen", "cow"], k=3 + at)) for at in range(8)]
    parts = [[page for page, share in zip(pages, shares, strict=True) if share == at] for at in range(3)]
    here = Here([made(base / f"part{at}", part) for at, part in enumerate(parts) if part])
    large = Here([made(base / "all", pages)])
    query = Query(" ".join(asked))
    share, cori.SHARE = cori.SHARE, 0.0
    try:
        several, whole = ran(answer([here], query), answer([large], query), here=[here, large])
    finally:
        cori.SHARE = share
    assert [(hit.url, round(hit.score, 4)) for hit in several.hits] == [
        (hit.url, round(hit.score, 4)) for hit in whole.hits
    ]


def test_what_several_collections_hold_is_one_hit(tmp_path: Path) -> None:
    page, other = owls(1, "barn owl"), ("http://mirror.example/1", "Page 1", "barn owl")
    here = Here([made(tmp_path / "a", [page, owls(2, "fox")]), made(tmp_path / "b", [page, other])])
    (found,) = ran(answer([here], Query("owl"), overlap=True), here=[here])
    (hit,) = found.hits
    assert sorted(hit.collections) == ["a", "b"]
    assert {hit.url, *hit.copies} == {page[0], other[0]}
    assert [(it.one, it.other, it.share) for it in found.overlaps] == [("a", "b", 1.0)]


def test_folding_keeps_the_better_score() -> None:
    hits = [Hit("http://a.example/", "", 1.0), Hit("http://a.example/", "", 3.0), Hit("http://b.example/", "", 2.0)]
    assert [(hit.url, hit.score) for hit in folded(hits)] == [("http://a.example/", 3.0), ("http://b.example/", 2.0)]


def test_a_server_without_a_collection_answers_through_others(crawls: dict[str, Path]) -> None:
    async def main() -> Answer:
        there = Here([crawls["owls"]])
        await there.catch_up()
        async with served(there) as address:
            found = await answer([Here([]), Peer(address, LOOPBACK)], Query("owl"))
        await there.close()
        return found

    found = asyncio.run(main())
    assert len(found.hits) == 10
    assert found.hits[0].collections[0].startswith("http://127.0.0.1:")


def test_feedback_changes_the_next_answer_wherever_it_was_passed_on(tmp_path: Path) -> None:
    """One reader says that jaguars are cars; the next one who asks another server profits."""
    cats = [owls(at, "jaguar", "cat forest prey", "paw " * at) for at in range(3)]
    cars = [(f"http://cars.example/{at}", "Car", f"jaguar engine wheel road {'seat ' * (at + 9)}") for at in range(3)]

    async def main() -> tuple[Answer, Answer, Answer]:
        one, two = Here([made(tmp_path / "cats", cats)]), Here([made(tmp_path / "cars", cars)])
        for here in (one, two):
            await here.catch_up()
        async with served(two) as address:
            servers: list[Server] = [one, Peer(address, LOOPBACK)]
            before = await answer(servers, Query("jaguar"))
            said = [hit.url for hit in before.hits if "cars" in hit.url][:1], [before.hits[0].url]
            await judge(servers, "jaguar", *said, at=1.0)
            after = await answer(servers, Query("jaguar"))
            elsewhere = await answer([two], Query("jaguar"))
        for here in (one, two):
            await here.close()
        return before, after, elsewhere

    before, after, elsewhere = asyncio.run(main())
    assert "cars" not in before.hits[0].url
    assert all("cars" in hit.url for hit in after.hits[:3])
    assert after.query.weights["engine"] > 0 > min(after.query.weights.values())
    assert elsewhere.query.weights == after.query.weights
    assert len(Remembered(tmp_path / "cats").like("jaguar")) == len(Remembered(tmp_path / "cars").like("jaguar")) == 1


def test_feedback_survives_a_kill_in_the_middle_of_the_next(tmp_path: Path) -> None:
    here = Here([made(tmp_path / "c", [owls(1, "barn owl")])])
    ran(judge([here], "owl", ["http://www.a.example/1"], [], at=1.0), here=[here])
    with (tmp_path / "c" / "feedback.jsonl").open("ab") as file:
        file.write(b'\n{"query": "owl", "rele')
    remembered = Remembered(tmp_path / "c")
    (first,) = remembered.like("owl")
    remembered.add(replace(first, id="other", at=2.0))
    assert [it.at for it in Remembered(tmp_path / "c").like("owl")] == [1.0, 2.0]
    assert remembered.like("locomotive") == []


def test_more_like_this_finds_its_kind_and_not_itself(crawls: dict[str, Path]) -> None:
    here = Here([crawls["all"]])
    (found,) = ran(more_like([here], "http://trains.example/3", count=5), here=[here])
    assert len(found.hits) == 5
    assert all("trains.example" in hit.url and hit.url != "http://trains.example/3" for hit in found.hits)
    with pytest.raises(UsageError, match="none of the collections"):
        ran(more_like([], "http://nowhere.example/"), here=[])


def test_a_server_in_trouble_is_named_and_the_others_answer(crawls: dict[str, Path]) -> None:
    here = Here([crawls["owls"]])
    servers: list[Server] = [here, Peer("http://127.0.0.1:9", LOOPBACK), Peer("http://127.0.0.1:9")]
    (found,) = ran(answer(servers, Query("owl")), here=[here])
    assert len(found.hits) == 10
    troubles = [it.trouble for it in found.asked if it.trouble]
    assert len(troubles) == 2
    assert not any(trouble.startswith("http://") for trouble in troubles), "its name stands beside its trouble already"
    assert "connection" in troubles[0]
    assert "address_refused" in troubles[1]
    assert "--allow-net" in troubles[1]


@pytest.mark.parametrize("damage", ["removed", "overwritten"])
def test_an_index_that_breaks_under_a_running_server_is_made_again(tmp_path: Path, damage: str) -> None:
    directory = made(tmp_path / "c", [owls(number, "owl", f"w{number} " * 99) for number in range(1, 90)])
    other = made(tmp_path / "d", [owls(number, "snowy owl", "x " * number) for number in range(100, 189)])

    async def main() -> tuple[Answer, list[Answer]]:
        here = Here([directory, other])
        await here.catch_up()
        before = await answer([here], Query("owl"))
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
            after.append(await answer([here], Query("owl")))
            await here.catch_up()
        await here.close()
        return before, after

    before, after = asyncio.run(main())
    assert before.found == after[-1].found == 2 * 89
    assert all(it.found >= 89 for it in after), "the other collection answers meanwhile"


class _Liar(Here):
    """Claims scores that there cannot be."""

    async def search(self, *asked: Any) -> Any:
        found = await super().search(*asked)
        return {
            name: it._replace(hits=tuple(replace(hit, score=1e9, title="Buy!") for hit in it.hits))
            for name, it in found.items()
        }


def test_nobody_scores_more_than_a_page_can(crawls: dict[str, Path]) -> None:
    liar, here = _Liar([crawls["owls"]]), Here([crawls["all"]])
    (found,) = ran(answer([liar, here], Query("owl")), here=[liar, here])
    assert found.hits[0].score < 10


@pytest.mark.parametrize(
    ("operation", "table"),
    [
        ("summaries", []),
        ("summaries", {"query": {"text": 7}}),
        ("summaries", {"query": {"text": "owl", "count": 10**9}}),
        ("summaries", {"query": {"text": "owl " * 1000}}),
        ("search", {"query": {"text": "owl"}, "names": ["nobody"], "world": {"pages": 1, "words": 1}}),
        ("search", {"query": {"text": "owl"}, "names": [], "world": {"pages": -1, "words": 1}}),
        ("search", {"query": {"text": "owl", "weights": {"x": float("inf")}}, "names": [], "world": {}}),
        ("vector", {}),
        ("feedback", {"query": "x" * 5000}),
        ("feedback", {"query": "x", "relevant": ["u"] * 1000}),
        ("wipe", {}),
    ],
    ids=[f"case {number}" for number in range(11)],
)
def test_a_question_that_makes_no_sense_is_refused(operation: str, table: Any) -> None:
    with pytest.raises(UsageError):
        ran(reply(Here([]), operation, table), here=[])


@pytest.mark.parametrize(
    "said", ["[]", "{}", '{"summaries": 1}', '{"summaries": [{"name": "a", "world": {"pages": "x"}}]}', "no JSON"]
)
def test_the_reply_of_something_else_is_its_trouble(said: str) -> None:
    from aiohttp import web

    async def main() -> None:
        application = web.Application()

        async def strange(request: web.Request) -> web.Response:
            return web.Response(text=said, content_type="application/json")

        application.router.add_post("/api/peer/summaries", strange)
        runner = web.AppRunner(application)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        peer = Peer(f"http://127.0.0.1:{runner.addresses[0][1]}", LOOPBACK)
        try:
            with pytest.raises(TopicrawlError, match="not the reply of a Topicrawl server"):
                await peer.summaries(Query("owl"))
        finally:
            await runner.cleanup()

    asyncio.run(main())


def test_what_is_sent_is_what_is_read(crawls: dict[str, Path]) -> None:
    here = Here([crawls["owls"]])
    question = as_json({"query": {"text": "owl"}})
    (told,) = ran(reply(here, "summaries", question), here=[here])
    assert as_json(told) == told or told["summaries"]
    other = Here([crawls["owls"], crawls["trains"]])
    (found,) = ran(overlapping([other]), here=[other])
    assert found == ()
