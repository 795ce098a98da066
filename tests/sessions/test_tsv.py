"""Sessions from TSV files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from topicrawl.errors import UsageError
from topicrawl.sessions import read_labelled_sessions, read_sessions

WHOLE = "# a comment\nf1\tfinished\thttp://t/\t12\thttp://a/ http://b/ < http://c/\nf2\t\t\t\thttp://a/\n"
CLICKS = """\
# session, url, label
ann\thttp://a/\tirrelevant
ann\thttp://b/
bob\thttp://c/\trelevant
ann\t<
ann\tabout:blank
ann\thttp://c/\t
"""


def written(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "sessions"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    "pack", [str.encode, lambda text: gzip.compress(text.encode(), mtime=0)], ids=["plain", "gzip"]
)
def test_a_line_of_five_columns_is_a_session(tmp_path: Path, pack) -> None:  # type: ignore[no-untyped-def]
    found = read_sessions(written(tmp_path, pack(WHOLE)))
    assert found == [("http://a/", "http://b/", "http://a/", "http://c/"), ("http://a/",)]


def test_a_line_of_two_or_three_columns_is_a_click(tmp_path: Path) -> None:
    found = read_labelled_sessions(written(tmp_path, CLICKS))
    assert found.click_paths == (("http://a/", "http://b/", "http://a/", "http://c/"), ("http://c/",))
    assert (found.relevant, found.irrelevant) == (("http://c/",), ("http://a/",))


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    assert read_sessions(written(tmp_path, "\ufeff# x\nann\thttp://a/\n")) == [("http://a/",)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "no browsing sessions"),
        ("# only words\n\n", "no browsing sessions"),
        ("ann\tabout:blank\n", "no browsing sessions"),
        ("http://a/\n", ":1: expected 2 or 3 or 5 columns"),
        ("a\tb\tc\td\n", ":1: expected 2 or 3 or 5 columns"),
        ("ann\thttp://a/\nf\t\t\t\thttp://a/\n", ":2: expected 2 or 3 columns"),
        ("f\t\t\t\thttp://a/\nann\thttp://a/\n", ":2: expected 5 columns"),
        ("ann\twho.int\n", ":1: expected a URL"),
        ("ann\thttp://a/\tgood\n", ":1: the label must be 'relevant' or 'irrelevant', not 'good'"),
        (b"\x1f\x8bnot gzip", "damaged or truncated"),
        (gzip.compress(b"ann\thttp://a/\n" * 99, mtime=0)[:-9], "damaged or truncated"),
        (b"\xff\xfe\x00", "neither UTF-8 text nor a browser history"),
    ],
)
def test_an_invalid_file_is_reported_in_one_line_with_its_name(
    tmp_path: Path, content: str | bytes, words: str
) -> None:
    path = written(tmp_path, content)
    with pytest.raises(UsageError) as raised:
        read_sessions(path)
    text = str(raised.value)
    assert words in text
    assert text.startswith(str(path))
    assert "\n" not in text


def test_a_missing_file_and_a_directory_are_reported(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(UsageError, match="cannot be read as browsing sessions"):
            read_sessions(path)
