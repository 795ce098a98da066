"""Edit the topic and the settings of a collection, rename it, and remove it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.helpers.markers import LONG
from tests.helpers.search_collections import create_collection, make_page
from tests.helpers.web_client import WebClient, crawl_hostile_site, serve_collections

from topicrawl import open_crawl
from topicrawl.builder.stored_settings import load_topic_and_settings
from topicrawl.collection.store import CollectionStore
from topicrawl.database import FileLock
from topicrawl.engine.limits import StopReason

FORM = {"topic_name": "night owls", "words": "owls = 2\nbarn", "exclude_words": "", "threshold": "0.5", "pages": "70"}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[WebClient]:
    create_collection(tmp_path / "owls", [make_page(number, "owls", f"word{number}") for number in range(3)])
    with serve_collections([tmp_path]) as client:
        yield client


def test_settings_and_topic_are_edited(client: WebClient, tmp_path: Path) -> None:
    scope = {"only": "a.example\nb.example", "exclude": "*/login*", "delay": "2.5", "minutes": "3"}
    assert client.post("/c/owls/settings", **FORM, **scope).status == 303
    topic, settings = load_topic_and_settings(tmp_path / "owls", {})
    assert (topic.name, topic.words) == ("night owls", {"owls": 2.0, "barn": 1.0})
    assert (settings.pages, settings.delay, settings.seconds, settings.depth) == (70, 2.5, 180.0, 64)
    assert (settings.only, settings.exclude) == (("a.example", "b.example"), ("*/login*",))
    shown = client.get("/c/owls/settings", saved=1).text
    for part in ("owls = 2\nbarn", ">a.example\nb.example<", 'value="2.5"', "The settings are saved"):
        assert part in shown
    assert "night owls" in client.get("/").text


@LONG
def test_crawl_resumes_with_edited_words(tmp_path: Path) -> None:
    crawl_hostile_site(tmp_path / "owls")
    with serve_collections([tmp_path]) as client:
        assert client.post("/c/owls/settings", **FORM).status == 303

    async def resume() -> list[str]:
        topic, settings = load_topic_and_settings(tmp_path / "owls", {"patience": 0.0, "attempts": 1})
        async with open_crawl(tmp_path / "owls", topic, [], settings) as crawl:
            return [str(visit.failure) async for visit in crawl.visits()]

    # The site is gone, but the crawl accepts its new words and continues with the waiting links.
    assert any("unreachable" in failure for failure in asyncio.run(resume()))
    with closing(CollectionStore(tmp_path / "owls" / "topicrawl.sqlite", readonly=True)) as store:
        identity = store.get_fact("identity")
    assert isinstance(identity, dict)
    assert (identity["words"], identity["strategy"]) == ({"owls": 2.0, "barn": 1.0}, "best_first")


def test_new_threshold_applies_to_all_pages_and_to_the_search(client: WebClient) -> None:
    async def search() -> int:
        await client.site.search.local_server.update_indexes()
        return len(json.loads(client.get("/api/search", q="owls").text)["hits"])

    client.site.search.refresh_servers()
    assert json.loads(client.get("/api/collections/owls").text)["relevant"] == 3
    assert asyncio.run(search()) == 3
    assert client.post("/c/owls/settings", **{**FORM, "threshold": "0.6"}).status == 303
    assert json.loads(client.get("/api/collections/owls").text)["relevant"] == 0
    assert asyncio.run(search()) == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"threshold": "2"},
        {"threshold": "x"},
        {"words": " "},
        {"words": "owl = many"},
        {"pages": "-1"},
        {"include": "re:("},
    ],
)
def test_invalid_settings_change_nothing_and_are_shown_again(
    client: WebClient, tmp_path: Path, changes: dict[str, str]
) -> None:
    before = load_topic_and_settings(tmp_path / "owls", {})
    got = client.post("/c/owls/settings", **{**FORM, **changes})
    assert got.status == 400
    assert 'role="alert"' in got.text
    assert 'value="night owls"' in got.text
    assert load_topic_and_settings(tmp_path / "owls", {}) == before


def test_collection_is_renamed(client: WebClient, tmp_path: Path) -> None:
    client.site.search.refresh_servers()
    asyncio.run(client.site.search.local_server.update_indexes())
    got = client.post("/c/owls/rename", new_name="barn owls")
    assert (got.status, got.headers["location"]) == (303, "/c/barn%20owls/settings?saved=1")
    assert client.get("/c/owls").status == 404
    assert client.get("/c/barn%20owls/pages").status == 200
    client.site.search.refresh_servers()
    asyncio.run(client.site.search.local_server.update_indexes())
    hits = json.loads(client.get("/api/search", q="owls").text)["hits"]
    assert {name for hit in hits for name in hit["collections"]} == {"barn owls"}


@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden", "", "x" * 90, "other", "a\\b", "."])
def test_invalid_or_used_names_are_refused(client: WebClient, tmp_path: Path, name: str) -> None:
    (tmp_path / "other").mkdir()
    assert client.post("/c/owls/rename", new_name=name).status == 400
    assert client.get("/c/owls").status == 200
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "owls"]


def test_removal_asks_twice(client: WebClient, tmp_path: Path) -> None:
    assert 'href="/c/owls/remove"' in client.get("/c/owls/settings").text
    assert "This deletes 3 pages" in client.get("/c/owls/remove").text
    for name in ("", "OWLS", "other"):
        assert client.post("/c/owls/remove", confirmed_name=name).status == 400
    assert (tmp_path / "owls" / "topicrawl.sqlite").exists()
    got = client.post("/c/owls/remove", confirmed_name="owls")
    assert (got.status, got.headers["location"]) == (303, "/?removed=owls")
    assert list(tmp_path.iterdir()) == []
    assert "The collection owls is removed" in client.get("/", removed="owls").text


def test_running_crawl_cannot_be_changed(client: WebClient, tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "owls" / "lock", tmp_path / "owls")
    try:
        got = client.post("/c/owls/settings", **FORM)
        assert (got.status, "stop it first" in got.text) == (400, True)
        assert client.post("/c/owls/rename", new_name="other").status == 409
        assert client.post("/c/owls/remove", confirmed_name="owls").status == 409
        assert "The crawl is running" in client.get("/c/owls/settings").text
    finally:
        lock.release()
    assert (tmp_path / "owls").exists()


def test_directory_given_to_the_server_is_neither_renamed_nor_removed(tmp_path: Path) -> None:
    create_collection(tmp_path / "owls", [make_page(1, "owls")])
    with serve_collections([tmp_path / "owls"]) as client:
        assert client.post("/c/owls/rename", new_name="other").status == 400
        assert client.post("/c/owls/remove", confirmed_name="owls").status == 400
        assert client.get("/c/owls").status == 200


def test_collections_are_grouped_by_topic_and_form_copies_a_crawl(client: WebClient, tmp_path: Path) -> None:
    create_collection(tmp_path / "owls-2", [make_page(1, "owls")])
    client.post("/c/owls/settings", **{**FORM, "topic_name": "owls", "only": "a.example", "pages": "70"})
    text = client.get("/").text
    assert text.count('scope="rowgroup"') == 1
    assert text.count('class="spark"') == 2
    assert "2023-11-15" in text
    copied = client.get("/", like="owls").text
    for part in (">a.example<", 'value="70"', 'value="owls barn"', "<details open>"):
        assert part in copied
    assert client.get("/", like="unknown").status == 400


def test_run_that_ended_is_explained_in_words(client: WebClient, tmp_path: Path) -> None:
    assert "its process was killed, or the machine failed" in client.get("/c/owls").text
    with closing(CollectionStore(tmp_path / "owls" / "topicrawl.sqlite")) as store:
        store.set_facts({"stopped": StopReason.SPACE})
    assert "Free some space, then continue the crawl" in client.get("/c/owls").text
    with closing(CollectionStore(tmp_path / "owls" / "topicrawl.sqlite")) as store:
        store.set_facts({"stopped": StopReason.PAGES})
    assert 'id="explanation"' not in client.get("/c/owls").text
