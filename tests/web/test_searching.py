"""Several servers answer as one over HTTP, and learn together."""

from __future__ import annotations

import asyncio
import json
import math
import re
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.search.made import LOOPBACK
from tests.web.served import Client, served

from topicrawl import Topic
from topicrawl.collection import verdicts
from topicrawl.collection.directory import Collection
from topicrawl.collection.store import Store
from topicrawl.lab.sample import SampleWeb
from topicrawl.records import Link, Page, Place, Response, Visit
from topicrawl.search import Here, Peer, Query, answer
from topicrawl.search.index import catch_up

DEPTH = 10
WEB = SampleWeb(seed=3, pages=600, hosts=24)


def stored(directory: Path, urls: list[str]) -> Path:
    with Collection(directory, Topic.of("all"), {"identity": {"strategy": "none"}}) as collection:
        for step, url in enumerate(urls, 1):
            body = WEB.answer(url).body
            title = re.search(rb"<title>(.*?)</title>", body)
            response = Response(url, url, 200, {"content-type": "text/html"}, body, 1e9 + step)
            page = Page(
                url, title[1].decode() if title else "", text="", language="en", digest=f"{step:032x}{url}"[-64:]
            )
            collection.keep(
                [(Visit(step, Link(url), Place(0.5), url, page, 0.5, None, 1e9 + step, 200), response, None)]
            )
    catch_up(directory)
    return directory


@dataclass(frozen=True)
class Servers:
    parts: list[Path]
    whole: Path
    urls: list[str]
    homes: list[Client]  # with three collections each
    front: Client  # with none


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    base = tmp_path_factory.mktemp("servers")
    labels, topics = WEB.labels(), list(WEB.topics)
    urls = [url for url in map(WEB.url, range(0, 600, 3)) if WEB.answer(url).status == 200]
    homes: dict[int, list[str]] = {number: [] for number in range(6)}
    for url in urls:
        own = labels.get(url)
        homes[topics.index(own[0]) % 6 if own else zlib.crc32(url.encode()) % 6].append(url)
    parts = [stored(base / f"{'ab'[number // 3]}" / f"part{number}", several) for number, several in homes.items()]
    (base / "empty").mkdir()
    with ExitStack() as stack:
        clients = [stack.enter_context(served([base / name])) for name in "ab"]
        peers = [Peer(client.own, LOOPBACK) for client in clients]
        front = stack.enter_context(served([base / "empty"], peers=peers))
        yield Servers(parts, stored(base / "whole", urls), urls, clients, front)


def asked(client: Client, text: str) -> Any:
    got = client.get("/api/search", q=text)
    assert got.status == 200
    return json.loads(got.text)


def ndcg(found: list[str], topic: str, urls: list[str]) -> float:
    labels = WEB.labels()
    gain = sum((topic in labels.get(url, ())) / math.log2(rank + 2) for rank, url in enumerate(found))
    there = sum(topic in labels.get(url, ()) for url in urls)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(DEPTH, there)))


def test_two_servers_with_three_collections_each_answer_as_well_as_one_index(servers: Servers) -> None:
    queries = [(topic, " ".join(said)) for topic, words in WEB.topics.items() for said in (words[:2], words[2:5])]

    async def from_one() -> list[list[str]]:
        here = Here([servers.whole])
        found = [[hit.url for hit in (await answer([here], Query(text))).hits] for _, text in queries]
        await here.close()
        return found

    many = [asked(servers.front, text) for _, text in queries]
    pairs = list(zip(queries, asyncio.run(from_one()), many, strict=True))
    one = sum(ndcg(urls, topic, servers.urls) for (topic, _), urls, _ in pairs) / len(pairs)
    merged = sum(ndcg([hit["url"] for hit in it["hits"]], topic, servers.urls) for (topic, _), _, it in pairs) / len(
        pairs
    )
    chosen = sum(part["chosen"] for it in many for part in it["asked"]) / len(many)
    assert all(len(it["asked"]) == 6 for it in many)
    assert one > 0.5, "the queries are answered at all"
    assert merged >= one - 0.03
    assert chosen < 4.5


def test_what_a_reader_says_reaches_every_server_and_the_topics_there(servers: Servers) -> None:
    text = " ".join(WEB.topics["chess"][:2])
    before = asked(servers.front, text)
    right, wrong = before["hits"][1]["url"], before["hits"][0]["url"]
    body = json.dumps({"query": text, "relevant": [right], "irrelevant": [wrong]}).encode()
    got = servers.front.ask("POST", "/api/feedback", body, origin=servers.front.own, content_type="application/json")
    assert got.status == 200
    for directory in servers.parts:
        assert json.loads(got.text)["id"] in (directory / "feedback.jsonl").read_text()
    for client in (servers.front, *servers.homes):
        assert asked(client, text)["query"]["weights"]
    said = {}
    for directory in servers.parts:
        store = Store(directory / "topicrawl.sqlite", readonly=True)
        said |= {row.url: row.verdict for row in verdicts.since(store, 0)}
        store.close()
    assert said == {right: "relevant", wrong: "irrelevant"}


def test_more_like_this_and_the_overlap_reach_over_servers(servers: Servers) -> None:
    url = asked(servers.front, "chess opening")["hits"][0]["url"]
    alike = json.loads(servers.front.get("/api/search", like=url).text)["hits"]
    assert alike
    assert url not in [hit["url"] for hit in alike]
    found = json.loads(servers.front.get("/api/search", q="chess", overlap="1").text)
    assert found["overlaps"] == []
