"""Step 4. From a response to a page.

`read` looks at the content type and hands the body to the reader for it. What is not written for readers,
or in a form that nobody here reads, is a named failure, never an exception.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..documents.kinds import kind_of
from ..records import Around, Failure, Link, Page, Response
from ..urls import member
from .html import read_html
from .plain import read_plain

if TYPE_CHECKING:
    from ..documents.reading import Documents

__all__ = ["read"]


def read(
    response: Response,
    link: Link,
    *,
    styles: bool = False,
    context: Around | bool = True,
    documents: Documents | None = None,
) -> Page | Failure:
    """The page in a response, or why there is none.

    `link` is what led there: out-links are one deeper. With `styles`, the page has its sentences with the way
    they are shown, hidden ones included. Without `context`, links have only address, texts, rel and position,
    which saves a third of the time, and with `Around.WORDS` all but the sentence: strategies ask for what they
    read. Documents that are no web pages (PDF, PostScript, …) have been made readable before; with `documents`, that is
    done now, and waited for.
    """
    if response.readable is not None:
        response = replace(
            response, headers={**response.headers, "content-type": response.readable.type}, body=response.readable.body
        )
    if response.failure is not None:
        return response.failure
    if not response.body:
        return Failure.EMPTY
    kind = kind_of(response.body, response.content_type)
    if kind == "html":
        page = read_html(response, link, styles=styles, context=context)
        return _outward(page, response.taken_from) if response.taken_from else page
    if kind == "plain":
        return read_plain(response, link, styles=styles, context=context)
    if kind and documents is not None:
        return read(documents.unfold(response, link).response, link, styles=styles, context=context)
    return Failure.CONTENT_TYPE


def _outward(page: Page, archive: str) -> Page:
    """A file of an archive without its links to the other files there: nobody else could follow them."""
    inside = member(archive, "").partition("?")[0]
    return replace(page, links=tuple(link for link in page.links if not link.url.startswith(inside)))
