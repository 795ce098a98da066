"""Visits that workers exchange are plain JSON values."""

from __future__ import annotations

import json

from topicrawl.models import Link, LinkContextLevel, Page, Priority, Response, Visit
from topicrawl.parse import parse_response
from topicrawl.strategies.visit_sync import pack_visit, unpack_visit

HTML = b"<title>Owls</title><p>The owl hunts <a href='/night'>at night</a> in the old forest.</p>"


def test_the_visit_of_a_parsed_page_survives_json() -> None:
    response = Response("http://a/", "http://a/", 200, {"content-type": "text/html"}, HTML)
    page = parse_response(response, Link("http://a/"), context=LinkContextLevel.WITHOUT_SENTENCE)
    assert isinstance(page, Page)
    visit = Visit(1, Link("http://a/"), Priority(0.5), "http://a/", page, 0.25)
    received = unpack_visit(json.loads(json.dumps(pack_visit(visit, context=True)))).page
    assert received is not None
    assert list(received.words) == list(page.words)
    assert [link.url for link in received.links] == ["http://a/night"]
    for sent, link in zip(page.links, received.links, strict=True):
        assert sent.before
        assert (list(link.before), list(link.after)) == (list(sent.before), list(sent.after))
