"""Crawl of a site with documents: formats are stored and scored, links are followed, bad files are failures."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.helpers import documents as made
from tests.helpers.live_site import SiteAnswer, live_site

from topicrawl import Settings, Topic, open_crawl
from topicrawl.engine.recorded_training_data import RecordedTrainingData
from topicrawl.fetch.replay import Recording
from topicrawl.urls import get_archive_url

OPTIONS = ["--allow-net", "127.0.0.0/8", "--delay", "0", "--min-free", "0", "--patience", "0.5", "--no-robots"]
HAS_GHOSTSCRIPT = shutil.which("gs") is not None
TEXT = "Dengue fever is spread by mosquitoes; patients with dengue need rest."


def lines(about: str) -> list[str]:
    """Return enough distinct text, so that no document is a duplicate of another."""
    return [TEXT, *(f"On {about} number {i}: {about} {about[::-1]} {i * 7} {about}{i} is described." for i in range(9))]


def links(leaf: str) -> list[tuple[str, str]]:
    return [(f"/leaf/{leaf}", f"dengue in {leaf}")]


DOCUMENTS: dict[str, tuple[str, bytes]] = {
    "/a.pdf": ("application/pdf", made.pdf([lines("alpha")], title="Alpha paper", links=links("pdf"))),
    "/c.txt": ("text/plain", "\n".join([*lines("gamma"), "See {address}/leaf/txt now."]).encode()),
    "/f.docx": ("application/octet-stream", made.docx(lines("zeta"), title="Zeta paper", links=links("docx"))),
    "/g.odt": (
        "application/vnd.oasis.opendocument.text",
        made.odt(lines("sigma"), title="Sigma paper", links=links("odt")),
    ),
    "/h.epub": (
        "application/epub+zip",
        made.epub(["".join(f"<p>{it}</p>" for it in lines("theta")) + '<a href="{address}/leaf/epub">x</a>']),
    ),
    "/k.html": ("text/html", made.pdf([lines("lambda")], title="Lambda paper", links=links("html"))),
    "/get/1": ("application/force-download", made.pdf([lines("omega")], title="Omega paper", links=links("get"))),
    "/d.zip": (
        "application/zip",
        made.zipped(
            {
                "one.pdf": made.pdf([lines("delta")], title="Delta paper", links=links("one")),
                "in/two.pdf": made.pdf([lines("epsilon")], title="Epsilon paper", links=links("two")),
                "page.html": f"<p>{'<p>'.join(lines('iota'))}<a href=one.pdf>1</a><a href=/leaf/page>2</a>".encode(),
                "picture.png": b"\x89PNG\0\0",
            }
        ),
    ),
}
POSTSCRIPT = {
    "/b.ps": ("application/postscript", made.postscript([*lines("beta"), "See {address}/leaf/ps"])),
    "/e.ps.gz": ("application/gzip", made.postscript([*lines("kappa"), "See {address}/leaf/gz"])),
}
LEAVES = {"pdf", "txt", "docx", "odt", "html", "get", "one", "two", "page"}
if HAS_GHOSTSCRIPT:
    LEAVES |= {"ps", "gz"}


def site(documents: Mapping[str, tuple[str, bytes]]) -> SiteAnswer:
    """Serve a page with links to all documents, the documents, and the pages that they link to."""
    address = ""

    def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
        if path == "/":
            anchors = "".join(f'<p><a href="{name}">dengue {name}</a>' for name in documents)
            return 200, {}, f"<title>All</title><p>{TEXT}{anchors}".encode()
        if path.startswith("/leaf/"):
            return 200, {}, f"<title>{path}</title><p>{'<p>'.join(lines(path[6:] * 3))}".encode()
        if path not in documents:
            return 404, {}, b"no such page"
        kind, body = documents[path]
        body = body.replace(b"{address}", address.encode())
        return 200, {"Content-Type": kind}, made.gzipped(body) if path.endswith(".ps.gz") else body

    def with_address(given: str) -> None:
        nonlocal address
        address = given

    answer.at = with_address  # type: ignore[attr-defined]
    return answer


def crawl(run, address: str, answer: SiteAnswer, *more: object):  # type: ignore[no-untyped-def]
    answer.at(address)  # type: ignore[attr-defined]
    return run("crawl", "dengue fever", "--seed", f"{address}/", *OPTIONS, *more)


def rows(sql: str) -> list[tuple[object, ...]]:
    database = sqlite3.connect("dengue-fever/topicrawl.sqlite")
    found = database.execute(sql).fetchall()
    database.close()
    return found


def paths(address: str, sql: str) -> set[str]:
    return {str(url).removeprefix(address) for (url,) in rows(sql)}


def test_documents_of_every_kind_are_collected_and_scored_and_their_links_followed(run) -> None:  # type: ignore[no-untyped-def]
    documents = DOCUMENTS | (POSTSCRIPT if HAS_GHOSTSCRIPT else {})
    answer = site(documents)
    with live_site(answer) as (address, asked):
        ran = crawl(run, address, answer)
    assert ran.code == 0, ran.err
    members = {f"/d.zip/!/{name}" for name in ("one.pdf", "in/two.pdf", "page.html")}
    assert not members & set(asked), "the members of an archive are not fetched"
    found = paths(address, "SELECT url FROM pages")
    assert found == {"/"} | set(documents) | members | {f"/leaf/{leaf}" for leaf in LEAVES}
    scored = paths(address, "SELECT url FROM visits WHERE relevance >= 0.5")
    assert scored == found - {"/d.zip"}, "an archive itself has no text"
    titles = dict(rows("SELECT title, type FROM pages"))
    assert titles["Alpha paper"] == titles["Epsilon paper"] == "application/pdf"
    assert rows("SELECT count(*) FROM visits WHERE failure NOT NULL") == [(0,)]
    explanation = json.loads(run("why", "dengue-fever", f"{address}/leaf/two", "--json").out)
    chain = [step["url"].removeprefix(address) for step in explanation["chain"]]
    assert chain == ["/", "/d.zip", "/d.zip/!/in/two.pdf", "/leaf/two"]
    exported = [
        json.loads(line)
        for line in run("export", "dengue-fever", "--to", "jsonl", "--out", "-", "--all").out.splitlines()
    ]
    texts = {row["url"].removeprefix(address): row["text"] for row in exported}
    assert set(texts) == found
    assert all(TEXT in texts[path] for path in (set(documents) | members) - {"/d.zip"})
    # Training and experiments on a recording read the documents too.
    material = RecordedTrainingData(Recording("dengue-fever"), Topic.of("dengue fever"))
    for path in set(documents) - {"/d.zip"}:
        page = material.get_page(f"{address}{path}")
        assert page is not None
        assert TEXT in page.text
    assert [link.source for link in material.get_parents(f"{address}/leaf/pdf")] == [f"{address}/a.pdf"]


def test_xhtml_with_the_media_type_of_xml_is_a_page(run) -> None:  # type: ignore[no-untyped-def]
    paragraphs = "".join(f"<p>{line}</p>" for line in lines("omicron"))
    links = '<a href="/leaf/xml">x</a><a rel="license" href="/terms">x</a>'
    xhtml = f'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body>{paragraphs}{links}</body></html>'
    answer = site({"/a": ("application/xml", xhtml.encode()), "/b": ("application/xml", b"<rss/>")})
    with live_site(answer) as (address, _):
        assert crawl(run, address, answer).code == 0
    assert paths(address, "SELECT url FROM pages") == {"/", "/a", "/leaf/xml"}
    assert paths(address, "SELECT requested FROM visits WHERE failure='content_type'") == {"/b"}
    exported = run("export", "dengue-fever", "--to", "jsonl", "--out", "-", "--all").out.splitlines()
    licences = {json.loads(line)["url"].removeprefix(address): json.loads(line)["licence"] for line in exported}
    assert licences["/a"] == f"{address}/terms"


def test_the_same_text_in_two_formats_is_one_document(run) -> None:  # type: ignore[no-untyped-def]
    same = {
        "/a.pdf": ("application/pdf", made.pdf([lines("alpha")], links=links("pdf"))),
        "/b.docx": ("application/octet-stream", made.docx(lines("alpha"))),
        "/c.html": ("text/html", f"<p>{'<p>'.join(lines('alpha'))}".encode()),
        "/d.zip": ("application/zip", made.zipped({"a.odt": made.odt(lines("alpha"))})),
    }
    answer = site(same)
    with live_site(answer) as (address, _):
        assert crawl(run, address, answer).code == 0
    kept = paths(address, "SELECT url FROM pages") & {*same, "/d.zip/!/a.odt"}
    assert len(kept - {"/d.zip"}) == 1
    assert rows("SELECT count(*) FROM visits WHERE failure='duplicate'") == [(3,)]


def test_hostile_documents_are_named_failures(run) -> None:  # type: ignore[no-untyped-def]
    hostile = {
        "/zeros.gz": ("application/gzip", made.gzip_of_zeros(10 << 30)),
        "/nested.zip": ("application/zip", made.zipped({"in.zip": made.zipped({"x.txt": b"x"}), "y.txt": b"dengue"})),
        "/forged.pdf": ("application/pdf", b"%PDF-1.4 nothing follows"),
        "/good.docx": ("application/octet-stream", made.docx(lines("zeta"), links=links("docx"))),
    }
    if HAS_GHOSTSCRIPT:
        hostile["/loop.ps"] = ("application/postscript", b"%!PS\n{} loop")
    answer = site(hostile)
    with live_site(answer) as (address, _):
        assert crawl(run, address, answer, "--document-seconds", 0.5).code == 0
    failures = {str(url).removeprefix(address): name for url, name in rows("SELECT requested, failure FROM visits")}
    assert failures["/zeros.gz"] == "too_large"
    assert failures["/nested.zip/!/in.zip"] == "nested_archive"
    assert failures["/forged.pdf"] == "unparsed"
    assert failures.get("/loop.ps", "reading_limit") == "reading_limit"
    assert failures["/nested.zip/!/y.txt"] is failures["/leaf/docx"] is None


def test_no_documents_skips_documents(run) -> None:  # type: ignore[no-untyped-def]
    answer = site(DOCUMENTS)
    with live_site(answer) as (address, _):
        assert crawl(run, address, answer, "--no-documents").code == 0
    refused = paths(address, "SELECT requested FROM visits WHERE failure='content_type'")
    assert refused == set(DOCUMENTS) - {"/c.txt"}


def test_lost_members_of_an_archive_are_extracted_again(run) -> None:  # type: ignore[no-untyped-def]
    answer = site({"/d.zip": DOCUMENTS["/d.zip"]})
    with live_site(answer) as (address, asked):
        assert crawl(run, address, answer).code == 0
        before = paths(address, "SELECT url FROM pages")
        path = "dengue-fever/warc/00001.warc.gz"
        ((end,),) = rows("SELECT start + length FROM visits WHERE requested LIKE '%/two.pdf'")
        os.truncate(path, int(str(end)) - 10)
        del asked[:]
        assert run("crawl", "dengue fever", "--no-robots").code == 0
    assert paths(address, "SELECT url FROM pages") == before
    assert not any(get_archive_url(path) for path in asked)


class Crash(Exception):
    """Simulated kill between storing the visits and completing the lease."""


def test_a_kill_between_storing_and_completing_an_archive_loses_nothing(tmp_path: Path) -> None:
    answer = site({"/d.zip": DOCUMENTS["/d.zip"]})

    async def go(address: str, *, breaks: bool) -> list[tuple[int, str]]:
        settings = Settings(allow_net=("127.0.0.0/8",), delay=0.0, min_free=0, robots=False, patience=0.5)
        seen = []
        async with open_crawl(tmp_path / "c", Topic.of("dengue fever"), [f"{address}/d.zip"], settings) as crawl:

            async def broken(ends: object) -> list[bool]:
                raise Crash

            if breaks:
                crawl.context.frontier.complete_all = broken  # type: ignore[method-assign]
            async for visit in crawl.visits():
                seen.append((visit.step, visit.url.removeprefix(address)))
        return seen

    with live_site(answer) as (address, asked):
        answer.at(address)  # type: ignore[attr-defined]
        with pytest.raises(Crash):
            asyncio.run(go(address, breaks=True))
        seen = asyncio.run(go(address, breaks=False))
    assert [step for step, _ in seen] == list(range(1, len(seen) + 1))
    assert [url for _, url in seen[:4]] == [
        "/d.zip",
        "/d.zip/!/one.pdf",
        "/d.zip/!/in/two.pdf",
        "/d.zip/!/page.html",
    ]
    assert {url for _, url in seen[4:]} == {"/leaf/one", "/leaf/two", "/leaf/page"}
    assert asked.count("/d.zip") == 1
