"""What `fuzz.py` throws broken input at: each reader with a small corpus, words of its language, and laws that hold.

A target's function takes the bytes and returns an outcome, anything that can be compared: inputs with a new outcome
are worth changing further. What readers are allowed to raise is caught here; everything else is a finding.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TypeAlias

import fuzz_corpus as corpus

from topicrawl import parse, topic
from topicrawl.collection import warc
from topicrawl.documents.convert import converted
from topicrawl.documents.message import Limits
from topicrawl.documents.unreadable import Unreadable
from topicrawl.errors import DamagedError, RecordingError, SeedError, UsageError
from topicrawl.fetch.decode import TooLarge, Undecodable, decode
from topicrawl.fetch.guard import networks
from topicrawl.fetch.http import Http, HttpSettings
from topicrawl.fetch.replay import Recording
from topicrawl.fetch.robots import Robots
from topicrawl.frontier import limits as fences
from topicrawl.frontier.monotony import pattern
from topicrawl.parse.charset import decoded
from topicrawl.parse.main_text import read_main
from topicrawl.records import Failure, Link, Page, Response
from topicrawl.search import query as queries
from topicrawl.search import wire
from topicrawl.seeds.found import read_found
from topicrawl.seeds.provider import hits, told
from topicrawl.sessions import labelled_sessions
from topicrawl.settings import Settings, read_settings
from topicrawl.text import rdf_xml, turtle
from topicrawl.urls import Joiner, canonical, container, directory, fingerprint, host, join, member, origin

Run: TypeAlias = Callable[[bytes], object]
_FOLDER = Path(tempfile.gettempdir()) / f"topicrawl-fuzz-{os.getpid()}"


@dataclass(frozen=True)
class Target:
    """One reader."""

    name: str
    corpus: Sequence[bytes]
    opened: Callable[[], Run]  # called in the process that runs it
    words: Sequence[bytes] = ()


def ended() -> None:
    """The last thing that a process of the fuzzer does."""
    shutil.rmtree(_FOLDER, ignore_errors=True)
    os._exit(0)


# Pages


def _sound(page: Page | Failure) -> object:
    """What holds for every page."""
    if isinstance(page, Failure):
        return page
    for link in page.links:
        assert link.url == canonical(link.url), link.url
        assert link.source == page.url
    assert len(page.text) < 4_000_000
    json.dumps([page.title, page.text, page.canonical])
    shape = (len(page.links).bit_length(), len(page.text).bit_length(), len(page.headings).bit_length())
    return *shape, page.language, page.charset, tuple(sorted(page.directives)), len(page.sentences).bit_length()


def _page(body: bytes, content_type: str) -> object:
    response = Response(corpus.URL, corpus.URL, 200, {"content-type": content_type}, body)
    outcome = _sound(parse.read(response, Link(corpus.URL), styles=True))
    _sound(parse.read(response, Link(corpus.URL), context=False))
    return outcome


def _html(body: bytes) -> object:
    response = Response(corpus.URL, corpus.URL, 200, {"content-type": "text/html"}, body)
    return _page(body, "text/html"), _sound(read_main(response, Link(corpus.URL))) if body else None


def _charset(body: bytes) -> object:
    label, _, rest = body.partition(b"\n")
    text, charset = decoded(rest, label.decode("latin-1"))
    assert len(text) <= len(rest) + 8
    text.encode("utf-8", "strict" if charset not in ("utf-16be", "utf-16le") else "replace")
    return charset, len(text).bit_length()


# Documents


def _document(body: bytes) -> object:
    try:
        found = converted(body, Limits(1 << 20, 5.0))
    except Unreadable as error:
        return error.failure, error.detail[:30]
    if found.type:
        assert found.body is not None
        _page(found.body, found.type)
    return found.type, len(found.body).bit_length(), len(found.members)


def _inside(body: bytes) -> object:
    """The same for what is packed in a document: changed as it is packed, it would only be torn."""
    outcomes = []
    for name, rest in (
        ("word/document.xml", {"word/_rels/document.xml.rels": corpus.RELATIONS}),
        ("word/_rels/document.xml.rels", {"word/document.xml": corpus.WORD}),
        ("content.xml", {"mimetype": b"application/vnd.oasis.opendocument.text"}),
        ("OPS/book.opf", corpus.BOOK),
        ("META-INF/container.xml", corpus.BOOK),
    ):
        outcomes.append(_document(corpus.made.zipped({**rest, name: body})))
    return tuple(outcomes)


# Addresses


def _url(body: bytes) -> object:
    base, _, href = body.decode("utf-8", "replace").partition("\n")  # as pages are
    found = join(base, href)
    start = canonical(base)
    if start is not None:
        _parts(start)
        assert Joiner(start)(href) == join(start, href), (start, href)
    if found is not None:
        _parts(found)
    if found is None:
        return start is None
    return found[:5], found.count("/"), "?" in found, ":" in host(found), "%" in found, pattern(found) is None


def _parts(url: str) -> None:
    assert canonical(url) == url, (url, canonical(url))
    assert url.isascii()
    assert origin(url).endswith(host(url))
    assert url.startswith(directory(url))
    assert -(1 << 63) <= fingerprint(url) < 1 << 63
    inner = member(url, "a/ü?#.txt")
    assert container(inner) == url, (url, inner)
    assert canonical(inner) is not None or len(inner) > 8000
    fences.refusal(Link(url), fences.Limits())
    json.dumps(url).encode()


# robots.txt


def _robots(body: bytes) -> object:
    async def get(url: str) -> Response:
        return Response(url, url, 200, {}, body, failure=None if body else Failure.EMPTY)

    async def asked() -> object:
        robots = Robots(get, agent="topicrawl", clock=lambda: 0.0)
        verdicts = [await robots.ask(f"http://a.example{path}") for path in ("/", "/a/b?c=1", "/%C3%BC/*$", "/x.pdf")]
        assert all(0 <= each.delay <= 60 for each in verdicts)
        return tuple(each.allowed for each in verdicts), verdicts[0].delay, len(verdicts[0].sitemaps).bit_length()

    return asyncio.run(asked())


# Bodies and headers as they come over the wire


def _decode(body: bytes) -> object:
    names, _, rest = body.partition(b"\n")
    outcomes: list[object] = []
    for cut in (False, True):
        try:
            found = decode(rest, names.decode("latin-1"), limit=100_000, cut=cut)
            assert len(found) <= 100_000
            outcomes.append(len(found).bit_length())
        except (TooLarge, Undecodable) as error:
            outcomes.append((type(error).__name__, str(error)[:20]))
    return tuple(outcomes)


class _Wire:
    """Answers every request with the bytes that are to be tried, and asks."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._body = b""
        self._runner.run(self._open())

    async def _open(self) -> None:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._server, self._port = server, server.sockets[0].getsockname()[1]
        settings = HttpSettings(allow=networks(["127.0.0.0/8"]), total_timeout=3.0, max_bytes=1 << 20)
        self._http = await Http(settings).__aenter__()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(self._body)
            await writer.drain()
            writer.close()

    def __call__(self, body: bytes) -> object:
        self._body = body
        return self._runner.run(self._asked())

    async def _asked(self) -> object:
        response = await self._http.get(f"http://127.0.0.1:{self._port}/x")
        assert len(response.body) <= 1 << 20
        assert response.failure is not None or response.status
        assert "\n" not in response.detail
        json.dumps(dict(response.headers)).encode()
        if response.status and response.failure is None:
            member = warc.encoded(response, "127.0.0.1", Random(1))[1]
            assert warc.decoded(member).body == response.body
        return response.failure, response.status, response.detail[:25], len(response.body).bit_length()


