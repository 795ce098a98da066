"""Initial corpus of `fuzz.py`: small valid inputs with many different constructs."""

from __future__ import annotations

import gzip
import sys
import zlib
from io import BytesIO
from pathlib import Path
from random import Random
from zipfile import ZipFile

import brotli
import zstandard

from topicrawl.collection import warc
from topicrawl.models import Response

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.helpers import documents

URL = "http://a.example/dir/page?x=1"
HTML = (
    b"<!DOCTYPE html><html lang=en><head><title>Owls</title><base href=/b/><meta name=robots content=nofollow>"
    b"<link rel=canonical href=/c><style>p {color: red; font-size: 90%} .x, #y > a {display: none}</style></head>"
    b"<body><nav><a href=/1>One</a></nav><h1>Owls &amp; more</h1><p class=x style='color:#fff'>They <b>hunt</b> at "
    b"night. <a href='http://b.example/?q=1#f' rel=nofollow title=t>Mice</a>, voles.</p><table><tr><td>1</table>"
    b"<img alt=owl src=o.png><ul><li>a<li>b</ul><!-- no --><script>x<y</script><pre> a\n  b</pre></body></html>",
    b"<meta charset=koi8-r>\xcd\xc9\xd2<frameset><frame src=x></frameset>",
    b"<p hidden>a<svg><a href=x></svg><math><mtext><b></math><template><a href=y></template><select><option>z",
    "<p>文字。文字 日本語 <a href='/日本'>ü</a>".encode(),
)
TAGS = (
    b"<a>",
    b"<b>",
    b"<p>",
    b"<div>",
    b"<table>",
    b"<tr>",
    b"<td>",
    b"<select>",
    b"<option>",
    b"<font>",
    b"<svg>",
    b"<math>",
    b"<template>",
    b"<style>",
    b"<script>",
    b"<frameset>",
    b"<pre>",
    b"<ul>",
    b"<li>",
    b"<h1>",
    b"</p>",
    b"</a>",
    b"<!--",
    b"-->",
    b"<![CDATA[",
    b" href=//x",
    b" style='display:none'",
    b"&#xD800;",
    b"&amp;",
)
PLAIN = (b"Owls\n\nThey hunt. See http://b.example/x, or https://c.example/?a=b.\n\n- one\n- two\n", b"\xff\xfea\0b\0")
CHARSETS = tuple(
    b"text/html; charset=" + label + b"\ncaf\xe9 \xd2\x81\x40\x1b$B<meta charset=utf-8>"
    for label in (b"", b"utf-8", b"utf-16", b"shift_jis", b"gb18030", b"iso-2022-jp", b"big5", b"x-user-defined")
)
LINES = ["Owls hunt at night.", "They eat mice & voles."]


