"""Sessions from HAR files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from topicrawl.errors import UsageError
from topicrawl.sessions import read_sessions


def entry(url: str, second: int, *, referer: str = "", kind: str = "text/html; charset=utf-8", **more: object) -> dict:  # type: ignore[type-arg]
    headers = [{"name": "Referer", "value": referer}] if referer else []
    return {
        "startedDateTime": f"2026-01-02T10:{second // 60:02d}:{second % 60:02d}.000Z",
        "request": {"method": "GET", "url": url, "headers": headers},
        "response": {"status": more.pop("status", 200), "content": {"size": 9, "mimeType": kind}},
        **more,
    }


def read(tmp_path: Path, entries: object) -> list[tuple[str, ...]]:
    path = tmp_path / "tab.har"
    path.write_text(json.dumps({"log": {"version": "1.2", "creator": {"name": "t"}, "entries": entries}}))
    return read_sessions(path)


def test_pages_form_sessions_by_their_referer(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            entry("http://a/", 0),
            entry("http://a/style.css", 1, referer="http://a/", kind="text/css"),
            entry("http://b/", 10, referer="http://a/"),
            entry("http://gone/", 12, referer="http://b/", status=404),
            entry("http://c/", 20, referer="http://a/"),
            entry("http://elsewhere/", 30),
        ],
    )
    assert found == [("http://a/", "http://b/", "http://a/", "http://c/"), ("http://elsewhere/",)]


def test_frames_are_skipped(tmp_path: Path) -> None:
    named = [entry("http://a/", 0, _resourceType="document"), entry("http://ad/", 1, _resourceType="sub_frame")]
    assert read(tmp_path, named) == [("http://a/",)]
    numbered = [entry("http://a/", 0, pageref="page_1"), entry("http://ad/", 1, referer="http://a/", pageref="page_1")]
    assert read(tmp_path, numbered) == [("http://a/",)]


def test_a_referer_without_a_path_means_the_previous_page(tmp_path: Path) -> None:
    found = read(tmp_path, [entry("http://a/deep/page", 0), entry("http://b/", 5, referer="http://a/")])
    assert found == [("http://a/deep/page", "http://b/")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "the JSON is invalid"),
        ('{"a": ' * 100_000, "the JSON is invalid"),
        ("{}", "no list log.entries"),
        ('{"log": {"entries": {}}}', "no list log.entries"),
        ('{"log": {"entries": [{"request": {}}]}}', r"log.entries\[0\] is not a valid HAR entry"),
        ('{"log": {"entries": [7]}}', r"log.entries\[0\] is not a valid HAR entry"),
        ('{"log": {"entries": []}}', "no browsing sessions"),
    ],
)
def test_an_invalid_file_is_reported_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "tab.har"
    path.write_text(text)
    with pytest.raises(UsageError, match=words) as raised:
        read_sessions(path)
    assert "\n" not in str(raised.value)


def test_an_invalid_time_is_reported_with_its_entry(tmp_path: Path) -> None:
    bad = entry("http://b/", 1)
    bad["startedDateTime"] = "yesterday"
    with pytest.raises(UsageError, match=r"log.entries\[1\]"):
        read(tmp_path, [entry("http://a/", 0), bad])
