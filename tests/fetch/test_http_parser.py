"""Tests of the HTTP parser: malformed responses that browsers display are accepted and marked as damaged."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.malformed_http import CASES, WORDS
from tests.helpers.site.server import Reply, Site

from topicrawl.fetch.guard import parse_networks
from topicrawl.fetch.http import HttpClient, HttpSettings
from topicrawl.fetch.http_parser import ResponseError, ResponseParser
from topicrawl.models import Damage, Failure

SETTINGS = HttpSettings(allowed_networks=parse_networks(["127.0.0.0/8"]), total_timeout=5.0)


@pytest.mark.parametrize("name", CASES)
def test_malformed_responses(name: str) -> None:
    case = CASES[name]

    async def run() -> None:
        async with Site(lambda _: case.data) as site, HttpClient(SETTINGS) as http:
            response = await http.get(site.make_url("/"))
        if case.damage is None:
            assert response.failure is Failure.BAD_RESPONSE
            assert response.detail
            return
        assert (response.failure, response.damage) == (None, case.damage)
        assert WORDS[:60] in response.body
        assert response.content_type == "text/html"
        assert response.wire is not None
        wire = response.wire.head + response.wire.body
        assert wire == case.data.lstrip(b"\r\n").removesuffix(b"surplus" if "longer" in name else b"")

    asyncio.run(run())


def parse(data: bytes, cuts: list[int] | None = None) -> tuple[object, ...]:
    """Parse a response that arrives in pieces; return the outcome."""
    parser = ResponseParser(max_header_bytes=256 * 1024)
    points = sorted({cut % (len(data) + 1) for cut in cuts or ()})
    try:
        for start, end in zip([0, *points], [*points, len(data)], strict=True):
            if not parser.is_complete:
                parser.feed(data[start:end])
        if not parser.is_complete:
            parser.feed_end()
    except (ResponseError, EOFError) as error:
        return type(error), str(error)
    head = parser.head
    assert head is not None
    return head.status, head.fields, b"".join(parser.parts), sorted(parser.damage), parser.size


@given(st.sampled_from(sorted(CASES)), st.lists(st.integers(0, 100_000), max_size=6))
def test_the_pieces_in_which_a_response_arrives_make_no_difference(name: str, cuts: list[int]) -> None:
    assert parse(CASES[name].data, cuts) == parse(CASES[name].data)


@given(st.binary(max_size=300), st.sampled_from([b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"]))
def test_any_bytes_give_a_response_or_an_error(data: bytes, start: bytes) -> None:
    parse(start + data)


def test_every_byte_on_its_own() -> None:
    data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\nA: b\r\n c\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: v\r\n\r\n"
    parser = ResponseParser(max_header_bytes=1000)
    for number in range(len(data)):
        assert not parser.is_complete
        parser.feed(data[number : number + 1])
    assert parser.is_complete
    assert parser.can_reuse
    assert parser.transfer_encodings == ["gzip"]
    assert parser.head is not None
    assert parser.head.fields == [("Transfer-Encoding", "gzip, chunked"), ("A", "b c")]
    assert b"".join(parser.parts) == b"abc"
    assert b"".join(parser.wire_parts or ()) == data[data.index(b"3;") :]


@pytest.mark.parametrize(
    ("head", "can_reuse"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", True),
        (b"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: Close\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", False),
    ],
)
def test_a_connection_is_reused_only_if_the_end_of_the_response_is_certain(head: bytes, can_reuse: bool) -> None:
    parser = ResponseParser(max_header_bytes=1000)
    parser.feed(head + b"x")
    assert parser.is_complete
    assert parser.can_reuse == can_reuse


def test_a_damaged_response_leaves_no_bytes_for_the_next_one() -> None:
    """The connection is closed, so that bytes after a response cannot pass for the response to another request."""
    first = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"

    async def run() -> None:
        answers = lambda request: first if request.path == "/1" else Reply(b"good")  # noqa: E731
        async with Site(answers) as site, HttpClient(SETTINGS) as http:
            assert (await http.get(site.make_url("/1"))).body == b"hi"
            assert (await http.get(site.make_url("/2"))).body == b"good"

    asyncio.run(run())


def test_a_reset_in_the_body_is_damage() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nhello")
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.transport.get_extra_info("socket").setsockopt(1, 13, b"\1\0\0\0\0\0\0\0")  # SO_LINGER: reset on close
        writer.transport.abort()

    async def run() -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server, HttpClient(SETTINGS) as http:
            response = await http.get(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        assert (response.failure, response.body, response.damage) == (None, b"hello", (Damage.TRUNCATED,))

    asyncio.run(run())
