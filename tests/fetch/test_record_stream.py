"""Records of web archives that deviate from the standards."""

from __future__ import annotations

from pathlib import Path

from topicrawl.fetch.record_stream import iterate_captures


def test_the_url_of_an_arc_record_may_contain_spaces(tmp_path: Path) -> None:
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>x"
    path = tmp_path / "a.arc"
    path.write_bytes(b"http://a.example/?q=two words 10.0.0.1 20090102030405 text/html %d\n%s\n" % (len(block), block))
    (capture,) = iterate_captures(path, max_bytes=1000)
    assert (capture.url, capture.at, capture.block) == ("http://a.example/?q=two words", 1230865445.0, block)
