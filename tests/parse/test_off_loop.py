"""Costly pages are parsed in a child process with limits, and with the same result."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from topicrawl.documents.messages import ConversionLimits, ConvertedDocument
from topicrawl.models import Failure, Link, LinkContextLevel, Page, ParsedResponse, ReadableDocument, Response
from topicrawl.parse import parse_response
from topicrawl.parse.child_process import ParseOptions
from topicrawl.parse.main_text import parse_main_text
from topicrawl.parse.off_loop import MAX_BODY_BYTES, MAX_TAGS, SHORT_BODY_BYTES, SubprocessPageParser
from topicrawl.text.bag_of_words import VocabularyCache

URL = "http://e.org/"
PROSE = "<p>The <b style='color:red'>owl</b> hunts <a href='/mice' rel=nofollow>mice</a> at night, says Dr. Who. "
LARGE = (f"<title>Owls</title><h1>Owls</h1>{PROSE}" + "It is a bird of the night. " * 12_000).encode()


def respond(body: bytes, content_type: str = "text/html", **others: object) -> Response:
    return Response(URL, URL, 200, {"content-type": content_type}, body, **others)  # type: ignore[arg-type]


def parse_off_loop(parser: SubprocessPageParser, response: Response) -> ParsedResponse:
    return asyncio.run(parser.parse_page(response, Link(URL, depth=2)))


@pytest.fixture
def parser() -> Iterator[SubprocessPageParser]:
    with SubprocessPageParser(VocabularyCache()) as opened:
        yield opened


@pytest.mark.parametrize(
    ("body", "is_costly"),
    [
        (b"<p>x", False),
        (b"x" * MAX_BODY_BYTES, False),
        (b"x" * (MAX_BODY_BYTES + 1), True),
        (b"<p>" * (SHORT_BODY_BYTES // 3), False),
        (b"<p>x" * MAX_TAGS + b"x" * SHORT_BODY_BYTES, False),
        (b"<p>x" * (MAX_TAGS + 1) + b"x" * SHORT_BODY_BYTES, True),
        (("<p>x" * (MAX_TAGS + 1) + "x" * SHORT_BODY_BYTES).encode("utf-16"), True),
    ],
)
def test_large_pages_and_pages_with_many_tags_are_costly(body: bytes, is_costly: bool) -> None:
    assert SubprocessPageParser.is_costly(respond(body)) is is_costly
    readable = ReadableDocument("text/html", body)
    assert SubprocessPageParser.is_costly(respond(b"%PDF", readable=readable)) is is_costly
    assert not SubprocessPageParser.is_costly(respond(body, failure=Failure.NOT_FOUND))


@pytest.mark.parametrize(
    "options",
    [
        ParseOptions(),
        ParseOptions(context=False),
        ParseOptions(styles=True, context=LinkContextLevel.WITHOUT_SENTENCE),
        ParseOptions(main_text=True, context=LinkContextLevel.FULL),
    ],
)
def test_the_page_is_the_same_as_in_this_process(options: ParseOptions) -> None:
    parse = parse_main_text if options.main_text else parse_response
    with SubprocessPageParser(VocabularyCache(), options) as parser:
        for response in (respond(LARGE), respond(b"%PDF", readable=ReadableDocument("text/plain", LARGE))):
            parsed = parse_off_loop(parser, response)
            assert parsed.response is response
            assert parsed.page == parse(response, Link(URL, depth=2), styles=options.styles, context=options.context)
            assert isinstance(parsed.page, Page)


def test_failures_have_a_name_and_the_next_page_is_parsed(parser: SubprocessPageParser) -> None:
    unsupported = parse_off_loop(parser, respond(b"GIF89a" + bytes(100), "image/gif"))
    assert (unsupported.page, unsupported.response.failure) == (None, Failure.CONTENT_TYPE)
    assert parse_off_loop(parser, respond(LARGE)).page is not None


def test_a_page_that_takes_too_long_is_a_failure_and_the_process_is_replaced() -> None:
    with SubprocessPageParser(VocabularyCache(), limits=ConversionLimits(cpu_seconds=0.0)) as parser:
        # The first page has additional time for the start of the process.
        assert parse_off_loop(parser, respond(LARGE)).page is not None
        slow = parse_off_loop(parser, respond("文字".encode() * 1_000_000, "text/html; charset=utf-8"))
        assert (slow.page, slow.response.failure) == (None, Failure.READING_LIMIT)
        assert parse_off_loop(parser, respond(LARGE)).page is not None


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", b"\x90", b"\x91\xa3abc", b"\xdd\xff\xff\xff\xff", b"\x97" + b"\x90" * 7]
)
def test_an_invalid_result_is_a_failure(parser: SubprocessPageParser, data: bytes) -> None:
    parsed = parser._decode_result(ConvertedDocument("page", data), respond(b"x"), Link(URL))
    assert (parsed.page, parsed.response.failure) == (None, Failure.UNPARSED)
