"""Figures in Prometheus' own format, served to those who ask properly."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicrawl.errors import SettingError
from topicrawl.metrics import Family, Histogram, Sample, counter, place, served, text

FIGURES = "figures 1\n"


@given(st.lists(st.floats(0, 1000)))
def test_every_bucket_holds_what_lies_below_its_bound(values: list[float]) -> None:
    seconds = Histogram()
    for value in values:
        seconds.count(value)
    *buckets, total, number = seconds.samples()
    for bucket in buckets:
        assert bucket.value == sum(value <= float(bucket.labels["le"]) for value in values)
    assert (total.suffix, total.value) == ("_sum", pytest.approx(sum(values)))
    assert (number.suffix, number.value) == ("_count", len(values))


@settings(max_examples=40)
@given(st.text(max_size=8), st.floats(allow_nan=False))
def test_another_reader_of_the_format_reads_what_was_written(name: str, value: float) -> None:
    parser = pytest.importorskip("prometheus_client.parser", reason="prometheus-client is not installed: make install")
    written = text([Family("a_total", "counter", "A.", [Sample(value, {"reason": name})])], {"crawl": "owls"})
    (family,) = parser.text_string_to_metric_families(written)
    (sample,) = family.samples
    assert (family.type, sample.labels, sample.value) == ("counter", {"crawl": "owls", "reason": name}, value)


@pytest.mark.parametrize("value", [0, 7, 1_234_567, 12_345_678_901], ids=str)
def test_whole_numbers_are_written_whole(value: int) -> None:
    assert text([counter("a", "A.", value)], {}).endswith(f"a{{}} {value}\n")


@pytest.mark.parametrize("address", ["9400", "host", "host:http", "::1:9400", "host:70000"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(SettingError, match=r"127\.0\.0\.1:9400"):
        place(address)


async def asked(request: bytes) -> bytes:
    async with served("127.0.0.1:0", lambda: FIGURES) as where:
        host, _, port = where.removeprefix("http://").partition("/")[0].partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(request)
        writer.write_eof()
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        return answer


@pytest.mark.parametrize(
    ("request_", "status", "body"),
    [
        (b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", b"200 OK", FIGURES.encode()),
        (b"GET /metrics?x=1 HTTP/1.0\r\n\r\n", b"200 OK", FIGURES.encode()),
        (b"HEAD /metrics HTTP/1.1\r\n\r\n", b"200 OK", b""),
        (b"GET /health HTTP/1.1\r\n\r\n", b"200 OK", b"ok\n"),
        (b"GET / HTTP/1.1\r\n\r\n", b"404 Not Found", b"there is /metrics and /health\n"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", b"405 Method Not Allowed", b"only GET\n"),
        (b"\r\n\r\n", b"405 Method Not Allowed", b"only GET\n"),
    ],
    ids=["metrics", "with a query", "head", "health", "elsewhere", "post", "nothing"],
)
def test_what_is_asked_for_is_answered(request_: bytes, status: bytes, body: bytes) -> None:
    head, _, got = asyncio.run(asked(request_)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 " + status)
    assert got == body


@pytest.mark.parametrize("request_", [b"GET /metrics", b"x" * 100_000], ids=["torn", "endless"])
def test_who_does_not_speak_http_gets_no_answer(request_: bytes) -> None:
    try:
        answer = asyncio.run(asked(request_))
    except ConnectionError:
        answer = b""
    assert answer == b""


def test_a_port_that_is_taken_is_one_line() -> None:
    async def twice() -> None:
        first = served("127.0.0.1:0", lambda: "")
        async with first as where, served(where.removeprefix("http://").partition("/")[0], lambda: ""):
            pass

    with pytest.raises(SettingError, match="cannot be served"):
        asyncio.run(twice())
