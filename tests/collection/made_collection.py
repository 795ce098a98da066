"""A small collection with all that an export has to cope with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from topicrawl.collection.directory import Collection
from topicrawl.records import Failure, Link, Page, Place, Response, Visit
from topicrawl.topic import Topic

HOST = "http://www.a.example"
START = 1_700_000_000.0  # 2023-11-14 22:13:20 UTC
HOSTILE = 'half \ud800, "quotes", <b>, a | pipe,\nnew line = =cmd()'


def page(number: int, text: str) -> str:
    return f"<title>Page {number}</title><h1>Number {number}</h1><p>{text}</p><p hidden>unseen</p>"


#: Number → (body, headers, language, relevance)
PAGES: Mapping[int, tuple[str, Mapping[str, str], str, float]] = {
    1: (page(1, "dengue fever, the seed"), {}, "en", 0.9),
    2: (page(2, "<a rel=license href='https://creativecommons.org/licenses/by/4.0/'>free</a>"), {}, "en", 0.8),
    3: (page(3, "Fieber"), {"x-robots-tag": "noai", "tdm-reservation": "1"}, "de", 0.7),
    4: ("Plain words\n\nof dengue", {"content-type": "text/plain"}, "en", 0.6),
    5: (page(5, "football"), {}, "en", 0.01),
    6: (page(6, "naïve 東京 \x07 text"), {}, "", 0.5),
}


def made(directory: Path, pages: Mapping[int, tuple[str, Mapping[str, str], str, float]] = PAGES) -> Path:
    """Page n was found on page n - 1, from the seed 1 on, a day later each."""
    facts = {"identity": {"strategy": "best_first"}, "seeds": [f"{HOST}/1"], "settings": {"robots": True}}
    with Collection(directory, Topic.of("dengue fever"), facts) as collection:  # type: ignore[arg-type]
        for number, (body, headers, language, relevance) in pages.items():
            url, at = f"{HOST}/{number}", START + 86_400 * number
            source = f"{HOST}/{number - 1}" if number > 1 else ""
            fields = {"content-type": "text/html", **headers}
            response = Response(url, url, 200, fields, body.encode(), at)
            found = Page(url, HOSTILE, language=language, words=("x",) * 7, digest=f"{number:032x}")
            link = Link(url, source, HOSTILE, depth=number - 1)
            visit = Visit(number, link, Place(0.5), url, found, relevance, None, at, 200)
            collection.keep([(visit, response, None)])
        gone = Link(f"{HOST}/gone", f"{HOST}/1")
        failed = Visit(len(pages) + 1, gone, Place(0.5), gone.url, None, None, Failure.NOT_FOUND, START, 404)
        collection.keep([(failed, Response(gone.url, gone.url, 404), None)])
    return directory
