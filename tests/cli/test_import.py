"""Tests of `topicrawl import`: archives of other programs become collections that can be searched and continued."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import sqlite3
import subprocess
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from uuid import uuid4

import pytest
import zstandard
from tests.helpers.documents import pdf
from tests.helpers.live_site import live_site

from topicrawl.collection.directory import load_crawl_topic

OPTIONS = ["--allow-net", "127.0.0.0/8", "--delay", "0", "--min-free", "0", "--patience", "0.5"]
TEXT = "<p>Dengue fever is spread by mosquitoes; patients with dengue fever need rest."


def make_page(path: str, *links: str) -> bytes:
    """Return a page about the topic."""
    words = " ".join(f"{path.strip('/') or 'home'}{number}" for number in range(40))
    anchors = "".join(f'<a href="{link}">dengue fever</a>' for link in links)
    return f"<title>{path}</title>{TEXT}<p>{words}</p>{anchors}".encode()


def answer(path: str) -> tuple[int, Mapping[str, str], bytes]:
    """The live site: two pages are in the archive, the third is only linked."""
    pages = {"/": ("/two", "/style.css", "/gone"), "/two": ("/three",), "/three": ()}
    if path == "/style.css":
        return 200, {"Content-Type": "text/css"}, b"p { color: red }"
    return (200, {}, make_page(path, *pages[path])) if path in pages else (404, {}, b"no such page")


def write_record(kind: str, url: str, block: bytes, content_type: str) -> bytes:
    """Return an uncompressed WARC 1.0 record."""
    fields = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: <{url}>\r\nWARC-Date: 2026-01-02T03:04:05Z\r\n"
        f"WARC-Record-ID: <urn:uuid:{uuid4()}>\r\nContent-Type: {content_type}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return fields.encode() + block + b"\r\n\r\n"


def write_warc(address: str, *, is_compressed: bool = True) -> bytes:
    """Return a WARC file with the first two pages, one as a resource, a style sheet and an error."""
    http = "application/http; msgtype=response"
    first = gzip.compress(make_page("/", "/two", "/style.css", "/gone"))
    head = b"HTTP/1.1 200 Fine\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n"
    head += b"Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\n"
    css = b"HTTP/1.1 200 OK\r\nContent-Type: text/css\r\n\r\np { color: red }"
    records = [
        write_record("warcinfo", "urn:info", b"software: test\r\n", "application/warc-fields"),
        write_record("request", f"{address}/", b"GET / HTTP/1.1\r\n\r\n", "application/http; msgtype=request"),
        write_record("response", f"{address}/", head + first, http),
        write_record("resource", f"{address}/two", make_page("/two", "/three"), "text/html"),
        write_record("response", f"{address}/gone", b"HTTP/1.1 404 No\r\n\r\nno", http),
        write_record("response", f"{address}/style.css", css, http),
    ]
    return b"".join(gzip.compress(record) if is_compressed else record for record in records)


def write_wacz(address: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("archive/data.warc.gz", write_warc(address))
        archive.writestr("datapackage.json", '{"profile": "data-package", "wacz_version": "1.1.1"}')
        archive.writestr("pages/pages.jsonl", '{"format": "json-pages-1.0"}\n')
    return out.getvalue()


def write_multi_wacz(address: str) -> bytes:
    """Return a WACZ file of several instances of a crawler."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("crawler-0.wacz", write_wacz(address))
        archive.writestr("datapackage.json", '{"profile": "multi-wacz-package"}')
    return out.getvalue()


def write_zstd(address: str) -> bytes:
    """Return a .warc.zst file: a dictionary in a skippable frame, then one frame per half of the file."""
    data = write_warc(address, is_compressed=False)
    dictionary = zstandard.ZstdCompressionDict(b"dengue fever mosquitoes" * 50)
    packed = zstandard.compress(dictionary.as_bytes())
    frame = zstandard.ZstdCompressor(dict_data=dictionary).compress
    half = len(data) // 2
    start = b"\x5d\x2a\x4d\x18" + len(packed).to_bytes(4, "little")
    return start + packed + frame(data[:half]) + frame(data[half:])


