"""Tests of the Python client and of the API that starts, steers and exports crawls, with a real server."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.helpers.live_site import live_site, make_chain_site
from tests.helpers.markers import LONG
from tests.helpers.web_client import WebClient, serve_collections

from topicrawl.errors import UsageError
from topicrawl.web.client import ServerResponseError, TopicrawlClient

TOKEN = "token-of-the-test"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WebClient]:
    """A server with a token. Its crawls may use loopback and have no delay."""
    config = tmp_path / "settings.toml"
    config.write_text('allow_net = ["127.0.0.0/8"]\ndelay = 0.01\nmin_free = 0\npatience = 0.5\nsitemaps = false\n')
    (tmp_path / "crawls").mkdir()
    with serve_collections([tmp_path / "crawls"], token=TOKEN, config=config) as client:
        yield client


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.1)


@LONG
def test_the_client_starts_steers_exports_and_stops_a_crawl(server: WebClient, tmp_path: Path) -> None:
    client = TopicrawlClient(server.origin, token=TOKEN)
    with live_site(make_chain_site(2000)) as (address, _):
        name = client.start_crawl("dengue fever", [f"{address}/0"], pages=6)
        assert name == "dengue-fever"
        wait_for(lambda: [row.get("pages") for row in client.list_collections()] == [6])
        wait_for(lambda: not client.get_collection(name)["crawling"])
        assert len(client.list_pages(name)) == 6
        assert "mosquitoes" in client.get_page(name, f"{address}/1")["text"]
        path = client.export_pages(name, tmp_path / "pages.jsonl", everything=True)
        assert len([json.loads(line) for line in path.read_text("utf-8").splitlines()]) == 6
        warc = client.export_pages(name, tmp_path / "pages.warc.gz", format="warc", everything=True)
        assert gzip.decompress(warc.read_bytes()).count(b"WARC-Type: response") == 6
        assert not list(tmp_path.glob("*.part"))
        wait_for(lambda: bool(client.search("mosquitoes")["hits"]))
        client.add_verdict(name, [f"{address}/1"], "irrelevant")
        client.resume_crawl(name, pages=100_000)
        wait_for(lambda: bool(client.get_collection(name)["crawling"]))
        with pytest.raises(ServerResponseError, match="already running") as raised:
            client.resume_crawl(name)
        assert raised.value.status == 409
        assert client.send_command(name, "word", "mosquito")
        client.stop_crawl(name)
        wait_for(lambda: not client.get_collection(name)["crawling"])


def test_errors_of_the_server_are_exceptions(server: WebClient, tmp_path: Path) -> None:
    client = TopicrawlClient(server.origin, token=TOKEN)
    with pytest.raises(ServerResponseError, match="no collection") as raised:
        client.get_collection("missing one")
    assert raised.value.status == 404
    for words, seeds in (("", ["http://a.org/"]), ("dengue", []), ("dengue", ["ftp://a/"]), ("x" * 301, ["http://a/"])):
        with pytest.raises(ServerResponseError) as raised:
            client.start_crawl(words, seeds)
        assert raised.value.status == 400
    for fields in ({"pages": 0}, {"pages": 1.5}, {"strategy": "os:system"}):
        body = json.dumps({"words": "dengue", "seeds": ["http://a.org/"], **fields}).encode()
        headers = {"authorization": f"Bearer {TOKEN}", "content_type": "application/json"}
        assert server.send_request("POST", "/api/crawls", body, **headers).status == 400
    with pytest.raises(ServerResponseError) as raised:
        client.export_pages("missing", tmp_path / "x.jsonl")
    assert raised.value.status == 404
    with pytest.raises(ServerResponseError) as raised:
        TopicrawlClient(server.origin, token="wrong").list_collections()
    assert raised.value.status == 401
    with pytest.raises(ServerResponseError, match="does not answer"):
        TopicrawlClient("http://127.0.0.1:9").list_collections()
    with pytest.raises(UsageError):
        TopicrawlClient("file:///etc/passwd")
    assert list((tmp_path / "crawls").iterdir()) == []


def test_the_number_of_running_crawls_is_limited(server: WebClient) -> None:
    server.site.crawls.max_running = 0
    with pytest.raises(ServerResponseError, match="are running") as raised:
        TopicrawlClient(server.origin, token=TOKEN).start_crawl("dengue", ["http://a.org/"])
    assert raised.value.status == 409


def test_the_client_does_not_follow_redirects() -> None:
    redirect = (302, {"Location": "http://127.0.0.1:9/"}, b"")
    with live_site(lambda path: redirect) as (address, asked), pytest.raises(ServerResponseError) as raised:
        TopicrawlClient(address, token=TOKEN).list_collections()
    assert (raised.value.status, asked) == (302, ["/api/collections"])
