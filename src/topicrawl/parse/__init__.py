"""Parsing: turn a response into a page.

`parse_response` detects the content type and calls the parser for it. A body that cannot be parsed gives a `Failure`,
never an exception.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from topicrawl.documents.file_types import detect_type
from topicrawl.models import Failure, Link, LinkContextLevel, Page, Response
from topicrawl.parse.html import parse_html
from topicrawl.parse.parser_cache import ParserCache
from topicrawl.parse.plain_text import parse_plain_text
from topicrawl.urls import make_member_url

if TYPE_CHECKING:
    from topicrawl.documents.reader import SubprocessDocumentReader

__all__ = ["parse_response"]


def parse_response(
    response: Response,
    link: Link,
    *,
    styles: bool = False,
    context: LinkContextLevel | bool = True,
    documents: SubprocessDocumentReader | None = None,
    cache: ParserCache | None = None,
) -> Page | Failure:
    """Parse a response; return the page, or the failure if there is none.

    `link` is the link that led to the page; the depth of out-links is one more than its depth. With `styles`, the page
    has its sentences with their computed styles, including hidden sentences. Without `context`, links have only URL,
    anchor and alternative text, rel and position, which saves a third of the time. With
    `LinkContextLevel.WITHOUT_SENTENCE`, links have everything except the sentence. Documents other than web pages (PDF,
    PostScript, …) are normally converted before parsing; with `documents`, they are converted here (blocking). A caller
    that parses many pages passes the same `cache` for all of them.
    """
    if response.readable is not None:
        response = replace(
            response, headers={**response.headers, "content-type": response.readable.type}, body=response.readable.body
        )
    if response.failure is not None:
        return response.failure
    if not response.body:
        return Failure.EMPTY
    kind = detect_type(response.body, response.content_type)
    if kind == "html":
        page = parse_html(response, link, styles=styles, context=context, cache=cache)
        return _drop_internal_links(page, response.archive_url) if response.archive_url else page
    if kind == "plain":
        return parse_plain_text(response, link, styles=styles, context=context, cache=cache)
    if kind and documents is not None:
        readable = documents.unpack_blocking(response, link).response
        return parse_response(readable, link, styles=styles, context=context, cache=cache)
    return Failure.CONTENT_TYPE


def _drop_internal_links(page: Page, archive: str) -> Page:
    """Remove the links from an archive member to other members of the archive, which have no URL on the web."""
    inside = make_member_url(archive, "").partition("?")[0]
    return replace(page, links=tuple(link for link in page.links if not link.url.startswith(inside)))
