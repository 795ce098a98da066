"""Targets of `fuzz.py`: each parser with a small corpus, a dictionary of tokens, and the invariants of its output.

The function of a target takes bytes and returns an outcome, which can be any hashable value. Inputs with a new outcome
are mutated further. Documented exceptions of a parser are caught here; all other exceptions are findings.
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
from topicrawl.documents.conversion import convert_document
from topicrawl.documents.errors import UnreadableDocument
from topicrawl.documents.messages import ConversionLimits
from topicrawl.errors import DamagedError, RecordingError, SeedError, UsageError
from topicrawl.fetch.decoding import BodyTooLarge, DecodingError, decode_body
from topicrawl.fetch.guard import parse_networks
from topicrawl.fetch.http import HttpClient, HttpSettings
from topicrawl.fetch.replay import Recording
from topicrawl.fetch.robots import RobotsCache
from topicrawl.frontier import url_limits as fences
from topicrawl.frontier.trap_detector import extract_pattern
from topicrawl.models import Failure, Link, Page, Response
from topicrawl.parse.charset import decode_text
from topicrawl.parse.main_text import parse_main_text
from topicrawl.search import protocol
from topicrawl.search import query as queries
from topicrawl.seeds.election import parse_election_result
from topicrawl.seeds.provider import parse_hits, parse_json
from topicrawl.sessions import read_labelled_sessions
from topicrawl.settings import Settings, load_settings_file
from topicrawl.text import rdf
from topicrawl.urls import (
    LinkResolver,
    canonicalize_url,
    fingerprint,
    get_archive_url,
    get_directory_url,
    get_host,
    get_origin,
    make_member_url,
    resolve_url,
)

Run: TypeAlias = Callable[[bytes], object]
_FOLDER = Path(tempfile.gettempdir()) / f"topicrawl-fuzz-{os.getpid()}"


@dataclass(frozen=True)
class Target:
    """One parser to fuzz."""

    name: str
    corpus: Sequence[bytes]
    open_run: Callable[[], Run]  # called in the worker process
    words: Sequence[bytes] = ()


def exit_worker() -> None:
    """Remove temporary files and exit the worker process."""
    shutil.rmtree(_FOLDER, ignore_errors=True)
    os._exit(0)


# Pages


def _check_page(page: Page | Failure) -> object:
    """Check the invariants of a page and return its outcome."""
    if isinstance(page, Failure):
        return page
    for link in page.links:
        assert link.url == canonicalize_url(link.url), link.url
        assert link.source == page.url
    assert len(page.text) < 4_000_000
    json.dumps([page.title, page.text, page.canonical])
    shape = (len(page.links).bit_length(), len(page.text).bit_length(), len(page.headings).bit_length())
    return *shape, page.language, page.charset, tuple(sorted(page.directives)), len(page.sentences).bit_length()


def _fuzz_page(body: bytes, content_type: str) -> object:
    response = Response(corpus.URL, corpus.URL, 200, {"content-type": content_type}, body)
    outcome = _check_page(parse.parse_response(response, Link(corpus.URL), styles=True))
    _check_page(parse.parse_response(response, Link(corpus.URL), context=False))
    return outcome


def _fuzz_html(body: bytes) -> object:
    response = Response(corpus.URL, corpus.URL, 200, {"content-type": "text/html"}, body)
    return _fuzz_page(body, "text/html"), _check_page(parse_main_text(response, Link(corpus.URL))) if body else None


def _fuzz_charset(body: bytes) -> object:
    label, _, rest = body.partition(b"\n")
    text, charset = decode_text(rest, label.decode("latin-1"))
    assert len(text) <= len(rest) + 8
    text.encode("utf-8", "strict" if charset not in ("utf-16be", "utf-16le") else "replace")
    return charset, len(text).bit_length()


# Documents


def _fuzz_document(body: bytes) -> object:
    try:
        result = convert_document(body, ConversionLimits(1 << 20, 5.0))
    except UnreadableDocument as error:
        return error.failure, error.detail[:30]
    if result.media_type:
        assert result.body is not None
        _fuzz_page(result.body, result.media_type)
    return result.media_type, len(result.body).bit_length(), len(result.members)


def _fuzz_members(body: bytes) -> object:
    """Parse files inside a document. Mutations of the compressed document would only damage the archive."""
    outcomes = []
    for name, rest in (
        ("word/document.xml", {"word/_rels/document.xml.rels": corpus.RELATIONS}),
        ("word/_rels/document.xml.rels", {"word/document.xml": corpus.WORD}),
        ("content.xml", {"mimetype": b"application/vnd.oasis.opendocument.text"}),
        ("OPS/book.opf", corpus.BOOK),
        ("META-INF/container.xml", corpus.BOOK),
    ):
        outcomes.append(_fuzz_document(corpus.documents.zipped({**rest, name: body})))
    return tuple(outcomes)


# URLs


def _fuzz_url(body: bytes) -> object:
    base, _, href = body.decode("utf-8", "replace").partition("\n")  # decoded like a page
    joined = resolve_url(base, href)
    start = canonicalize_url(base)
    if start is not None:
        _check_url(start)
        assert LinkResolver(start)(href) == resolve_url(start, href), (start, href)
    if joined is not None:
        _check_url(joined)
    if joined is None:
        return start is None
    return (
        joined[:5],
        joined.count("/"),
        "?" in joined,
        ":" in get_host(joined),
        "%" in joined,
        extract_pattern(joined) is None,
    )


def _check_url(url: str) -> None:
    assert canonicalize_url(url) == url, (url, canonicalize_url(url))
    assert url.isascii()
    assert get_origin(url).endswith(get_host(url))
    assert url.startswith(get_directory_url(url))
    assert -(1 << 63) <= fingerprint(url) < 1 << 63
    inner = make_member_url(url, "a/ü?#.txt")
    assert get_archive_url(inner) == url, (url, inner)
    assert canonicalize_url(inner) is not None or len(inner) > 8000
    fences.check_link(Link(url), fences.UrlLimits())
    json.dumps(url).encode()


# robots.txt


def _fuzz_robots(body: bytes) -> object:
    async def get(url: str) -> Response:
        return Response(url, url, 200, {}, body, failure=None if body else Failure.EMPTY)

    async def ask_robots() -> object:
        robots = RobotsCache(get, agent="topicrawl", clock=lambda: 0.0)
        verdicts = [
            await robots.check_url(f"http://a.example{path}") for path in ("/", "/a/b?c=1", "/%C3%BC/*$", "/x.pdf")
        ]
        assert all(0 <= each.delay <= 60 for each in verdicts)
        return tuple(each.is_allowed for each in verdicts), verdicts[0].delay, len(verdicts[0].sitemaps).bit_length()

    return asyncio.run(ask_robots())


# HTTP bodies and headers


def _fuzz_decode(body: bytes) -> object:
    names, _, rest = body.partition(b"\n")
    outcomes: list[object] = []
    for cut in (False, True):
        try:
            decoded_body = decode_body(rest, names.decode("latin-1"), limit=100_000, truncate=cut)
            assert len(decoded_body) <= 100_000
            outcomes.append(len(decoded_body).bit_length())
        except (BodyTooLarge, DecodingError) as error:
            outcomes.append((type(error).__name__, str(error)[:20]))
    return tuple(outcomes)


class _FuzzedConnection:
    """HTTP server that answers every request with the fuzzed bytes, and a client that fetches them."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._body = b""
        self._runner.run(self._open())

    async def _open(self) -> None:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._server, self._port = server, server.sockets[0].getsockname()[1]
        settings = HttpSettings(allowed_networks=parse_networks(["127.0.0.0/8"]), total_timeout=3.0, max_bytes=1 << 20)
        self._http = await HttpClient(settings).__aenter__()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(self._body)
            await writer.drain()
            writer.close()

    def __call__(self, body: bytes) -> object:
        self._body = body
        return self._runner.run(self._fetch())

    async def _fetch(self) -> object:
        response = await self._http.get(f"http://127.0.0.1:{self._port}/x")
        assert len(response.body) <= 1 << 20
        assert response.failure is not None or response.status
        assert "\n" not in response.detail
        json.dumps(dict(response.headers)).encode()
        if response.status and response.failure is None:
            member = warc.encode_fetch(response, "127.0.0.1", Random(1))[1]
            assert warc.decode_response(member).body == response.body
        return response.failure, response.status, response.detail[:25], len(response.body).bit_length()


