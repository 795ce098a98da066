"""HTTP responses that deviate from RFC 9110 and RFC 9112, written from the standards.

Each case has the bytes of a response after which the server closes the connection, and whether the page is displayed
by both Chromium and curl (`bench/http_clients.py` shows the results of all clients).
"""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass

from topicrawl.models import Damage

WORDS = b"dengue fever page " * 40
PAGE = b"<html><title>x</title><p>" + WORDS + b"</html>"
_OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
_LENGTH = b"Content-Length: %d\r\n" % len(PAGE)
_CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(PAGE), PAGE)
_GZIP = gzip.compress(PAGE * 20 + bytes(range(256)) * 8, mtime=0)


@dataclass(frozen=True, slots=True)
class MalformedCase:
    """A response, and the damage with which the crawler stores it; None: it is refused."""

    data: bytes
    damage: tuple[Damage, ...] | None


def _head(*lines: bytes, status: bytes = b"HTTP/1.1 200 OK", end: bytes = b"\r\n") -> bytes:
    return end.join((status, b"Content-Type: text/html", *lines)) + end + end


_FRAMING, _LINES, _STATUS = (Damage.FRAMING,), (Damage.HEADER_LINES,), (Damage.STATUS_LINE,)

CASES: dict[str, MalformedCase] = {
    # Content-Length and Transfer-Encoding (RFC 9112, section 6)
    "repeated equal Content-Length": MalformedCase(_OK + _LENGTH * 2 + b"\r\n" + PAGE, _FRAMING),
    "list of equal lengths": MalformedCase(_head(b"Content-Length: %d, %d" % (len(PAGE), len(PAGE))) + PAGE, _FRAMING),
    "different Content-Lengths": MalformedCase(_OK + _LENGTH + b"Content-Length: 9\r\n\r\n" + PAGE, None),
    "Content-Length with chunked": MalformedCase(
        _OK + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n" + _CHUNKS, _FRAMING
    ),
    "repeated chunked": MalformedCase(_OK + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n" + _CHUNKS, ()),
    "empty Content-Length": MalformedCase(_head(b"Content-Length:") + PAGE, ()),
    "Content-Length that is no number": MalformedCase(_head(b"Content-Length: big") + PAGE, _FRAMING),
    "negative Content-Length": MalformedCase(_head(b"Content-Length: -5") + PAGE, _FRAMING),
    "Content-Length of 30 digits": MalformedCase(_head(b"Content-Length: " + b"9" * 30) + PAGE, _FRAMING),
    "body shorter than Content-Length": MalformedCase(
        _OK + b"Content-Length: 90000\r\n\r\n" + PAGE, (Damage.TRUNCATED,)
    ),
    "body longer than Content-Length": MalformedCase(_OK + _LENGTH + b"\r\n" + PAGE + b"surplus", ()),
    "chunks without the last one": MalformedCase(
        _OK + b"Transfer-Encoding: chunked\r\n\r\n" + _CHUNKS[:-5], (Damage.TRUNCATED,)
    ),
    "chunk that ends early": MalformedCase(
        _OK + b"Transfer-Encoding: chunked\r\n\r\n" + _CHUNKS[:-50], (Damage.TRUNCATED,)
    ),
    "chunks with bare line feeds": MalformedCase(
        _OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"%x\n%s\n0\n\n" % (len(PAGE), PAGE), ()
    ),
    "chunk sizes with spaces and extensions": MalformedCase(
        _OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"%x  ;a=b\r\n%s\r\n0\r\n\r\n" % (len(PAGE), PAGE), ()
    ),
    "chunked header without chunks": MalformedCase(_OK + b"Transfer-Encoding: chunked\r\n\r\n" + PAGE, None),
    "chunked in HTTP/1.0": MalformedCase(_head(b"Transfer-Encoding: chunked", status=b"HTTP/1.0 200 OK") + _CHUNKS, ()),
    # Header fields (RFC 9112, section 5)
    "space before the colon": MalformedCase(_OK + b"Content-Length : %d\r\n\r\n" % len(PAGE) + PAGE, _LINES),
    "tab before the colon": MalformedCase(_OK + b"X-A\t: b\r\n" + _LENGTH + b"\r\n" + PAGE, _LINES),
    "folded line": MalformedCase(_OK + b"X-A: b\r\n  c\r\n" + _LENGTH + b"\r\n" + PAGE, _LINES),
    "line without a colon": MalformedCase(_OK + b"nonsense\r\n" + _LENGTH + b"\r\n" + PAGE, _LINES),
    "line without a name": MalformedCase(_OK + b": x\r\n" + _LENGTH + b"\r\n" + PAGE, _LINES),
    "bare line feeds": MalformedCase(_head(_LENGTH.strip(), end=b"\n") + PAGE, _LINES),
    "bytes that are not ASCII": MalformedCase(_OK + b"X-A: caf\xe9 \xff\r\n" + _LENGTH + b"\r\n" + PAGE, ()),
    "control character in a value": MalformedCase(_OK + b"X-A: a\x01b\r\n" + _LENGTH + b"\r\n" + PAGE, ()),
    "invalid character in a name": MalformedCase(_OK + b"X(A)@: a\r\n" + _LENGTH + b"\r\n" + PAGE, ()),
    "header of 60 KB": MalformedCase(_OK + b"X-A: " + b"y" * 60_000 + b"\r\n" + _LENGTH + b"\r\n" + PAGE, ()),
    "200 header lines": MalformedCase(
        _OK + b"".join(b"X-%d: y\r\n" % n for n in range(200)) + _LENGTH + b"\r\n" + PAGE, ()
    ),
    "repeated Content-Type": MalformedCase(_OK + b"Content-Type: text/html\r\n" + _LENGTH + b"\r\n" + PAGE, ()),
    "NUL byte in a header": MalformedCase(_OK + b"X-A: a\0b\r\n" + _LENGTH + b"\r\n" + PAGE, None),
    # Status line (RFC 9112, section 4)
    "no reason phrase": MalformedCase(_head(_LENGTH.strip(), status=b"HTTP/1.1 200") + PAGE, _STATUS),
    "several spaces in the status line": MalformedCase(
        _head(_LENGTH.strip(), status=b"HTTP/1.1  200   OK") + PAGE, _STATUS
    ),
    "reason phrase that is not ASCII": MalformedCase(
        _head(_LENGTH.strip(), status=b"HTTP/1.1 200 \xe9t\xe9") + PAGE, ()
    ),
    "HTTP/1.2": MalformedCase(_head(_LENGTH.strip(), status=b"HTTP/1.2 200 OK") + PAGE, _STATUS),
    "lower-case protocol": MalformedCase(_head(_LENGTH.strip(), status=b"http/1.1 200 ok") + PAGE, _STATUS),
    "empty lines before the status line": MalformedCase(b"\r\n\r\n" + _OK + _LENGTH + b"\r\n" + PAGE, ()),
    "no status line": MalformedCase(PAGE, None),
    # Content encodings (RFC 9110, section 8.4)
    "truncated gzip body": MalformedCase(_head(b"Content-Encoding: gzip") + _GZIP[:-60], (Damage.ENCODING,)),
    "gzip body with a wrong checksum": MalformedCase(
        _head(b"Content-Encoding: gzip") + _GZIP[:-8] + bytes(8), (Damage.ENCODING,)
    ),
    "gzip body with bytes behind it": MalformedCase(_head(b"Content-Encoding: gzip") + _GZIP + b"surplus", ()),
    "deflate without the zlib header": MalformedCase(
        _head(b"Content-Encoding: deflate") + zlib.compress(PAGE, wbits=-15), ()
    ),
    "gzip label on a plain body": MalformedCase(_head(b"Content-Encoding: gzip") + PAGE, None),
    "unknown content encoding": MalformedCase(_head(b"Content-Encoding: utf-8") + PAGE, ()),
}
