"""Tests of the archive: responses as they were sent, error pages, redirects and revisit records."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace
from tests.helpers.malformed_http import CASES
from tests.helpers.site.server import Reply, Request, Site, make_redirect
from warcio.archiveiterator import ArchiveIterator

from topicrawl import Settings, Topic, open_crawl
from topicrawl.collection.warc import decode_response, encode_fetch, encode_revisit, read_record
from topicrawl.fetch.guard import parse_networks
from topicrawl.fetch.http import HttpClient, HttpSettings
from topicrawl.fetch.replay import Recording
from topicrawl.models import Damage, Response

TEXT = "<p>Dengue fever is spread by mosquitoes; patients with dengue fever need rest."
CHUNKED = (
    b"HTTP/1.1 200 Fine\r\nContent-Type: text/html\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n"
) % (len(TEXT) + 6, TEXT.encode() + b" Three")


def fetch(data: bytes) -> Response:
    """Return the response to a request that is answered with `data`."""

    async def run() -> Response:
        settings = HttpSettings(allowed_networks=parse_networks(["127.0.0.0/8"]), total_timeout=10.0)
        async with Site(lambda _: data) as site, HttpClient(settings) as http:
            return await http.get(site.make_url("/"))

    return asyncio.run(run())


def check_with_warcio(path: Path) -> None:
    """Run `warcio check`, which verifies all digests."""
    done = subprocess.run([sys.executable, "-m", "warcio.cli", "check", str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.damage is not None])
def test_a_response_is_archived_as_it_was_sent(name: str, tmp_path: Path) -> None:
    response = fetch(CASES[name].data)
    assert response.wire is not None
    before, member = encode_fetch(response, "127.0.0.1", Random(1))
    record, _ = read_record(member)
    assert record is not None
    assert record.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n\r\n") == response.wire.head + response.wire.body
    assert (b"WARC-Truncated: disconnect" in record) == (Damage.TRUNCATED in response.damage)
    stored = decode_response(member)
    assert replace(stored, at=0.0) == replace(response, request={}, at=0.0)
    path = tmp_path / "a.warc.gz"
    path.write_bytes(before + member)
    check_with_warcio(path)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.damage is not None])
def test_an_archived_response_is_replayed(name: str, tmp_path: Path) -> None:
    response = fetch(CASES[name].data)
    (tmp_path / "a.warc.gz").write_bytes(b"".join(encode_fetch(response, "127.0.0.1", Random(1))))
    replayed = Recording(tmp_path).get_response(response.url)
    assert (replayed.failure, replayed.status) == (None, response.status)
    assert (replayed.body, replayed.content_type) == (response.body, response.content_type)


def test_a_crawl_archives_redirects_errors_and_duplicates(tmp_path: Path) -> None:
    def answer(request: Request) -> Reply | bytes:
        links = "".join(f'<a href="{path}">dengue fever</a>' for path in ("/old", "/gone", "/copy", "/three"))
        long = f"{TEXT} {' '.join(f'word{number}' for number in range(200))}"  # short pages are no duplicates
        pages = {"/": f"{TEXT}{links}", "/new": long, "/copy": long}
        if request.path == "/old":
            return make_redirect("new")
        if request.path == "/three":
            return CHUNKED
        if request.path in pages:
            return Reply(pages[request.path].encode())
        return Reply(b"nothing here", status=404)

    async def run() -> str:
        async with Site(answer) as site:
            settings = Settings(
                strategy="breadth_first", delay=0.0, concurrency=1, allow_net=("127.0.0.0/8",), min_free=0
            )
            async with open_crawl(tmp_path / "c", Topic.of("dengue fever"), [site.make_url("/")], settings) as crawl:
                async for _ in crawl.visits():
                    pass
            return site.make_url("")

    address = asyncio.run(run())
    path = tmp_path / "c/warc/00001.warc.gz"
    check_with_warcio(path)
    kinds: Counter[tuple[str, str, str]] = Counter()
    with path.open("rb") as file:
        for record in ArchiveIterator(file):
            if record.rec_type in ("response", "revisit"):
                url = record.rec_headers.get_header("WARC-Target-URI").removeprefix(address)
                kinds[record.rec_type, url, record.http_headers.get_statuscode()] += 1
                if url == "/three":
                    assert record.http_headers.protocol == "HTTP/1.1"
                    assert record.http_headers.statusline == "200 Fine"
                    cookies = [value for name, value in record.http_headers.headers if name == "Set-Cookie"]
                    assert cookies == ["a=1", "b=2"]
                    assert record.raw_stream.read() == CHUNKED.partition(b"\r\n\r\n")[2]
                elif url == "/gone":
                    assert record.content_stream().read() == b"nothing here"
                elif url == "/old":
                    assert record.http_headers.get_header("Location") == "new"
    assert kinds == {
        ("response", "/", "200"): 1,
        ("response", "/old", "301"): 1,
        ("response", "/new", "200"): 1,
        ("response", "/gone", "404"): 1,
        ("revisit", "/copy", "200"): 1,
        ("response", "/three", "200"): 1,
    }


def test_a_revisit_of_an_unmodified_page_has_no_status_of_its_own(tmp_path: Path) -> None:
    # Replay tools such as pywb take the status from the revisit record, and show an empty page for 304.
    page = fetch(CHUNKED)
    not_modified = b"HTTP/1.1 304 Not Modified\r\nSet-Cookie: a=2\r\n\r\n"
    before, member = encode_fetch(page, "127.0.0.1", Random(1))
    answer = replace(fetch(not_modified), url=page.url, final_url=page.url)
    path = tmp_path / "a.warc.gz"
    path.write_bytes(before + member + encode_revisit(answer, member, Random(2)))
    check_with_warcio(path)
    with path.open("rb") as file:
        *_, (revisit, block, fields), (metadata, head, other) = [
            (record.rec_type, record.raw_stream.read(), record.rec_headers)
            for record in ArchiveIterator(file, no_record_parse=True)
        ]
    assert (revisit, block, fields.get_header("WARC-Target-URI")) == ("revisit", b"", page.url)
    assert fields.get_header("WARC-Profile").endswith("server-not-modified")
    assert (metadata, head, other.get_header("WARC-Target-URI")) == ("metadata", not_modified, None)
    assert other.get_header("WARC-Refers-To") == fields.get_header("WARC-Record-ID")
