"""WARC records, read by two other readers and by our own."""

from __future__ import annotations

import io
import warnings
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from topicrawl.collection.warc import build_warcinfo, decode_response, encode_fetch, read_record
from topicrawl.errors import DamagedError
from topicrawl.fetch.meta_refresh import find_meta_refresh
from topicrawl.models import Failure, ReadableDocument, RedirectHop, Response
from topicrawl.urls import resolve_url

with warnings.catch_warnings():
    # The package emits deprecation warnings about its own classes on import.
    warnings.simplefilter("ignore", DeprecationWarning)
    from fastwarc.warc import ArchiveIterator as FastwarcIterator

URL = "https://example.org/birds/?page=2"
PLAIN = Response(
    URL,
    URL,
    200,
    {"content-type": "text/html; charset=utf-8", "content-encoding": "gzip", "content-length": "31"},
    b"<html><title>Birds</title></html>",
    at=1_790_000_000.25,
    seconds=0.5,
    request={"User-Agent": "topicrawl/0.1", "Accept": "*/*"},
)


def write_records(response: Response, address: str = "") -> bytes:
    return b"".join(encode_fetch(response, address, Random(1)))


def by_warcio(data: bytes) -> list[tuple[str, dict[str, str], int, dict[str, str], bytes]]:
    """Return type, WARC fields, HTTP status, HTTP headers and payload of each record, after checking the digests."""
    found = []
    for record in WarcioIterator(io.BytesIO(data), check_digests="raise"):
        payload = record.content_stream().read()
        assert record.digest_checker.passed, record.digest_checker.problems
        http = record.http_headers
        status = int(http.get_statuscode() or 0) if http and record.rec_type == "response" else 0
        headers = {name: value for name, value in http.headers} if http else {}
        found.append((record.rec_type, dict(record.rec_headers.headers), status, headers, payload))
    return found


def by_fastwarc(data: bytes) -> list[tuple[str, str | None, int | None, bytes]]:
    found = []
    for record in FastwarcIterator(io.BytesIO(data), parse_http=False):
        assert record.verify_block_digest()
        record.parse_http()
        kind = record.headers["WARC-Type"]
        if kind == "response":
            assert record.verify_payload_digest()
        status = record.http_headers.status_code if kind == "response" else 0
        found.append((kind, record.headers.get("WARC-Target-URI"), status, record.reader.read()))
    return found


def test_a_fetch_is_a_request_and_a_response_that_name_each_other() -> None:
    (asked, answered) = by_warcio(write_records(PLAIN, "93.184.216.34"))
    assert (asked[0], answered[0]) == ("request", "response")
    assert asked[1]["WARC-Concurrent-To"] == answered[1]["WARC-Record-ID"]
    assert answered[1]["WARC-Concurrent-To"] == asked[1]["WARC-Record-ID"]
    for _, fields, _, _, _ in (asked, answered):
        assert fields["WARC-Target-URI"] == URL
        assert fields["WARC-IP-Address"] == "93.184.216.34"
        assert datetime.fromisoformat(fields["WARC-Date"]) == datetime.fromtimestamp(PLAIN.at, UTC)
        assert fields["WARC-Record-ID"].startswith("<urn:uuid:")
    assert answered[1]["Content-Type"] == "application/http; msgtype=response"
    assert answered[2] == 200
    assert asked[3] == {"Host": "example.org", "User-Agent": "topicrawl/0.1", "Accept": "*/*"}


def test_the_request_line_and_the_host_come_from_the_address_that_answered() -> None:
    record, _ = read_record(encode_fetch(PLAIN, "", Random(1))[0])
    assert record is not None
    assert b"\r\n\r\nGET /birds/?page=2 HTTP/1.1\r\nHost: example.org\r\n" in record
    record, _ = read_record(encode_fetch(replace(PLAIN, request={"host": "b.org"}), "", Random(1))[0])
    assert record is not None
    assert b"HTTP/1.1\r\nhost: b.org\r\n\r\n" in record


def test_headers_of_the_coding_on_the_wire_are_kept_under_another_name() -> None:
    _, _, _, headers, payload = by_warcio(write_records(PLAIN))[1]
    assert headers == {
        "content-type": "text/html; charset=utf-8",
        "x-archive-orig-content-encoding": "gzip",
        "x-archive-orig-content-length": "31",
        "content-length": str(len(PLAIN.body)),
    }
    assert payload == PLAIN.body


def test_each_redirect_leads_to_the_next_address_in_the_archive() -> None:
    hops = (RedirectHop("http://a.org/", 301), RedirectHop("http://b.org/", 302))
    response = replace(PLAIN, url="http://a.org/", hops=hops)
    records = by_warcio(write_records(response))
    chain = [
        (fields["WARC-Target-URI"], status, headers.get("location"))
        for kind, fields, status, headers, _ in records
        if kind == "response"
    ]
    assert chain == [
        ("http://a.org/", 301, "http://b.org/"),
        ("http://b.org/", 302, URL),
        (URL, 200, None),
    ]
    assert decode_response(encode_fetch(response, "", Random(1))[1]) == replace(response, request={})