def write_arc(address: str) -> bytes:
    """Return an ARC file, as Heritrix 1 wrote it."""
    version = b"1 0 test\nURL IP-address Archive-date Content-type Archive-length\n"
    out = b"filedesc://a.arc 0.0.0.0 20090101000000 text/plain %d\n%s\n" % (len(version), version)
    for path, links in (("/", ("/two", "/gone")), ("/two", ("/three",))):
        block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + make_page(path, *links)
        out += f"{address}{path} 127.0.0.1 20090102030405 text/html {len(block)}\n".encode() + block + b"\n"
    return gzip.compress(out)


FORMATS: dict[str, Callable[[str], bytes]] = {
    "a.warc.gz": write_warc,
    "a.warc": lambda address: write_warc(address, is_compressed=False),
    "one-stream.warc.gz": lambda address: gzip.compress(write_warc(address, is_compressed=False)),
    "a.warc.zst": write_zstd,
    "a.wacz": write_wacz,
    "multi.wacz": write_multi_wacz,
    "a.arc.gz": write_arc,
}


def list_stored(address: str, directory: str = "dengue-fever") -> set[str]:
    """Return the paths of the stored pages."""
    database = sqlite3.connect(f"{directory}/topicrawl.sqlite")
    try:
        return {str(url).removeprefix(address) for (url,) in database.execute("SELECT url FROM pages")}
    finally:
        database.close()


def check_import_and_continue(run, address: str, requested: list[str], *files: str) -> None:  # type: ignore[no-untyped-def]
    """Import files, search the pages, and continue the crawl on the live web."""
    result = run("import", *files, "--topic", "dengue fever", "--json")
    assert result.code == 0, result.err
    row = json.loads(result.out)
    assert (row["pages"], row["failed"], row["damage"]) == (2, 0, "")
    assert requested == [], "an import sends no requests"
    assert list_stored(address) == {"/", "/two"}
    assert load_crawl_topic(Path("dengue-fever")).name == "dengue fever"
    assert f"{address}/two" in run("search", "mosquitoes", "dengue-fever").out
    again = json.loads(run("import", *files, "--out", "dengue-fever", "--json").out)
    assert (again["pages"], again["failed"]) == (0, 0), "the pages are stored already"
    assert run("crawl", "--out", "dengue-fever", *OPTIONS).code == 0
    assert {"/three", "/gone"} <= set(requested) <= {"/robots.txt", "/three", "/gone", "/style.css"}
    assert list_stored(address) == {"/", "/two", "/three"}


@pytest.mark.parametrize("name", FORMATS)
def test_formats(run, name: str) -> None:  # type: ignore[no-untyped-def]
    address = "http://a.example"
    Path(name).write_bytes(FORMATS[name](address))
    row = json.loads(run("import", name, "--topic", "dengue fever", "--json").out)
    assert (row["pages"], row["failed"], row["damage"]) == (2, 0, "")
    assert list_stored(address) == {"/", "/two"}
    if name != "a.arc.gz":
        record = gzip.decompress(Path("dengue-fever/warc/00001.warc.gz").read_bytes())
        assert b"HTTP/1.1 200 Fine\r\n" in record, "the archive has the response as it was captured"
        assert record.count(b"Set-Cookie: ") == 2


