"""A crawl with several processes parses pages in child processes, with the same result."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from topicrawl.models import Failure, Link, Page, ParsedResponse, Response
from topicrawl.parse import parse_response
from topicrawl.parse.child_process import ParseOptions
from topicrawl.parse.off_loop import MAX_BODY_BYTES, SubprocessPageParser
from topicrawl.parse.parser_pool import ParserPool, create_page_parser
from topicrawl.text.bag_of_words import VocabularyCache

URL = "http://e.org/"


def respond(number: int) -> Response:
    body = f"<title>Owl {number}</title><p>The owl hunts <a href=/mice/{number}>mice</a> at night."
    return Response(f"{URL}{number}", f"{URL}{number}", 200, {"content-type": "text/html"}, body.encode())


async def parse_pages(pool: ParserPool, count: int) -> list[Page | None]:
    links = [Link(f"{URL}{number}", depth=2) for number in range(count)]
    results = await asyncio.gather(*(pool.parse_page(respond(at), link) for at, link in enumerate(links)))
    return [parsed.page for parsed in results]


def kill_child(parser: SubprocessPageParser) -> None:
    process = parser._worker._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)


@pytest.fixture
def pool() -> Iterator[ParserPool]:
    with ParserPool(2, VocabularyCache()) as opened:
        yield opened


def test_pages_are_the_same_as_in_this_process_and_all_children_work(pool: ParserPool) -> None:
    pages = asyncio.run(parse_pages(pool, 12))
    assert pages == [parse_response(respond(number), Link(f"{URL}{number}", depth=2)) for number in range(12)]
    assert [parser._worker._process is not None for parser in pool._parsers] == [True, True]
    assert pool._costly_parser._worker._process is None


def test_a_killed_child_is_replaced(pool: ParserPool) -> None:
    asyncio.run(parse_pages(pool, 4))
    for parser in pool._parsers:
        kill_child(parser)
    assert None not in asyncio.run(parse_pages(pool, 4))


def test_the_caller_parses_a_page_whose_child_fails(pool: ParserPool) -> None:
    for parser in pool._parsers:
        parser._worker.stop()
    response = respond(1)
    assert asyncio.run(pool.parse_page(response, Link(URL))) == ParsedResponse(response)


def test_costly_pages_have_a_process_of_their_own(pool: ParserPool) -> None:
    body = b"<p>owls " + b"x " * MAX_BODY_BYTES
    response = Response(URL, URL, 200, {"content-type": "text/html"}, body)
    assert asyncio.run(pool.parse_page(response, Link(URL))).page is not None
    assert pool._costly_parser._worker._process is not None
    assert [parser._worker._process for parser in pool._parsers] == [None, None]


def test_failures_are_not_sent_to_a_child() -> None:
    assert not ParserPool.is_costly(Response(URL, URL, failure=Failure.TIMEOUT))
    assert ParserPool.is_costly(respond(1))


def test_one_process_parses_only_costly_pages_in_a_child() -> None:
    for processes, kind in ((1, SubprocessPageParser), (2, ParserPool)):
        with create_page_parser(processes, VocabularyCache(), ParseOptions()) as parser:
            assert type(parser) is kind