# Files


def _written(body: bytes, name: str) -> Path:
    _FOLDER.mkdir(parents=True, exist_ok=True)
    path = _FOLDER / name
    path.write_bytes(body)
    return path


def _topic(body: bytes) -> object:
    path = _written(body, "topic.toml")
    try:
        found = topic.load(path)
    except UsageError as error:
        return str(error)[len(str(path)) : len(str(path)) + 25]
    path.write_text(found.toml(), "utf-8")
    assert topic.load(path).words == found.words
    return len(found.words), len(found.relevant), found.threshold > 0


def _settings(body: bytes) -> object:
    path = _written(body, "settings.toml")
    try:
        Settings(**read_settings(path))  # type: ignore[arg-type]
    except UsageError as error:
        return str(error).replace(str(path), "")[:25]
    return True


def _examples(body: bytes) -> object:
    path = _written(body, "examples.tsv")
    outcomes: list[object] = []
    for read in (topic.examples, labelled_sessions):
        try:
            outcomes.append(type(read(path)).__name__)
        except UsageError as error:
            outcomes.append(str(error).replace(str(path), "")[:25])
    return tuple(outcomes)


def _recording(body: bytes) -> object:
    path = _written(body, "x.warc.gz" if body[:2] == b"\x1f\x8b" else "x.warc")
    outcome: object
    try:
        found = Recording(path, max_bytes=100_000)
        outcome = tuple(found.answer(url).failure for url in found)
        for url in found:
            _sound(parse.read(found.answer(url), Link(url)))
    except RecordingError as error:
        outcome = str(error).replace(str(path), "")[:25]
    try:
        own = warc.decoded(body)
    except DamagedError as error:
        return outcome, str(error)[:20]
    return outcome, own.failure


