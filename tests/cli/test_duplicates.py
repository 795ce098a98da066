"""Duplicate pages in a crawl of a live site."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from random import Random

from tests.helpers import documents as made
from tests.helpers.live_site import live_site

OPTIONS = ["--allow-net", "127.0.0.0/8", "--delay", "0", "--min-free", "0", "--patience", "0.5"]
# Path → number of its text. Each page has a unique link, so the requests show whether its links are followed.
TEXTS = {"/": 0, "/owl": 1, "/owl?print": 1, "/mirror/owl": 1, "/newt.html": 2, "/newt.txt": 2, "/swan": 3}
LINKS = "".join(f'<li><a href="{path}">dengue {path}</a></li>' for path in TEXTS)


def prose(seed: int) -> list[str]:
    random = Random(seed)
    return ["".join(random.choices("abcdefghilmnoprstu", k=random.randint(2, 9))) for _ in range(400)]


def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
    if path == "/old-swan":
        return 301, {"Location": "/swan"}, b""
    if path not in TEXTS:
        return 404, {}, b"no such page"
    words = prose(TEXTS[path])
    if path == "/mirror/owl":
        words[200] = "other"
    text = f"Dengue fever. {' '.join(words)}"
    if path.endswith(".txt"):
        return 200, {"Content-Type": "text/plain"}, f"Converted 2026\n\n{text}\n\nPage 1 of 1\n".encode()
    behind = f'<p><a href="/behind{path.replace("?", "-")}">more about dengue fever</a></p>'
    first = '<a href="/old-swan">an old swan</a>' if path == "/swan" else ""
    return 200, {}, f"<title>Dengue fever {path}</title><ul>{LINKS}</ul><p>{text}</p>{behind}{first}".encode()


def rows(sql: str) -> list[tuple[object, ...]]:
    database = sqlite3.connect("dengue-fever/topicrawl.sqlite")
    try:
        return database.execute(sql).fetchall()
    finally:
        database.close()


def crawled(run, address: str, *more: object) -> None:  # type: ignore[no-untyped-def]
    ran = run("crawl", "dengue fever", "--seed", f"{address}/", "--strategy", "breadth_first", *OPTIONS, *more)
    assert ran.code == 0, ran.err


def test_a_duplicate_page_is_recorded_with_its_original_and_its_links_are_not_followed(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(answer) as (address, asked):
        crawled(run, address)
    found = rows("SELECT requested, duplicate_of, relevance FROM visits WHERE failure = 'duplicate' ORDER BY requested")
    assert [(str(url).removeprefix(address), str(twin).removeprefix(address)) for url, twin, _ in found] == [
        ("/mirror/owl", "/owl"),
        ("/newt.txt", "/newt.html"),
        ("/old-swan", "/swan"),
        ("/owl?print", "/owl"),
    ]
    assert {relevance for *_, relevance in found} == {None}
    behind = {path for path in asked if path.startswith("/behind")}
    assert behind == {"/behind/", "/behind/owl", "/behind/newt.html", "/behind/swan"}
    status = json.loads(run("status", "dengue-fever", "--json").out)
    assert (status["pages"], status["relevant"], status["failures"]["duplicate"]) == (4, 4, 4)


def test_why_names_the_original_of_a_duplicate(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(answer) as (address, _):
        crawled(run, address)
    text = run("why", "dengue-fever", f"{address}/mirror/owl").out
    assert text.startswith(
        f"{address}/mirror/owl was not stored: duplicate\n  nearly the same text as {address}/owl (9"
    )
    text = run("why", "dengue-fever", f"{address}/owl?print").out
    assert f"the same text as {address}/owl" in text


def test_duplicates_of_pages_from_earlier_runs_are_detected(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(answer) as (address, _):
        crawled(run, address, "--pages", 2)
        assert rows("SELECT count(*) FROM visits WHERE failure = 'duplicate'") == [(0,)]
        crawled(run, address, "--pages", 100)
    assert rows("SELECT count(*) FROM visits WHERE failure = 'duplicate'") == [(4,)]


def test_no_distinct_stores_duplicates(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(answer) as (address, asked):
        crawled(run, address, "--no-distinct")
    assert len({path for path in asked if path.startswith("/behind")}) == 6
    assert rows("SELECT count(*) FROM pages WHERE duplicate_keys NOT NULL") == [(0,)]


def test_the_same_text_in_several_formats_is_one_document(run) -> None:  # type: ignore[no-untyped-def]
    words = prose(9)
    sentences = [f"{' '.join(words[at : at + 8])}." for at in range(0, 400, 8)]
    menu = "".join(
        f'<li><a href="/{name}">{name} of dengue</a></li>' for name in ("owl.pdf", "paper.docx", "plain.txt")
    )
    page = f"<title>Owl</title><ul>{menu}</ul><h1>Dengue</h1>" + "".join(f"<p>{line}</p>" for line in sentences)
    site: dict[str, tuple[str, bytes]] = {
        "/": ("text/html", page.encode()),
        "/owl.pdf": ("application/pdf", made.pdf([["Dengue", *sentences[:25]], sentences[25:]], title="Owl")),
        "/paper.docx": ("application/octet-stream", made.docx(["Dengue", *sentences], title="Owl")),
        "/plain.txt": ("text/plain", "\n\n".join(["Dengue", *sentences]).encode()),
    }

    def formats(path: str) -> tuple[int, Mapping[str, str], bytes]:
        kind, body = site.get(path, ("", b""))
        return (200, {"Content-Type": kind}, body) if kind else (404, {}, b"no")

    with live_site(formats) as (address, _):
        crawled(run, address)
    found = rows("SELECT requested, duplicate_of FROM visits WHERE failure = 'duplicate' ORDER BY requested")
    assert found == [(f"{address}{path}", f"{address}/") for path in ("/owl.pdf", "/paper.docx", "/plain.txt")]
