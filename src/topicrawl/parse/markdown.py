"""A page as Markdown: what a reader sees, with headings, lists, tables and links that lead somewhere."""

from __future__ import annotations

import turbohtml
from turbohtml import Document, Markdown

from ..records import Readable, Response
from ..urls import Joiner
from .charset import decoded
from .hidden import hush
from .html import LONGEST_SOURCE, LONGEST_TEXT, SILENT
from .survey import survey

# Pictures are told, not shown: some are megabytes of data in their own address.
_OPTIONS = Markdown(images=Markdown.Images(mode="alt"))


def markdown(response: Response) -> str:
    """The body of an HTML page as Markdown; links are absolute, and those that lead out of the web are text.

    >>> page = b"<h1>Dengue</h1><p>See <a href='/b'>this</a> or <a href='javascript:x()'>that</a>.<p hidden>spam"
    >>> print(markdown(Response("u", "http://a.org/x", headers={"content-type": "text/html"}, body=page)))
    # Dengue
    <BLANKLINE>
    See [this](http://a.org/b) or that.
    """
    shown = response.readable or Readable(response.headers.get("content-type", ""), response.body)
    source, _ = decoded(shown.body, shown.type)
    tree = turbohtml.parse(source[:LONGEST_SOURCE], positions=False, allow_declarative_shadow_roots=False)
    tree.remove(SILENT)
    hush(tree)
    _absolute(tree, response.final_url)
    body = tree.find("body")
    return body.to_markdown(_OPTIONS)[:LONGEST_TEXT].strip() if body is not None else ""


def _absolute(tree: Document, url: str) -> None:
    base = survey(tree).base
    joiner = Joiner((Joiner(url)(base) or url) if base else url)
    for element in tree.iter_elements(["a"]):
        href = element.attr("href")
        if href is not None:
            target = joiner(href)
            if target:
                element.attrs["href"] = target
            else:
                del element.attrs["href"]
