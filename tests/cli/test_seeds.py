"""`topicrawl seeds` with three engines of a SearXNG-compatible server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.helpers.live_site import live_site
from tests.helpers.searxng_server import ENGINES, searx

from topicrawl.cli import seed_search
from topicrawl.seeds import metasearch

NAMED = [word for engine in ENGINES for word in ("--engine", f"searxng:{engine}")]


@pytest.fixture(autouse=True)
def nothing_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable all engines that are configured on this machine, so that no test queries the live web."""
    monkeypatch.delenv("SEARXNG_URL", raising=False)
    monkeypatch.delenv("BRAVE_API_KEY", raising=False)
    monkeypatch.setattr(metasearch, "is_installed", lambda: False)
    monkeypatch.setattr(seed_search, "_PAUSE", 0.0)


@contextmanager
def server(broken: Mapping[str, tuple[int, bytes]] | None = None) -> Iterator[tuple[list[str], list[str]]]:
    """Serve the engines, of which some may be broken; yield the options for the command and the requested paths."""

    def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
        for engine, (status, body) in (broken or {}).items():
            if f"engines={engine}" in path:
                return status, {"Content-Type": "application/json"}, body
        body = searx(path)
        return (404, {}, b"") if body is None else (200, {"Content-Type": "application/json"}, body)

    with live_site(answer) as (address, asked):
        yield ["--searxng", address, "--allow-net", "127.0.0.0/8", *NAMED], asked


def test_the_vote_groups_are_those_of_the_papers(run) -> None:  # type: ignore[no-untyped-def]
    with server() as (options, _):
        ran = run("seeds", "dengue fever", *options, "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    groups = {row["url"]: (row["group"], row["votes"]) for row in found["seeds"]}
    assert groups == {
        "https://who.example/": ("most relevant", 3),
        "https://cdc.example/": ("most relevant", 3),
        "https://clinic.example/": ("relevant", 2),
        "https://news.example/": ("too few votes", 1),
        "https://blog.example/": ("too few votes", 1),
        "https://shop.example/": ("too few votes", 1),
    }
    assert found["seeds"][0]["ranks"] == {"google": 1, "msn": 1, "yahoo": 2}
    assert found["seeds"][0]["snippet"] == "What who says of dengue & fever."
    assert found["voters"] == ["google", "msn", "yahoo"]


def test_broken_engines_are_reported_and_have_no_vote(run) -> None:  # type: ignore[no-untyped-def]
    with server({"yahoo": (200, b"<html>garbage"), "msn": (500, b"")}) as (options, _):
        ran = run("seeds", "dengue fever", *options)
    assert ran.code == 0, ran.err
    assert "yahoo has no vote: not JSON" in ran.err
    assert "msn has no vote: server_error" in ran.err
    assert "only google answered" in ran.err
    assert ran.out.splitlines() == [f"https://{name}.example/" for name in ("who", "cdc", "news", "clinic")]


def test_if_no_engine_answers_all_are_reported_with_advice(run) -> None:  # type: ignore[no-untyped-def]
    with server(dict.fromkeys(ENGINES, (503, b""))) as (options, _):
        ran = run("seeds", "dengue fever", *options)
    assert ran.code == 2
    line = ran.err.splitlines()[-1]
    assert all(engine in line for engine in (*ENGINES, "--engine", "--seed URL"))


@pytest.mark.parametrize("command", ["seeds", "crawl"])
def test_without_engines_one_line_explains_how_to_configure_one(run, command: str) -> None:  # type: ignore[no-untyped-def]
    ran = run(command, "dengue fever")
    assert ran.code == 2
    assert "Traceback" not in ran.err
    assert all(word in ran.err for word in ("topicrawl[search]", "SEARXNG_URL", "BRAVE_API_KEY", "--seed URL"))
    assert not Path("dengue-fever").exists()


def test_more_votes_than_engines_are_rejected(run) -> None:  # type: ignore[no-untyped-def]
    with server() as (options, _):
        ran = run("seeds", "dengue fever", *options, "--votes", 4)
    assert ran.code == 2
    assert "4 votes are impossible with 3 engines" in ran.err


def test_the_negative_query_gives_relevant_and_irrelevant_examples(run) -> None:  # type: ignore[no-untyped-def]
    with server() as (options, _):
        ran = run("seeds", "dengue fever", *options, "--negative", "-", "--examples", "ex.tsv", "--out", "seeds.txt")
    assert ran.code == 0, ran.err
    rows = [line.split("\t") for line in Path("ex.tsv").read_text("utf-8").splitlines()]
    labels = {url.removeprefix("https://").partition(".")[0]: label for url, label in rows}
    assert labels == {
        **dict.fromkeys(("who", "cdc", "clinic"), "relevant"),
        **dict.fromkeys(("cars", "faces"), "irrelevant"),
    }
    assert ran.out == ""


def test_recorded_answers_can_be_counted_again_offline(run) -> None:  # type: ignore[no-untyped-def]
    with server() as (options, asked):
        run("seeds", "dengue fever", *options, "--out", "found.json")
        before = len(asked)
        ran = run("seeds", "dengue fever", "--engine", "recorded:found.json", "--votes", 3)
        assert len(asked) == before
    assert ran.out.splitlines() == ["https://who.example/", "https://cdc.example/"]


def recorded(*names: str) -> str:
    """Write a file in which each of three engines finds these pages; return the name of the recorded engine."""
    hits = [{"url": f"http://{name}.example/"} for name in names]
    rows = [{"query": "dengue fever", "engine": engine, "hits": hits} for engine in ENGINES]
    Path("found.json").write_text(json.dumps({"answers": rows}), "utf-8")
    return "recorded:found.json"


def test_an_engine_that_fails_on_the_negative_query_keeps_its_vote(run) -> None:  # type: ignore[no-untyped-def]
    ran = run("seeds", "dengue fever", "--engine", recorded("a", "b"), "--negative", "cars", "--out", "seeds.txt")
    assert ran.code == 0, ran.err
    assert "no vote" not in ran.err + Path("seeds.txt").read_text("utf-8")
    assert "google did not answer the negative query: no answer to this query is recorded, only to 'dengue" in ran.err
    assert "2 seeds from google, msn, yahoo" in ran.err


def test_pages_are_fetched_through_the_proxy(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(lambda path: (200, {}, b"<p>dengue fever")) as (address, asked):
        options = ["--important", "hits", "--delay", 0, "--proxy", address]
        ran = run("seeds", "dengue fever", "--engine", recorded("a"), *options)
    assert ran.code == 0, ran.err
    assert "http://a.example/" in asked


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--proxy", "nonsense"], "the proxy is not a URL"),
        (["--contact", "\u00fc"], "ASCII text"),
        (["--allow-net", "zzz"], "not a network"),
        (["--negative", "  "], "negative query"),
        (["--out", "a.txt", "--examples", "a.txt"], "the same file"),
        (["--engine", "recorded:none.json"], "none.json: cannot be read"),
        (["--engine", "recorded:"], "recorded:FILE"),
        (["--engine", "altavista"], "no engine 'altavista'"),
    ],
)
def test_invalid_options_are_reported_in_one_line_before_any_query(run, options: list[str], words: str) -> None:  # type: ignore[no-untyped-def]
    ran = run("seeds", "dengue fever", "--engine", recorded("a"), *options)
    assert (ran.code, ran.err.count("\n"), words in ran.err) == (2, 1, True), ran.err


