"""The main text of a page: without menus, side columns, footers, advertisements and comments.

Which element holds it is found by how much unlinked prose stands in it (the parser's own scoring, after Readability).
It costs as much as reading the page a second time, so it is made when somebody asks, and not on every page's way.
"""

from __future__ import annotations

from dataclasses import replace

import turbohtml

from ..records import Around, Failure, Link, Page, Response
from ..text.tokens import spelled
from ..text.wording import Wording
from . import flow, read
from .charset import decoded
from .hidden import hush
from .html import LONGEST_SOURCE, LONGEST_TEXT, SILENT
from .survey import INLINE

LEAST = 0.25  # of the visible text: where less stands out, the page is a list or a portal, and all of it counts
_LEAST_CHARACTERS = 200


def main_text(response: Response, page: Page) -> str:
    """The main text of a page that was read from a response, one block a line; all of it where none stands out."""
    if "html" not in response.content_type:
        return page.text
    source, _ = decoded(response.body, response.headers.get("content-type", ""))
    tree = turbohtml.parse(source[:LONGEST_SOURCE], positions=False, allow_declarative_shadow_roots=False)
    tree.remove(SILENT)
    hush(tree)
    content = tree.main_content()
    if content is None:
        return page.text
    content.strip_tags(INLINE)
    content.normalize()
    text = flow.FORGED.sub("", flow.flat(content.stripped_strings))[:LONGEST_TEXT].strip()
    return text if len(text) >= max(_LEAST_CHARACTERS, LEAST * len(page.text)) else page.text


def read_main(response: Response, link: Link, *, styles: bool = False, context: Around | bool = True) -> Page | Failure:
    """The page in a response, as `read` gives it, with the words of its main text alone: what it is judged by."""
    page = read(response, link, styles=styles, context=context)
    return replace(page, words=Wording(spelled(main_text(response, page)))) if isinstance(page, Page) else page
