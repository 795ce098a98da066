"""What a page says and nothing else: for an index, which has its title and language from the collection.

Half the price of reading it whole: no links, no headings, no guess at the language.
"""

from __future__ import annotations

from dataclasses import replace

import turbohtml
from turbohtml.clean import strip_comments_node

from ..documents.kinds import kind_of
from ..records import Failure, Link, Page, Response
from . import read
from .charset import decoded
from .flow import FORGED, flat, is_marked
from .hidden import hush
from .html import LONGEST_SOURCE, LONGEST_TEXT, SILENT
from .survey import INLINE


def text_only(response: Response) -> str | Failure:
    """The visible text of a response, one block a line, or why there is none.

    >>> page = b"<title>Owls</title><script>x</script><p>Most <b>owls</b><p><a>hunt</a><a>sleep</a>"
    >>> text_only(Response("u", "u", 200, {"content-type": "text/html"}, page))
    'Most owls\\nhunt sleep'
    """
    if response.readable is not None:
        headers = {**response.headers, "content-type": response.readable.type}
        response = replace(response, headers=headers, body=response.readable.body)
    if kind_of(response.body, response.content_type) == "html":
        return _html(response)
    page = read(response, Link(response.final_url), context=False)
    return page.text if isinstance(page, Page) else page


def _html(response: Response) -> str:
    source, _ = decoded(response.body, response.headers.get("content-type", ""))
    # Neighbouring links are words of their own.
    for glued in ("</a><a", "</A><A"):
        source = source.replace(glued, f"{glued[:4]} {glued[4:]}")
    tree = turbohtml.parse(source[:LONGEST_SOURCE], positions=False, allow_declarative_shadow_roots=False)
    if tree.find("body") is None:
        page = read(response, Link(response.final_url), context=False)
        return page.text if isinstance(page, Page) else ""
    tree.remove(SILENT)
    strip_comments_node(tree)
    hush(tree)
    tree.strip_tags(INLINE)
    body = tree.find("body")
    if body is None:
        return ""
    body.normalize()
    text = flat(body.stripped_strings)[:LONGEST_TEXT]
    return FORGED.sub("", text) if is_marked(text.encode("utf-8", "replace")) else text
