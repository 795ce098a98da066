"""Convert an HTML page to Markdown: the visible content with headings, lists, tables and absolute links."""

from __future__ import annotations

from urllib.parse import quote

from turbohtml import Document, Markdown

from topicrawl.models import ReadableDocument, Response
from topicrawl.parse.charset import decode_text, get_query_codec
from topicrawl.parse.head import collect_elements
from topicrawl.parse.hidden_text import remove_hidden_text
from topicrawl.parse.html import MAX_TEXT_LENGTH, NON_TEXT_SELECTOR
from topicrawl.parse.tree import build_tree
from topicrawl.urls import LinkResolver

# Images are replaced by their alternative text: data URLs can be megabytes long.
_MARKDOWN_OPTIONS = Markdown(images=Markdown.Images(mode="alt"))
_FRAGMENT_CHARACTERS = "/?:@!$&'*+,;=-._~%"  # of RFC 3986, without the parentheses, which would end a Markdown link


def render_markdown(response: Response) -> str:
    """Convert the body of an HTML page to Markdown; links are absolute, links to other schemes become plain text.

    >>> page = b"<h1>Dengue</h1><p>See <a href='/b#c'>this</a> or <a href='javascript:x()'>that</a>.<p hidden>spam"
    >>> print(render_markdown(Response("u", "http://a.org/x", headers={"content-type": "text/html"}, body=page)))
    # Dengue
    <BLANKLINE>
    See [this](http://a.org/b#c) or that.
    """
    readable = response.readable or ReadableDocument(response.headers.get("content-type", ""), response.body)
    source, charset = decode_text(readable.body, readable.type)
    tree = build_tree(source, readable.body if charset == "utf-8" else b"")
    tree.remove(NON_TEXT_SELECTOR)
    remove_hidden_text(tree)
    _make_links_absolute(tree, response.final_url, get_query_codec(charset))
    body = tree.find("body")
    return body.to_markdown(_MARKDOWN_OPTIONS)[:MAX_TEXT_LENGTH].strip() if body is not None else ""


def _make_links_absolute(tree: Document, url: str, query_codec: str) -> None:
    """Make the links of a tree absolute; remove the `href` of links that do not lead to web pages."""
    base = collect_elements(tree).base
    joiner = LinkResolver((LinkResolver(url)(base) or url) if base else url, query_codec=query_codec)
    for element in tree.iter_elements(["a"]):
        href = element.attr("href")
        if href is not None:
            target = joiner(href)
            if target:
                # The canonical form of a URL has no fragment, but a reader needs it.
                _, mark, fragment = href.strip().partition("#")
                element.attrs["href"] = f"{target}{mark}{quote(fragment, safe=_FRAGMENT_CHARACTERS)}"
            else:
                del element.attrs["href"]
