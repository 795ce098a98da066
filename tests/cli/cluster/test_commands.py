"""Shared crawl in Redis on the command line: `crawl`, `worker`, `cluster` and `gather`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.browser import BROWSER
from tests.helpers.live_site import live_site, make_chain_site
from tests.helpers.markers import LONG
from tests.helpers.redis_server import RedisServer, running

from topicrawl.collection.store import CollectionStore

WORDS = ("amber", "basalt", "cedar", "dolomite", "ember", "fjord")


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    with running(tmp_path / "redis") as server:
        yield server


def held(directory: Path) -> list[list[tuple[object, ...]]]:
    """Return the content of a collection, without times and positions in the archive."""
    store = CollectionStore(directory / "topicrawl.sqlite", readonly=True)
    try:
        visits = store.query_rows(
            "SELECT step, requested, url, source, anchor, depth, score, score_parts, payload,"
            " relevance, failure, status, duplicate_of"
            " FROM visits ORDER BY step"
        )
        pages, links = (store.query_rows(f"SELECT * FROM {table} ORDER BY 1") for table in ("pages", "links"))
        assert visits
        return [visits, pages, links, store.query_rows("SELECT url, failure, status, attempt FROM failures ORDER BY 1")]
    finally:
        store.close()


def test_a_crawl_of_two_workers_is_controlled_and_merged(run: Any, redis: RedisServer, tmp_path: Path) -> None:
    depot = f"file://{tmp_path}/depot"
    with live_site(make_chain_site(6)) as (site, asked):
        # The scores of a learning strategy or judge would depend on the distribution of the pages over the workers.
        options = ("--strategy", "best_first", "--judge", "cosine", "--delay", 0, "--allow-net", "127.0.0.0/8")
        options += ("--min-free", 0, "--frontier", redis.address, "--store", depot)
        started = run("crawl", "dengue fever", "--out", "owls", "--seed", f"{site}/0", "--pages", 3, *options)
        assert (started.code, "pages reached" in started.err) == (0, True)
        # The page limit applies to the whole crawl, so the second worker has nothing to do yet.
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
    # The object store contains the same data as the directories of the workers.
    assert run("gather", "stored", depot).code == 0
    assert held(Path("stored")) == held(Path("alone"))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("worker", "{redis}", "none"), "the server has no crawls yet"),
        (("crawl", "owls", "--frontier", "{redis}"), "give it a --seed to start from"),
        (("crawl", "owls", "--seed", "http://a.example/", "--store", "memory://x"), "give --frontier too"),
        (("crawl", "owls", "--frontier", "{redis}", "--seed", "http://a.example/", "--store", "no://x"), "as a store"),
        (("gather", "all", "memory://nothing"), "holds no worker's directory"),
        (("cluster", "pause", "{redis}", "a b"), "is not a valid crawl name"),
        (("cluster", "status", "http://r/"), "redis://host:6379/0"),
    ],
    ids=["no such crawl", "no seed", "store alone", "no store", "empty store", "name", "address"],
)
def test_invalid_arguments_are_reported_in_one_line(
    run: Any, redis: RedisServer, words: tuple[str, ...], line: str
) -> None:
    ran = run(*(word.replace("{redis}", redis.address) for word in words))
    assert ran.code in (2, 3)
    assert line in ran.err
    assert ran.err.count("\n") == 1


def test_another_topic_under_the_same_name_is_rejected(run: Any, redis: RedisServer) -> None:
    options = ("--frontier", f"{redis.address}#shared", "--min-free", 0, "--seconds", 0.01)
    run("crawl", "owls", "--out", "first", "--seed", "http://127.0.0.1:8009/", *options)
    ran = run("crawl", "bees", "--out", "other", "--seed", "http://127.0.0.1:8009/", *options)
    assert (ran.code, "another topic, strategy or embedding" in ran.err) == (2, True)


def test_the_relevant_pages_of_all_workers_count_towards_the_goal(run: Any, redis: RedisServer) -> None:
    with live_site(make_chain_site(12)) as (site, _):
        options = ("--delay", 0, "--allow-net", "127.0.0.0/8", "--min-free", 0, "--frontier", redis.address)
        first = run("crawl", "dengue fever", "--out", "owls", "--seed", f"{site}/0", "--relevant", 3, *options)
        assert (first.code, "relevant pages reached: 3 pages" in first.err) == (0, True)
        second = run("worker", redis.address, "owls", "--out", "second")
        assert (second.code, "nothing to do: 3 relevant pages" in second.err) == (0, True)
        (status,) = json.loads(run("cluster", "status", redis.address, "owls", "--json").out)
        assert (status["pages"], status["relevant"]) == (3, 3)


def test_a_worker_in_a_new_directory_raises_the_page_limit_of_the_crawl(run: Any, redis: RedisServer) -> None:
    options = ("--delay", 0, "--allow-net", "127.0.0.0/8", "--min-free", 0, "--frontier", f"{redis.address}#owls")
    with live_site(make_chain_site(12)) as (site, _):
        seed = ("--seed", f"{site}/0")
        assert run("crawl", "dengue fever", "--out", "first", *seed, "--pages", 3, *options).code == 0
        # Without --pages, the limit of the crawl applies, not the default of the setting.
        joined = run("crawl", "dengue fever", "--out", "second", *seed, *options, "--seconds", 30)
        assert (joined.code, "nothing to do: 3 pages are stored already" in joined.err) == (0, True)
        raised = run("crawl", "dengue fever", "--out", "third", *seed, "--pages", 5, *options, "--seconds", 30)
        assert (raised.code, "pages reached: 2 pages" in raised.err) == (0, True), raised.err
        later = run("worker", redis.address, "owls", "--out", "fourth", "--seconds", 30)
        assert (later.code, "nothing to do: 5 pages are stored already" in later.err) == (0, True)
    (status,) = json.loads(run("cluster", "status", redis.address, "owls", "--json").out)
    assert (status["pages"], status["wanted"]) == (5, 5)


@LONG
@pytest.mark.skipif(BROWSER is None, reason="no browser here: `apt-get install chromium-headless-shell`")
def test_all_workers_render_pages(run: Any, redis: RedisServer) -> None:
    def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
        if path == "/":
            return 200, {}, "".join(f'<p><a href="/{name}">dengue fever {name}</a>' for name in WORDS).encode()
        word = path.strip("/")
        text = f"`<p>Dengue fever and ${{'{word}'.split('').reverse().join('')}}: {word}um {word}or.</p>`"
        page = f"<body><script>document.body.innerHTML = {text} /* {'x' * 2000} */</script>"
        return (200, {}, page.encode()) if word in WORDS else (404, {}, b"")

    options = ("--delay", 0, "--allow-net", "127.0.0.0/8", "--min-free", 0, "--frontier", f"{redis.address}#owls")
    with live_site(answer) as (site, _):
        words = ("crawl", "dengue fever", "--seed", f"{site}/", "--render", "auto", *options)
        for directory, pages in (("first", 3), ("second", 5)):
            assert run(*words, "--out", directory, "--pages", pages).code == 0
    assert run("gather", "all", "first", "second").code == 0
    for directory, expected in (("first", 2), ("second", 2), ("all", 4)):
        rows = run("export", directory, "--to", "jsonl", "--all", "--out", "-").out.splitlines()
        rendered = [row for row in map(json.loads, rows) if row["url"].rpartition("/")[2][::-1] in row["text"]]
        assert len([row for row in rendered if not row["url"].endswith("/")]) == expected
