"""A crawl in Redis from the command line: started, joined, watched, paused, finished, gathered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.live import chain, live_site
from tests.redis_server import RedisServer, running

from topicrawl.collection.store import Store


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    with running(tmp_path / "redis") as server:
        yield server


def held(directory: Path) -> list[list[tuple[object, ...]]]:
    """What a collection holds, but for times and places in its archive."""
    store = Store(directory / "topicrawl.sqlite", readonly=True)
    try:
        visits = store.rows(
            "SELECT step, requested, url, source, anchor, depth, score, parts, carry, relevance, failure, status, twin"
            " FROM visits ORDER BY step"
        )
        pages, links = (store.rows(f"SELECT * FROM {table} ORDER BY 1") for table in ("pages", "links"))
        assert visits
        return [visits, pages, links, store.rows("SELECT url, failure, status, attempt FROM failures ORDER BY 1")]
    finally:
        store.close()


def test_a_crawl_is_started_joined_watched_and_gathered(run: Any, redis: RedisServer, tmp_path: Path) -> None:
    depot = f"file://{tmp_path}/depot"
    with live_site(chain(6)) as (site, asked):
        # The scores of a strategy that learns depend on which worker has fetched what.
        options = ("--strategy", "best_first", "--delay", 0, "--allow-net", "127.0.0.0/8", "--min-free", 0)
        options += ("--frontier", redis.address, "--store", depot)
        started = run("crawl", "dengue fever", "--out", "owls", "--seed", f"{site}/0", "--pages", 3, *options)
        assert (started.code, "pages reached" in started.err) == (0, True)
        # The goal is one for all, so a worker has nothing to do before it is raised.
        assert run("worker", redis.address, "owls", "--out", "second").code == 0
        assert run("cluster", "pause", redis.address, "owls").err == "owls: paused\n"
        (status,) = json.loads(run("cluster", "status", redis.address, "owls", "--json").out)
        assert (status["state"], status["pages"], len(status["workers"])) == ("paused", 3, 2)
        assert run("cluster", "finish", redis.address, "owls").code == 0
        finished = run("crawl", "--out", "owls", "--pages", 0, "--frontier", f"{redis.address}#owls")
        assert (finished.code, "finished by its operator" in finished.err) == (0, True)
        run("cluster", "resume", redis.address, "owls")
        assert run("worker", redis.address, "owls", "--out", "second").code == 0
        pages = sorted(path for path in asked if path != "/robots.txt")
        run("crawl", "dengue fever", "--out", "alone", "--seed", f"{site}/0", "--pages", 0, *options[:-4])
    assert pages == [f"/{n}" for n in range(7)]
    assert "owls: running" in run("cluster", "status", redis.address).out
    gathered = run("gather", "all", "owls", "second")
    assert (gathered.code, "6 pages in all" in gathered.err) == (0, True)
    assert json.loads(run("status", "all", "--json").out)["pages"] == 6
    assert held(Path("all")) == held(Path("alone"))
    # What the workers left in the store is as good as their directories.
    assert run("gather", "stored", depot).code == 0
    assert held(Path("stored")) == held(Path("alone"))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("worker", "{redis}", "none"), "there is none yet"),
        (("crawl", "owls", "--frontier", "{redis}"), "give it a --seed to start from"),
        (("crawl", "owls", "--seed", "http://a.example/", "--store", "memory://x"), "give --frontier too"),
        (("crawl", "owls", "--frontier", "{redis}", "--seed", "http://a.example/", "--store", "no://x"), "as a store"),
        (("gather", "all", "memory://nothing"), "holds no worker's directory"),
        (("cluster", "pause", "{redis}", "a b"), "does not do as the name"),
        (("cluster", "status", "http://r/"), "redis://host:6379/0"),
    ],
    ids=["no such crawl", "no seed", "store alone", "no store", "empty store", "name", "address"],
)  # fmt: skip
def test_a_mistake_is_one_line(run: Any, redis: RedisServer, words: tuple[str, ...], line: str) -> None:
    ran = run(*(word.replace("{redis}", redis.address) for word in words))
    assert ran.code in (2, 3)
    assert line in ran.err
    assert ran.err.count("\n") == 1


def test_another_topic_under_the_same_name_is_refused(run: Any, redis: RedisServer) -> None:
    options = ("--frontier", f"{redis.address}#shared", "--min-free", 0, "--seconds", 0.01)
    run("crawl", "owls", "--out", "first", "--seed", "http://127.0.0.1:1/", *options)
    ran = run("crawl", "bees", "--out", "other", "--seed", "http://127.0.0.1:1/", *options)
    assert (ran.code, "another topic or strategy" in ran.err) == (2, True)
