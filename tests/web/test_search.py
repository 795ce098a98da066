"""Federated search and feedback over HTTP, with several servers."""

from __future__ import annotations

import asyncio
import json
import math
import re
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.search_collections import LOOPBACK, create_collection, create_wide_collection
from tests.helpers.web_client import WebClient, serve_collections

from topicrawl import Topic
from topicrawl.collection import annotations as annotation_log
from topicrawl.collection.directory import Collection
from topicrawl.collection.store import CollectionStore
from topicrawl.models import Link, Page, Priority, Response, Visit
from topicrawl.sample_web.web import SampleWeb
from topicrawl.search import LocalServer, Query, RemoteServer, search_servers
from topicrawl.search.index import update_index

DEPTH = 10
WEB = SampleWeb(seed=3, pages=600, hosts=24)


def store_pages(directory: Path, urls: list[str]) -> Path:
    """Create an indexed collection of pages of the sample web."""
    with Collection(directory, Topic.of("all"), {"identity": {"strategy": "none"}}) as collection:
        for step, url in enumerate(urls, 1):
            body = WEB.get_response(url).body
            title = re.search(rb"<title>(.*?)</title>", body)
            response = Response(url, url, 200, {"content-type": "text/html"}, body, 1e9 + step)
            page = Page(
                url, title[1].decode() if title else "", text="", language="en", digest=f"{step:032x}{url}"[-64:]
            )
            collection.store_visits(
                [(Visit(step, Link(url), Priority(0.5), url, page, 0.5, None, 1e9 + step, 200), response, None)]
            )
    update_index(directory)
    return directory


@dataclass(frozen=True)
class Servers:
    """Three servers, and the collections on them."""

    parts: list[Path]
    whole: Path
    urls: list[str]
    homes: list[WebClient]  # each with three collections
    front: WebClient  # without collections


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    base = tmp_path_factory.mktemp("servers")
    labels, topics = WEB.get_labels(), list(WEB.topics)
    urls = [url for url in map(WEB.page_url, range(0, 600, 3)) if WEB.get_response(url).status == 200]
    homes: dict[int, list[str]] = {number: [] for number in range(6)}
    for url in urls:
        own = labels.get(url)
        homes[topics.index(own[0]) % 6 if own else zlib.crc32(url.encode()) % 6].append(url)
    parts = [
        store_pages(base / f"{'ab'[number // 3]}" / f"part{number}", part_urls) for number, part_urls in homes.items()
    ]
    (base / "empty").mkdir()
    with ExitStack() as stack:
        clients = [stack.enter_context(serve_collections([base / name])) for name in "ab"]
        peers = [RemoteServer(client.origin, LOOPBACK) for client in clients]
        front = stack.enter_context(serve_collections([base / "empty"], peers=peers))
        yield Servers(parts, store_pages(base / "whole", urls), urls, clients, front)


def search_json(client: WebClient, text: str) -> Any:
    """Search over the API of a server."""
    response = client.get("/api/search", q=text)
    assert response.status == 200
    return json.loads(response.text)


def ndcg(ranking: list[str], topic: str, urls: list[str]) -> float:
    """Normalized discounted cumulative gain of a ranking, where the pages of the topic are relevant."""
    labels = WEB.get_labels()
    gain = sum((topic in labels.get(url, ())) / math.log2(rank + 2) for rank, url in enumerate(ranking))
    relevant = sum(topic in labels.get(url, ()) for url in urls)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(DEPTH, relevant)))


def test_two_servers_with_three_collections_each_answer_as_well_as_one_index(servers: Servers) -> None:
    queries = [(topic, " ".join(part)) for topic, words in WEB.topics.items() for part in (words[:2], words[2:5])]

    async def search_one_index() -> list[list[str]]:
        server = LocalServer([servers.whole])
        rankings = [[hit.url for hit in (await search_servers([server], Query(text))).hits] for _, text in queries]
        await server.close()
        return rankings

    results = [search_json(servers.front, text) for _, text in queries]
    rows = list(zip(queries, asyncio.run(search_one_index()), results, strict=True))
    single, federated = 0.0, 0.0
    for (topic, _), urls, result in rows:
        single += ndcg(urls, topic, servers.urls) / len(rows)
        federated += ndcg([hit["url"] for hit in result["hits"]], topic, servers.urls) / len(rows)
    searched = sum(report["chosen"] for result in results for report in result["asked"]) / len(results)
    assert all(len(result["asked"]) == 6 for result in results)
    assert single > 0.5, "the queries must have useful results"
    assert federated >= single - 0.03
    assert searched < 4.5