# Files


def _write_file(body: bytes, name: str) -> Path:
    _FOLDER.mkdir(parents=True, exist_ok=True)
    path = _FOLDER / name
    path.write_bytes(body)
    return path


def _fuzz_topic(body: bytes) -> object:
    path = _write_file(body, "topic.toml")
    try:
        loaded = topic.load_topic(path)
    except UsageError as error:
        return str(error)[len(str(path)) : len(str(path)) + 25]
    path.write_text(loaded.to_toml(), "utf-8")
    assert topic.load_topic(path).words == loaded.words
    return len(loaded.words), len(loaded.relevant), loaded.threshold > 0


def _fuzz_settings(body: bytes) -> object:
    path = _write_file(body, "settings.toml")
    try:
        Settings(**load_settings_file(path))  # type: ignore[arg-type]
    except UsageError as error:
        return str(error).replace(str(path), "")[:25]
    return True


def _fuzz_examples(body: bytes) -> object:
    path = _write_file(body, "examples.tsv")
    outcomes: list[object] = []
    for read in (topic.load_examples, read_labelled_sessions):
        try:
            outcomes.append(type(read(path)).__name__)
        except UsageError as error:
            outcomes.append(str(error).replace(str(path), "")[:25])
    return tuple(outcomes)


def _fuzz_recording(body: bytes) -> object:
    path = _write_file(body, "x.warc.gz" if body[:2] == b"\x1f\x8b" else "x.warc")
    outcome: object
    try:
        recording = Recording(path, max_bytes=100_000)
        outcome = tuple(recording.get_response(url).failure for url in recording)
        for url in recording:
            _check_page(parse.parse_response(recording.get_response(url), Link(url)))
    except RecordingError as error:
        outcome = str(error).replace(str(path), "")[:25]
    try:
        record = warc.decode_response(body)
    except DamagedError as error:
        return outcome, str(error)[:20]
    return outcome, record.failure


