"""Tests of the training data of a recording: pages and backlinks of example URLs, also of URLs that redirect."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from topicrawl.engine.recorded_training_data import RecordedTrainingData
from topicrawl.fetch.replay import Recording
from topicrawl.topic import Topic

PAGE, OLD, OLDER = (f"http://a.example/{name}" for name in ("page", "old", "older"))
HUB, LIST = "http://hub.example/", "http://list.example/"


def encode_record(url: str, http: str) -> bytes:
    """Return a WARC response record as a gzip member."""
    head = (
        f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2020-02-03T04:05:06Z\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    return gzip.compress(f"{head}{http}\r\n\r\n".encode())


def encode_page(url: str, html: str) -> bytes:
    return encode_record(url, f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{html}")


def encode_redirect(url: str, target: str) -> bytes:
    return encode_record(url, f"HTTP/1.1 301 Moved\r\nLocation: {target}\r\n\r\n")


@pytest.fixture
def training_data(tmp_path: Path) -> RecordedTrainingData:
    records = (
        encode_page(PAGE, f"<p>dengue fever</p><a href='{PAGE}'>this page</a>"),
        encode_redirect(OLD, PAGE),
        encode_redirect(OLDER, OLD),
        encode_page(HUB, f"<a href='{LIST}'>list</a> <a href='{PAGE}'>dengue</a> <a href='{OLD}'>again</a>"),
        encode_page(LIST, f"<a href='{OLD}'>old dengue page</a>"),
    )
    (tmp_path / "pages.warc.gz").write_bytes(b"".join(records))
    return RecordedTrainingData(Recording(tmp_path), Topic.of("dengue").with_examples([OLD], []))


@pytest.mark.parametrize("url", [PAGE, OLD, OLDER])
def test_a_url_that_redirects_has_the_parents_of_its_final_url(training_data: RecordedTrainingData, url: str) -> None:
    parents = training_data.get_parents(url)
    assert [(link.source, link.url, link.anchor) for link in parents] == [
        (HUB, PAGE, "dengue"),
        (LIST, OLD, "old dengue page"),
    ]


def test_the_number_of_parents_is_limited(training_data: RecordedTrainingData) -> None:
    assert [link.source for link in training_data.get_parents(OLD, limit=1)] == [HUB]


def test_a_page_without_backlinks_has_no_parents(training_data: RecordedTrainingData) -> None:
    assert list(training_data.get_parents(HUB)) == []