def test_feedback_reaches_every_server_and_becomes_a_verdict_there(servers: Servers) -> None:
    text = " ".join(WEB.topics["chess"][:2])
    before = search_json(servers.front, text)
    right, wrong = before["hits"][1]["url"], before["hits"][0]["url"]
    body = json.dumps({"query": text, "relevant": [right], "irrelevant": [wrong], "teach": True}).encode()
    front = servers.front
    response = front.send_request("POST", "/api/feedback", body, origin=front.origin, content_type="application/json")
    assert response.status == 200
    for directory in servers.parts:
        assert json.loads(response.text)["id"] in (directory / "feedback.jsonl").read_text()
    for client in (servers.front, *servers.homes):
        assert search_json(client, text)["query"]["weights"]
    verdicts: dict[str, str] = {}
    for directory in servers.parts:
        store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
        verdicts |= {row.url: row.label for row in annotation_log.list_annotations_since(store, 0)}
        store.close()
    assert verdicts == {right: "relevant", wrong: "irrelevant"}
    undo = json.dumps({"undo": json.loads(response.text)["id"]}).encode()
    assert (
        front.send_request("POST", "/api/feedback", undo, origin=front.origin, content_type="application/json").status
        == 200
    )
    for client in (servers.front, *servers.homes):
        assert not search_json(client, text)["query"]["weights"]
    for directory in servers.parts:
        store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
        assert {row.label for row in annotation_log.list_current_annotations(store).values()} <= {""}
        store.close()


def test_scope_selects_collections_and_skipped_ones_can_be_searched(servers: Servers) -> None:
    client, text = servers.homes[0], " ".join(WEB.topics["chess"][:2])
    found = search_json(client, text)
    skipped = [report["name"] for report in found["asked"] if not report["chosen"]]
    assert skipped
    page = client.get("/search", q=text).text
    assert f"{len(skipped)} collection" in page
    assert ">Search all<" in page
    assert "not the topic" in page
    everything = json.loads(client.get("/api/search", q=text, all="1").text)
    assert all(report["chosen"] for report in everything["asked"])
    assert 'id="skipped"' not in client.get("/search", q=text, all="1").text
    one = json.loads(client.get("/api/search", q=text, **{"in": skipped[0]}, facets="1").text)
    assert [report["name"] for report in one["asked"]] == [skipped[0]]
    assert {name for hit in one["hits"] for name in hit["collections"]} <= {skipped[0]}
    assert client.get("/api/search", q=text, **{"in": "nowhere"}).status == 400


def test_facets_narrow_the_results(servers: Servers) -> None:
    client, text = servers.homes[0], " ".join(WEB.topics["chess"][:2])
    page = client.get("/search", q=text, all="1").text
    (facets,) = re.findall(r'<details id="facets">(.*?)</details>', page, re.DOTALL)
    (hosts,) = re.findall(r"Host:</span>(.*?)</p>", facets, re.DOTALL)
    address, label = re.findall(r'<a href="([^"]+)">([^<]+)</a> <small>\d+</small>', hosts)[0]
    assert client.get(unescape(address)).status == 200
    narrowed = json.loads(client.get("/api/search", q=f"{text} host:{label}", all="1").text)
    assert narrowed["hits"]
    assert {hit["url"].split("/")[2] for hit in narrowed["hits"]} == {label}


def test_feedback_on_the_search_page_can_be_undone(servers: Servers) -> None:
    client, text = servers.homes[1], " ".join(WEB.topics["chess"][2:4])
    url = json.loads(client.get("/api/search", q=text, all="1").text)["hits"][0]["url"]
    response = client.post("/search", q=text, url=url, verdict="relevant")
    assert response.status == 303
    (feedback_id,) = re.findall(r"feedback=(\w+)", response.headers["location"])
    assert 'id="undo"' in client.get("/search", q=text, feedback=feedback_id).text
    assert search_json(client, text)["query"]["weights"]
    assert client.post("/search", q=text, undo=feedback_id).status == 303
    assert not search_json(client, text)["query"]["weights"]


def test_similar_pages_and_overlaps_include_other_servers(servers: Servers) -> None:
    url = search_json(servers.front, "chess opening")["hits"][0]["url"]
    similar = json.loads(servers.front.get("/api/search", like=url).text)["hits"]
    assert similar
    assert url not in [hit["url"] for hit in similar]
    result = json.loads(servers.front.get("/api/search", q="chess", overlap="1").text)
    assert result["overlaps"] == []


def test_an_expensive_query_is_reported_with_the_hits_of_the_other_collections(tmp_path: Path) -> None:
    create_wide_collection(tmp_path / "wide")
    create_collection(tmp_path / "small", [("http://www.a.example/9", "baaaax", "owls")])
    for directory in tmp_path.iterdir():
        update_index(directory)
    with serve_collections([tmp_path]) as client:
        found = search_json(client, " ".join(f"title:ba{letter}*" for letter in "abcdef"))
        page = client.get("/search", q=" ".join(f"title:ba{letter}*" for letter in "abcdef")).text
    troubles = {report["name"]: report["trouble"] for report in found["asked"]}
    assert troubles["small"] == ""
    assert "use longer or fewer prefixes" in troubles["wide"]
    assert "use longer or fewer prefixes" in page
    assert [hit["url"] for hit in found["hits"]] == ["http://www.a.example/9"]