def test_a_wacz_file_is_imported_searched_and_continued(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(answer) as (address, requested):
        Path("a.wacz").write_bytes(write_wacz(address))
        check_import_and_continue(run, address, requested, "a.wacz")


@pytest.mark.skipif(shutil.which("wget") is None, reason="needs wget")
def test_a_warc_file_of_wget_is_imported_searched_and_continued(run) -> None:  # type: ignore[no-untyped-def]
    with live_site(answer) as (address, requested):
        command = ["wget", "-q", "--warc-file=mine", "-O", "page", f"{address}/", f"{address}/two"]
        subprocess.run(command, check=True, timeout=60)
        requested.clear()
        check_import_and_continue(run, address, requested, "mine.warc.gz")


def test_pages_of_a_trap_are_imported_too(run) -> None:  # type: ignore[no-untyped-def]
    """The pattern of the days is exhausted after a few pages, which demotes the links to the others in a crawl."""
    address, days = "http://a.example", range(30)
    bodies = {f"/calendar/{day}": f"<p>No events.<a href=/calendar/{day + 1}>next</a>".encode() for day in days}
    bodies["/"] = make_page("/", *bodies)
    records = [write_record("resource", f"{address}{path}", body, "text/html") for path, body in bodies.items()]
    Path("trap.warc").write_bytes(b"".join(records))
    row = json.loads(run("import", "trap.warc", "--topic", "dengue fever", "--no-distinct", "--json").out)
    assert (row["pages"], row["failed"]) == (31, 0)


def test_pages_with_wrong_media_types_are_imported(run) -> None:  # type: ignore[no-untyped-def]
    http, address = "application/http; msgtype=response", "http://a.example"
    files = {
        "/html": ("application/json", b"<!DOCTYPE html><html>" + make_page("/html")),
        "/pdf": ("image/pdf", pdf([[f"Dengue fever {TEXT[3:]}"]], title="A PDF")),
        "/data": ("application/json", b'{"dengue": "fever"}'),
        "/picture": ("image/png", b"\x89PNG\r\n\x1a\n"),
        "/style": ("text/css\r\nContent-Encoding: gzip", gzip.compress(b"p { color: red }")),
    }
    records = []
    for path, (kind, body) in files.items():
        block = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode() + body
        records.append(write_record("response", f"{address}{path}", block, http))
    records.append(write_record("response", f"{address}/bare", b"HTTP/1.0 200 OK\n\n" + make_page("/bare"), http))
    Path("types.warc").write_bytes(b"".join(records))
    row = json.loads(run("import", "types.warc", "--topic", "dengue fever", "--json").out)
    assert (row["pages"], row["failed"], row["skipped"]) == (3, 0, 3)
    assert list_stored(address) == {"/html", "/pdf", "/bare"}


def test_rendered_pages_of_a_crawl_are_imported_with_their_text(run) -> None:  # type: ignore[no-untyped-def]
    address, http = "http://a.example", "application/http; msgtype=response"
    shell = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<div id=root></div><script>run()</script>"
    records = [
        write_record("response", f"{address}/app", shell, http),
        write_record("conversion", f"urn:conversion:{address}/app", make_page("/app"), "text/html; charset=utf-8"),
        write_record("conversion", f"{address}/app", b"text of another program", "text/plain"),
    ]
    Path("rendered.warc").write_bytes(b"".join(records))
    row = json.loads(run("import", "rendered.warc", "--topic", "dengue fever", "--json").out)
    assert (row["pages"], row["relevant"], row["skipped"]) == (1, 1, 0)
    assert "mosquitoes" in run("export", "dengue-fever", "--to", "jsonl", "--out", "-").out


def test_a_truncated_file_is_imported_up_to_the_damage(run) -> None:  # type: ignore[no-untyped-def]
    data = write_warc("http://a.example", is_compressed=False)
    Path("torn.warc").write_bytes(data[: data.index(b"p { color") + 5])
    result = run("import", "torn.warc", "--topic", "dengue fever")
    assert result.code == 0
    assert "2 pages in dengue-fever" in result.err
    assert "torn.warc cannot be read after 3 captures: it is truncated" in result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bad.warc", "--topic", "x"], "bad.warc cannot be read at its start"),
        (["empty.warc", "--topic", "x"], "empty.warc contains no captures of pages"),
        (["plain.zip", "--topic", "x"], "not a WACZ file"),
        (["empty.warc"], "give the topic"),
        (["empty.warc", "--out", "none"], "there is no crawl in none yet"),
    ],
)
def test_unusable_files(run, arguments: list[str], message: str) -> None:  # type: ignore[no-untyped-def]
    Path("bad.warc").write_bytes(b"\x89PNG\r\n")
    Path("empty.warc").write_bytes(b"")
    with zipfile.ZipFile("plain.zip", "w") as archive:
        archive.writestr("a.txt", "hello")
    result = run("import", *arguments)
    assert result.code in (2, 3)
    assert message in result.err
    assert not Path("x").exists()