def test_an_unwritable_file_is_reported(run) -> None:  # type: ignore[no-untyped-def]
    with server() as (options, _):
        ran = run("seeds", "dengue fever", *options, "--out", "no/such/place.txt")
    assert ran.code == 3
    assert "place.txt" in ran.err


def test_words_with_invalid_characters_are_rejected(run) -> None:  # type: ignore[no-untyped-def]
    ran = run("seeds", "dengue \udce9")
    assert ran.code == 2
    assert "not valid text" in ran.err


def test_control_characters_are_not_printed(run) -> None:  # type: ignore[no-untyped-def]
    row = {"url": "https://a.example/", "title": "\x1b[2J\x07Red", "engines": ["google"]}
    body = json.dumps({"results": [row], "unresponsive_engines": [["google", "\x1b[31m"]]}).encode()
    with server({"google": (200, body), "yahoo": (200, body)}) as (options, _):
        ran = run("seeds", "dengue fever", *options, "--votes", 1)
    assert ran.code == 0, ran.err
    assert "\x1b" not in ran.err
    assert "[2JRed" in ran.err


def test_pages_with_many_links_come_first_in_their_group(run) -> None:  # type: ignore[no-untyped-def]
    found = {"/a": "", "/b": "", "/hub": "<a href='{}/b'>b</a>"}
    paths = list(found)

    def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
        if path.startswith("/search"):
            rows = [{"url": f"{place(name)}{name}", "engines": list(ENGINES)} for name in paths]
            return 200, {}, json.dumps({"results": rows}).encode()
        text = found.get(path)
        return (404, {}, b"") if text is None else (200, {}, f"<p>page {path}</p>{text.format(place('/b'))}".encode())

    def place(name: str) -> str:
        # Links within one host do not count, so the page has another host.
        return address.replace("127.0.0.1", "127.0.0.2" if name == "/b" else "127.0.0.1")

    with live_site(answer) as (address, asked):
        options = ["--searxng", address, "--allow-net", "127.0.0.0/8", "--engine", "searxng"]
        ran = run("seeds", "dengue fever", *options, "--important", "hits", "--delay", 0)
    assert ran.code == 0, ran.err
    assert "/hub" in asked
    assert [line.rpartition("/")[2] for line in ran.out.splitlines()] == ["b", "a", "hub"]
    assert "importance 1.000" in ran.err
