"""Program of the child process that parses pages, isolated from the crawl process (`documents/request_loop.py`).

`off_loop.py` sends it the requests.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import msgspec

from topicrawl.documents.errors import UnreadableDocument
from topicrawl.documents.messages import ConversionLimits, ConvertedDocument
from topicrawl.documents.request_loop import serve_requests
from topicrawl.models import Failure, Link, LinkContextLevel, ParseFunction, Response
from topicrawl.parse import parse_response
from topicrawl.parse.main_text import parse_main_text
from topicrawl.parse.page_serialization import encode_page
from topicrawl.parse.parser_cache import ParserCache

#: Size of the address space. The libraries need 120 MB of it, and the largest pages 200 MB.
MAX_MEMORY = 512 << 20
#: Media type of a result; `ConvertedDocument.body` is then the output of `encode_page`.
PAGE_TYPE = "application/x-topicrawl-page"


class ParseOptions(NamedTuple):
    """Options of the parse function."""

    styles: bool = False
    context: LinkContextLevel | bool = True
    main_text: bool = False  # whether the words of the page come from its main text only

    def create_parser(self, cache: ParserCache | None = None) -> ParseFunction:
        """Return the parse function with these options."""
        parse = parse_main_text if self.main_text else parse_response
        return partial(parse, styles=self.styles, context=self.context, cache=cache)


class ParseRequest(NamedTuple):
    """A response to parse."""

    response: Response
    options: ParseOptions


class RequestParser:
    """Parse the responses of requests, with one cache for all of them."""

    def __init__(self) -> None:
        self._cache = ParserCache()

    def parse_request(self, body: bytes, _limits: ConversionLimits) -> ConvertedDocument:
        """Parse the response of an encoded `ParseRequest`.

        Raise `UnreadableDocument` if the parser raises an exception.
        """
        response, options = msgspec.msgpack.decode(body, type=ParseRequest)
        try:
            page = options.create_parser(self._cache)(response, Link(response.url))
            return ConvertedDocument(PAGE_TYPE, encode_page(page))
        except MemoryError:
            raise
        except Exception as error:
            raise UnreadableDocument(Failure.PROCESSING, f"{type(error).__name__}: {error}"[:300]) from error


if __name__ == "__main__":
    serve_requests(RequestParser().parse_request, max_memory=MAX_MEMORY)
