"""What is new or changed on a topic as an Atom feed (RFC 4287), for feed readers."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from topicrawl.collection.history import Change
from topicrawl.urls import fingerprint

_ATOM = "http://www.w3.org/2005/Atom"


def atom(changes: Iterable[Change], topic: str, now: float) -> str:
    """The feed; a page that has changed is a new entry, so that readers show it again.

    >>> change = Change("new", "http://a.org/?a&b", "Dengue \\x00 & <co>", 0.5, "en", 86400.0, None)
    >>> print(atom([change], "dengue", 86400.0)[39:])
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
    feed = Element("feed", xmlns=_ATOM)
    _text(feed, "title", f"{topic}: new and changed pages")
    _text(feed, "id", f"urn:topicrawl:{'-'.join(topic.split())}")
    updated = _text(feed, "updated", _date(now))
    _text(SubElement(feed, "author"), "name", "Topicrawl")
    for number, change in enumerate(changes):
        if not number:
            # The latest comes first; a feed that has nothing new keeps its date.
            updated.text = _date(change.at)
        feed.append(_entry(change))
    indent(feed)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(feed, encoding="unicode")


def _entry(change: Change) -> Element:
    entry = Element("entry")
    _text(entry, "title", change.title or change.url)
    # Seconds are enough: a page is not looked at twice in one.
    _text(entry, "id", f"urn:topicrawl:{fingerprint(change.url) % 2**64:016x}:{int(change.at)}")
    lead = {"rel": "alternate", "href": _clean(change.url)} | ({"hreflang": change.language} if change.language else {})
    SubElement(entry, "link", lead)
    _text(entry, "updated", _date(change.at))
    SubElement(entry, "category", term=change.kind)
    before = f", seen otherwise on {_date(change.before)[:10]}" if change.before is not None else ""
    _text(entry, "summary", f"{change.kind}, relevance {change.relevance:.2f}{before}")
    return entry


def _text(parent: Element, tag: str, text: str) -> Element:
    child = SubElement(parent, tag)
    child.text = _clean(text)
    return child


def _clean(text: str) -> str:
    """Without the characters that XML has no way to write."""
    return "".join(each for each in text if each in "\t\n" or (each >= " " and each not in "\ufffe\uffff"))


def _date(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
