"""Atom feed (RFC 4287) of the new and changed pages of a collection."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from topicrawl.collection.history import PageChange
from topicrawl.urls import fingerprint

_ATOM_NAMESPACE = "http://www.w3.org/2005/Atom"


def build_atom_feed(changes: Iterable[PageChange], topic: str, now: float) -> str:
    """Return the feed as XML. A changed page is a new entry, so that feed readers show it again.

    >>> change = PageChange("new", "http://a.org/?a&b", "Dengue \\x00 & <co>", 0.5, "en", 86400.0, None)
    >>> print(build_atom_feed([change], "dengue", 86400.0)[39:])
    <feed xmlns="http://www.w3.org/2005/Atom">
      <title>dengue: new and changed pages</title>
      <id>urn:topicrawl:dengue</id>
      <updated>1970-01-02T00:00:00Z</updated>
      <author>
        <name>Topicrawl</name>
      </author>
      <entry>
        <title>Dengue  &amp; &lt;co&gt;</title>
        <id>urn:topicrawl:70df9a079d4588d0:86400</id>
        <link rel="alternate" href="http://a.org/?a&amp;b" hreflang="en" />
        <updated>1970-01-02T00:00:00Z</updated>
        <category term="new" />
        <summary>new, relevance 0.50</summary>
      </entry>
    </feed>
    """
    feed = Element("feed", xmlns=_ATOM_NAMESPACE)
    _add_text_element(feed, "title", f"{topic}: new and changed pages")
    _add_text_element(feed, "id", f"urn:topicrawl:{'-'.join(topic.split())}")
    updated = _add_text_element(feed, "updated", _format_time(now))
    _add_text_element(SubElement(feed, "author"), "name", "Topicrawl")
    for number, change in enumerate(changes):
        if not number:
            # Changes are sorted newest first; a feed without new entries keeps its date.
            updated.text = _format_time(change.at)
        feed.append(_build_entry(change))
    indent(feed)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(feed, encoding="unicode")


def _build_entry(change: PageChange) -> Element:
    entry = Element("entry")
    _add_text_element(entry, "title", change.title or change.url)
    # Seconds are precise enough: no page is revisited twice in one second.
    _add_text_element(entry, "id", f"urn:topicrawl:{fingerprint(change.url) % 2**64:016x}:{int(change.at)}")
    link = {"rel": "alternate", "href": _strip_invalid_characters(change.url)} | (
        {"hreflang": change.language} if change.language else {}
    )
    SubElement(entry, "link", link)
    _add_text_element(entry, "updated", _format_time(change.at))
    SubElement(entry, "category", term=change.kind)
    before = f", previous version of {_format_time(change.before)[:10]}" if change.before is not None else ""
    _add_text_element(entry, "summary", f"{change.kind}, relevance {change.relevance:.2f}{before}")
    return entry


def _add_text_element(parent: Element, tag: str, text: str) -> Element:
    child = SubElement(parent, tag)
    child.text = _strip_invalid_characters(text)
    return child


def _strip_invalid_characters(text: str) -> str:
    """Remove the characters that XML cannot represent."""
    return "".join(char for char in text if char in "\t\n" or (char >= " " and char not in "\ufffe\uffff"))


def _format_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