def test_only_the_last_response_of_a_url_is_archived() -> None:
    # The site sets a cookie at /set, and redirects requests without it from the page to /set.
    hops = (RedirectHop(URL, 302), RedirectHop("http://a.org/set", 302))
    response = replace(PLAIN, url=URL, hops=hops)
    records = by_warcio(write_records(response))
    chain = [(fields["WARC-Target-URI"], status) for kind, fields, status, _, _ in records if kind == "response"]
    assert chain == [("http://a.org/set", 302), (URL, 200)]
    assert decode_response(encode_fetch(response, "", Random(1))[1]).hops == hops


REFRESH_PAGE = b"<meta http-equiv=refresh content='3; url=https://example.org/birds/?page=2'><p>moved"


def test_the_page_of_a_meta_refresh_is_archived_before_its_target() -> None:
    headers = {"content-type": "text/html", "content-encoding": "gzip", "content-length": "9"}
    response = replace(PLAIN, url="http://a.org/", hops=(RedirectHop("http://a.org/", 200, headers, REFRESH_PAGE),))
    moved, _, page = by_warcio(write_records(response))
    assert (moved[0], moved[1]["WARC-Target-URI"], moved[2], moved[4]) == (
        "response",
        "http://a.org/",
        200,
        REFRESH_PAGE,
    )
    assert moved[3] == {
        "content-type": "text/html",
        "x-archive-orig-content-encoding": "gzip",
        "x-archive-orig-content-length": "9",
        "content-length": str(len(REFRESH_PAGE)),
    }
    assert (page[1]["WARC-Target-URI"], page[4]) == (URL, PLAIN.body)
    # The page of the refresh is in its own record.
    stored = decode_response(encode_fetch(response, "", Random(1))[1])
    assert stored == replace(response, request={}, hops=(RedirectHop("http://a.org/", 200),))


def test_a_meta_refresh_without_its_page_is_archived_as_a_minimal_page() -> None:
    target = 'http://b.org/?a=1&b="2"'
    response = replace(PLAIN, url="http://a.org/", final_url=target, hops=(RedirectHop("http://a.org/", 200),))
    moved = by_warcio(write_records(response))[0]
    page = Response("http://a.org/", "http://a.org/", moved[2], moved[3], moved[4])
    assert find_meta_refresh(page, "http://a.org/") == resolve_url("http://a.org/", target)


def test_the_first_record_says_who_wrote_the_segment_and_how() -> None:
    data = build_warcinfo("00001.warc.gz", {"software": "topicrawl/9", "operator": "a@b.org"}, 0.0, Random(1))
    ((kind, fields, _, _, payload),) = by_warcio(data)
    assert (kind, fields["WARC-Filename"], fields["WARC-Date"]) == (
        "warcinfo",
        "00001.warc.gz",
        "1970-01-01T00:00:00.000000Z",
    )
    assert b"software: topicrawl/9\r\noperator: a@b.org\r\n" in payload
    assert by_fastwarc(data)[0][0] == "warcinfo"


ODD: dict[str, Response] = {
    "non-latin value": replace(PLAIN, headers={"x-title": "Птицы 鳥 — été"}),
    "bytes that are no UTF-8": replace(PLAIN, headers={"x-title": b"caf\xe9".decode("utf-8", "surrogateescape")}),
    "empty value": replace(PLAIN, headers={"x-empty": ""}),
    "very long value": replace(PLAIN, headers={"x-long": "y" * 30_000, "after": "1"}),
    "many headers": replace(PLAIN, headers={f"x-{number}": "v" for number in range(2_000)}),
    "no headers": replace(PLAIN, headers={}),
    "an archive's own headers": replace(PLAIN, headers={"x-archive-orig-content-length": "7", "content-length": "9"}),
    "status without a reason": replace(PLAIN, status=299),
    "status beyond the table": replace(PLAIN, status=999),
    "empty body": replace(PLAIN, body=b""),
    "ten megabytes": replace(PLAIN, body=Random(3).randbytes(5_000_000) + b"b" * 5_000_000),
    "a body that looks like a record": replace(PLAIN, body=b"\r\n\r\nWARC/1.1\r\nWARC-Type: response\r\n\r\n"),
    "a named failure": replace(PLAIN, status=429, failure=Failure.RATE_LIMITED, detail="429", wait=30.0),
}


@pytest.mark.parametrize("response", ODD.values(), ids=ODD.keys())
def test_odd_answers_read_back_by_everyone(response: Response) -> None:
    data = write_records(response)
    asked, answered = by_warcio(data)
    assert (asked[0], answered[2], answered[4]) == ("request", response.status, response.body)
    assert by_fastwarc(data)[1] == ("response", URL, response.status, response.body)
    assert decode_response(encode_fetch(response, "", Random(1))[1]) == replace(response, request={})


