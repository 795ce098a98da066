"""Tests of the replay fetcher: WARC files of this and other tools, complete and damaged."""

from __future__ import annotations

import asyncio
import gzip
import io
from pathlib import Path
from random import Random

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from topicrawl.collection.warc import encode_fetch
from topicrawl.errors import RecordingError, UsageError
from topicrawl.fetch.replay import Recording
from topicrawl.models import Failure, Link, ReadableDocument, RedirectHop, Response

HTML = b"Content-Type: text/html\r\n"


def record(url: str, http: bytes, kind: str = "response", extra: str = "") -> bytes:
    head = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2020-02-03T04:05:06Z\r\n"
        f"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r\n{extra}"
        f"Content-Type: application/http; msgtype={kind}\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    return head.encode() + http + b"\r\n\r\n"


def page_record(url: str, body: bytes, headers: bytes = HTML) -> bytes:
    return record(url, b"HTTP/1.1 200 OK\r\n" + headers + b"\r\n" + body)


def redirect_record(url: str, to: str, status: int = 301) -> bytes:
    return record(url, f"HTTP/1.1 {status} Moved\r\nLocation: {to}\r\n\r\n".encode())


def write_warc(folder: Path, *records: bytes, name: str = "pages.warc.gz") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    pack = gzip.compress if name.endswith("gz") else bytes
    (folder / name).write_bytes(b"".join(map(pack, records)))
    return folder


def fetch(recording: Recording, url: str) -> Response:
    async def run() -> Response:
        return await recording(Link(url))

    return asyncio.run(run())


