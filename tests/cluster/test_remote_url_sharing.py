"""URL sharing between crawls on different servers, over the HTTP API with a token."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.helpers.live_site import live_site
from tests.helpers.web_client import ClientResponse, WebClient, serve_collections

from topicrawl.cli import main
from topicrawl.cluster.remote_url_sharing import RemoteCrawl
from topicrawl.collection import commands
from topicrawl.collection.store import CollectionStore
from topicrawl.errors import SettingError

PAGES = {
    "/": "Owls hunt at night. <a href=/trains>by day</a> <a href=/owls>barn owls</a>",
    "/owls": "The barn owl is an owl of the night.",
    "/trains": "The steam train is a train on rails. A train needs steam.",
}


def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
    return (200, {}, f"<title>{path}</title><p>{PAGES[path]}</p>".encode()) if path in PAGES else (404, {}, b"")


def crawl(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    fixed = ("--allow-net=127.0.0.0/8", "--delay=0", "--no-sitemaps", "--contact=me@example.org")
    monkeypatch.setattr("sys.argv", ["topicrawl", "crawl", *map(str, arguments), *fixed])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code in (0, None)


def share(server: WebClient, name: str, urls: list[str], token: str = "") -> ClientResponse:
    """Send URLs to a collection of the server."""
    headers = {"content_type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})
    path = f"/api/collections/{name}/shared-urls"
    return server.send_request("POST", path, json.dumps({"urls": urls}).encode(), **headers)


def list_seeds(directory: Path) -> list[str]:
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    try:
        return [command.target for command in commands.list_commands(store)]
    finally:
        store.close()


def has_page(directory: Path, url: str) -> bool:
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    try:
        return store.find_visit(url) is not None
    finally:
        store.close()


def test_a_crawl_sends_urls_to_a_crawl_on_another_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOPICRAWL_TOKEN", "secret")
    with live_site(answer) as (site, _):
        crawl(monkeypatch, "steam train", "--seed", f"{site}/nothing", "--seed", f"{site}/owls", "--out", "far/trains")
        with serve_collections([tmp_path / "far"], token="secret") as server:
            address = f"http://127.0.0.1:{server.port}/api/collections/trains"
            crawl(monkeypatch, "owl", "--seed", f"{site}/", "--out", "owls", "--share-with", address)
        assert list_seeds(tmp_path / "far" / "trains") == [f"{site}/trains"]
        assert not has_page(tmp_path / "far" / "trains", f"{site}/trains")
        crawl(monkeypatch, "steam train", "--out", "far/trains")
        assert has_page(tmp_path / "far" / "trains", f"{site}/trains")


def test_requests_need_the_token_and_valid_urls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with live_site(answer) as (site, _):
        crawl(monkeypatch, "steam train", "--seed", f"{site}/owls", "--out", "far/trains")
        crawl(monkeypatch, "owl", "--seed", f"{site}/owls", "--out", "far/owls", "--no-cooperate")
    with serve_collections([tmp_path / "far"], token="secret") as server:
        assert share(server, "trains", []).status == 401
        reply = json.loads(share(server, "trains", [f"{site}/owls", "http://a.example/x"], "secret").text)
        assert reply["added"] == 1  # the collection contains the other one
        assert "steam" in reply["topic"]
        assert share(server, "trains", ["file:///etc/passwd"], "secret").status == 400
        refused = share(server, "owls", [], "secret")
        assert refused.status == 400
        assert "does not exchange URLs" in refused.text


@pytest.mark.parametrize("address", ["nonsense", "http://a.example/", "http://a.example/api/collections/x?y=1"])
def test_an_address_without_a_collection_is_rejected(address: str) -> None:
    with pytest.raises(SettingError, match="share_with must be the URL of a collection"):
        RemoteCrawl.of(address)