@pytest.mark.parametrize(
    ("headers", "stored"),
    [
        ({"x-a": "1\r\nset-cookie: evil"}, {"x-a": "1  set-cookie: evil"}),
        ({"x-a": "1\nset-cookie: evil"}, {"x-a": "1 set-cookie: evil"}),
        ({"x-a": "null\x00"}, {"x-a": "null"}),
        ({"": "nameless", "x b": "spaced", "x:c": "colon", "x-d": "kept"}, {"x-d": "kept"}),
        ({"x-a": "half a \ud800 pair"}, {"x-a": "half a ? pair"}),
    ],
)
def test_no_header_can_forge_another_line(headers: dict[str, str], stored: dict[str, str]) -> None:
    assert decode_response(encode_fetch(replace(PLAIN, headers=headers), "", Random(1))[1]).headers == stored


def test_an_address_with_spaces_or_breaks_stays_on_its_line() -> None:
    response = replace(PLAIN, final_url="https://a.org/x y\r\nWARC-Type: forged")
    kind, fields, *_ = by_warcio(write_records(response))[1]
    assert (kind, fields["WARC-Target-URI"]) == ("response", "https://a.org/x%20y%0D%0AWARC-Type:%20forged")


def test_without_an_answer_there_is_nothing_to_archive() -> None:
    with pytest.raises(ValueError, match="nothing to archive"):
        encode_fetch(Response(URL, URL, failure=Failure.TIMEOUT), "", Random(1))


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (b"", "not one complete record"),
        (b"no gzip at all, only text", "not one complete record"),
        (encode_fetch(PLAIN, "", Random(1))[1][:-1], "not one complete record"),
        (encode_fetch(PLAIN, "", Random(1))[1] + b"x", "not one complete record"),
        (encode_fetch(PLAIN, "", Random(1))[0], "not a response record"),
        (build_warcinfo("00001.warc.gz", {}, 0.0, Random(1)), "not a response record"),
    ],
    ids=["empty", "text", "torn", "longer", "request", "warcinfo"],
)
def test_what_is_no_response_is_named_as_damage(member: bytes, message: str) -> None:
    with pytest.raises(DamagedError, match=message):
        decode_response(member)


def test_every_flipped_bit_in_the_data_is_noticed() -> None:
    member = encode_fetch(PLAIN, "", Random(1))[1]
    for place in range(10, len(member)):  # the first ten bytes are the gzip header
        damaged = bytearray(member)
        damaged[place] ^= 1
        with pytest.raises(DamagedError):
            decode_response(bytes(damaged))


names = st.from_regex(r"[a-z][a-z0-9_-]{0,20}", fullmatch=True)
values = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40).map(lambda text: text.strip(" "))
urls = st.from_regex(r"https?://[a-z]{1,9}\.org/[!-~]{0,30}", fullmatch=True)


@settings(max_examples=150, deadline=None)
@given(
    response=st.builds(
        Response,
        url=urls,
        final_url=urls,
        status=st.integers(100, 999),
        headers=st.dictionaries(names, values, max_size=8),
        body=st.binary(max_size=3_000),
        at=st.integers(0, 4_000_000_000).map(float),
        hops=st.lists(st.builds(RedirectHop, urls, st.integers(300, 399)), max_size=3).map(tuple),
        failure=st.none() | st.sampled_from(Failure),
        wait=st.none() | st.floats(0, 1e6),
        seconds=st.floats(0, 1e3),
    )
)
def test_whatever_is_written_is_read(response: Response) -> None:
    before, answer = encode_fetch(response, "", Random(1))
    assert decode_response(answer) == response
    kinds = [(kind, status, payload) for kind, _, status, _, payload in by_warcio(before + answer)]
    assert kinds[-1] == ("response", response.status, response.body)
    hop_urls = {hop.url for hop in response.hops} - {response.final_url}
    assert len(by_fastwarc(before + answer)) == len(kinds) == len(hop_urls) + 2


PDF = replace(
    PLAIN,
    headers={"content-type": "application/pdf"},
    body=b"%PDF-1.4",
    readable=ReadableDocument("text/html; charset=utf-8", b"<p>Owls"),
    request={},
)
FILE = Response(
    f"{URL}/!/owls.pdf",
    f"{URL}/!/owls.pdf",
    200,
    {"content-type": "application/pdf", "x-tag": "a,\nb"},
    b"%PDF",
    at=9.5,
    archive_url=URL,
)


@pytest.mark.parametrize(
    ("response", "kinds"),
    [
        (PDF, ["request", "response", "conversion"]),
        (FILE, ["resource"]),
        (replace(FILE, readable=PDF.readable), ["resource", "conversion"]),
    ],
    ids=["a document", "a file of an archive", "a document in an archive"],
)
def test_a_document_is_archived_with_what_it_says(response: Response, kinds: list[str]) -> None:
    before, answer = encode_fetch(response, "", Random(1))
    records = by_warcio(before + answer)
    assert [kind for kind, *_ in records] == kinds
    assert decode_response(answer) == response
    if response.readable is not None:
        (_, fields, *_), (_, about, _, _, said) = records[-2:]
        assert about["WARC-Refers-To"] == fields["WARC-Record-ID"]
        assert said == b"<p>Owls"
    if response.archive_url:
        assert records[0][1]["WARC-Refers-To-Target-URI"] == URL