# What other programs send


def _table(body: bytes) -> object:
    response = Response(corpus.URL, corpus.URL, 200, {"content-type": "application/json"}, body)
    outcomes: list[object] = []
    try:
        said = told(response)
        outcomes.append(len(hits(said if isinstance(said, list) else [said], 9)))
    except ValueError as error:
        return str(error)[:20]
    with suppress(UsageError):
        wire.query_of(said)
    for read in (wire.world_of, wire.summary_of, wire.found_of, wire.sketch_of, wire.vector_of):
        try:
            read(said)
            outcomes.append(True)
        except (ValueError, TypeError, KeyError, AttributeError, UsageError) as error:
            outcomes.append(str(error)[:12])
    with suppress(SeedError):
        read_found(body.decode("utf-8", "replace"), "x")
        outcomes.append("found")
    return tuple(outcomes)


def _query(body: bytes) -> object:
    try:
        found = queries.parsed(queries.Query(body.decode("utf-8", "replace")))
    except UsageError as error:
        return str(error)[:25]
    return len(found.parts)


def _graph(body: bytes) -> object:
    text = body.decode("utf-8", "replace")
    outcomes: list[object] = []
    for read in (turtle.triples, rdf_xml.triples):
        try:
            outcomes.append(len(list(read(text, "x"))).bit_length())
        except (ValueError, UsageError) as error:
            outcomes.append(str(error)[:25])
    return tuple(outcomes)


def _target(name: str, inputs: Sequence[bytes], run: Run, words: Sequence[bytes] = ()) -> Target:
    return Target(name, inputs, lambda: run, words)


TARGETS = {
    target.name: target
    for target in (
        _target("html", corpus.HTML, _html, corpus.TAGS),
        _target("plain", corpus.PLAIN, lambda body: _page(body, "text/plain"), (b"http://", b"\n\n", b"\xee\x80\x80")),
        _target("charset", corpus.CHARSETS, _charset, (b"\x1b$B", b"\x1b(J", b"~{", b"\x81\x30", b"charset=")),
        _target(
            "documents",
            corpus.DOCUMENTS,
            _document,
            (b"PK\3\4", b"PK\1\2", b"PK\5\6", b" obj ", b"endstream", b"<<", b">>"),
        ),
        _target(
            "inside", corpus.INSIDE, _inside, (b"<a>", b"</a>", b"<!DOCTYPE a [", b"<!ENTITY x '&x;'>", b"&x;", b"<?")
        ),
        _target("urls", corpus.URLS, _url, corpus.URL_WORDS),
        _target("robots", corpus.ROBOTS, _robots, corpus.ROBOTS_WORDS),
        _target("decode", corpus.DECODE, _decode),
        Target("http", corpus.HTTP, _Wire, corpus.HTTP_WORDS),
        _target("topic", corpus.TOPIC, _topic, corpus.TOML_WORDS),
        _target("settings", corpus.SETTINGS, _settings, corpus.TOML_WORDS),
        _target("sessions", corpus.EXAMPLES, _examples, (b"\t", b"\n", b"null", b"[]", b"{}")),
        _target("warc", corpus.warcs(), _recording, (b"WARC/1.1\r\n", b"\r\n\r\n", b"Content-Length: ", b"\x1f\x8b")),
        _target("tables", corpus.TABLES, _table, (b"null", b"[]", b"{}", b"1e999", b"-1", b'"x"')),
        _target("query", corpus.QUERIES, _query, (b'"', b":", b"-", b"site:", b"before:", b"(", b"OR ")),
        _target(
            "graphs",
            corpus.GRAPHS,
            _graph,
            (b"[", b"]", b"(", b")", b'"""', b"<", b"^^", b"@", b"_:b", b"<!ENTITY a '&a;'>"),
        ),
    )
}
