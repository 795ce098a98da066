"""A server that is killed loses nothing that it has confirmed, and all goes on when it is started again."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import Any

from tests.cli.live import chain, live_site
from tests.longer import LONG
from tests.search.made import made, owls
from tests.web.process import client_of, serving
from tests.web.served import Client

from topicrawl.collection import verdicts
from topicrawl.collection.directory import crawling
from topicrawl.collection.store import Store

pytestmark = LONG

LENGTH = 12
PAGES = 1400  # more than are indexed at a time


def told(client: Client, path: str, until: Callable[[Any], object], **fields: object) -> Any:
    """What the server says at last; each look asks it, so nobody waits for nothing."""
    for _ in range(5000):
        table = json.loads(client.get(path, **fields).text)
        if until(table):
            return table
    raise AssertionError(table)


def crawler(directory: Path) -> int:
    """The process that crawls into a directory."""
    wanted = str(directory).encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue  # it has just ended
            if b"crawl" in words and wanted in words:
                return int(entry.name)
    raise AssertionError(f"nobody crawls into {directory}")


def test_a_crawl_outlives_the_server_that_started_it_and_goes_on_after_its_own_end(tmp_path: Path) -> None:
    gates = {"/6": Event(), "/9": Event()}
    whole = chain(LENGTH)

    def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
        if path in gates:
            assert gates[path].wait(120)  # so a kill is always in the middle
        return whole(path)

    config = tmp_path / "settings.toml"
    config.write_text(
        'allow_net = ["127.0.0.0/8"]\ndelay = 0.0\ntimeout = 100.0\ndocuments = false\ndistinct = false\n'
    )
    (tmp_path / "shelf").mkdir()
    directory, about = tmp_path / "shelf" / "dengue-fever", "/api/collections/dengue-fever"
    options = (tmp_path / "shelf", "--config", config)
    with live_site(answer) as (site, asked):
        with serving(*options) as (process, address):
            client = client_of(address)
            assert client.post("/crawls", words="dengue fever", seeds=f"{site}/0", pages=LENGTH).status == 303
            told(client, about, lambda table: table.get("pages") == 6)
            process.kill()
            process.wait()
        assert crawling(directory)
        with serving(*options) as (process, address):
            client = client_of(address)
            assert told(client, about, lambda table: table["pages"] == 6)["state"] == "crawling"
            assert client.post("/c/dengue-fever/verdict", url=f"{site}/3", verdict="relevant").status == 303
            told(client, about, lambda table: table["heeded"] and table["heeded"]["verdict"] == 1)
            gates["/6"].set()
            told(client, about, lambda table: table["pages"] == 9)
            os.kill(crawler(directory), signal.SIGKILL)
            told(client, about, lambda table: not table["crawling"])
            # The same server notices, and goes on.
            gates["/9"].set()
            assert client.post("/c/dengue-fever/start").status == 303
            done = told(client, about, lambda table: table["pages"] == LENGTH and not table["crawling"])
    assert (done["judged"], done["pending"]) == (1, 0)
    fetched = Counter(path for path in asked if path[1:].isdecimal())
    # What was confirmed is not asked for again; what was under way may be.
    assert {path: count for path, count in fetched.items() if count > 1}.keys() <= {"/9"}
    assert set(fetched) == {f"/{number}" for number in range(LENGTH)}


def test_an_index_is_completed_after_a_kill_in_the_middle(tmp_path: Path) -> None:
    made(tmp_path / "owls", (owls(number, "owls", f"word{number}") for number in range(PAGES)))

    def indexed(table: Any) -> int:
        return int(table["asked"][0]["pages"]) if table.get("asked") else 0

    with serving(tmp_path) as (process, address):
        told(client_of(address), "/api/search", indexed, q="owls")
        process.kill()
    with serving(tmp_path) as (process, address):
        client = client_of(address)
        answer = told(client, "/api/search", lambda table: indexed(table) == PAGES, q="owls")
        assert answer["found"] == PAGES
        for number in (0, PAGES // 2, PAGES - 1):
            hits = json.loads(client.get("/api/search", q=f"word{number}").text)["hits"]
            assert [hit["url"] for hit in hits] == [f"http://www.a.example/{number}"]


def test_every_verdict_that_was_confirmed_survives_a_kill(tmp_path: Path) -> None:
    made(tmp_path / "owls", [owls(number, "owls") for number in range(8)])
    confirmed = 0
    with serving(tmp_path) as (process, address):
        client = client_of(address)
        for turn in range(30):
            if turn == 25:
                process.kill()
            try:
                answer = client.post(
                    "/c/owls/verdict",
                    url=f"http://www.a.example/{turn % 8}",
                    verdict=("relevant", "irrelevant")[turn % 2],
                )
            except OSError:
                break
            assert answer.status == 303
            confirmed += 1
    store = Store(tmp_path / "owls" / "topicrawl.sqlite", readonly=True)
    assert len(verdicts.since(store, 0)) >= confirmed >= 25
    store.close()