@pytest.fixture(params=["pages.warc.gz", "pages.warc"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_recorded_response_has_its_headers_and_date(tmp_path: Path, name: str) -> None:
    page = page_record("http://a.test", b"<p>hi", HTML + b"X-Folded: one\r\n two\r\n")
    web = Recording(write_warc(tmp_path, page, name=name))
    response = fetch(web, "http://a.test/")
    assert (response.status, response.body, response.failure) == (200, b"<p>hi", None)
    assert (response.content_type, response.headers["x-folded"]) == ("text/html", "one two")
    assert response.at == 1_580_702_706.0
    assert (len(web), web.damage) == (1, "")


def test_urls_outside_the_recording_fail(tmp_path: Path) -> None:
    web = Recording(write_warc(tmp_path, page_record("http://a.test/x", b"x")))
    assert web.contains("http://a.test/x")
    assert not web.contains("http://a.test/y")
    assert fetch(web, "http://a.test/y").failure is Failure.NOT_RECORDED


def test_urls_are_compared_in_canonical_form_and_never_decoded_twice(tmp_path: Path) -> None:
    web = Recording(
        write_warc(tmp_path, page_record("HTTP://A.test:80/%25C3#top", b"x"), page_record("<http://b.test/>", b"y"))
    )
    assert web.contains("http://a.test/%25C3")
    assert web.contains("http://b.test/")


def test_redirects_are_followed_inside_the_recording(tmp_path: Path, name: str) -> None:
    records = (
        redirect_record("http://a.test/", "/b", 302),
        redirect_record("http://a.test/b", "http://c.test/"),
        page_record("http://c.test/", b"c"),
    )
    response = fetch(Recording(write_warc(tmp_path, *records, name=name)), "http://a.test/")
    assert (response.body, response.url, response.final_url) == (b"c", "http://a.test/", "http://c.test/")
    assert response.hops == (RedirectHop("http://a.test/", 302), RedirectHop("http://a.test/b", 301))


def test_a_redirect_out_of_the_recording_fails(tmp_path: Path) -> None:
    response = fetch(
        Recording(write_warc(tmp_path, redirect_record("http://a.test/", "http://z.test/"))), "http://a.test/"
    )
    assert (response.failure, response.final_url) == (Failure.NOT_RECORDED, "http://z.test/")


REFRESH = b'<meta http-equiv="refresh" content="0; url=http://b.test/">moved'


def test_a_meta_refresh_is_followed_inside_the_recording(tmp_path: Path, name: str) -> None:
    records = (page_record("http://a.test/", REFRESH), page_record("http://b.test/", b"b"))
    web = Recording(write_warc(tmp_path, *records, name=name))
    response = fetch(web, "http://a.test/")
    assert (response.body, response.url, response.final_url) == (b"b", "http://a.test/", "http://b.test/")
    assert [(hop.url, hop.status, hop.body) for hop in response.hops] == [("http://a.test/", 200, REFRESH)]


def test_a_page_whose_meta_refresh_leads_out_of_the_recording_stays_a_page(tmp_path: Path) -> None:
    response = fetch(Recording(write_warc(tmp_path, page_record("http://a.test/", REFRESH))), "http://a.test/")
    assert (response.body, response.final_url, response.hops, response.failure) == (
        REFRESH,
        "http://a.test/",
        (),
        None,
    )


def write_aliases(folder: Path, *pairs: tuple[str, str]) -> None:
    (folder / "aliases.tsv").write_text("".join(f"{url}\t{target}\n" for url, target in pairs), "utf-8")


ALIASES = (
    ("HTTP://old.test", "http://a.test/#top"),
    ("http://older.test/", "http://old.test/"),
    ("http://moved.test/", "http://c.test/"),
    ("http://a.test/", "http://c.test/"),
    ("http://lost.test/", "http://gone.test/"),
    ("http://x.test/", "http://y.test/"),
    ("http://y.test/", "http://x.test/"),
    ("http://bad.test/", "nonsense"),
)


def test_aliases_are_recorded_redirects(tmp_path: Path, name: str) -> None:
    records = (
        page_record("http://a.test/", b"a"),
        redirect_record("http://c.test/", "http://d.test/", 302),
        page_record("http://d.test/", b"d"),
    )
    write_aliases(write_warc(tmp_path, *records, name=name), *ALIASES)
    recording = Recording(tmp_path)
    for web in (recording, Recording(tmp_path, index=recording.index), Recording(tmp_path / name)):
        assert [*web] == [
            "http://a.test/",
            "http://c.test/",
            "http://d.test/",
            "http://old.test/",
            "http://older.test/",
            "http://moved.test/",
        ]
        assert len(web) == 6
        assert web.contains("http://older.test/")
        assert fetch(web, "http://a.test/").hops == (), "the record of a URL counts, not its alias"
        response = fetch(web, "http://older.test/")
        assert (response.body, response.url, response.final_url) == (b"a", "http://older.test/", "http://a.test/")
        assert response.hops == (RedirectHop("http://older.test/", 301), RedirectHop("http://old.test/", 301))
        assert [hop.status for hop in fetch(web, "http://moved.test/").hops] == [301, 302]
        for url in ("http://lost.test/", "http://x.test/", "http://y.test/", "http://bad.test/"):
            assert not web.contains(url)
            assert fetch(web, url).failure is Failure.NOT_RECORDED


@pytest.mark.parametrize("line", ["http://a.test/ http://b.test/", "nonsense\thttp://a.test/", "http://b.test/"])
def test_a_malformed_alias_is_an_error_of_one_line(tmp_path: Path, line: str) -> None:
    write_warc(tmp_path, page_record("http://a.test/", b"a"))
    (tmp_path / "aliases.tsv").write_text(f"# redirects\n\n{line}\n", "utf-8")
    with pytest.raises(UsageError, match=r"aliases\.tsv:3: expected a URL, a tab and aliases") as caught:
        Recording(tmp_path)
    assert "\n" not in str(caught.value)


def test_the_last_record_of_a_url_counts_across_files(tmp_path: Path) -> None:
    write_warc(
        tmp_path, page_record("http://a.test/", b"first"), page_record("http://a.test/", b"second"), name="1.warc.gz"
    )
    write_warc(tmp_path, page_record("http://b.test/", b"b"), name="2.warc")
    assert fetch(Recording(tmp_path), "http://a.test/").body == b"second"
    write_warc(tmp_path, page_record("http://a.test/", b"third"), name="3.warc.gz")
    assert fetch(Recording(tmp_path), "http://a.test/").body == b"third"
    assert len(Recording(tmp_path)) == 2


def test_a_revisit_has_the_body_of_the_original_record(tmp_path: Path) -> None:
    again = record("http://a.test/", b"HTTP/1.1 200 OK\r\n\r\n", "revisit")
    other = record("http://b.test/", b"", "revisit", "WARC-Refers-To-Target-URI: http://a.test/\r\n")
    lost = record("http://c.test/", b"", "revisit")
    web = Recording(write_warc(tmp_path, page_record("http://a.test/", b"a"), again, other, lost))
    assert fetch(web, "http://a.test/").body == fetch(web, "http://b.test/").body == b"a"
    assert not web.contains("http://c.test/")


def test_other_record_types_are_skipped(tmp_path: Path) -> None:
    others = [record("http://x.test/", b"GET / HTTP/1.1\r\n\r\n", kind) for kind in ("request", "metadata", "dns")]
    web = Recording(
        write_warc(tmp_path, *others, record("dns:a.test", b"1.2.3.4"), page_record("http://a.test/", b"a"), *others)
    )
    assert len(web) == 1


def test_a_rendered_page_has_the_document_of_its_conversion_record(tmp_path: Path) -> None:
    page = Response("http://a.org/", "http://a.org/", 200, {"content-type": "text/html"}, b"<script src=a>", 1.0)
    rendered = replace(page, readable=ReadableDocument("text/html; charset=utf-8", b"<p>dengue"))
    (tmp_path / "a.warc.gz").write_bytes(b"".join(encode_fetch(rendered, "", Random(1))))
    response = Recording(tmp_path).get_response("http://a.org/")
    assert (response.body, response.readable) == (page.body, rendered.readable)


def conversion_record(url: str, text: bytes) -> bytes:
    return record(url, text, "conversion", "Content-Type: text/html; charset=utf-8\r\n")


def test_a_document_has_the_text_of_its_conversion_record(tmp_path: Path, name: str) -> None:
    pdf, page, later = (f"http://a.org/{name}" for name in ("a.pdf", "b.html", "c.pdf"))
    kind = b"Content-Type: application/pdf\r\n"
    write_warc(
        tmp_path,
        page_record(pdf, b"%PDF-1.4", kind),
        conversion_record(pdf, b"<p>dengue"),
        page_record(page, b"<p>html"),
        conversion_record(page, b"<p>what another tool made of it"),
        page_record(later, b"%PDF-1.4", kind),
        conversion_record(later, b"<p>old"),
        page_record(later, b"%PDF-1.5", kind),
        conversion_record("http://a.org/d", b"<p>alone"),
        name=name,
    )
    recording = Recording(tmp_path)
    assert fetch(recording, pdf).readable == ReadableDocument("text/html; charset=utf-8", b"<p>dengue")
    assert fetch(recording, pdf).body == b"%PDF-1.4"
    assert fetch(recording, page).readable is fetch(recording, later).readable is None
    assert list(recording) == [pdf, page, later]
    again = Recording(tmp_path, index=recording.index)
    assert fetch(again, pdf).readable is not None


def test_the_warc_folder_of_a_collection_and_a_single_file_are_recordings_too(tmp_path: Path) -> None:
    write_warc(tmp_path / "warc", page_record("http://a.test/", b"a"))
    assert len(Recording(tmp_path)) == len(Recording(tmp_path / "warc" / "pages.warc.gz")) == 1


BODIES = {
    "chunked": (b"Transfer-Encoding: chunked\r\n", b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"),
    "gzip": (b"Content-Encoding: gzip\r\n", gzip.compress(b"hello")),
    "gzip in chunks": (
        b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
        b"%x\r\n%s\r\n0\r\n\r\n" % (len(gzip.compress(b"hello")), gzip.compress(b"hello")),
    ),
    "brotli": (b"Content-Encoding: br\r\n", brotli.compress(b"hello")),
    "gzip as a transfer encoding": (
        b"Transfer-Encoding: gzip, chunked\r\n",
        b"%x\r\n%s\r\n0\r\n\r\n" % (len(gzip.compress(b"hello")), gzip.compress(b"hello")),
    ),
    "gzip without its end": (b"Content-Encoding: gzip\r\n", gzip.compress(b"hello")[:-4]),
    "chunks with bare line feeds": (b"Transfer-Encoding: chunked\r\n", b"3\nhel\n2;a=b\nlo\n0\n\n"),
    "unpacked by the archive already": (b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", b"hello"),
}


@pytest.mark.parametrize("body", BODIES)
def test_bodies_are_decoded(tmp_path: Path, body: str) -> None:
    headers, wire = BODIES[body]
    assert (
        fetch(Recording(write_warc(tmp_path, page_record("http://a.test/", wire, headers))), "http://a.test/").body
        == b"hello"
    )


OUTCOMES = {
    "missing": (b"HTTP/1.1 404 Not Found\r\n\r\nsorry", Failure.NOT_FOUND),
    "empty": (b"HTTP/1.1 200 OK\r\n\r\n", Failure.EMPTY),
    "headers only": (b"HTTP/1.0 200 OK\r\nContent-Type: text/html", Failure.EMPTY),
    "not HTTP": (b"220 ready", Failure.BAD_RESPONSE),
    "a bomb": (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(bytes(900_000)), Failure.TOO_LARGE),
    "large": (b"HTTP/1.1 200 OK\r\n\r\n" + bytes(900_000), Failure.TOO_LARGE),
    "nowhere": (b"HTTP/1.1 301 Moved\r\n\r\n", Failure.BAD_REDIRECT),
    "a circle": (b"HTTP/1.1 301 Moved\r\nLocation: /\r\n\r\n", Failure.REDIRECTS),
}


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_recorded_failures_are_replayed(tmp_path: Path, name: str, outcome: str) -> None:
    http, failure = OUTCOMES[outcome]
    web = Recording(write_warc(tmp_path, record("http://a.test/", http), name=name), max_bytes=100_000)
    response = fetch(web, "http://a.test/")
    assert response.failure is failure
    assert response.detail


PAGES = [page_record(f"http://a.test/{n}", bytes(range(256)) * n) for n in range(1, 6)]


@settings(max_examples=60)
@given(st.data())
def test_all_complete_records_of_a_truncated_file_are_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(["pages.warc.gz", "pages.warc"]))
    pack = gzip.compress if name.endswith("gz") else bytes
    packed = [pack(page) for page in PAGES]
    cut = data.draw(st.integers(len(packed[0]), len(b"".join(packed)) - 1))
    folder = tmp_path_factory.mktemp("torn")
    (folder / name).write_bytes(b"".join(packed)[:cut])
    ends = [len(b"".join(packed[: n + 1])) for n in range(len(packed))]
    # In an uncompressed file, a record is complete without the two empty lines after it.
    slack = 4 if name == "pages.warc" else 0
    whole = sum(end - slack <= cut for end in ends)
    web = Recording(folder)
    assert len(web) == whole
    for n in range(1, whole + 1):
        assert fetch(web, f"http://a.test/{n}").body == bytes(range(256)) * n
    assert bool(web.damage) == (not any(end - slack <= cut <= end for end in ends))
    assert "\n" not in web.damage


@pytest.mark.parametrize("tail", [b"\0" * 500, b"garbage", gzip.compress(b"not a record", mtime=0)])
def test_garbage_after_the_last_record_is_reported(tmp_path: Path, tail: bytes) -> None:
    folder = write_warc(tmp_path, page_record("http://a.test/", b"a"), page_record("http://b.test/", b"b"))
    path = folder / "pages.warc.gz"
    path.write_bytes(path.read_bytes() + tail)
    web = Recording(folder)
    assert len(web) == 2
    assert "after 2 complete records" in web.damage


def test_a_truncated_new_record_leaves_the_old_one(tmp_path: Path) -> None:
    folder = write_warc(tmp_path, page_record("http://a.test/", b"old"), page_record("http://a.test/", b"new"))
    path = folder / "pages.warc.gz"
    path.write_bytes(path.read_bytes()[:-9])
    assert fetch(Recording(folder), "http://a.test/").body == b"old"


def test_a_record_damaged_after_the_scan_is_a_failure_of_that_page_only(tmp_path: Path) -> None:
    folder = write_warc(tmp_path, page_record("http://a.test/", b"a" * 100), page_record("http://b.test/", b"b"))
    web = Recording(folder)
    with (folder / "pages.warc.gz").open("r+b") as file:
        file.seek(60)
        file.write(b"\xff" * 20)
    assert fetch(web, "http://a.test/").failure is Failure.BAD_RESPONSE
    assert fetch(web, "http://b.test/").body == b"b"


NOT_RECORDINGS = {
    "text": (b"hello world, this is not a WARC file at all\r\n\r\n", "not a WARC file"),
    "compressed text": (gzip.compress(b"hello"), "not a WARC file"),
    "empty": (b"", "no recorded responses"),
    "zeros": (bytes(1000), "not a WARC file"),
    "only a request": (gzip.compress(record("http://a.test/", b"GET", "request")), "no recorded responses"),
    "one gzip stream": (gzip.compress(b"".join(PAGES)), "one gzip stream"),
}


@pytest.mark.parametrize("kind", NOT_RECORDINGS)
def test_an_invalid_recording_raises_an_error_of_one_line(tmp_path: Path, kind: str) -> None:
    data, message = NOT_RECORDINGS[kind]
    (tmp_path / "pages.warc.gz").write_bytes(data)
    with pytest.raises(RecordingError, match=message) as caught:
        Recording(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["pages.wacz", "pages.arc", "pages.arc.gz", "pages.warc.zst"])
def test_an_archive_that_must_be_imported_raises_an_error_that_says_so(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PK\3\4 or another format")
    for path in (tmp_path, tmp_path / name):
        with pytest.raises(RecordingError, match="`topicrawl import` reads WACZ, ARC and zstd files"):
            Recording(path)


def test_a_missing_or_empty_directory_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="does not exist"):
        Recording(tmp_path / "nowhere")
    with pytest.raises(RecordingError, match=r"no \.warc"):
        Recording(tmp_path)


# warcio leaves its temporary files to the garbage collector.
@pytest.mark.filterwarnings("ignore:Unclosed file <tempfile:ResourceWarning")
@pytest.mark.parametrize("packed", [True, False])
def test_recordings_of_other_tools_are_read(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / ("x.warc.gz" if packed else "x.warc")
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=packed)
        writer.write_record(writer.create_warcinfo_record("x", {"software": "a tool"}))
        for number in range(3):
            http = StatusAndHeaders("200 OK", [("Content-Type", "text/plain")], protocol="HTTP/1.0")
            body = io.BytesIO(b"page %d" % number)
            writer.write_record(
                writer.create_warc_record(f"http://a.test/{number}", "response", payload=body, http_headers=http)
            )
    web = Recording(tmp_path)
    assert [fetch(web, f"http://a.test/{n}").body for n in range(3)] == [b"page 0", b"page 1", b"page 2"]
    assert web.damage == ""
