"""From a response to a page.

`read` looks at the content type and hands the body to the reader for it. What is not written for readers,
or in a form that nobody here reads, is a named failure, never an exception.
"""

from __future__ import annotations

import re

from ..records import Failure, Link, Page, Response
from .html import read_html
from .plain import read_plain

__all__ = ["read"]

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_UNNAMED = frozenset({"", "application/octet-stream", "unknown/unknown", "*/*"})
_TAG = re.compile(rb"<(?:!doctype|!--|html|head|title|body|meta|a|p|h1|div|table|br|script|style|font|b)[\s>]", re.I)
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def read(response: Response, link: Link, *, styles: bool = False, context: bool = True) -> Page | Failure:
    """The page in a response, or why there is none.

    `link` is what led there: out-links are one deeper. With `styles`, the page has its sentences with the way
    they are shown, hidden ones included. Without `context`, links have only address, texts, rel and position,
    which saves a third of the time: strategies that look at no more ask for it.
    """
    if response.failure is not None:
        return response.failure
    if not response.body:
        return Failure.EMPTY
    kind = response.content_type
    if kind in _UNNAMED:
        kind = sniffed(response.body)
    if kind in _HTML:
        return read_html(response, link, styles=styles, context=context)
    if kind == "text/plain":
        return read_plain(response, link, styles=styles, context=context)
    return Failure.CONTENT_TYPE


def sniffed(body: bytes) -> str:
    """The content type of a body that came without one, "" when it is not text.

    >>> sniffed(b"  <!DOCTYPE html><p>x"), sniffed(b"Dear all,"), sniffed(b"%PDF-1.7 \\x00")
    ('text/html', 'text/plain', '')
    """
    start = body[:1024]
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        start = start.replace(b"\0", b"")
    if _TAG.search(start):
        return "text/html"
    return "" if _BINARY.search(start) or start.startswith(b"%PDF") else "text/plain"