# Responses of other programs


def _fuzz_json(body: bytes) -> object:
    response = Response(corpus.URL, corpus.URL, 200, {"content-type": "application/json"}, body)
    outcomes: list[object] = []
    try:
        data = parse_json(response)
        outcomes.append(len(parse_hits(data if isinstance(data, list) else [data], 9)))
    except ValueError as error:
        return str(error)[:20]
    with suppress(UsageError):
        protocol.decode_query(data)
    for read in (
        protocol.decode_stats,
        protocol.decode_summary,
        protocol.decode_hits,
        protocol.decode_sketch,
        protocol.decode_vector,
    ):
        try:
            read(data)
            outcomes.append(True)
        except (ValueError, TypeError, KeyError, AttributeError, UsageError) as error:
            outcomes.append(str(error)[:12])
    with suppress(SeedError):
        parse_election_result(body.decode("utf-8", "replace"), "x")
        outcomes.append("found")
    return tuple(outcomes)


def _fuzz_query(body: bytes) -> object:
    try:
        parsed = queries.parse_query(queries.Query(body.decode("utf-8", "replace")))
    except UsageError as error:
        return str(error)[:25]
    return len(parsed.clauses)


def _fuzz_rdf(body: bytes) -> object:
    text = body.decode("utf-8", "replace")
    outcomes: list[object] = []
    for read in (rdf.parse_turtle, rdf.parse_rdf_xml):
        try:
            outcomes.append(len(read(text, "x")).bit_length())
        except (ValueError, UsageError) as error:
            outcomes.append(str(error)[:25])
    return tuple(outcomes)


def _build_target(name: str, inputs: Sequence[bytes], run: Run, words: Sequence[bytes] = ()) -> Target:
    return Target(name, inputs, lambda: run, words)


TARGETS = {
    target.name: target
    for target in (
        _build_target("html", corpus.HTML, _fuzz_html, corpus.TAGS),
        _build_target(
            "plain", corpus.PLAIN, lambda body: _fuzz_page(body, "text/plain"), (b"http://", b"\n\n", b"\xee\x80\x80")
        ),
        _build_target(
            "charset", corpus.CHARSETS, _fuzz_charset, (b"\x1b$B", b"\x1b(J", b"~{", b"\x81\x30", b"charset=")
        ),
        _build_target(
            "documents",
            corpus.DOCUMENTS,
            _fuzz_document,
            (b"PK\3\4", b"PK\1\2", b"PK\5\6", b" obj ", b"endstream", b"<<", b">>"),
        ),
        _build_target(
            "inside",
            corpus.INSIDE,
            _fuzz_members,
            (b"<a>", b"</a>", b"<!DOCTYPE a [", b"<!ENTITY x '&x;'>", b"&x;", b"<?"),
        ),
        _build_target("urls", corpus.URLS, _fuzz_url, corpus.URL_WORDS),
        _build_target("robots", corpus.ROBOTS, _fuzz_robots, corpus.ROBOTS_WORDS),
        _build_target("decode", corpus.DECODE, _fuzz_decode),
        Target("http", corpus.HTTP, _FuzzedConnection, corpus.HTTP_WORDS),
        _build_target("topic", corpus.TOPIC, _fuzz_topic, corpus.TOML_WORDS),
        _build_target("settings", corpus.SETTINGS, _fuzz_settings, corpus.TOML_WORDS),
        _build_target("sessions", corpus.EXAMPLES, _fuzz_examples, (b"\t", b"\n", b"null", b"[]", b"{}")),
        _build_target(
            "warc",
            corpus.build_warcs(),
            _fuzz_recording,
            (b"WARC/1.1\r\n", b"\r\n\r\n", b"Content-Length: ", b"\x1f\x8b"),
        ),
        _build_target("tables", corpus.TABLES, _fuzz_json, (b"null", b"[]", b"{}", b"1e999", b"-1", b'"x"')),
        _build_target("query", corpus.QUERIES, _fuzz_query, (b'"', b":", b"-", b"site:", b"before:", b"(", b"OR ")),
        _build_target(
            "graphs",
            corpus.GRAPHS,
            _fuzz_rdf,
            (b"[", b"]", b"(", b")", b'"""', b"<", b"^^", b"@", b"_:b", b"<!ENTITY a '&a;'>"),
        ),
    )
}