def _unzip_files(body: bytes) -> dict[str, bytes]:
    """Return the files of a ZIP archive by name."""
    with ZipFile(BytesIO(body)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


_WORD = _unzip_files(documents.docx(LINES, title="Owls", links=[("http://b.example/", "here")]))
WORD, RELATIONS = _WORD["word/document.xml"], _WORD["word/_rels/document.xml.rels"]
BOOK = _unzip_files(documents.epub(["<p>Owls</p>", "<p>Mice</p>"], title="Birds"))
INSIDE = (
    WORD,
    RELATIONS,
    _unzip_files(documents.odt(LINES, title="Owls", links=[("http://b.example/", "here")]))["content.xml"],
    BOOK["OPS/book.opf"],
    BOOK["META-INF/container.xml"],
)
DOCUMENTS = (
    documents.pdf([LINES, LINES], title="Owls", links=[("http://b.example/", "here")]),
    documents.docx(LINES, title="Owls", links=[("http://b.example/", "here")]),
    documents.odt(LINES, title="Owls", links=[("http://b.example/", "here")]),
    documents.zipped(BOOK),
    documents.gzipped(HTML[0]),
    documents.zipped({"a.txt": b"Owls", "d/b.html": HTML[1], "c.docx": documents.docx(LINES)}),
)
URLS = (
    b"https://example.org/a/b;c?x=1&utm_source=2#f\n../d e?\xc3\xbc=1",
    b"http://user:pw@EXAMPLE.org.:80/%7Ea/./b\n//b.example:8080/x/../y",
    b"http://[::1]:81/\nhttp://0x7f.1/",
    b"http://xn--bcher-kva.example/\n?q&sid=0123456789abcdef0",
    "http://bücher.example/\n\\\\x\t\ny".encode(),
    b"https://a.example/z.zip?v=2\nmailto:x",
)
URL_WORDS = (
    b"/../",
    b"/./",
    b"%2e",
    b"%2F",
    b"//",
    b"\\",
    b"@",
    b":",
    b"[",
    b"]",
    b"?",
    b"#",
    b"xn--",
    b"%zz",
    b"/!/",
    b"http:",
    b"https://",
    b";jsessionid=1",
    b"\xe3\x80\x82",
    b"\xe2\x80\x8d",
    b"\t",
    b"&",
    b"utm_x=",
)
ROBOTS = (
    b"User-agent: *\nDisallow: /a/\nAllow: /a/b$\nCrawl-delay: 2\nSitemap: http://a.example/s.xml\n",
    b"\xef\xbb\xbfuser-agent: topicrawl/1\nuser-agent: x\nDisallow: *.pdf$\nRequest-rate: 1/5 0000-0100\nHost: a\n",
    b"Disallow: /\nUser agent: *\nDisallow:\nVisit-time: 0600-0845\nClean-param: a&b /x\nnoindex: /",
)
ROBOTS_WORDS = (
    b"User-agent: *\n",
    b"Disallow: ",
    b"Allow: /",
    b"*",
    b"$",
    b"Crawl-delay: ",
    b"Request-rate: ",
    b"Visit-time: ",
    b"%2A",
    b"**********",
    b"\r",
    b"\n",
    b"Sitemap: ",
)
TEXT = b"owls hunt at night " * 100
DECODE = (
    b"gzip\n" + gzip.compress(TEXT, mtime=0),
    b"deflate\n" + zlib.compress(TEXT),
    b"br\n" + brotli.compress(TEXT),
    b"zstd\n" + zstandard.compress(TEXT),
    b"gzip, br\n" + brotli.compress(gzip.compress(TEXT, mtime=0)),
    b"gzip\n" + gzip.compress(bytes(200_000), mtime=0),
    b"zstd\n" + zstandard.compress(bytes(200_000)),
)
HTTP = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 301 Moved\r\nLocation: /y\r\nSet-Cookie: a=b\r\n\r\n",
    b"HTTP/1.0 503 Busy\r\nRetry-After: 7\r\nContent-Type: text/html\r\n\r\nbusy",
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(TEXT, mtime=0),
    b"HTTP/1.1 200 OK\nContent-Type: text/plain\nX-Robots-Tag: noindex\n\nhello",
)
HTTP_WORDS = (
    b"\r\n",
    b"\n",
    b": ",
    b"HTTP/1.1 ",
    b"HTTP/9.9 ",
    b"Content-Length: ",
    b"Transfer-Encoding: chunked\r\n",
    b"0\r\n\r\n",
    b"ffffffffffffffff\r\n",
    b"Connection: upgrade\r\n",
    b"\t",
    b"\x80",
    b"Content-Encoding: br\r\n",
    b" 204 ",
    b" 1xx ",
)
TOPIC = (
    b'name = "owls"\nthreshold = 0.2\nlanguages = ["en"]\n[words]\nowl = 1.0\nnight = 0.5\n[words.de]\neule = 1\n'
    b'[examples]\nrelevant = ["http://a.example/"]\nirrelevant = []\n',
    b'[words]\n"a b" = 1\n[filter]\nnames = ["x"]\n[filter.nouns]\nx = 1.0\n[thresholds]\nnames = 0.5\n',
)
SETTINGS = (
    b'strategy = "best_first:anchor=0.7"\npages = 10\ndelay = 0.5\nonly = ["a.example"]\nallow_net = ["10.0.0.0/8"]\n'
    b'resolve = ["a=1.2.3.4"]\nproxy = "http://p:1/"\ncontact = "me"\nrobots = true\n',
    b'strategy = "hybrid"\nfocus = 0.1\nseconds = inf\nfrontier = "redis://h/0"\n',
)
TOML_WORDS = (b"[", b"]", b"=", b'"', b"'''", b"nan", b"inf", b"-1", b"true", b"1979-05-27", b"0x", b"{", b"\\u0000")
EXAMPLES = (
    b"http://a.example/\trelevant\nhttp://b.example/\tirrelevant\n# no\n",
    b"http://a.example/\thttp://b.example/\thttp://a.example/\n",
    b'{"log": {"entries": [{"startedDateTime": "2026-01-01T00:00:00Z", "_resourceType": "document", "request": '
    b'{"url": "http://a.example/", "method": "GET", "headers": [{"name": "Referer", "value": "http://b.example/"}]}, '
    b'"response": {"status": 200, "content": {"mimeType": "text/html"}}}]}}',
    gzip.compress(b"http://a.example/\thttp://b.example/\n", mtime=0),
)
TABLES = (
    b'{"results": [{"url": "http://a.example/", "title": "A", "engines": ["x"]}], '
    b'"unresponsive_engines": [["y", "z"]]}',
    b'{"text": "owls", "limit": 10, "weights": {"owl": 1.0}, "languages": ["en"], "hits": [], "number": 1, "size": 2}',
    b'{"words": "owls", "seeds": [{"url": "http://a.example/", "votes": {"x": 1}}], "answers": [{"engine": "x"}]}',
)
QUERIES = (
    b'owl "night hunt" title:mice -day site:a.example lang:de after:2026-01-01 relevance:0.5',
    b"\xe6\x96\x87 (a OR b)",
)
GRAPHS = (
    b'@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n<http://a/1> a skos:Concept ; skos:prefLabel "owl"@en, '
    b"'Eule'@de ; skos:broader [ skos:prefLabel \"bird\" ] ; skos:note (1 2.5e3 true) .\n",
    b'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY x "http://a/">]><rdf:RDF xmlns:rdf='
    b'"http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:s="http://www.w3.org/2004/02/skos/core#"><s:Concept '
    b'rdf:about="&x;1"><s:prefLabel xml:lang="en">owl</s:prefLabel><s:broader rdf:resource="&x;2"/></s:Concept>'
    b"</rdf:RDF>",
)


def build_warcs() -> tuple[bytes, ...]:
    """Return a small compressed WARC file, one record of it, and the uncompressed file."""
    page = Response(URL, URL, 200, {"content-type": "text/html", "content-encoding": "gzip"}, HTML[0], 9.5)
    request, response = warc.encode_fetch(page, "127.0.0.1", Random(1))
    archive = warc.build_warcinfo("x", {}, 0.0, Random(1)) + request + response
    return archive, response, gzip.decompress(archive)
