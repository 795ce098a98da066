"""A small collection with the special cases of an export."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from topicrawl.collection.directory import Collection
from topicrawl.models import Failure, Link, Page, Priority, Response, Visit
from topicrawl.topic import Topic

HOST = "http://www.a.example"
START = 1_700_000_000.0  # 2023-11-14 22:13:20 UTC
HOSTILE = 'half \ud800, "quotes", <b>, a | pipe,\nnew line = =cmd()'


def make_html(number: int, text: str) -> str:
    """Return an HTML page with a hidden paragraph."""
    return f"<title>Page {number}</title><h1>Number {number}</h1><p>{text}</p><p hidden>unseen</p>"


#: Number → (body, headers, language, relevance)
PAGES: Mapping[int, tuple[str, Mapping[str, str], str, float]] = {
    1: (make_html(1, "dengue fever, the seed"), {}, "en", 0.9),
    2: (make_html(2, "<a rel=license href='https://creativecommons.org/licenses/by/4.0/'>free</a>"), {}, "en", 0.8),
    3: (make_html(3, "Fieber"), {"x-robots-tag": "noai", "tdm-reservation": "1"}, "de", 0.7),
    4: ("Plain words\n\nof dengue", {"content-type": "text/plain"}, "en", 0.6),
    5: (make_html(5, "football"), {}, "en", 0.01),
    6: (make_html(6, "naïve 東京 \x07 text"), {}, "", 0.5),
}


def create_collection(directory: Path, pages: Mapping[int, tuple[str, Mapping[str, str], str, float]] = PAGES) -> Path:
    """Create the collection. Page n was found on page n - 1 a day later, starting from the seed page 1."""
    facts = {"identity": {"strategy": "best_first"}, "seeds": [f"{HOST}/1"], "settings": {"robots": True}}
    with Collection(directory, Topic.of("dengue fever"), facts) as collection:  # type: ignore[arg-type]
        for number, (body, headers, language, relevance) in pages.items():
            url, at = f"{HOST}/{number}", START + 86_400 * number
            source = f"{HOST}/{number - 1}" if number > 1 else ""
            fields = {"content-type": "text/html", **headers}
            response = Response(url, url, 200, fields, body.encode(), at)
            found = Page(url, HOSTILE, language=language, words=("x",) * 7, digest=f"{number:032x}")
            link = Link(url, source, HOSTILE, depth=number - 1)
            visit = Visit(number, link, Priority(0.5), url, found, relevance, None, at, 200)
            collection.store_visits([(visit, response, None)])
        gone = Link(f"{HOST}/gone", f"{HOST}/1")
        failed = Visit(len(pages) + 1, gone, Priority(0.5), gone.url, None, None, Failure.NOT_FOUND, START, 404)
        collection.store_visits([(failed, Response(gone.url, gone.url, 404), None)])
    return directory
