"""A killed server loses no acknowledged change, and work continues after a restart."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import Any

from tests.helpers.live_site import live_site, make_chain_site
from tests.helpers.markers import LONG
from tests.helpers.search_collections import create_collection, make_page
from tests.helpers.server_process import create_client, run_server_process
from tests.helpers.web_client import WebClient

from topicrawl.collection import annotations as annotation_log
from topicrawl.collection.directory import is_crawling
from topicrawl.collection.store import CollectionStore

pytestmark = LONG

LENGTH = 12
PAGES = 1400  # more than one slice of an index update


def poll(client: WebClient, path: str, until: Callable[[Any], object], **fields: object) -> Any:
    """Repeat a request until its JSON response satisfies a condition, and return the response."""
    for _ in range(5000):
        table = json.loads(client.get(path, **fields).text)
        if until(table):
            return table
    raise AssertionError(table)


def find_crawler(directory: Path) -> int:
    """Return the id of the process that crawls into a directory."""
    argument = str(directory).encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue  # the process has just ended
            if b"crawl" in words and argument in words:
                return int(entry.name)
    raise AssertionError(f"no process crawls into {directory}")


def test_crawl_survives_a_kill_of_its_server_and_resumes_after_its_own_kill(tmp_path: Path) -> None:
    gates = {"/6": Event(), "/9": Event()}
    respond = make_chain_site(LENGTH)

    def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
        if path in gates:
            assert gates[path].wait(120)  # so that the kill happens in the middle of the crawl
        return respond(path)

    config = tmp_path / "settings.toml"
    config.write_text(
        'allow_net = ["127.0.0.0/8"]\ndelay = 0.0\ntimeout = 100.0\ndocuments = false\ndistinct = false\n'
    )
    (tmp_path / "shelf").mkdir()
    directory, about = tmp_path / "shelf" / "dengue-fever", "/api/collections/dengue-fever"
    options = (tmp_path / "shelf", "--config", config)
    with live_site(answer) as (site, asked):
        with run_server_process(*options) as (process, address):
            client = create_client(address)
            assert client.post("/crawls", words="dengue fever", seeds=f"{site}/0", pages=LENGTH).status == 303
            poll(client, about, lambda table: table.get("pages") == 6)
            process.kill()
            process.wait()
        assert is_crawling(directory)
        with run_server_process(*options) as (process, address):
            client = create_client(address)
            assert poll(client, about, lambda table: table["pages"] == 6)["state"] == "crawling"
            assert client.post("/c/dengue-fever/verdict", url=f"{site}/3", verdict="relevant").status == 303
            poll(client, about, lambda table: table["heeded"] and table["heeded"]["verdict"] == 1)
            gates["/6"].set()
            poll(client, about, lambda table: table["pages"] == 9)
            os.kill(find_crawler(directory), signal.SIGKILL)
            poll(client, about, lambda table: not table["crawling"])
            # The same server notices that the crawl has ended and can resume it.
            gates["/9"].set()
            assert client.post("/c/dengue-fever/start").status == 303
            done = poll(client, about, lambda table: table["pages"] == LENGTH and not table["crawling"])
    assert (done["judged"], done["pending"]) == (1, 0)
    fetched = Counter(path for path in asked if path[1:].isdecimal())
    # Stored pages are not fetched again; only the page in flight may be.
    assert {path: count for path, count in fetched.items() if count > 1}.keys() <= {"/9"}
    assert set(fetched) == {f"/{number}" for number in range(LENGTH)}


def test_index_is_completed_after_a_kill(tmp_path: Path) -> None:
    create_collection(tmp_path / "owls", (make_page(number, "owls", f"word{number}") for number in range(PAGES)))

    def count_indexed(table: Any) -> int:
        return int(table["asked"][0]["pages"]) if table.get("asked") else 0

    with run_server_process(tmp_path) as (process, address):
        poll(create_client(address), "/api/search", count_indexed, q="owls")
        process.kill()
    with run_server_process(tmp_path) as (process, address):
        client = create_client(address)
        result = poll(client, "/api/search", lambda table: count_indexed(table) == PAGES, q="owls")
        assert result["found"] == PAGES
        for number in (0, PAGES // 2, PAGES - 1):
            hits = json.loads(client.get("/api/search", q=f"word{number}").text)["hits"]
            assert [hit["url"] for hit in hits] == [f"http://www.a.example/{number}"]


def test_acknowledged_verdicts_survive_a_kill(tmp_path: Path) -> None:
    create_collection(tmp_path / "owls", [make_page(number, "owls") for number in range(8)])
    confirmed = 0
    with run_server_process(tmp_path) as (process, address):
        client = create_client(address)
        for turn in range(30):
            if turn == 25:
                process.kill()
            try:
                response = client.post(
                    "/c/owls/verdict",
                    url=f"http://www.a.example/{turn % 8}",
                    verdict=("relevant", "irrelevant")[turn % 2],
                )
            except OSError:
                break
            assert response.status == 303
            confirmed += 1
    store = CollectionStore(tmp_path / "owls" / "topicrawl.sqlite", readonly=True)
    assert len(annotation_log.list_annotations_since(store, 0)) >= confirmed >= 25
    store.close()
