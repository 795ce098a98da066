"""How long the parts of reading a page take: `python bench/parse_speed.py [pages.warc.gz] [--pages 100]`.

Without a file, pages are made: 38 KB, 100 links, 1,800 words. Each figure is the mean over the pages of the
best of several rounds, in microseconds; rounds of all parts take turns, so that a busy machine hurts all alike.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import turbohtml
import xxhash
from fastwarc.warc import ArchiveIterator, WarcRecordType
from turbohtml.clean import strip_comments_node

from topicrawl.parse import flow, read
from topicrawl.parse.charset import decoded
from topicrawl.parse.hidden import hush
from topicrawl.parse.html import SILENT
from topicrawl.parse.language import language_of, quiet_words
from topicrawl.parse.links import Context, Leads, mark, sealed, tag_paths
from topicrawl.parse.sentence import sentences_at
from topicrawl.parse.survey import INLINE, survey
from topicrawl.records import Link, Response
from topicrawl.text.lexicon import lexicon
from topicrawl.text.tokens import words
from topicrawl.urls import Joiner


def recorded(path: Path, count: int) -> list[Response]:
    """Every so-manieth page of a recording."""
    with path.open("rb") as stream:
        pages = [
            Response(uri, uri, 200, {name.lower(): value for name, value in record.http_headers}, record.reader.read())
            for record in ArchiveIterator(stream, record_types=WarcRecordType.response, parse_http=True)
            if record.http_headers.status_code == 200
            for uri in [record.headers["WARC-Target-URI"]]
        ]
    return pages[:: max(1, len(pages) // count)][:count]


def made(count: int) -> list[Response]:
    """Pages like those of a documentation site."""
    chance = random.Random(1)
    rare = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(3, 9))) for _ in range(3000)]
    frequent = sorted(lexicon("en").stop)

    def prose(length: int) -> str:
        found = (chance.choice(frequent if chance.random() < 0.4 else rare) for _ in range(length))
        return " ".join(found).capitalize() + "."

    def paragraph() -> str:
        link = f'<a class="reference internal" href="../{chance.choice(rare)}.html#x" title="t">{prose(2)}</a>'
        code = f'<code class="docutils literal notranslate"><span class="pre">{prose(2)}</span></code>'
        return f'<p class="first last">{prose(18)} <em>{prose(3)}</em> {link} {code} {prose(9)}</p>\n'

    def page() -> str:
        items = (f'<a class="reference internal" href="/{chance.choice(rare)}/">{prose(2)}</a>' for _ in range(50))
        menu = "".join(f'<li class="toctree-l1">{item}</li>\n' for item in items)
        section = '<div class="section" id="{}"><h2>{}<a class="headerlink" href="#{}">¶</a></h2>\n{}</div>\n'
        body = "".join(section.format(name, prose(4), name, paragraph() * 5) for name in rare[:10])
        head = f"<title>{prose(5)}</title><script>{'x' * 4000}</script><style>{'y' * 4000}</style>"
        return f"<!DOCTYPE html><html lang=en><head>{head}</head><body><ul>{menu}</ul>{body}</body></html>"

    kind = {"content-type": "text/html; charset=utf-8"}
    urls = [f"http://example.org/docs/page{number}.html" for number in range(count)]
    return [Response(url, url, 200, kind, page().encode()) for url in urls]


def laps(response: Response) -> Iterator[str]:
    """Do what `read` does, and say after each part what it was; parts with a star are for context only."""
    source, _ = decoded(response.body, response.headers.get("content-type", ""))
    yield "decode"
    tree = turbohtml.parse(source, positions=False, allow_declarative_shadow_roots=False)
    yield "parse"
    tree.remove(SILENT)
    strip_comments_node(tree)
    hush(tree)
    yield "remove hidden"
    seen = survey(tree)
    yield "survey"
    found = Leads()
    found.add(seen.links, Joiner(response.final_url), response.final_url)
    yield "join addresses"
    paths = tag_paths(found.elements)
    yield "* tag paths"
    found.alts = mark(found.elements)
    yield "mark links"
    tree.strip_tags(INLINE)
    body = tree.find("body")
    if body is None:
        return
    body.normalize()
    strings = list(body.stripped_strings)
    yield "text"
    pieces = flow.cut(flow.flat(strings))
    text = "".join(pieces)
    yield "fold and cut"
    language = language_of(text)
    yield "language"
    xxhash.xxh3_128_hexdigest(text.encode())
    yield "digest"
    tuple(words(text))
    yield "words (without context)"
    _, windows = flow.words_and_windows(pieces, quiet_words(language))
    yield "* words and windows"
    sentences = sentences_at(text, flow.offsets(pieces), language=language)
    yield "* sentences"
    anchors = flow.anchors(pieces)
    headings = [seen.headings[number - 1].text if number else "" for number in found.headings]
    sealed(found, anchors, Context(windows, sentences, headings, paths), response.final_url, 1)
    yield "links"


def best(pages: list[Response], rounds: int) -> dict[str, float]:
    """Microseconds a page for each part and for the whole."""
    total: dict[str, float] = defaultdict(float)
    start = Link("http://example.org/")
    wholes = {
        "READ, no context": lambda page: read(page, start, context=False),
        "READ": lambda page: read(page, start),
        "READ, styles too": lambda page: read(page, start, styles=True),
    }
    for page in pages:
        fastest: dict[str, float] = {}
        for _ in range(rounds):
            clock = time.perf_counter()
            for part in laps(page):
                fastest[part] = min(fastest.get(part, 9.0), time.perf_counter() - clock)
                clock = time.perf_counter()
            for name, whole in wholes.items():
                clock = time.perf_counter()
                whole(page)
                fastest[name] = min(fastest.get(name, 9.0), time.perf_counter() - clock)
        for part, seconds in fastest.items():
            total[part] += seconds * 1e6 / len(pages)
    return total


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("recording", type=Path, nargs="?", help="a WARC file; made-up pages without one")
    options.add_argument("--pages", type=int, default=100)
    options.add_argument("--rounds", type=int, default=7)
    chosen = options.parse_args()
    pages = recorded(chosen.recording, chosen.pages) if chosen.recording else made(chosen.pages)
    found = [read(page, Link("http://example.org/")) for page in pages]
    size = sum(len(page.body) for page in pages) / len(pages)
    links = sum(len(getattr(page, "links", ())) for page in found) / len(pages)
    count = sum(len(getattr(page, "words", ())) for page in found) / len(pages)
    print(f"{len(pages)} pages, {size / 1000:.1f} kB, {links:.0f} links, {count:.0f} words on average")
    for part, microseconds in best(pages, chosen.rounds).items():
        print(f"{part:26} {microseconds:8.1f} µs")


if __name__ == "__main__":
    main()
